/* SPDX-License-Identifier: MIT */
/* Reductions of windows are pools, sums of slices, and running sums. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/export/exporter.h"

enum {
        SLICED = 9,                     /* Sums of windows of at most so many elements are added up
                                         * one by one, exactly as here. */
        SLICED_MOST = 1024,             /* Up to so many elements are where there is no other
                                         * way. */
        SPATIAL_MOST = 3 /* A pool that runtimes have has at most so many dimensions. */
};

/* ---- windows ---- */

/* This is a window over x as nodes for images see it: [N, C, spatial], where N and C are no part of
 * it. */
struct image {
        int rank; /* There are so many spatial dimensions. */
        dim_t dims[RANK_MAX + 2], out[RANK_MAX + 2];
        int64_t window[RANK_MAX], strides[RANK_MAX], dilations[RANK_MAX], pads[2 * RANK_MAX];
        int64_t low[RANK_MAX], high[RANK_MAX];
};

static const int64_t *ints(const struct op *op, const char *name)
{
        return op_ints(op, name, NULL);
}

static bool is_outside(const struct op *op, int d)
{
        int rank = op_result(op)->type->rank;
        return ints(op, "window")[d] == 1 && ints(op, "strides")[d] == 1 && !ints(op, "pads")[d] &&
               !ints(op, "pads")[rank + d];
}

static void add_spatial(struct image *im, const struct op *op, int d)
{
        int rank = op_result(op)->type->rank, at = im->rank++;
        im->dims[at + 2] = op_operand(op, 0)->type->dims[d];
        im->out[at + 2] = op_result(op)->type->dims[d];
        im->window[at] = ints(op, "window")[d];
        im->strides[at] = ints(op, "strides")[d];
        im->dilations[at] = ints(op, "dilations")[d];
        im->low[at] = ints(op, "pads")[d];
        im->high[at] = ints(op, "pads")[rank + d];
}

/* Returns the image as it is where the first two dimensions are outside of the window; else
 * dimensions outside that are neighbours become one. */
static struct image image_of(const struct op *op)
{
        struct image im = { .rank = 0 };
        struct module *m = op->region->function->module;
        const struct type *t = op_operand(op, 0)->type;
        int first = 0;
        if (t->rank >= 3 && t->rank - 2 <= SPATIAL_MOST && is_outside(op, 0) && is_outside(op, 1)) {
                im.dims[0] = im.out[0] = t->dims[0];
                im.dims[1] = im.out[1] = t->dims[1];
                first = 2;
        } else {
                im.dims[0] = im.dims[1] = im.out[0] = im.out[1] = dim_of(1);
                for (; first < t->rank && is_outside(op, first); first++)
                        im.out[0] = im.dims[0] =
                                dim_binary(m, DIM_MUL, im.dims[0], t->dims[first]);
        }
        for (int d = first; d < t->rank; d++) {
                bool joins = first < 2 && d > first && is_outside(op, d) && is_outside(op, d - 1);
                if (!joins)
                        add_spatial(&im, op, d);
                else
                        im.out[im.rank + 1] = im.dims[im.rank + 1] =
                                dim_binary(m, DIM_MUL, im.dims[im.rank + 1], t->dims[d]);
        }
        return im;
}

static int64_t window_size(const struct op *op)
{
        int64_t size = 1;
        for (int d = 0; d < op_result(op)->type->rank; d++)
                size = size > SLICED_MOST ? size : size * ints(op, "window")[d];
        return size;
}

/* Returns whether a pool takes these pads: none is negative, and each is smaller than the
 * window. */
static bool is_poolable(const struct image *im)
{
        for (int d = 0; d < im->rank; d++) {
                int64_t extent = (im->window[d] - 1) * im->dilations[d] + 1;
                if (im->low[d] < 0 || im->high[d] < 0 || im->low[d] >= extent ||
                    im->high[d] >= extent || dim_is(im->dims[d + 2], 0))
                        return false;
        }
        return im->rank >= 1 && im->rank <= SPATIAL_MOST;
}

