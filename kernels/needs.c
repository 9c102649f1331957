/* SPDX-License-Identifier: MIT */
/* Needs say which elements of its operands an element of a result needs, along one dimension.
 * Followed backwards through the operations of a kernel, needs say which rows (or columns) of one
 * tensor a row of another one needs: (row * scale + low) / per .. (row * scale + high) / per,
 * rounded down.
 *
 *      windows, slices    from row * stride on
 *      resizes, transposed convolutions    about row / factor
 *      reshapes that cut or join rows      row * factor .., row / factor
 *
 * The need of each operation follows from its relation (ir/tensor/relation.h). Needs may be
 * overestimated (a table is bounded by lines of its average slope, and two roundings become one),
 * never underestimated. They may include rows before the first or after the last one, which do not
 * exist. Reductions over rows (global pools, norms) need all rows; so do products of matrices,
 * whose kernels are not split into rows. */
#include "kernels/needs.h"

#include "base/size.h"
#include "ir/tensor/relation.h"

enum { FAR_MAX = 1 << 24 };

static struct need unknown(void) { return (struct need){ .any = true, .all = true }; }

struct need need_itself(int dimension)
{
        return (struct need){ .any = true, .dimension = dimension, .scale = 1, .per = 1 };
}

static bool is_far(int64_t n) { return n > FAR_MAX || n < -FAR_MAX; }

/* Composes n, which says what is needed of an operation's result, with `own`, which says what an
 * element of that result needs of an operand. Needs beyond FAR_MAX become unknown, so that no sum
 * here overflows. */
static struct need compose(struct need n, struct need own)
{
        if (n.all || own.all || is_far(own.low) || is_far(own.high) || is_far(own.scale) ||
            is_far(own.per))
                return unknown();
        /* The inner rounding loses at most this much before it is scaled. */
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

static struct need affine_need(const struct along *a, int dimension)
{
        if (a->scale < 1 || a->window < 1 || a->window > FAR_MAX || a->dilation > FAR_MAX)
                return unknown();
        return (struct need){ .any = true,
                              .dimension = dimension,
                              .scale = a->scale,
                              .per = a->spread,
                              .low = a->spread - 1 + a->low,
                              .high = (a->window - 1) * a->dilation + a->low };
}

/* Returns the need of rows given by a constant table, as resizes have them: the closest two lines,
 * of the table's average slope, below and above its entries. */
static struct need table_need(const struct value *table, int64_t rows, int dimension)
{
        enum { TABLE_MAX = 1 << 13 };
        int64_t index[TABLE_MAX];
        int count;
        if (rows > FAR_MAX || !value_ints(table, index, TABLE_MAX, &count) || !count)
                return unknown();
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
                elements *= type_extent(t, d);
        return elements;
}

/* Returns the need of a reshape that keeps what lies before `dimension`: its rows are split into
 * several, or several are joined. */
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

/* Does image i of the result need image i of the operand, and no other? */
static bool keeps_images(const struct op *op, int operand, const struct relation *r)
{
        const struct type *x = op_operand(op, operand)->type, *y = op_result(op)->type;
        return x->rank && dim_equal(x->dims[0], y->dims[0]) &&
               (dim_is(x->dims[0], 1) || r->in_order || along_is(&r->along[0], 0));
}

/* Returns what an element of a dimension of op's result needs of an operand. */
static struct need own_need(const struct op *op, int operand, const struct relation *r,
                            int dimension)
{
        const struct type *x = op_operand(op, operand)->type;
        if (r->in_order)
                return reshape_need(op, dimension);
        for (int k = 0; k < x->rank; k++) {
                const struct along *a = &r->along[k];
                if (a->from != dimension)
                        continue;
                if (a->kind == ALONG_AFFINE)
                        return affine_need(a, k);
                if (a->kind == ALONG_TABLE && op_operand(op, 1)->type->rank == 1)
                        return table_need(op_operand(op, 1), type_extent(x, k), k);
        }
        return unknown();
}

struct need need_through(const struct op *op, int operand, struct need n)
{
        struct relation r;
        if (n.all || op->code == OP_dot || !relation_of(op, operand, &r) ||
            !keeps_images(op, operand, &r))
                return unknown();
        return compose(n, own_need(op, operand, &r, n.dimension));
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
