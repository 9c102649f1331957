/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def on operations that move elements, on convolve, and on control flow. */
#include "passes/simplify/simplify.h"

#include <string.h>

#include "base/size.h"

static bool same_dims(const struct value *v, const struct op *op)
{
        return type_same_dims(v->type, op->results[0].type);
}

struct value *rewrite_reshape_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        if (same_dims(x, op))
                return x;
        if (!op_is(x, OP_reshape))
                return NULL;
        return build_reshape(b, op_operand(x->op, 0), op->results[0].type->rank,
                             op->results[0].type->dims);
}

struct value *rewrite_transpose_transpose(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        int rank;
        const int64_t *outer = op_ints(op, "perm", &rank);
        bool identity = true;
        for (int i = 0; i < rank; i++)
                identity &= outer[i] == i;
        if (identity)
                return x;
        if (!op_is(x, OP_transpose))
                return NULL;
        const int64_t *inner = op_ints(x->op, "perm", NULL);
        int64_t both[RANK_MAX];
        for (int i = 0; i < rank; i++)
                both[i] = inner[outer[i]];
        return build_transpose(b, op_operand(x->op, 0), both);
}

struct value *rewrite_transpose_reshape(struct builder *b, struct op *op,
                                        struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        int rank;
        const int64_t *perm = op_ints(op, "perm", &rank);
        int64_t last = -1;
        for (int i = 0; i < rank; i++) {
                if (dim_is(x->type->dims[perm[i]], 1))
                        continue;
                if (perm[i] < last)
                        return NULL;
                last = perm[i];
        }
        return build_reshape(b, x, rank, op->results[0].type->dims);
}

struct value *rewrite_broadcast_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        const struct type *t = op->results[0].type;
        if (same_dims(x, op))
                return x;
        if (!type_is_static(t) || !type_is_static(x->type) ||
            type_elements(t) != type_elements(x->type))
                return NULL;
        return build_reshape(b, x, t->rank, t->dims);
}

struct value *rewrite_broadcast_broadcast(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        if (!op_is(x, OP_broadcast))
                return NULL;
        struct value *source = op_operand(x->op, 0);
        const int64_t *outer = op_ints(op, "dims", NULL), *inner = op_ints(x->op, "dims", NULL);
        int64_t both[RANK_MAX];
        for (int i = 0; i < source->type->rank; i++)
                both[i] = outer[inner[i]];
        return build_broadcast(b, source, op->results[0].type, both);
}

/* Finds the constant starts and steps of a slice. */
static bool slice_bounds(const struct op *op, int64_t starts[RANK_MAX], int64_t steps[RANK_MAX])
{
        int n, k;
        return value_ints(op_operand(op, 1), starts, RANK_MAX, &n) &&
               value_ints(op_operand(op, 2), steps, RANK_MAX, &k);
}

/* Joins dimensions from *d of a slice's operand, as a reshape joins those of the slice in a
 * dimension of extent `to`: *d becomes the first one behind them, *from the extent of the operand,
 * *start where the slice begins in it. Returns false where the slice's elements would not lie side
 * by side, which they do where it takes all of every joined dimension but the first. */
static bool join_sliced(const struct type *x, const struct type *part, const int64_t *starts,
                        dim_t to, int *d, dim_t *from, int64_t *start)
{
        int64_t whole = 1, taken = 1;

        if (*d == x->rank)
                return false;
        *from = x->dims[*d];
        *start = starts[*d];
        if (dim_equal(part->dims[*d], to)) {
                ++*d;
                return true;
        }
        for (bool first = true; !first || *d < x->rank; first = false, ++*d) {
                if (!first && dim_is_static(to) && taken == dim_extent(to))
                        break;
                if (*d == x->rank || !dim_is_static(x->dims[*d]) || !dim_is_static(part->dims[*d]))
                        return false;
                const int64_t extent = dim_extent(x->dims[*d]);
                if (!first && (starts[*d] || !dim_is(part->dims[*d], extent)))
                        return false;
                if (!int_mul(whole, extent, &whole) || !int_mul(*start, first ? 1 : extent, start))
                        return false;
                taken *= dim_extent(part->dims[*d]);
        }
        *from = dim_of(whole);
        return dim_is(to, taken);
}

