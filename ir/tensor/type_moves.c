/* SPDX-License-Identifier: MIT */
/* Type rules of the operations that move elements. */
#include "ir/tensor/type_rules.h"
#include "ir/tensor/pixels.h"

#include <stdlib.h>

#include "base/size.h"

/* ---- reshape: equal products, symbolic ones factor by factor ---- */

enum { FACTORS_MAX = RANK_MAX * 8 };
struct product { int64_t known; int count; dim_t factors[FACTORS_MAX]; };

static int compare_dims(const void *a, const void *b)
{
        dim_t x = *(const dim_t *)a, y = *(const dim_t *)b;
        return (x.code > y.code) - (x.code < y.code);
}

/* Finds the product of t's extents. Returns false if there are too many factors. */
static bool product_of(const struct module *m, const struct type *t, struct product *p)
{
        dim_t stack[FACTORS_MAX];
        int depth = 0;
        *p = (struct product){ .known = 1 };
        for (int i = 0; i < t->rank; i++)
                stack[depth++] = t->dims[i];
        while (depth) {
                dim_t d = stack[--depth];
                if (dim_is_static(d)) {
                        if (!int_mul(p->known, dim_extent(d), &p->known))
                                return false;
                } else if (dim_term(m, d)->kind == DIM_MUL) {
                        if (depth + 2 > FACTORS_MAX)
                                return false;
                        stack[depth++] = dim_term(m, d)->a;
                        stack[depth++] = dim_term(m, d)->b;
                } else {
                        if (p->count == FACTORS_MAX)
                                return false;
                        p->factors[p->count++] = d;
                }
        }
        qsort(p->factors, (size_t)p->count, sizeof *p->factors, compare_dims);
        return true;
}

static bool same_product(const struct module *m, const struct type *a, const struct type *b)
{
        struct product x, y;
        if (!product_of(m, a, &x) || !product_of(m, b, &y))
                return false;
        if (x.known == 0 && y.known == 0)
                return true;
        if (x.known != y.known || x.count != y.count)
                return false;
        for (int i = 0; i < x.count; i++)
                if (!dim_equal(x.factors[i], y.factors[i]))
                        return false;
        return true;
}

bool type_reshape(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0),
                          *y = rule_given(m, op, (int)x->element, -1, diag);
        if (!y)
                return false;
        if (!same_product(m, x, y))
                return rule_fail(op, diag, "cannot make %s of %s: %s", rule_type(m, y),
                                 rule_type(m, x),
                                 type_is_static(x) && type_is_static(y)
                                         ? "other number of elements"
                                         : "not certain to have as many elements");
        return true;
}

/* ---- transpose, broadcast ---- */

bool type_transpose(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        dim_t dims[RANK_MAX];
        const int64_t *perm = rule_ints(m, op, "perm", x->rank, 0, RANK_MAX, diag);
        if (!perm || !rule_distinct(op, "perm", perm, x->rank, x->rank, diag))
                return false;
        for (int i = 0; i < x->rank; i++)
                dims[i] = x->dims[perm[i]];
        return rule_shape(m, op, x->element, x->rank, dims, diag);
}

bool type_broadcast(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0),
                          *y = rule_given(m, op, (int)x->element, -1, diag);
        const int64_t *onto = y ? rule_ints(m, op, "dims", x->rank, 0, RANK_MAX, diag) : NULL;
        if (!onto || !rule_distinct(op, "dims", onto, x->rank, y->rank, diag))
                return false;
        for (int i = 0; i < x->rank; i++) {
                if (i && onto[i] < onto[i - 1])
                        return rule_fail(op, diag, "dims do not ascend");
                if (!dim_is(x->dims[i], 1) && !dim_equal(x->dims[i], y->dims[onto[i]]))
                        return rule_fail(op, diag, "dimension %d is %s, want 1 or %s", i,
                                         rule_dim(m, x->dims[i]), rule_dim(m, y->dims[onto[i]]));
        }
        return true;
}

/* ---- slice, pad ---- */

/* Does every index start + i * step, 0 <= i < count, lie in [0, extent)? */
static bool steps_inside(int64_t start, int64_t step, int64_t count, int64_t extent)
{
        int64_t last;
        return start >= 0 && start < extent && int_mul(count - 1, step, &last) &&
               int_add(start, last, &last) && last >= 0 && last < extent;
}

