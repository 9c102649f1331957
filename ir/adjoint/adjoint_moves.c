/* SPDX-License-Identifier: MIT */
/* Adjoints of operations that move elements: what an element of the result had goes back to where
 * it came from. An element that went to several places gets their sum.
 *
 *      y = slice(x, [3], [2])         d x: d y with zeros between, placed at 3
 *      y = pad(x, low=[2])            d x: d y, placed at -2
 *      y = broadcast(x)               d x: sums of d y
 *      y = gather(x, t, axis=0)       d x: zeros, to whose rows t those of d y are added */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

bool adjoint_select(struct sweep *s, const struct op *op)
{
        struct value *d = sweep_of(s, op_result(op)), *c = op_operand(op, 0);
        struct value *zero = build_like(s->b, d, 0);
        return (!sweep_wants(s, op_operand(op, 1)) ||
                sweep_flow(s, op_operand(op, 1), build_select(s->b, c, d, zero))) &&
               (!sweep_wants(s, op_operand(op, 2)) ||
                sweep_flow(s, op_operand(op, 2), build_select(s->b, c, zero, d)));
}

bool adjoint_cast(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        return sweep_flow(s, x, build_cast(s->b, sweep_of(s, op_result(op)), x->type->element));
}

bool adjoint_reshape(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        return sweep_flow(s, x, build_reshape(s->b, sweep_of(s, op_result(op)), x->type->rank,
                                              x->type->dims));
}

bool adjoint_transpose(struct sweep *s, const struct op *op)
{
        const int64_t *perm = op_ints(op, "perm", NULL);
        int64_t back[RANK_MAX];
        for (int i = 0; i < op_result(op)->type->rank; i++)
                back[perm[i]] = i;
        return sweep_flow(s, op_operand(op, 0),
                          build_transpose(s->b, sweep_of(s, op_result(op)), back));
}

bool adjoint_broadcast(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        const struct type *y = op_result(op)->type;
        const int64_t *dims = op_ints(op, "dims", NULL);
        uint32_t kept = 0;
        int64_t axes[RANK_MAX];
        int count = 0;
        for (int i = 0; i < x->type->rank; i++)
                if (dim_equal(x->type->dims[i], y->dims[dims[i]]))
                        kept |= UINT32_C(1) << dims[i];
        for (int d = 0; d < y->rank; d++)
                if (!(kept >> d & 1))
                        axes[count++] = d;
        struct value *sum = build_reduce(s->b, REDUCE_sum, sweep_of(s, op_result(op)), axes, count);
        return sweep_flow(s, x, build_reshape(s->b, sum, x->type->rank, x->type->dims));
}

/* ---- slice, pad, concat ---- */

bool adjoint_slice(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0), *low = op_operand(op, 1),
                     *d = sweep_of(s, op_result(op));
        const struct type *y = op_result(op)->type;
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 2), steps, RANK_MAX, &count))
                return sweep_refuse(s, op, "its steps are known at run time only");
        bool moved = false, known = value_ints(low, starts, RANK_MAX, &count);
        for (int i = 0; i < count && !type_is_empty(y); i++) {
                if (steps[i] == 1 || (dim_is(y->dims[i], 1) && known))
                        continue;
                if (!known || (steps[i] < 0 && !dim_is_static(y->dims[i])))
                        return sweep_refuse(s, op, "it has steps from where a run says");
                if (steps[i] < 0) {
                        d = adjoint_reversed(s->b, d, i);
                        starts[i] += (type_extent(y, i) - 1) * steps[i];
                        steps[i] = -steps[i];
                        moved = true;
                }
                d = adjoint_spread_out(s->b, d, i, steps[i]);
        }
        if (moved)
                low = constant_ints(s->b->m, starts, count);
        return sweep_flow(s, x, adjoint_placed(s->b, d, low, x->type));
}

/* Returns where in the result of a pad elements of x lie. */
static struct value *inside_of(struct sweep *s, const struct op *op)
{
        struct builder *b = s->b;
        const bool yes = true, no = false;
        struct value *all = constant_splat(
                b->m, type_with_element(b->m, op_operand(op, 0)->type, E_BOOL), &yes);
        struct value *operands[] = { all, constant_splat(b->m, type_scalar(b->m, E_BOOL), &no),
                                     op_operand(op, 2) };
        return value_build(b, OP_pad, operands, 3, NULL,
                           type_with_element(b->m, op_result(op)->type, E_BOOL));
}

static struct value *sum_of_all(struct builder *b, struct value *x)
{
        int64_t axes[RANK_MAX];
        for (int i = 0; i < RANK_MAX; i++)
                axes[i] = i;
        return x ? build_reduce(b, REDUCE_sum, x, axes, x->type->rank) : NULL;
}