struct value *rewrite_reshape_slice(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *part = op_operand(op, 0), *x;
        const struct type *t = op->results[0].type;
        int64_t starts[RANK_MAX], steps[RANK_MAX], joined[RANK_MAX];
        dim_t dims[RANK_MAX];
        int d = 0;

        if (type_is_static(t) || !op_is(part, OP_slice) || !slice_bounds(part->op, starts, steps))
                return NULL;
        x = op_operand(part->op, 0);
        for (int i = 0; i < x->type->rank; i++)
                if (steps[i] != 1)
                        return NULL;
        for (int i = 0; i < t->rank; i++)
                if (!join_sliced(x->type, part->type, starts, t->dims[i], &d, &dims[i], &joined[i]))
                        return NULL;
        if (d < x->type->rank)
                return NULL;
        return build_slice(b, build_reshape(b, x, t->rank, dims), joined, steps, t->dims);
}

struct value *rewrite_slice_all(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        if (!same_dims(op_operand(op, 0), op) || !slice_bounds(op, starts, steps))
                return NULL;
        for (int i = 0; i < op->results[0].type->rank; i++)
                if (type_extent(op->results[0].type, i) > 1 && (starts[i] != 0 || steps[i] != 1))
                        return NULL;
        return op_operand(op, 0);
}

struct value *rewrite_slice_slice(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        int64_t starts[RANK_MAX], steps[RANK_MAX], inner_starts[RANK_MAX], inner_steps[RANK_MAX];
        if (!op_is(x, OP_slice) || !slice_bounds(op, starts, steps) ||
            !slice_bounds(x->op, inner_starts, inner_steps))
                return NULL;
        const struct type *t = op->results[0].type;
        for (int i = 0; i < t->rank; i++) {
                if (dim_is(t->dims[i], 0))
                        return NULL;
                /* The start is within x, so it does not overflow. */
                starts[i] = inner_starts[i] + starts[i] * inner_steps[i];
                if (!int_mul(steps[i], inner_steps[i], &steps[i]))
                        return NULL;
        }
        return build_slice(b, op_operand(x->op, 0), starts, steps, t->dims);
}

struct value *rewrite_pad_none(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        int64_t low[RANK_MAX];
        int n;
        if (!same_dims(op_operand(op, 0), op) || !value_ints(op_operand(op, 2), low, RANK_MAX, &n))
                return NULL;
        for (int i = 0; i < n; i++)
                if (low[i] != 0)
                        return NULL;
        return op_operand(op, 0);
}

struct value *rewrite_concat_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value **kept = arena_array(b->m->arena, (size_t)op->operand_count, sizeof *kept);
        int count = 0;
        int axis = (int)op_int(op, "axis");
        for (int i = 0; i < op->operand_count; i++)
                if (!dim_is(op_operand(op, i)->type->dims[axis], 0))
                        kept[count++] = op_operand(op, i);
        if (count == op->operand_count && count > 1)
                return NULL;
        if (count == 0)
                return op_operand(op, 0)->type == op->results[0].type ? op_operand(op, 0) : NULL;
        return count == 1 ? kept[0] : build_concat(b, kept, count, axis);
}

struct value *rewrite_concat_concat(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        int64_t axis = op_int(op, "axis");
        int total = 0;
        bool found = false;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                bool nested = op_is(x, OP_concat) && op_int(x->op, "axis") == axis &&
                              value_has_one_use(x);
                total += nested ? x->op->operand_count : 1;
                found |= nested;
        }
        if (!found)
                return NULL;
        struct value **all = arena_array(b->m->arena, (size_t)total, sizeof *all);
        int count = 0;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                if (!(op_is(x, OP_concat) && op_int(x->op, "axis") == axis &&
                      value_has_one_use(x))) {
                        all[count++] = x;
                        continue;
                }
                for (int j = 0; j < x->op->operand_count; j++)
                        all[count++] = op_operand(x->op, j);
        }
        return build_concat(b, all, count, (int)axis);
}

/* Returns how many of a concat's operands from `first` on are neighbours, along the axis, in one
 * value; *part: that part of the value. */