static struct made *pool(struct export *e, const char *name, const struct image *im, struct made *x)
{
        int64_t pads[2 * RANK_MAX];
        bool dilated = false;
        memcpy(pads, im->low, (size_t)im->rank * sizeof *pads);
        memcpy(pads + im->rank, im->high, (size_t)im->rank * sizeof *pads);
        x = export_reshape(e, x, im->rank + 2, im->dims);
        struct made *y = export_unary(
                e, name, type_tensor(e->m, x->type->element, im->rank + 2, im->out), x);
        export_ints(e, "kernel_shape", im->window, im->rank);
        export_ints(e, "strides", im->strides, im->rank);
        for (int d = 0; d < im->rank; d++)
                dilated |= im->dilations[d] != 1;
        if (dilated)
                export_ints(e, "dilations", im->dilations, im->rank);
        export_ints(e, "pads", pads, 2 * im->rank);
        return y;
}

static bool has_pads(const struct image *im)
{
        bool found = false;
        for (int d = 0; d < im->rank; d++)
                found |= im->low[d] || im->high[d];
        return found;
}

static struct made *shaped(struct export *e, const struct op *op, struct made *y)
{
        const struct type *to = op_result(op)->type;
        return export_reshape(e, y, to->rank, to->dims);
}

/* Returns the number that adds nothing to a window. */
static struct made *identity(struct export *e, enum reducer kind, enum element element)
{
        bool real = element_is_float(element), sign = element_info[element].class == CLASS_SINT;
        int bits = 8 * element_info[element].bytes;
        if (kind == REDUCE_sum || kind == REDUCE_prod)
                return export_scalar(e, element, kind == REDUCE_prod);
        bool low = kind == REDUCE_max;
        if (real)
                return export_scalar(e, element, low ? -INFINITY : INFINITY);
        uint64_t top = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        uint64_t least = sign ? UINT64_C(1) << (bits - 1) : 0;
        return export_integer(e, element, (int64_t)(low ? least : sign ? top >> 1 : top));
}

/* Returns x with what lies around it, as far as windows reach. */
static struct made *surrounded(struct export *e, const struct op *op, struct made *x,
                               enum reducer kind)
{
        const struct type *t = x->type, *to = op_result(op)->type;
        int64_t pads[2 * RANK_MAX], *high = pads + t->rank;
        dim_t dims[RANK_MAX];
        bool none = true;
        for (int d = 0; d < t->rank; d++) {
                const int64_t stride = ints(op, "strides")[d],
                              behind = (ints(op, "window")[d] - 1) * ints(op, "dilations")[d] + 1 -
                                       stride;
                const dim_t steps = dim_binary(e->m, DIM_MUL, to->dims[d], dim_of(stride));
                pads[d] = ints(op, "pads")[d];
                high[d] = export_more(e, steps, t->dims[d]) + behind - pads[d];
        }
        x = export_crop(e, x, 0, t->rank, pads, high);
        for (int d = 0; d < t->rank; d++) {
                none &= !pads[d] && !high[d];
                dims[d] = dim_binary(e->m, DIM_ADD, x->type->dims[d], dim_of(pads[d] + high[d]));
        }
        if (none)
                return x;
        return export_node(e, "Pad", type_tensor(e->m, t->element, t->rank, dims),
                           (struct made *[]){ x, export_numbers(e, pads, 2 * t->rank),
                                              identity(e, kind, t->element) },
                           3);
}

/* Combines element after element of the windows, as slices, in their order. */
static struct made *sliced(struct export *e, const struct op *op, struct made *x)
{
        static const char *const names[] = {
                [REDUCE_sum] = "Add",
                [REDUCE_prod] = "Mul",
                [REDUCE_max] = "Max",
                [REDUCE_min] = "Min",
        };
        enum reducer kind = (enum reducer)op_int(op, "kind");
        const struct type *to = op_result(op)->type;
        int64_t size = window_size(op), starts[RANK_MAX];
        struct made *sum = NULL;
        x = surrounded(e, op, x, kind);
        for (int64_t i = 0; i < size; i++) {
                int64_t rest = i;
                for (int d = to->rank - 1; d >= 0; d--) {
                        int64_t window = ints(op, "window")[d];
                        starts[d] = rest % window * ints(op, "dilations")[d];
                        rest /= window;
                }
                struct made *part = export_slice(e, x, starts, ints(op, "strides"), to->dims);
                sum = sum ? export_binary(e, names[kind], part->type, sum, part) : part;
        }
        return sum;
}

static bool has_max_pool(enum element element)
{
        return element_is_float(element) || element == E_I8 || element == E_U8;
}

