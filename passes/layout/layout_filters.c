/* SPDX-License-Identifier: MIT */
/* Layout, filters: where a convolution has fewer outputs than a block has lanes, and its windows
 * are long, the lanes are neighbouring positions of one output, which are outputs of their own.
 * Three taps a, b, c in blocks of four positions:
 *
 *      x[4 i + ..]     0  1  2  3  4  5
 *      y[4 i]          a  b  c  0  0  0          steps of 4 along x
 *      y[4 i + 1]      0  a  b  c  0  0          3 + 4 - 1 taps
 *      y[4 i + 2]      0  0  a  b  c  0
 *      y[4 i + 3]      0  0  0  a  b  c
 *
 * A block of the result is part of a row, so nothing moves. Sums have the same order, with products
 * by 0 in front and behind. */
#include "cost/layout_cost.h"
#include "ir/loop/loop_vector.h"
#include "passes/layout/layout.h"

#include <string.h>

enum {
        GAIN_PERCENT = 80,              /* Full blocks are worth it where at most so much of the
                                         * work is left, */
        WEIGHTS_MOST = 4 << 20          /* and weights take no more bytes. */
};

struct filter {
        struct op *op;
        struct value *x, *w;
        int rank;                       /* It is that of x, w and the result. */
        int64_t outputs, taps;
        int64_t positions;              /* So many are the lanes of a block. */
};

static bool find_filter(const struct layout *l, struct op *op, struct filter *f)
{
        if (op->code != OP_convolve)
                return false;
        *f = (struct filter){ .op = op, .x = op_operand(op, 0), .w = op_operand(op, 1) };
        const struct type *y = op_result(op)->type, *w = f->w->type;
        const int last = y->rank - 3;
        f->rank = y->rank;
        if (!value_is_constant(f->w) || f->w->constant->kind == CONSTANT_SPLAT ||
            w->element != E_F32 || f->x->type->element != E_F32 || y->element != E_F32 ||
            !(l->positions || op_is_static(op)) || type_is_empty(y) || !layout_is_direct(op) ||
            op_int(op, "groups") != 1 || op_ints(op, "strides", NULL)[last] != 1 ||
            op_ints(op, "dilations", NULL)[last] != 1)
                return false;
        f->outputs = type_extent(y, 1);
        f->taps = type_extent(w, f->rank - 1);
        f->positions = l->block;
        const int64_t taps = f->taps + f->positions - 1;
        return f->outputs < l->block && dim_bound(l->m, y->dims[f->rank - 1]) > f->positions &&
               taps * f->outputs * 100 < f->taps * l->block * GAIN_PERCENT &&
               (double)type_bytes(w) / (double)f->taps * (double)(taps * f->positions) <=
                       WEIGHTS_MOST;
}

/* Returns the weights of outputs and positions, one after the other. */
static struct value *shifted_weights(struct layout *l, const struct filter *f)
{
        const struct type *t = f->w->type;
        const int64_t taps = f->taps + f->positions - 1,
                      rows = type_elements(t) / (f->outputs * f->taps);
        const float *from = constant_data(f->w->constant);
        dim_t dims[RANK_MAX];
        memcpy(dims, t->dims, (size_t)f->rank * sizeof *dims);
        dims[0] = dim_of(f->outputs * f->positions);
        dims[f->rank - 1] = dim_of(taps);
        const struct type *to = type_tensor(l->m, E_F32, f->rank, dims);
        float *all = memset(constant_room(l->m, (size_t)type_bytes(to)), 0,
                            (size_t)type_bytes(to));
        for (int64_t o = 0; o < f->outputs; o++)
                for (int64_t j = 0; j < f->positions; j++)
                        for (int64_t r = 0; r < rows; r++)
                                memcpy(all + ((o * f->positions + j) * rows + r) * taps + j,
                                       from + (o * rows + r) * f->taps,
                                       (size_t)f->taps * sizeof *all);
        return constant_dense(l->m, to, all, f->w->constant->name);
}