static int joined_slices(struct builder *b, const struct op *op, int first, struct value **part)
{
        int axis = (int)op_int(op, "axis"), count = 0;
        int64_t begin[RANK_MAX], starts[RANK_MAX], steps[RANK_MAX], end = 0;
        struct value *source = NULL;
        for (int i = first; i < op->operand_count; i++, count++) {
                struct value *x = op_operand(op, i);
                if (!op_is(x, OP_slice) || (count && op_operand(x->op, 0) != source) ||
                    !slice_bounds(x->op, starts, steps))
                        break;
                source = op_operand(x->op, 0);
                bool neighbour = !count || starts[axis] == end;
                for (int d = 0; d < x->type->rank; d++) {
                        neighbour &=
                                steps[d] == 1 && (d == axis || !count || starts[d] == begin[d]);
                        begin[d] = count ? begin[d] : starts[d];
                }
                if (!neighbour)
                        break;
                end = starts[axis] + type_extent(x->type, axis);
        }
        if (count < 2)
                return count;
        dim_t dims[RANK_MAX];
        memcpy(dims, op->results[0].type->dims, (size_t)source->type->rank * sizeof *dims);
        dims[axis] = dim_of(end - begin[axis]);
        for (int d = 0; d < source->type->rank; d++)
                steps[d] = 1;
        *part = build_slice(b, source, begin, steps, dims);
        return *part ? count : 0;
}

struct value *rewrite_concat_slices(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value **parts = arena_array(b->m->arena, (size_t)op->operand_count, sizeof *parts);
        int count = 0;
        if (!type_is_static_from(op->results[0].type, 1))
                return NULL;
        for (int i = 0; i < op->operand_count;) {
                parts[count] = op_operand(op, i);
                int joined = joined_slices(b, op, i, &parts[count++]);
                i += joined ? joined : 1;
        }
        return count < op->operand_count ? build_concat(b, parts, count, (int)op_int(op, "axis"))
                                         : NULL;
}

/* Returns how many times each index of the axis comes in a row, as in a resize by nearest
 * neighbours. */
static int64_t repeats(const struct value *indices, int64_t extent)
{
        if (!value_is_constant(indices) || indices->constant->kind == CONSTANT_SPLAT ||
            indices->type->rank != 1 || !extent)
                return 1;
        int64_t count = type_extent(indices->type, 0), times = count / extent;
        for (int64_t i = 0; i < count; i++)
                if (count % extent || constant_element(indices->constant, i).i != i / times)
                        return 1;
        return times;
}

struct value *rewrite_gather_repeated(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        struct value *x = op_operand(op, 0);
        const struct type *y = op->results[0].type;
        int axis = (int)op_int(op, "axis"), rank = x->type->rank;
        if (!target_engine(context->target)->vectors || !type_is_bound(b->m, x->type) ||
            rank == RANK_MAX)
                return NULL;
        int64_t times = repeats(op_operand(op, 1), type_extent(x->type, axis)), onto[RANK_MAX];
        dim_t dims[RANK_MAX];
        if (times < 2)
                return NULL;
        for (int d = 0; d < rank; d++) {
                onto[d] = d + (d > axis);
                dims[onto[d]] = x->type->dims[d];
        }
        dims[axis + 1] = dim_of(times);
        const struct type *wide = type_tensor(b->m, x->type->element, rank + 1, dims);
        return build_reshape(b, build_broadcast(b, x, wide, onto), rank, y->dims);
}

static struct value *without_axes(struct builder *b, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t axes[RANK_MAX];
        int n;
        if (x->type->element != op->results[0].type->element ||
            !value_ints(op_operand(op, 1), axes, RANK_MAX, &n))
                return NULL;
        for (int i = 0; i < n; i++)
                if (!dim_is(x->type->dims[axes[i] < 0 ? axes[i] + x->type->rank : axes[i]], 1))
                        return NULL;
        return build_reshape(b, x, op->results[0].type->rank, op->results[0].type->dims);
}

static bool is_float_sum(const struct op *op)
{
        return op_int(op, "kind") == REDUCE_sum && element_is_float(op->results[0].type->element);
}

struct value *rewrite_reduce_nothing(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return is_float_sum(op) ? NULL : without_axes(b, op);
}

struct value *rewrite_sum_of_nothing(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return is_float_sum(op) ? without_axes(b, op) : NULL;
}

