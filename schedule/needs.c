/* Needs: which elements of its operands an element of a result needs, along one dimension. Followed backwards through the
 * operations of a kernel, that says which rows (or columns) of one tensor a row of another one needs:
 * row * scale + low .. row * scale + high.
 *
 * Element-wise operations, windows, pads, slices, concats of other dimensions keep rows apart; reductions over rows (global pools,
 * norms), products of matrices and whatever changes the shape do not: those need all. */
#include "schedule/needs.h"

#include "ir/ops.h"

enum { SPATIAL = 2, FAR_MAX = 1 << 24 };

static struct need unknown(void) { return (struct need){ .any = true, .all = true }; }

/* Windows beyond these bounds are not followed, so that no sum here overflows. */
static struct need window_need(struct need n, int64_t window, int64_t stride, int64_t dilation, int64_t low)
{
        if (window < 1 || window > FAR_MAX || stride > NEED_SCALE_MAX || dilation > FAR_MAX || low > FAR_MAX || low < -FAR_MAX)
                return unknown();
        n.low = n.low * stride - low;
        n.high = n.high * stride - low + (window - 1) * dilation;
        n.scale *= stride;
        return n.scale > NEED_SCALE_MAX || n.low < -FAR_MAX || n.high > FAR_MAX ? unknown() : n;
}

static struct need convolve_need(const struct op *op, int dimension, struct need n)
{
        int d = dimension - SPATIAL;
        if (op_ints(op, "input_dilations", NULL)[d] != 1)
                return unknown();
        return window_need(n, op_operand(op, 1)->type->dims[dimension], op_ints(op, "strides", NULL)[d],
                           op_ints(op, "dilations", NULL)[d], op_ints(op, "pads", NULL)[d]);
}

/* of blocked tensors, without pads: windows begin at dimension `window` of w, and the last dimension of x are the lanes of a block */
static struct need packed_need(const struct op *op, int window, int dimension, struct need n)
{
        int d = dimension - SPATIAL;
        if (dimension == op_operand(op, 0)->type->rank - 1)
                return unknown();
        return window_need(n, op_operand(op, 1)->type->dims[window + d], op_ints(op, "strides", NULL)[d],
                           op_ints(op, "dilations", NULL)[d], 0);
}

static struct need slice_need(const struct op *op, int dimension, struct need n)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 1), starts, RANK_MAX, &count) || !value_ints(op_operand(op, 2), steps, RANK_MAX, &count) ||
            steps[dimension] < 1)
                return unknown();
        return window_need(n, 1, steps[dimension], 1, -starts[dimension]);
}

static struct need pad_need(const struct op *op, int dimension, struct need n)
{
        int64_t low[RANK_MAX];
        int count;
        if (op_int(op, "mode") || !value_ints(op_operand(op, 2), low, RANK_MAX, &count))
                return unknown();
        return window_need(n, 1, 1, 1, low[dimension]);
}

/* Does image i of the result need image i of the operand, and no other? */
static bool keeps_images(const struct op *op, int operand)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        int64_t numbers[RANK_MAX];
        int count;
        if (x->dims[0] != y->dims[0] || x->dims[0] == 1)
                return x->dims[0] == y->dims[0];
        switch (op->code) {
        case OP_slice: return value_ints(op_operand(op, 2), numbers, RANK_MAX, &count) && numbers[0] == 1;
        case OP_pad: return value_ints(op_operand(op, 2), numbers, RANK_MAX, &count) && numbers[0] == 0;
        case OP_transpose: return op_ints(op, "perm", NULL)[0] == 0;
        case OP_broadcast: return op_ints(op, "dims", NULL)[0] == 0;
        case OP_concat: return op_int(op, "axis") != 0;
        case OP_reduce_window: return op_ints(op, "window", NULL)[0] == 1 && op_ints(op, "pads", NULL)[0] == 0;
        default: return true;
        }
}

struct need need_through(const struct op *op, int operand, int dimension, struct need n)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        if (n.all || y->rank <= dimension || x->rank != y->rank || !keeps_images(op, operand))
                return unknown();
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return n;
        switch (op->code) {
        case OP_convolve: return operand ? unknown() : convolve_need(op, dimension, n);
        case OP_convolve_packed: return operand ? unknown() : packed_need(op, 2, dimension, n);
        case OP_convolve_lanes: return operand ? unknown() : packed_need(op, 1, dimension, n);
        case OP_slice: return operand ? unknown() : slice_need(op, dimension, n);
        case OP_pad: return operand ? unknown() : pad_need(op, dimension, n);
        case OP_concat: return op_int(op, "axis") == dimension ? unknown() : n;
        case OP_transpose: return op_ints(op, "perm", NULL)[dimension] == dimension ? n : unknown();
        case OP_broadcast:
                return op_ints(op, "dims", NULL)[dimension] == dimension && x->dims[dimension] == y->dims[dimension] ? n : unknown();
        case OP_reduce_window:
                return window_need(n, op_ints(op, "window", NULL)[dimension], op_ints(op, "strides", NULL)[dimension],
                                   op_ints(op, "dilations", NULL)[dimension], op_ints(op, "pads", NULL)[dimension]);
        default: return unknown();
        }
}

bool need_add(struct need *to, struct need n)
{
        if (!to->any)
                *to = n;
        else if (to->all || n.all)
                *to = unknown();
        else if (to->scale != n.scale)
                return false;
        to->low = n.low < to->low ? n.low : to->low;
        to->high = n.high > to->high ? n.high : to->high;
        return true;
}