/* Returns the convolution of several positions at a step. */
static struct value *convolved(struct layout *l, const struct filter *f)
{
        const int last = f->rank - 3, spatial = f->rank - 2;
        struct attr *attrs = attrs_new(l->m, OP_convolve);
        int64_t strides[RANK_MAX], pads[2 * RANK_MAX];
        memcpy(attrs, f->op->attrs, (size_t)op_info[OP_convolve].attr_count * sizeof *attrs);
        memcpy(strides, op_ints(f->op, "strides", NULL), (size_t)spatial * sizeof *strides);
        memcpy(pads, op_ints(f->op, "pads", NULL), 2 * (size_t)spatial * sizeof *pads);
        strides[last] = f->positions;
        pads[spatial + last] += f->positions - 1;       /* The last block may not be full. */
        attr_set_ints(l->m, attrs, OP_convolve, "strides", strides, spatial);
        attr_set_ints(l->m, attrs, OP_convolve, "pads", pads, 2 * spatial);
        return value_build(&l->b, OP_convolve,
                           (struct value *[]){ f->x, shifted_weights(l, f) }, 2, attrs, NULL);
}

/* Returns y <N x outputs * positions x S.. x blocks> with the positions in their row. */
static struct value *in_rows(struct layout *l, const struct filter *f, struct value *y)
{
        const struct type *t = op_result(f->op)->type;
        dim_t split[RANK_MAX + 1], whole[RANK_MAX];
        int64_t perm[RANK_MAX + 1];
        memcpy(whole, t->dims, (size_t)f->rank * sizeof *whole);
        split[0] = whole[0];
        split[1] = whole[1];
        split[2] = dim_of(f->positions);
        perm[0] = 0;
        perm[1] = 1;
        for (int d = 2; d < f->rank; d++) {
                split[d + 1] = y->type->dims[d];
                perm[d] = d + 1;
        }
        perm[f->rank] = 2;
        whole[f->rank - 1] = dim_binary(l->m, DIM_MUL, y->type->dims[f->rank - 1],
                                        dim_of(f->positions));
        y = layout_transpose(&l->b, layout_reshape(&l->b, y, f->rank + 1, split), perm);
        return layout_slice_to(&l->b, layout_reshape(&l->b, y, f->rank, whole), t->dims);
}

/* Predicts whether the convolution `wide` of several positions takes less time than that of one. */
static bool is_worth_it(const struct layout *l, const struct filter *f, const struct op *wide)
{
        const struct target *target = l->context->target;
        const double bytes = (double)type_most_bytes(l->m, op_result(f->op)->type);
        double one = layout_reached_cost(layout_blocks_cost(f->op, false, target), target);
        const double plain = layout_plain_cost(f->op, target);
        if (f->taps <= VECTOR_JOINED_MAX && plain < one)
                one = plain;
        return layout_blocks_cost(wide, false, target) + 2 * layout_copy_cost(bytes, target) < one;
}

static bool widen(struct layout *l, struct op *op)
{
        struct filter f;
        if (!find_filter(l, op, &f))
                return true;
        l->b = (struct builder){ .m = l->m, .region = op->region, .before = op,
                                 .location = op->location, .diag = l->b.diag };
        struct value *wide = convolved(l, &f);
        if (!wide)
                return false;
        if (!is_worth_it(l, &f, wide->op)) {
                op_erase(wide->op);
                return true;
        }
        struct value *y = in_rows(l, &f, wide);
        if (y) {
                value_replace(op_result(op), y);
                op_erase(op);
        }
        return y;
}

void layout_filters(struct layout *l, struct region *region)
{
        if (target_engine(l->context->target)->layout != LAYOUT_OF_LEAST_COST || l->in_rows)
                return;
        for (struct op *op = region->first, *next; op && !l->failed; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        layout_filters(l, op->regions[i]);
                l->failed = !widen(l, op);
        }
}