void write_reduce_window(struct export *e, const struct op *op, const struct plan *plan)
{
        enum reducer kind = (enum reducer)op_int(op, "kind");
        const struct type *to = op_result(op)->type;
        struct image im = image_of(op);
        int64_t size = window_size(op);
        enum element computed = export_reduced_in(op);
        (void)plan;
        struct made *x = export_cast(e, export_value(e, op_operand(op, 0)), computed), *y;
        bool real = element_is_float(computed), poolable = is_poolable(&im) && !type_is_empty(to);
        if (kind == REDUCE_max && has_max_pool(computed) && poolable) {
                y = shaped(e, op, pool(e, "MaxPool", &im, x));
        } else if (kind == REDUCE_min && real && poolable) {
                y = pool(e, "MaxPool", &im, export_unary(e, "Neg", x->type, x));
                y = shaped(e, op, export_unary(e, "Neg", y->type, y));
        } else if (kind == REDUCE_sum && real && poolable && size > SLICED) {
                double count = 1;
                for (int d = 0; d < im.rank; d++)
                        count *= (double)im.window[d];
                y = pool(e, "AveragePool", &im, x);
                if (has_pads(&im))
                        export_int(e, "count_include_pad", 1);
                y = export_binary(e, "Mul", y->type, y, export_scalar(e, computed, count));
                y = shaped(e, op, y);
        } else if (size > SLICED_MOST) {
                export_refuse(e, op, "a window of more than 1024 elements");
                return;
        } else {
                y = sliced(e, op, x);
        }
        export_result(e, op, 0, export_cast(e, y, to->element));
}

void write_arg_window(struct export *e, const struct op *op, const struct plan *plan)
{
        struct image im = image_of(op);
        struct made *x = export_value(e, op_operand(op, 0));
        enum element own = x->type->element;
        (void)plan;
        if (!is_poolable(&im) || own == E_I64 || own == E_U64 ||
            type_is_empty(op_result(op)->type)) {
                export_refuse(e, op, "no pool has such windows");
                return;
        }
        pool(e, "MaxPool", &im, has_max_pool(own) ? x : export_cast(e, x, E_F64));
        struct made *at = export_output(e, type_tensor(e->m, E_I64, im.rank + 2, im.out));
        export_result(e, op, 0, shaped(e, op, at));
}

/* ---- averages ---- */

/* Returns element `index` of a value made of constants by spreading and multiplication, or NaN of
 * anything else. Recursion goes as deep as there are dimensions. */
static double element_at(const struct value *v, const int64_t *index, int depth)
{
        const struct type *t = v->type;
        double number;
        if (value_is_splat(v, &number))
                return number;
        if (value_is_constant(v) && element_is_float(t->element)) {
                int64_t at = 0;
                for (int d = 0; d < t->rank; d++)
                        at = at * type_extent(t, d) + (dim_is(t->dims[d], 1) ? 0 : index[d]);
                return constant_element(v->constant, at).f;
        }
        if (depth && op_is(v, OP_broadcast)) {
                const struct value *x = op_operand(v->op, 0);
                int64_t inner[RANK_MAX];
                for (int d = 0; d < x->type->rank; d++)
                        inner[d] = dim_is(x->type->dims[d], 1) ? 0 : index[ints(v->op, "dims")[d]];
                return element_at(x, inner, depth - 1);
        }
        if (depth && op_is(v, OP_mul))
                return element_at(op_operand(v->op, 0), index, depth - 1) *
                       element_at(op_operand(v->op, 1), index, depth - 1);
        return NAN;
}

/* Returns how many elements of x the window at `index` has. */
static double count_at(const struct image *im, const int64_t *index)
{
        double count = 1;
        for (int d = 0; d < im->rank; d++) {
                int64_t start = index[d + 2] * im->strides[d] - im->low[d], inside = 0;
                for (int64_t k = 0; k < im->window[d]; k++) {
                        int64_t at = start + k * im->dilations[d];
                        inside += at >= 0 && at < dim_extent(im->dims[d + 2]);
                }
                count *= (double)inside;
        }
        return count;
}

/* Returns whether the divisor is the number of elements that each window has, without what is
 * around x. */