/* Makes zeros that a pad puts around x pads of the convolution. A pad that crops stays. */
struct value *rewrite_pad_into_convolve(struct builder *b, struct op *op,
                                        struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        double zero;
        int64_t low[RANK_MAX];
        int n;
        if (!op_is(x, OP_pad) || op_int(x->op, "mode") != 0 ||
            !value_is_splat(op_operand(x->op, 1), &zero) || zero != 0 ||
            !value_ints(op_operand(x->op, 2), low, RANK_MAX, &n))
                return NULL;
        struct value *source = op_operand(x->op, 0);
        int spatial = x->type->rank - 2;
        int64_t pads[2 * RANK_MAX];
        int pad_count, dilation_count;
        const int64_t *old = op_ints(op, "pads", &pad_count);
        const int64_t *dilations = op_ints(op, "input_dilations", &dilation_count);
        if (pad_count != 2 * spatial)
                return NULL;
        for (int i = 0; i < x->type->rank; i++) {
                const bool all = !low[i] && dim_equal(x->type->dims[i], source->type->dims[i]);
                int64_t high = all ? 0
                                   : type_extent(x->type, i) - type_extent(source->type, i) -
                                             low[i];
                if (low[i] < 0 || high < 0 || (i < 2 && (low[i] || high)) ||
                    (i >= 2 && dilations[i - 2] != 1))
                        return NULL;
                if (i < 2)
                        continue;
                if (old[i - 2] < 0 || old[spatial + i - 2] < 0)
                        return NULL;
                pads[i - 2] = old[i - 2] + low[i];
                pads[spatial + i - 2] = old[spatial + i - 2] + high;
        }
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[OP_convolve].attr_count);
        attr_set_ints(b->m, attrs, OP_convolve, "pads", pads, 2 * spatial);
        struct value *operands[] = { source, op_operand(op, 1) };
        return value_build(b, OP_convolve, operands, 2, attrs, op->results[0].type);
}

/* Is the condition of an if constant, or that of an if around it? *condition: its value. */
static bool is_known(const struct op *op, bool *condition)
{
        double number;
        if (value_is_splat(op_operand(op, 0), &number)) {
                *condition = number != 0;
                return true;
        }
        for (const struct region *r = op->region; r->owner; r = r->owner->region) {
                *condition = r == r->owner->regions[0];
                if (r->owner->code == OP_if && op_operand(r->owner, 0) == op_operand(op, 0))
                        return true;
        }
        return false;
}

/* Returns the branch that a known condition takes, after moving its operations out; NULL: the
 * condition is not known. */
static const struct region *branch_taken(struct op *op)
{
        bool condition;
        if (!is_known(op, &condition))
                return NULL;
        const struct region *taken = op->regions[condition ? 0 : 1];
        for (struct op *moved = taken->first, *next; moved && moved != taken->last; moved = next) {
                next = moved->next;
                op_move_before(moved, op);
        }
        return taken;
}

struct value *rewrite_if_constant(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        const struct region *taken = branch_taken(op);
        return taken ? op_operand(taken->last, 0) : NULL;
}

/* Are these few operations, which select can compute on both sides, in one kernel with it? */
static bool is_small(const struct region *branch)
{
        enum { SMALL = 4 };
        int count = 0;
        for (const struct op *op = branch->first; op != branch->last; op = op->next)
                if (++count > SMALL || op_info[op->code].traits & TRAIT_COSTLY ||
                    !(op->code == OP_broadcast || op_info[op->code].traits & TRAIT_ELEMENTWISE))
                        return false;
        return true;
}

struct value *rewrite_if_select(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *sides[2];
        const struct type *t = op_result(op)->type;
        if (t->kind != TYPE_TENSOR || !type_is_static(t) || !is_small(op->regions[0]) ||
            !is_small(op->regions[1]))
                return NULL;
        for (int i = 0; i < 2; i++) {
                struct op *yield = op->regions[i]->last;
                for (struct op *moved = op->regions[i]->first, *next; moved != yield;
                     moved = next) {
                        next = moved->next;
                        op_move_before(moved, op);
                }
                sides[i] = op_operand(yield, 0);
        }
        return build_select(b,
                            build_broadcast(b, op_operand(op, 0),
                                            type_with_element(b->m, t, E_BOOL), NULL),
                            sides[0], sides[1]);
}

bool simplify_if(struct op *op)
{
        const struct region *taken = op->code == OP_if ? branch_taken(op) : NULL;
        for (int i = 0; taken && i < op->result_count; i++)
                value_replace(&op->results[i], op_operand(taken->last, i));
        return taken;
}