bool type_slice(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        const struct type *y = rule_given(m, op, (int)x->element, x->rank, diag);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        bool starts_known, steps_known;
        if (!y || !rule_operand_ints(op, 1, x->rank, starts, &starts_known, diag) ||
            !rule_operand_ints(op, 2, x->rank, steps, &steps_known, diag))
                return false;
        for (int i = 0; i < x->rank; i++)
                if (dim_is(y->dims[i], 0)) /* Nothing is read. */
                        return true;
        for (int i = 0; i < x->rank && starts_known && steps_known; i++)
                if (dim_is_static(x->dims[i]) && dim_is_static(y->dims[i]) &&
                    !steps_inside(starts[i], steps[i], type_extent(y, i), type_extent(x, i)))
                        return rule_fail(op, diag,
                                         "dimension %d: %lld elements from %lld in steps of %lld "
                                         "leave 0 to %lld",
                                         i, (long long)type_extent(y, i), (long long)starts[i],
                                         (long long)steps[i], (long long)type_extent(x, i) - 1);
        return true;
}

bool type_pad(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        const struct type *y = rule_given(m, op, (int)x->element, x->rank, diag);
        const struct value *value = op_operand(op, 1);
        int64_t low[RANK_MAX];
        bool known, constant = op_int(op, "mode") == 0, empty = false;
        if (!y || !rule_operand_ints(op, 2, x->rank, low, &known, diag))
                return false;
        if (value && value->type != type_scalar(m, x->element))
                return rule_fail(op, diag, "operand value is %s, want <%s>",
                                 rule_type(m, value->type), element_info[x->element].text);
        if (!value && constant)
                return rule_fail(op, diag, "operand value is missing");
        for (int i = 0; i < x->rank; i++) {
                empty = empty || dim_is(y->dims[i], 0);
                if (known && (low[i] < -STEP_MAX || low[i] > STEP_MAX))
                        return rule_fail(op, diag, "low holds %lld, want %d to %d",
                                         (long long)low[i], -STEP_MAX, STEP_MAX);
        }
        for (int i = 0; i < x->rank && !constant && !empty; i++)
                if (dim_is(x->dims[i], 0))
                        return rule_fail(op, diag, "dimension %d has no elements to pad with", i);
        return true;
}

/* ---- concat ---- */

bool type_neighbours(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0);
        const int64_t count = op_int(op, "count");
        const int last = x->rank - 1;
        if (last < 1 || !dim_is(x->dims[last], 1) || !dim_is_static(x->dims[last - 1]))
                return rule_fail(op, diag, "x is %s, want positions, whose number is known, and 1",
                                 rule_type(m, x));
        if (count < 1 || count > dim_extent(x->dims[last - 1]))
                return rule_fail(op, diag, "count is %lld, want 1 to %lld", (long long)count,
                                 (long long)dim_extent(x->dims[last - 1]));
        dim_t dims[RANK_MAX];
        memcpy(dims, x->dims, sizeof dims);
        dims[last - 1] = dim_of(dim_extent(dims[last - 1]) - count + 1);
        dims[last] = dim_of(count);
        return rule_shape(m, op, x->element, x->rank, dims, diag);
}

bool type_concat(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *first = operand_type(op, 0);
        int64_t axis = op_int(op, "axis");
        dim_t dims[RANK_MAX];
        if (!rule_axis(op, axis, first->rank, "axis", diag))
                return false;
        for (int i = 0; i < first->rank; i++)
                dims[i] = first->dims[i];
        for (int k = 1; k < op->operand_count; k++) {
                const struct type *t = operand_type(op, k);
                bool fits = t->element == first->element && t->rank == first->rank;
                for (int i = 0; i < first->rank && fits; i++)
                        fits = i == axis || dim_equal(t->dims[i], first->dims[i]);
                if (!fits)
                        return rule_fail(op, diag,
                                         "operand %d is %s, does not go with %s along dimension %d",
                                         k, rule_type(m, t), rule_type(m, first), (int)axis);
                dims[axis] = dim_binary(m, DIM_ADD, dims[axis], t->dims[axis]);
        }
        return rule_shape(m, op, first->element, first->rank, dims, diag);
}

/* ---- gathers ---- */

/* Checks constant indices, which are tuples of `width` entries, entry k in [-extents[k],
 * extents[k]). Unknown extents pass here and are checked at run time, as are all indices that are
 * not constant. */
static bool check_indices(const struct op *op, const struct value *v, const dim_t *extents,
                          int width, struct diag *diag)
{
        enum element e = v->type->element;
        if (!value_is_constant(v) || !type_is_static(v->type))
                return true;
        int64_t count = type_elements(v->type);
        if (v->constant->kind == CONSTANT_SPLAT && count > width)
                count = width;
        for (int64_t i = 0; i < count; i++) {
                union scalar s = constant_element(v->constant, i);
                dim_t extent = extents[i % width];
                if (e == E_U64 && s.u > INT64_MAX)
                        s.i = INT64_MAX;
                if (dim_is_static(extent) &&
                    (s.i < -dim_extent(extent) || s.i >= dim_extent(extent)))
                        return rule_fail(op, diag, "index %lld is not in %lld to %lld", s.i,
                                         (long long)-dim_extent(extent),
                                         (long long)dim_extent(extent) - 1);
        }
        return true;
}