static bool divides_by_counts(const struct image *im, const struct value *divisor)
{
        enum { LOOKED_AT = 1 << 16, DEPTH = 6 };
        int64_t index[RANK_MAX] = { 0 }, places = 1;
        for (int d = 2; d < im->rank + 2; d++)
                places = places > LOOKED_AT ? places : places * dim_extent(im->out[d]);
        if (places > LOOKED_AT || !op_is(divisor, OP_broadcast))
                return false;
        for (int d = 0; d < op_operand(divisor->op, 0)->type->rank; d++) /* Images are alike. */
                if (ints(divisor->op, "dims")[d] < 2 &&
                    !dim_is(op_operand(divisor->op, 0)->type->dims[d], 1))
                        return false;
        for (int64_t i = 0; i < places; i++) {
                int64_t rest = i;
                for (int d = im->rank + 1; d >= 2; d--) {
                        index[d] = rest % dim_extent(im->out[d]);
                        rest /= dim_extent(im->out[d]);
                }
                if (element_at(divisor, index, DEPTH) != count_at(im, index))
                        return false;
        }
        return true;
}

/* Matches the sum of a window, divided by its size or by how much of it is inside. */
bool match_average(struct export *e, const struct op *op, struct plan *plan)
{
        double number, size = 1;
        const struct value *divided = export_divided(op, &number),
                           *sum = divided ? divided : op_operand(op, 0);
        (void)e;
        if ((!divided && op->code != OP_div) || !op_is(sum, OP_reduce_window) ||
            op_int(sum->op, "kind") != REDUCE_sum || op_int(sum->op, "accumulator") != E_COMPUTE ||
            !value_has_one_use(sum) || !element_is_float(sum->type->element) ||
            sum->type->rank < 3 || !is_outside(sum->op, 0) || !is_outside(sum->op, 1))
                return false;
        struct image im = image_of(sum->op);
        for (int d = 0; d < im.rank; d++)
                size *= (double)im.window[d];
        bool whole = divided && number == size;
        plan->product = sum->op;
        plan->wants[0] = op_operand(sum->op, 0);
        plan->want_count = 1;
        plan->full = whole;
        return is_poolable(&im) && !type_is_empty(sum->type) &&
               (whole || (op->code == OP_div && divides_by_counts(&im, op_operand(op, 1))));
}

void write_average(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct op *sum = plan->product;
        struct image im = image_of(sum);
        struct made *y = pool(e, "AveragePool", &im, export_value(e, plan->wants[0]));
        if (plan->full && has_pads(&im))
                export_int(e, "count_include_pad", 1);
        export_result(e, op, 0, shaped(e, sum, y));
}

/* ---- running sums ---- */

/* Returns the dimension along which windows reach back to the first element, or -1 where there is
 * none. */
static int running_along(const struct op *op)
{
        const struct type *t = op_operand(op, 0)->type;
        int found = -1;
        for (int d = 0; d < t->rank; d++) {
                int64_t window = ints(op, "window")[d], low = ints(op, "pads")[d],
                        high = ints(op, "pads")[t->rank + d];
                if (is_outside(op, d))
                        continue;
                bool back = dim_is(t->dims[d], window) && ints(op, "strides")[d] == 1 &&
                            ints(op, "dilations")[d] == 1 && window > 1 &&
                            ((low == window - 1 && high == 0) || (low == window && high == -1));
                if (!back || found >= 0)
                        return -1;
                found = d;
        }
        return found;
}

bool match_running(struct export *e, const struct op *op, struct plan *plan)
{
        enum element own = op_operand(op, 0)->type->element;
        (void)e;
        if (op_int(op, "kind") != REDUCE_sum || op_result(op)->type->element != own ||
            (element_info[own].bytes < 4 && !element_is_float(own)) || own == E_BOOL ||
            running_along(op) < 0)
                return false;
        plan->wants[0] = op_operand(op, 0);
        plan->want_count = 1;
        return true;
}

void write_running(struct export *e, const struct op *op, const struct plan *plan)
{
        int axis = running_along(op), rank = op_result(op)->type->rank;
        struct made *x = export_value(e, plan->wants[0]);
        struct made *y =
                export_binary(e, "CumSum", op_result(op)->type, x, export_integer(e, E_I64, axis));
        if (ints(op, "pads")[rank + axis] < 0)
                export_int(e, "exclusive", 1);
        export_result(e, op, 0, y);
}