/* Adds what elements outside x of a pad by one axis get: places [first, first + count) of d go to
 * x's index `to`, and the next ones, or those before (step -1), or to the same (step 0). */
static struct value *with_outside(struct builder *b, struct value *sum, struct value *d, int axis,
                                  int64_t first, int64_t count, int64_t to, int64_t step)
{
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX], low[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        if (!sum || !d || count < 1)
                return sum;
        const struct type *x = sum->type;
        memcpy(dims, d->type->dims, (size_t)x->rank * sizeof *dims);
        for (int i = 0; i < x->rank; i++)
                steps[i] = 1;
        starts[axis] = first;
        dims[axis] = dim_of(count);
        struct value *part = build_slice(b, d, starts, steps, dims);
        if (!step) {
                int64_t along = axis;
                part = build_reduce(b, REDUCE_sum, part, &along, 1);
                dims[axis] = dim_of(1);
                part = build_reshape(b, part, x->rank, dims);
        } else if (step < 0) {
                part = adjoint_reversed(b, part, axis);
                to -= count - 1;
        }
        low[axis] = to;
        return build_binary(b, OP_add, sum, adjoint_placed_at(b, part, low, x));
}

/* Returns the derivative by an axis of extent n before the pad of it by mode reflect, edge or wrap,
 * `low` elements in front: each stretch of d that goes to x's elements in one direction is a
 * part. */
static struct value *unpadded(struct builder *b, struct value *d, int axis, int64_t low, int64_t n,
                              int64_t mode)
{
        int64_t lows[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        const int64_t padded = type_extent(d->type, axis);
        memcpy(dims, d->type->dims, (size_t)d->type->rank * sizeof *dims);
        dims[axis] = dim_of(n);
        lows[axis] = -low;
        struct value *sum = adjoint_placed_at(
                b, d, lows, type_tensor(b->m, d->type->element, d->type->rank, dims));
        /* Stretch k of a wrap begins at low + k n, of a reflection at low + k (n - 1); both ends of
         * that one are mirrors, each of which counts once. */
        const int64_t high = padded - low - n, period = mode == 1 ? n - 1 : n;
        if (mode == 2 || n == 1) {
                sum = with_outside(b, sum, d, axis, 0, low, 0, 0);
                return with_outside(b, sum, d, axis, low + n, high, n - 1, 0);
        }
        for (int64_t k = 1; low > (k - 1) * period; k++) {
                int64_t end = low - (k - 1) * period, first = end > period ? end - period : 0,
                        count = end - first;
                bool turned = mode == 1 && k % 2;
                /* The last element of the stretch is at `end` - 1. */
                int64_t last = mode == 3 ? n - 1 : turned ? 1 : n - 2;
                sum = turned ? with_outside(b, sum, d, axis, first, count, last + count - 1, -1)
                             : with_outside(b, sum, d, axis, first, count, last - count + 1, 1);
        }
        for (int64_t k = 1; high > (k - 1) * period; k++) {
                int64_t first = low + n + (k - 1) * period,
                        count = padded - first > period ? period : padded - first;
                bool turned = mode == 1 && k % 2;
                int64_t to = mode == 3 ? 0 : turned ? n - 2 : 1;
                sum = with_outside(b, sum, d, axis, first, count, to, turned ? -1 : 1);
        }
        return sum;
}

/* A pad that repeats its operand more often than this is refused. */
enum { REPEATED_MAX = 32 };

/* The pad of several axes is one of each after the other. */
static bool flow_repeated_pad(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0), *d = sweep_of(s, op_result(op));
        int64_t low[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 2), low, RANK_MAX, &count) || !op_is_static(op))
                return sweep_refuse(s, op, "its amounts are known at run time only");
        const struct type *y = op_result(op)->type;
        for (int i = 0; i < count; i++) {
                int64_t n = type_extent(x->type, i), more = type_extent(y, i) - n;
                if (low[i] < 0 || more < low[i])
                        return sweep_refuse(s, op, "it crops, and repeats elements");
                if (more / n > REPEATED_MAX)
                        return sweep_refuse(s, op, "it repeats elements too often");
        }
        for (int i = 0; i < count && d; i++)
                d = unpadded(s->b, d, i, low[i], type_extent(x->type, i), op_int(op, "mode"));
        return sweep_flow(s, x, d);
}

static struct value *negated(struct builder *b, struct value *low)
{
        int64_t amounts[RANK_MAX];
        int count;
        if (!value_ints(low, amounts, RANK_MAX, &count))
                return build_unary(b, OP_neg, low);
        for (int i = 0; i < count; i++)
                amounts[i] = -amounts[i];
        return constant_ints(b->m, amounts, count);
}