static bool check_index_type(struct module *m, const struct op *op, struct diag *diag)
{
        const struct type *t = operand_type(op, 1);
        return element_is_integer(t->element) ||
               rule_fail(op, diag, "operand indices is %s, want integers", rule_type(m, t));
}

bool rule_indices(struct module *m, const struct op *op, dim_t extent, struct diag *diag)
{
        return check_index_type(m, op, diag) &&
               check_indices(op, op_operand(op, 1), &extent, 1, diag);
}

bool type_gather(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *indices = operand_type(op, 1);
        int64_t axis = op_int(op, "axis");
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        if (!check_index_type(m, op, diag) || !rule_axis(op, axis, x->rank, "axis", diag) ||
            !check_indices(op, op_operand(op, 1), &x->dims[axis], 1, diag))
                return false;
        for (int i = 0; i < axis; i++)
                dims[rank++] = x->dims[i];
        for (int i = 0; i < indices->rank; i++)
                dims[rank++] = indices->dims[i];
        for (int i = (int)axis + 1; i < x->rank; i++)
                dims[rank++] = x->dims[i];
        return rule_shape(m, op, x->element, rank, dims, diag);
}

/* Do the indices fit into x, but for the axis? */
static bool fit_along(struct module *m, const struct type *x, const struct type *indices,
                      int64_t axis)
{
        bool fits = indices->rank == x->rank, empty = false;
        for (int i = 0; i < x->rank && fits; i++)
                empty = empty || dim_is(indices->dims[i], 0);
        for (int i = 0; i < x->rank && fits && !empty; i++) {
                dim_t a = indices->dims[i], b = x->dims[i];
                fits = i == axis || dim_equal(a, b) ||
                       (dim_is_static(b) && dim_bound(m, a) <= dim_extent(b));
        }
        return fits;
}

bool type_gather_elements(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *indices = operand_type(op, 1);
        int64_t axis = op_int(op, "axis");
        if (!check_index_type(m, op, diag) || !rule_axis(op, axis, x->rank, "axis", diag))
                return false;
        if (!fit_along(m, x, indices, axis))
                return rule_fail(op, diag, "operand indices is %s, does not fit into %s",
                                 rule_type(m, indices), rule_type(m, x));
        return check_indices(op, op_operand(op, 1), &x->dims[axis], 1, diag) &&
               rule_result(m, op, 0, type_with_element(m, indices, x->element), diag);
}

bool type_gather_nd(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *indices = operand_type(op, 1);
        int64_t shared = op_int(op, "batch_dims");
        dim_t dims[2 * RANK_MAX];
        int rank = 0;
        if (!check_index_type(m, op, diag))
                return false;
        if (shared < 0 || shared >= x->rank || shared >= indices->rank)
                return rule_fail(op, diag, "batch_dims is %lld, want less than both ranks",
                                 (long long)shared);
        dim_t width = indices->dims[indices->rank - 1];
        if (!dim_is_static(width) || dim_extent(width) < 1 || dim_extent(width) > x->rank - shared)
                return rule_fail(op, diag, "operand indices is %s, want tuples of 1 to %d",
                                 rule_type(m, indices), x->rank - (int)shared);
        for (int i = 0; i < indices->rank - 1; i++) {
                if (i < shared && !dim_equal(indices->dims[i], x->dims[i]))
                        return rule_fail(op, diag, "dimension %d is %s and %s, want equal extents",
                                         i, rule_dim(m, x->dims[i]), rule_dim(m, indices->dims[i]));
                dims[rank++] = indices->dims[i];
        }
        for (int i = (int)(shared + dim_extent(width)); i < x->rank; i++)
                dims[rank++] = x->dims[i];
        return check_indices(op, op_operand(op, 1), x->dims + shared, (int)dim_extent(width),
                             diag) &&
               rule_shape(m, op, x->element, rank, dims, diag);
}

/* Is there one tuple for each slice of x that is updated? */
static bool fit_tuples(const struct type *x, const struct type *indices, const struct type *updates)
{
        int outer = indices->rank - 1;
        if (outer < 0 || !dim_is_static(indices->dims[outer]))
                return false;
        int64_t width = type_extent(indices, outer);
        bool fits = width >= 1 && width <= x->rank && updates->rank == outer + x->rank - width;
        for (int i = 0; fits && i < updates->rank; i++)
                fits = dim_equal(updates->dims[i],
                                 i < outer ? indices->dims[i] : x->dims[i - outer + width]);
        return fits;
}

