/* Needs: which elements of its operands an element of a result needs, along one dimension. Followed
 * backwards through the operations of a kernel, that says which rows (or columns) of one tensor a
 * row of another one needs: (row * scale + low) / per .. (row * scale + high) / per, rounded down.
 *
 *      windows, slices    from row * stride on           resizes, transposed convolutions    about row / factor
 *      pads               row - low                      reshapes that cut or join rows       row * factor .., row / factor
 *
 * Transposes, broadcasts and reductions of other dimensions move it to another dimension. Of what
 * is put one behind the other along it, rows before the first may be needed: there are none. Needs
 * may be more than the truth (a table's line is as steep as the table is long, and two roundings
 * become one), never less. Reductions over rows (global pools, norms) and products of matrices need
 * all. */
#include "kernels/needs.h"

#include "base/size.h"
#include "ir/ops.h"

enum { SPATIAL = 2, FAR_MAX = 1 << 24 };

static struct need unknown(void) { return (struct need){ .any = true, .all = true }; }

struct need need_itself(int dimension)
{
        return (struct need){ .any = true, .dimension = dimension, .scale = 1, .per = 1 };
}

static bool is_far(int64_t n) { return n > FAR_MAX || n < -FAR_MAX; }

/* n is what is needed of an operation's result, `own` what an element of that needs of an operand.
 * Beyond bounds it is not followed, so that no sum here overflows. */
static struct need compose(struct need n, struct need own)
{
        if (n.all || own.all || is_far(own.low) || is_far(own.high) || is_far(own.scale) ||
            is_far(own.per))
                return unknown();
        /* at most, by rounding before it is scaled */
        int64_t lost = own.scale > 1 ? own.scale * (n.per - 1) : 0;
        int64_t scale = n.scale * own.scale, per = n.per * own.per, common = per;
        for (int64_t rest = scale, next; rest; rest = next) {
                next = common % rest;
                common = rest;
        }
        struct need both = { .any = true,
                             .dimension = own.dimension,
                             .scale = scale / common,
                             .per = per / common,
                             .low = divide_down(own.scale * n.low - lost + own.low * n.per, common),
                             .high = divide_down(own.scale * n.high + own.high * n.per, common) };
        return both.scale > NEED_SCALE_MAX || both.per > NEED_SCALE_MAX || is_far(both.low) ||
                               is_far(both.high)
                       ? unknown()
                       : both;
}

/* spread: between elements of the operand there are so many less one that are zero */
static struct need window_need(int dimension, int64_t window, int64_t stride, int64_t dilation,
                               int64_t low, int64_t spread)
{
        if (window < 1 || window > FAR_MAX || dilation > FAR_MAX)
                return unknown();
        return (struct need){ .any = true,
                              .dimension = dimension,
                              .scale = stride,
                              .per = spread,
                              .low = spread - 1 - low,
                              .high = (window - 1) * dilation - low };
}

static struct need convolve_need(const struct op *op, int dimension)
{
        int d = dimension - SPATIAL;
        if (d < 0)
                return unknown();
        return window_need(dimension, op_operand(op, 1)->type->dims[dimension],
                           op_ints(op, "strides", NULL)[d], op_ints(op, "dilations", NULL)[d],
                           op_ints(op, "pads", NULL)[d], op_ints(op, "input_dilations", NULL)[d]);
}

/* of blocked tensors, without pads: windows begin at dimension `window` of w, and the last
 * dimension of x are the lanes of a block */
static struct need packed_need(const struct op *op, int window, int dimension)
{
        int d = dimension - SPATIAL;
        if (d < 0 || dimension == op_operand(op, 0)->type->rank - 1)
                return unknown();
        return window_need(dimension, op_operand(op, 1)->type->dims[window + d],
                           op_ints(op, "strides", NULL)[d], op_ints(op, "dilations", NULL)[d], 0,
                           1);
}

static struct need slice_need(const struct op *op, int dimension)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 1), starts, RANK_MAX, &count) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &count) || steps[dimension] < 1)
                return unknown();
        return window_need(dimension, 1, steps[dimension], 1, -starts[dimension], 1);
}

static struct need pad_need(const struct op *op, int dimension)
{
        int64_t low[RANK_MAX];
        int count;
        if (op_int(op, "mode") || !value_ints(op_operand(op, 2), low, RANK_MAX, &count))
                return unknown();
        return window_need(dimension, 1, 1, 1, low[dimension], 1);
}

/* Rows by a constant table, as resizes have them: the closest two lines above and below it that are
 * as steep as it is long. */
static struct need gather_need(const struct op *op, int dimension)
{
        enum { TABLE_MAX = 1 << 13 };
        const struct value *table = op_operand(op, 1);
        int64_t index[TABLE_MAX], axis = op_int(op, "axis");
        int count;
        if (table->type->rank != 1 || op_operand(op, 0)->type->dims[axis] > FAR_MAX)
                return unknown();
        if (axis != dimension)
                return need_itself(dimension);
        if (!value_ints(table, index, TABLE_MAX, &count) || !count)
                return unknown();
        int64_t rows = op_operand(op, 0)->type->dims[axis];
        struct need n = { .any = true,
                          .dimension = dimension,
                          .scale = rows,
                          .per = count,
                          .low = INT64_MAX,
                          .high = INT64_MIN };
        for (int i = 0; i < count; i++) {
                int64_t above = (index[i] < 0 ? index[i] + rows : index[i]) * count - rows * i;
                n.low = above < n.low ? above : n.low;
                n.high = above > n.high ? above : n.high;
        }
        n.low += count - 1;
        return n;
}

