/* SPDX-License-Identifier: MIT */
/* Finds what can take in a scale of each channel of x: the way from x back to the operation that
 * makes it, through operations that commute with positive scales.
 *
 *      layer -> add bias -> max(., 0) -> [pool, pad by 0, reshape, transpose, mul by a number] -> x
 *      norm  -> mul c    -> add bias  -> [..]                                                 -> x
 *
 * No other operation reads the values on the way. Where there is no such way and a norm makes x, x
 * is scaled behind the norm, for these readers alone. A bound other than 0 (Clip, Relu6) ends the
 * search, because it is the same for all channels.
 *
 * Channels are followed as positions: element i is of channel i / inner % count, which a reshape
 * leaves as it is. Where a dimension holds several of them, these become one. */
#include "passes/quantize/equalize.h"
#include "passes/quantize/layer_weights.h"
#include "passes/simplify/simplify.h"

struct path {
        struct quantizing *q;
        struct channels *c;
        int64_t inner;                  /* The walk has reached a value with this `inner`. */
};

static int64_t stride_of(const struct type *t, int d)
{
        int64_t stride = 1;
        while (++d < t->rank)
                stride *= type_extent(t, d);
        return stride;
}

/* Returns the dimension that holds the channels; several channels become one where it holds more
 * elements of each. -1: there is none. */
static int find_dimension(struct path *p, const struct type *t)
{
        struct channels *c = p->c;
        for (int d = t->rank - 1; d >= 0 && dim_is_static(t->dims[d]); d--) {
                int64_t stride = stride_of(t, d), more = stride / p->inner;
                if (stride * type_extent(t, d) != p->inner * c->count || stride % p->inner)
                        continue;
                if (more > 1 && c->added_count)
                        return -1;      /* The constants added so far are of finer channels. */
                c->each *= more;
                c->count = type_extent(t, d);
                p->inner = stride;
                return d;
        }
        return -1;
}

/* ---- steps back: what an operation reads, or NULL where it does not commute ---- */

static struct value *through(struct path *p, int d, struct value *x)
{
        for (int e = d; e < x->type->rank; e++)
                if (!dim_is_static(x->type->dims[e]))
                        return NULL;
        p->inner = stride_of(x->type, d);
        return x;
}

static struct value *through_window(struct path *p, const struct op *op)
{
        int d = find_dimension(p, op_result(op)->type), rank = op_result(op)->type->rank;
        const int64_t *pads = op_ints(op, "pads", NULL), kind = op_int(op, "kind");
        if (d < 0 || (kind != REDUCE_max && kind != REDUCE_min && kind != REDUCE_sum) ||
            op_ints(op, "window", NULL)[d] != 1 || op_ints(op, "strides", NULL)[d] != 1 ||
            pads[d] || pads[d + rank])
                return NULL;
        return through(p, d, op_operand(op, 0));
}

static struct value *through_pad(struct path *p, const struct op *op)
{
        const struct value *around = op_operand(op, 1);
        struct value *x = op_operand(op, 0);
        int d = find_dimension(p, op_result(op)->type);
        double number = 0;
        if (d < 0 || op_int(op, "mode") ||
            !dim_equal(x->type->dims[d], op_result(op)->type->dims[d]) ||
            (around && (!value_is_splat(around, &number) || number != 0)))
                return NULL;
        int64_t low[RANK_MAX];
        int count;
        if (!value_ints(op_operand(op, 2), low, RANK_MAX, &count) || low[d])
                return NULL;
        return through(p, d, x);
}