/* Is there an index for each update along the axis, and along each other dimension for each update
 * or for all? */
static bool fit_updates(const struct type *indices, const struct type *updates, int64_t axis)
{
        bool fits = indices->rank == updates->rank;
        for (int i = 0; i < updates->rank && fits; i++)
                fits = dim_equal(indices->dims[i], updates->dims[i]) ||
                       (i != axis && dim_is(indices->dims[i], 1));
        return fits;
}

bool type_scatter(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *indices = operand_type(op, 1),
                          *updates = operand_type(op, 2);
        int64_t kind = op_int(op, "kind"), axis = op_int(op, "axis");
        bool along = axis != -1;
        if (!check_index_type(m, op, diag) ||
            (along && !rule_axis(op, axis, x->rank, "axis", diag)))
                return false;
        bool fits = updates->element == x->element &&
                    (along ? fit_updates(indices, updates, axis) && fit_along(m, x, updates, axis)
                           : fit_tuples(x, indices, updates));
        if (!fits)
                return rule_fail(op, diag, "operand updates is %s, does not fit into %s at %s",
                                 rule_type(m, updates), rule_type(m, x), rule_type(m, indices));
        if (kind &&
            !rule_combines(op, x->element, reducer_takes_any((enum reducer)(kind - 1)), diag))
                return false;
        const dim_t *extents = along ? &x->dims[axis] : x->dims;
        int width = along ? 1 : (int)type_extent(indices, indices->rank - 1);
        return check_indices(op, op_operand(op, 1), extents, width, diag) &&
               rule_result(m, op, 0, x, diag);
}

bool type_decode_image(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *y = rule_given(m, op, E_U8, 3, diag);

        if (!y)
                return false;
        if (x->element != E_U8 || x->rank != 1)
                return rule_fail(op, diag, "operand x is %s, want bytes", rule_type(m, x));
        if (!type_is_static(y) || type_is_empty(y) ||
            type_extent(y, 2) != pixels_info[op_int(op, "pixels")].channels ||
            type_extent(y, 0) > IMAGE_EXTENT_MAX || type_extent(y, 1) > IMAGE_EXTENT_MAX)
                return rule_fail(op, diag, "the result is %s", rule_type(m, y));
        return rule_result(m, op, 0, y, diag);
}

/* ---- order ---- */

bool type_argsort(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *x = operand_type(op, 0), *y = rule_given(m, op, E_I64, x->rank, diag);
        int64_t axis = op_int(op, "axis");
        if (!y || !rule_axis(op, axis, x->rank, "axis", diag))
                return false;
        if (!element_is_float(x->element) && !element_is_integer(x->element) &&
            x->element != E_BOOL)
                return rule_fail(op, diag, "cannot compare elements of type %s",
                                 element_info[x->element].text);
        for (int i = 0; i < x->rank; i++)
                if (i == axis ? dim_bound(m, y->dims[i]) > dim_bound(m, x->dims[i])
                              : !dim_equal(y->dims[i], x->dims[i]))
                        return rule_fail(op, diag, "result is %s, does not fit into %s",
                                         rule_type(m, y), rule_type(m, x));
        int64_t descending = op_int(op, "descending");
        return descending == 0 || descending == 1 ||
               rule_fail(op, diag, "descending is %lld, want 0 or 1", (long long)descending);
}

/* ---- iota, extent ---- */

bool type_extent_of(struct module *m, struct op *op, struct diag *diag)
{
        int64_t axis = op_int(op, "axis");
        return rule_axis(op, axis, operand_type(op, 0)->rank, "axis", diag) &&
               rule_shape(m, op, E_I64, 0, NULL, diag);
}

bool type_counted(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *n = operand_type(op, 0), *y = rule_given(m, op, E_I64, 1, diag);
        if (!y)
                return false;
        if (n->rank || n->element != E_I64)
                return rule_fail(op, diag, "n is %s, want one i64", rule_type(m, n));
        if (dim_is_static(y->dims[0]) || dim_term(m, y->dims[0])->kind != DIM_SYMBOL ||
            !m->symbols[dim_term(m, y->dims[0])->symbol].counted)
                return rule_fail(op, diag, "result is %s, want a counted symbol as its extent",
                                 rule_type(m, y));
        return !op->region->owner || op->region->owner->code != OP_fusion ||
               rule_fail(op, diag, "is in a kernel");
}

bool type_iota(struct module *m, struct op *op, struct diag *diag)
{
        const struct type *y = rule_given(m, op, -1, -1, diag);
        if (!y)
                return false;
        if (y->element == E_BOOL)
                return rule_fail(op, diag, "result is %s, want numbers", rule_type(m, y));
        return rule_axis(op, op_int(op, "axis"), y->rank, "axis", diag);
}