bool adjoint_pad(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0), *value = op_operand(op, 1), *low = op_operand(op, 2),
                     *d = sweep_of(s, op_result(op));
        if (op_int(op, "mode") != 0 && !type_is_empty(op_result(op)->type))
                return sweep_wants(s, x) ? flow_repeated_pad(s, op) : true;
        if (sweep_wants(s, x) &&
            !sweep_flow(s, x, adjoint_placed(s->b, d, negated(s->b, low), x->type)))
                return false;
        return !sweep_wants(s, value) ||
               sweep_flow(s, value,
                          sum_of_all(s->b, build_select(s->b, inside_of(s, op),
                                                        build_like(s->b, d, 0), d)));
}

bool adjoint_concat(struct sweep *s, const struct op *op)
{
        const int axis = (int)op_int(op, "axis");
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        for (int i = 0; i < RANK_MAX; i++)
                steps[i] = 1;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *x = op_operand(op, i);
                if (sweep_wants(s, x) && !sweep_flow(s, x, build_slice(s->b,
                                                                       sweep_of(s, op_result(op)),
                                                                       starts, steps,
                                                                       x->type->dims)))
                        return false;
                if (i + 1 == op->operand_count)
                        break;
                if (!dim_is_static(x->type->dims[axis]))
                        return sweep_refuse(s, op, "where its operands lie is known at run time "
                                                   "only");
                starts[axis] += type_extent(x->type, axis);
        }
        return true;
}

/* ---- gathers ---- */

/* Returns zeros of x's type to which the updates are added. */
static struct value *added_at(struct builder *b, const struct type *x, struct value *indices,
                              struct value *updates, int axis)
{
        if (!indices || !updates)
                return NULL;
        struct attr *attrs = attrs_new(b->m, OP_scatter);
        attr_set(attrs, OP_scatter, "kind", 1 + REDUCE_sum);
        attr_set(attrs, OP_scatter, "axis", axis);
        struct value *operands[] = { constant_number(b->m, x, 0), indices, updates };
        return value_build(b, OP_scatter, operands, 3, attrs, NULL);
}

/* Returns indices with a last dimension of one entry. */
static struct value *as_tuples(struct builder *b, struct value *indices)
{
        dim_t dims[RANK_MAX + 1];
        const int rank = indices->type->rank;
        memcpy(dims, indices->type->dims, (size_t)rank * sizeof *dims);
        dims[rank] = dim_of(1);
        return build_reshape(b, indices, rank + 1, dims);
}

bool adjoint_gather(struct sweep *s, const struct op *op)
{
        struct builder *b = s->b;
        struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        const int axis = (int)op_int(op, "axis"), width = indices->type->rank,
                  rank = x->type->rank;
        int64_t front[RANK_MAX], back[RANK_MAX];
        dim_t dims[RANK_MAX];
        if (width == RANK_MAX)
                return sweep_refuse(s, op, "its indices have too many dimensions");
        /* The dimensions of the indices, and the axis of x, come first. */
        for (int i = 0; i < op_result(op)->type->rank; i++)
                front[i] = i < width ? axis + i : i < width + axis ? i - width : i;
        for (int i = 0; i < rank; i++) {
                int from = !i ? axis : i <= axis ? i - 1 : i;
                dims[i] = x->type->dims[from];
                back[from] = i;
        }
        struct value *updates = build_transpose(b, sweep_of(s, op_result(op)), front);
        struct value *sum = added_at(b, type_tensor(b->m, x->type->element, rank, dims),
                                     as_tuples(b, indices), updates, -1);
        return sweep_flow(s, x, build_transpose(b, sum, back));
}

bool adjoint_gather_elements(struct sweep *s, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        return sweep_flow(s, x, added_at(s->b, x->type, op_operand(op, 1),
                                         sweep_of(s, op_result(op)), (int)op_int(op, "axis")));
}

bool adjoint_gather_nd(struct sweep *s, const struct op *op)
{
        struct builder *b = s->b;
        struct value *x = op_operand(op, 0), *indices = op_operand(op, 1);
        const int shared = (int)op_int(op, "batch_dims"), last = indices->type->rank - 1;
        struct value *parts[RANK_MAX + 1];
        dim_t dims[RANK_MAX];
        /* A tuple of a scatter begins with the indices of the shared dimensions. */
        memcpy(dims, indices->type->dims, (size_t)last * sizeof *dims);
        dims[last] = dim_of(1);
        for (int i = 0; i < shared; i++)
                parts[i] = build_iota(
                        b, type_tensor(b->m, indices->type->element, last + 1, dims), i);
        parts[shared] = indices;
        return sweep_flow(s, x, added_at(b, x->type, build_concat(b, parts, shared + 1, last),
                                         sweep_of(s, op_result(op)), -1));
}