static int64_t product(const struct type *t, int from, int to)
{
        int64_t elements = 1;
        for (int d = from; d < to; d++)
                elements *= t->dims[d];
        return elements;
}

/* What lies before the dimension is as it was: its rows are cut into several, or several are
 * joined. */
static struct need reshape_need(const struct op *op, int dimension)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type;
        if (!type_is_static(x) || !type_is_static(y) || !type_elements(x))
                return unknown();
        int64_t before = product(y, 0, dimension), step = product(y, dimension + 1, y->rank),
                own = 0;
        int found = -1;
        for (int d = 1; d < x->rank && own != step; d++)
                if (product(x, 0, d) == before) {
                        own = product(x, d + 1, x->rank);
                        found = d;
                }
        if (found >= 0 && own % step == 0)
                return (struct need){ .any = true,
                                      .dimension = found,
                                      .scale = 1,
                                      .per = own / step };
        if (found >= 0 && step % own == 0)
                return (struct need){ .any = true,
                                      .dimension = found,
                                      .scale = step / own,
                                      .per = 1,
                                      .high = step / own - 1 };
        return unknown();
}

static struct need broadcast_need(const struct op *op, int dimension)
{
        int rank;
        const int64_t *dims = op_ints(op, "dims", &rank);
        for (int d = 0; d < rank; d++)
                if (dims[d] == dimension &&
                    op_operand(op, 0)->type->dims[d] == op_result(op)->type->dims[dimension])
                        return need_itself(d);
        return unknown();
}

static bool is_reduced(const int64_t *axes, int count, int dimension, int rank)
{
        for (int i = 0; i < count; i++)
                if (axes[i] == dimension || axes[i] + rank == dimension)
                        return true;
        return false;
}

static struct need reduce_need(const struct op *op, int dimension)
{
        const struct type *x = op_operand(op, 0)->type;
        int64_t axes[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count) ||
            op_result(op)->type->rank + count != x->rank)
                return unknown();
        for (int d = 0, left = dimension; d < x->rank; d++)
                if (!is_reduced(axes, count, d, x->rank) && !left--)
                        return need_itself(d);
        return unknown();
}

/* Does image i of the result need image i of the operand, and no other? */
static bool keeps_images(const struct op *op, int operand)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        int64_t numbers[RANK_MAX];
        int count;
        if (!x->rank || x->dims[0] != y->dims[0] || x->dims[0] == 1)
                return x->rank && x->dims[0] == y->dims[0];
        switch (op->code) {
        case OP_slice:
                return value_ints(op_operand(op, 2), numbers, RANK_MAX, &count) && numbers[0] == 1;
        case OP_pad:
                return value_ints(op_operand(op, 2), numbers, RANK_MAX, &count) && numbers[0] == 0;
        case OP_transpose: return op_ints(op, "perm", NULL)[0] == 0;
        case OP_broadcast: return op_ints(op, "dims", NULL)[0] == 0;
        case OP_concat: return op_int(op, "axis") != 0;
        case OP_gather: return op_int(op, "axis") != 0;
        case OP_reduce: return reduce_need(op, 0).dimension == 0;
        case OP_reduce_window:
                return op_ints(op, "window", NULL)[0] == 1 && op_ints(op, "pads", NULL)[0] == 0;
        default: return true;
        }
}

/* of what is put one behind the other along the dimension: rows before the first and behind the
 * last are nobody's */
static struct need concat_need(const struct op *op, int operand, int dimension)
{
        int64_t before = 0;
        for (int i = 0; i < operand && op_int(op, "axis") == dimension; i++)
                before += op_operand(op, i)->type->dims[dimension];
        return window_need(dimension, 1, 1, 1, before, 1);
}

/* what element i of a dimension of op's result needs of an operand */
static struct need own_need(const struct op *op, int operand, int dimension)
{
        if (op_info[op->code].traits & TRAIT_ELEMENTWISE)
                return need_itself(dimension);
        if (op->code == OP_concat)
                return concat_need(op, operand, dimension);
        if (operand)
                return unknown();
        switch (op->code) {
        case OP_convolve: return convolve_need(op, dimension);
        case OP_convolve_packed: return packed_need(op, 2, dimension);
        case OP_convolve_lanes: return packed_need(op, 1, dimension);
        case OP_slice: return slice_need(op, dimension);
        case OP_pad: return pad_need(op, dimension);
        case OP_gather: return gather_need(op, dimension);
        case OP_reshape: return reshape_need(op, dimension);
        case OP_transpose: return need_itself((int)op_ints(op, "perm", NULL)[dimension]);
        case OP_broadcast: return broadcast_need(op, dimension);
        case OP_reduce: return reduce_need(op, dimension);
        case OP_reduce_window:
                return window_need(dimension, op_ints(op, "window", NULL)[dimension],
                                   op_ints(op, "strides", NULL)[dimension],
                                   op_ints(op, "dilations", NULL)[dimension],
                                   op_ints(op, "pads", NULL)[dimension], 1);
        default: return unknown();
        }
}

struct need need_through(const struct op *op, int operand, struct need n)
{
        if (n.all || !keeps_images(op, operand))
                return unknown();
        return compose(n, own_need(op, operand, n.dimension));
}

bool need_add(struct need *to, struct need n)
{
        if (!to->any)
                *to = n;
        else if (to->all || n.all)
                *to = unknown();
        else if (to->scale != n.scale || to->per != n.per || to->dimension != n.dimension)
                return false;
        to->low = n.low < to->low ? n.low : to->low;
        to->high = n.high > to->high ? n.high : to->high;
        return true;
}