/* Goes through a reduction (sums of rows and the like): dimensions that stay keep their order. */
static struct value *through_reduce(struct path *p, const struct op *op)
{
        struct value *x = op_operand(op, 0);
        int64_t axes[RANK_MAX], inner = 1, kind = op_int(op, "kind");
        int count, d = find_dimension(p, op_result(op)->type);
        if (d < 0 || (kind != REDUCE_max && kind != REDUCE_min && kind != REDUCE_sum) ||
            !value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                return NULL;
        for (int e = x->type->rank - 1; e >= 0; e--) {
                bool goes = false;
                for (int i = 0; i < count; i++)
                        goes |= axes[i] == e;
                if (!goes && inner == p->inner && dim_is(x->type->dims[e], p->c->count))
                        return through(p, e, x);
                if (!goes && !dim_is_static(x->type->dims[e]))
                        return NULL;
                inner *= goes ? 1 : type_extent(x->type, e);
        }
        return NULL;
}

static struct value *through_transpose(struct path *p, const struct op *op)
{
        int d = find_dimension(p, op_result(op)->type);
        return d < 0 ? NULL
                     : through(p, (int)op_ints(op, "perm", NULL)[d],
                               op_operand(op, 0));
}

/* Goes through a bound of 0. */
static struct value *through_bound(const struct op *op)
{
        double number;
        for (int i = 0; i < 2; i++)
                if (value_is_splat(op_operand(op, i), &number) && number == 0)
                        return op_operand(op, 1 - i);
        return NULL;
}

/* Goes through v + a constant of each channel, which is scaled as well. */
static struct value *through_add(struct path *p, struct op *op)
{
        struct builder b = builder_before(op, p->q->context->diag);
        int d = find_dimension(p, op_result(op)->type);
        for (int i = 0; i < 2 && d >= 0; i++)
                if (numbers_along(p->q->arena, &b, op_operand(op, i), d, p->c->count)) {
                        ARENA_GROW(p->q->arena, p->c->added, p->c->added_count);
                        p->c->added[p->c->added_count++] = (struct channel_constant){ op, i, d };
                        return op_operand(op, 1 - i);
                }
        return NULL;
}

/* Goes through a product by a number; at a product by a constant of each channel the way ends, and
 * *found is set. */
static struct value *through_mul(struct path *p, struct op *op, bool *found)
{
        struct builder b = builder_before(op, p->q->context->diag);
        double number;
        for (int i = 0; i < 2; i++)
                if (value_is_splat(op_operand(op, i), &number))
                        return op_operand(op, 1 - i);
        int d = find_dimension(p, op_result(op)->type);
        for (int i = 0; i < 2 && d >= 0 && !*found; i++)
                if (numbers_along(p->q->arena, &b, op_operand(op, i), d, p->c->count)) {
                        p->c->factor = (struct channel_constant){ op, i, d };
                        *found = true;
                }
        return NULL;
}

/* ---- the end ---- */

static bool find_layer(struct path *p, struct op *op)
{
        const struct weight_places w = weight_places_of(op);
        if (w.along < 0 || !is_constant_of_floats(op_operand(op, 1)) ||
            find_dimension(p, op_result(op)->type) != layer_outputs(op) ||
            p->c->count != w.outputs)
                return false;
        p->c->layer = op;
        return true;
}

static struct value *step_back(struct path *p, struct op *op, bool *found)
{
        switch (op->code) {
        case OP_reshape: return op_operand(op, 0);
        case OP_transpose: return through_transpose(p, op);
        case OP_pad: return through_pad(p, op);
        case OP_reduce: return through_reduce(p, op);
        case OP_reduce_window: return through_window(p, op);
        case OP_max: case OP_min: return through_bound(op);
        case OP_add: return through_add(p, op);
        case OP_mul: return through_mul(p, op, found);
        case OP_convolve: case OP_dot: *found = find_layer(p, op); return NULL;
        default: return NULL;
        }
}

/* Walks from x back to its maker; *others: operations other than the readers see values on the
 * way. */
static bool walk(struct path *p, bool *others)
{
        struct channels *c = p->c;
        bool found = false;
        *others = value_use_count(c->x) > c->reader_count;
        for (struct value *v = c->x; v && !found;) {
                struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
                if (!op || op->region != value_region(c->x) || op->result_count != 1 ||
                    op_result(op)->type->element != E_F32 || !type_is_static(v->type))
                        return false;
                *others |= v != c->x && !value_has_one_use(v);
                v = step_back(p, op, &found);
        }
        return found;
}

/* Is v made by a norm, perhaps scaled and shifted? Kernels store it as floats anyway, or could. */
static bool is_behind_norm(const struct value *v)
{
        while (v && v->kind == VALUE_RESULT && quantize_carrying(v->op) == CARRY_MAP) {
                const struct value *from = NULL;
                if (site_of(v) && site_of(v)->norm)
                        return true;
                for (int i = 0; i < v->op->operand_count; i++) {
                        if (simplify_is_spread_constant(op_operand(v->op, i)))
                                continue;
                        if (from)
                                return false;
                        from = op_operand(v->op, i);
                }
                v = from;
        }
        return false;
}

bool channels_find_maker(struct quantizing *q, struct channels *c)
{
        struct path p = { .q = q, .c = c, .inner = c->inner };
        const struct channels readers = *c;
        bool others;
        c->each = 1;
        if (walk(&p, &others) && !others)
                return true;
        *c = readers;
        c->each = 1;
        c->apart = is_behind_norm(c->x);
        return c->apart;
}
