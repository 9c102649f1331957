/* SPDX-License-Identifier: MIT */
/* Adjoints of reductions. Windows that overlap are not scattered: an element of x gets the sum over
 * the windows that hold it, so that derivatives fuse, run in parallel, and add up in one order.
 *
 *      y = reduce sum(x)            d x: d y, spread
 *      y = reduce max(x)            d x: d y / how many equal y, where x equals y
 *      y = reduce prod(x)           d x: d y * the product of the others
 *      y = reduce_window sum(x)     d x: a window of d y with zeros between
 *      y = reduce_window prod(x)    d x: windows of d y * y, over x; at a zero, windows of d y * the
 *                                        product of the others
 *      y = reduce_window max(x)     d x: each of the few windows that hold an element, where its
 *                                        first maximum is that element */
#include "ir/adjoint/adjoint.h"
#include "ir/tensor/ops.h"

/* ---- along axes ---- */

static struct value *reduced(struct builder *b, enum reducer kind, struct value *x, uint32_t axes)
{
        int64_t list[RANK_MAX];
        int count = 0;
        for (int d = 0; x && d < x->type->rank; d++)
                if (axes >> d & 1)
                        list[count++] = d;
        return build_reduce(b, kind, x, list, count);
}

/* Returns d where the product's other factors are numbers without a zero: with no zero along the
 * axes, y / x; with one, the product of the others at the zero; with more, 0. */
static struct value *product_by(struct builder *b, struct value *x, struct value *y,
                                struct value *d, uint32_t axes)
{
        const enum element e = x->type->element;
        struct value *zero = build_binary(b, OP_eq, x, build_like(b, x, 0));
        struct value *others = reduced(b, REDUCE_prod,
                                       build_select(b, zero, build_like(b, x, 1), x), axes);
        struct value *count = adjoint_spread_over(
                b, reduced(b, REDUCE_sum, build_cast(b, zero, e), axes), x->type, axes);
        others = adjoint_spread_over(b, others, x->type, axes);
        struct value *quotient =
                build_binary(b, OP_div, adjoint_spread_over(b, y, x->type, axes), x);
        struct value *alone = build_binary(b, OP_and, zero,
                                           build_binary(b, OP_eq, count, build_like(b, count, 1)));
        struct value *none = build_binary(b, OP_eq, count, build_like(b, count, 0));
        struct value *factor = build_select(
                b, none, quotient, build_select(b, alone, others, build_like(b, x, 0)));
        return build_binary(b, OP_mul, adjoint_spread_over(b, d, x->type, axes), factor);
}

static struct value *extreme_by(struct builder *b, struct value *x, struct value *y,
                                struct value *d, uint32_t axes)
{
        struct value *equal = build_binary(b, OP_eq, x, adjoint_spread_over(b, y, x->type, axes));
        struct value *count =
                reduced(b, REDUCE_sum, build_cast(b, equal, x->type->element), axes);
        struct value *share = adjoint_spread_over(b, build_binary(b, OP_div, d, count), x->type,
                                                  axes);
        return build_select(b, equal, share, build_like(b, x, 0));
}

bool adjoint_reduce(struct sweep *s, const struct op *op)
{
        struct builder *b = s->b;
        struct value *x = op_operand(op, 0), *y = op_result(op), *d = sweep_of(s, y);
        int64_t axes[RANK_MAX];
        dim_t dims[RANK_MAX];
        int count, rank = 0;
        uint32_t mask = 0;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &count))
                return sweep_refuse(s, op, "its axes are known at run time only");
        for (int i = 0; i < count; i++)
                mask |= UINT32_C(1) << axes[i];
        for (int i = 0; i < x->type->rank; i++)
                if (!(mask >> i & 1))
                        dims[rank++] = x->type->dims[i];
        /* The result may have kept its axes; sums may be of a wider type. */
        d = build_cast(b, build_reshape(b, d, rank, dims), x->type->element);
        y = build_cast(b, build_reshape(b, y, rank, dims), x->type->element);
        if (!d || !y)
                return false;
        switch ((enum reducer)op_int(op, "kind")) {
        case REDUCE_sum: return sweep_flow(s, x, adjoint_spread_over(b, d, x->type, mask));
        case REDUCE_prod: return sweep_flow(s, x, product_by(b, x, y, d, mask));
        default: return sweep_flow(s, x, extreme_by(b, x, y, d, mask));
        }
}

/* ---- of windows ---- */

struct windows {
        int rank;
        const int64_t *window, *strides, *dilations, *pads;
        const struct type *x, *y;
};

static struct windows windows_of(const struct op *op)
{
        return (struct windows){ .rank = op_result(op)->type->rank,
                                 .window = op_ints(op, "window", NULL),
                                 .strides = op_ints(op, "strides", NULL),
                                 .dilations = op_ints(op, "dilations", NULL),
                                 .pads = op_ints(op, "pads", NULL),
                                 .x = op_operand(op, 0)->type,
                                 .y = op_result(op)->type };
}

/* Element i of x is in window o at tap k where i = o * stride + k * dilation - pad: a window over d
 * with gaps, in front of which as many zeros stand as make the first one end at element 0. */
static struct value *sums_by(struct builder *b, const struct windows *n, struct value *d)
{
        int64_t low[RANK_MAX], none[2 * RANK_MAX] = { 0 }, ones[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int i = 0; i < n->rank && d; i++) {
                int64_t reach = (n->window[i] - 1) * n->dilations[i];
                d = adjoint_spread_out(b, d, i, n->strides[i]);
                low[i] = reach - n->pads[i];
                dims[i] = dim_of(type_extent(n->x, i) + reach);
                ones[i] = 1;
        }
        if (!d)
                return NULL;
        d = adjoint_placed_at(b, d, low, type_tensor(b->m, d->type->element, n->rank, dims));
        struct attr *attrs = attrs_new(b->m, OP_reduce_window);
        attr_set(attrs, OP_reduce_window, "kind", REDUCE_sum);
        attr_set_ints(b->m, attrs, OP_reduce_window, "window", n->window, n->rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "strides", ones, n->rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "dilations", n->dilations, n->rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "pads", none, 2 * n->rank);
        return d ? value_build(b, OP_reduce_window, &d, 1, attrs, NULL) : NULL;
}

/* Returns the windows of op over x, combined by a reducer. */
static struct value *windows_like(struct builder *b, const struct op *op, enum reducer kind,
                                  struct value *x)
{
        const struct windows n = windows_of(op);
        struct attr *attrs = attrs_new(b->m, OP_reduce_window);
        attr_set(attrs, OP_reduce_window, "kind", kind);
        attr_set_ints(b->m, attrs, OP_reduce_window, "window", n.window, n.rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "strides", n.strides, n.rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "dilations", n.dilations, n.rank);
        attr_set_ints(b->m, attrs, OP_reduce_window, "pads", n.pads, 2 * n.rank);
        return x ? value_build(b, OP_reduce_window, &x, 1, attrs, NULL) : NULL;
}

/* A window without a zero gives its elements its product over them, one with a zero gives that one
 * the product of the others, one with more gives nothing. */
static struct value *window_products_by(struct builder *b, const struct op *op, struct value *d)
{
        const struct windows n = windows_of(op);
        struct value *x = op_operand(op, 0), *y = op_result(op);
        struct value *zero = build_binary(b, OP_eq, x, build_like(b, x, 0)),
                     *nonzero = build_select(b, zero, build_like(b, x, 1), x),
                     *others = windows_like(b, op, REDUCE_prod, nonzero);
        struct value *count = windows_like(b, op, REDUCE_sum,
                                           build_cast(b, zero, x->type->element));
        d = build_cast(b, d, x->type->element);
        y = build_cast(b, y, x->type->element);
        if (!count || !others || !d || !y)
                return NULL;
        struct value *none = build_binary(b, OP_eq, count, build_like(b, count, 0)),
                     *one = build_binary(b, OP_eq, count, build_like(b, count, 1)),
                     *whole = build_select(b, none, y, build_like(b, y, 0)),
                     *rest = build_select(b, one, others, build_like(b, y, 0));
        whole = sums_by(b, &n, build_binary(b, OP_mul, d, whole));
        rest = sums_by(b, &n, build_binary(b, OP_mul, d, rest));
        return build_select(b, zero, rest, build_binary(b, OP_div, whole, nonzero));
}

/* Returns the type of positions in x: short ones, of which a vector holds as many as of floats. */
static enum element position_element(const struct type *x)
{
        return type_elements(x) <= INT32_MAX ? E_I32 : E_I64;
}

/* Returns the positions in x of each window's first extreme. */
static struct value *places_of(struct builder *b, const struct op *op, bool least)
{
        const struct windows n = windows_of(op);
        struct attr *attrs = attrs_new(b->m, OP_arg_window);
        struct value *x = op_operand(op, 0);
        x = least ? build_unary(b, OP_neg, x) : x;
        attr_set_ints(b->m, attrs, OP_arg_window, "window", n.window, n.rank);
        attr_set_ints(b->m, attrs, OP_arg_window, "strides", n.strides, n.rank);
        attr_set_ints(b->m, attrs, OP_arg_window, "dilations", n.dilations, n.rank);
        attr_set_ints(b->m, attrs, OP_arg_window, "pads", n.pads, 2 * n.rank);
        struct value *places = x ? value_build(b, OP_arg_window, &x, 1, attrs,
                                               type_with_element(b->m, n.y, E_I64))
                                 : NULL;
        return places ? build_cast(b, places, position_element(n.x)) : NULL;
}

/* Returns v of the window of each element of x that begins `back` windows before the last one that
 * may hold it; `fill` where there is none. */
static struct value *of_window(struct builder *b, const struct windows *n, struct value *v,
                               const int64_t *back, double fill)
{
        int64_t low[RANK_MAX];
        /* The last window that may hold element i has number (i + pad) / stride. */
        for (int i = 0; i < n->rank && v; i++) {
                v = adjoint_repeated(b, v, i, n->strides[i]);
                low[i] = back[i] * n->strides[i] - n->pads[i];
        }
        if (!v)
                return NULL;
        struct value *operands[] = { v, build_scalar(b, v->type->element, fill),
                                     constant_ints(b->m, low, n->rank) };
        return value_build(b, OP_pad, operands, 3, NULL,
                           type_with_element(b->m, n->x, v->type->element));
}

/* Returns the row-major position of each element of x. */
static struct value *positions(struct builder *b, const struct type *x)
{
        dim_t all = dim_of(type_elements(x));
        const struct type *row = type_tensor(b->m, position_element(x), 1, &all);
        return build_reshape(b, build_iota(b, row, 0), x->rank, x->dims);
}

/* An element may be the first extreme of so many windows before they are refused. */
enum { WINDOWS_MAX = 256 };

static bool extremes_flow(struct sweep *s, const struct op *op, bool least)
{
        struct builder *b = s->b;
        struct windows n = windows_of(op);
        struct value *x = op_operand(op, 0), *d = sweep_of(s, op_result(op)), *sum = NULL;
        int64_t count[RANK_MAX], back[RANK_MAX] = { 0 }, strides[RANK_MAX], all = 1;
        for (int i = 0; i < n.rank; i++) {
                int64_t reach = (n.window[i] - 1) * n.dilations[i] + 1;
                /* The stride of one window alone may be any. */
                strides[i] = n.strides[i] < reach && dim_is(n.y->dims[i], 1) ? reach : n.strides[i];
                count[i] = (reach + strides[i] - 1) / strides[i];
                if (count[i] > WINDOWS_MAX || (all *= count[i]) > WINDOWS_MAX)
                        return sweep_refuse(s, op, "an element is in too many windows");
        }
        struct value *places = places_of(b, op, least), *at = positions(b, n.x);
        n.strides = strides;
        d = build_cast(b, d, x->type->element);
        for (int64_t k = 0; k < all; k++) {
                int64_t rest = k;
                for (int i = n.rank - 1; i >= 0; i--) {
                        back[i] = rest % count[i];
                        rest /= count[i];
                }
                struct value *here = places ? of_window(b, &n, places, back, -1) : NULL,
                             *part = d ? of_window(b, &n, d, back, 0) : NULL;
                part = build_select(b, build_binary(b, OP_eq, here, at), part,
                                    build_like(b, part, 0));
                sum = sum ? build_binary(b, OP_add, sum, part) : part;
                if (!sum)
                        return false;
        }
        return sweep_flow(s, x, sum);
}

bool adjoint_reduce_window(struct sweep *s, const struct op *op)
{
        const struct windows n = windows_of(op);
        struct value *x = op_operand(op, 0);
        const enum reducer kind = (enum reducer)op_int(op, "kind");
        if (!op_is_static(op))
                return sweep_refuse(s, op, "its extents are known at run time only");
        if (type_is_empty(n.y) || type_is_empty(n.x))
                return true;
        if (kind == REDUCE_sum)
                return sweep_flow(s, x, sums_by(s->b, &n, build_cast(s->b,
                                                                     sweep_of(s, op_result(op)),
                                                                     x->type->element)));
        if (kind == REDUCE_prod)
                return sweep_flow(s, x, window_products_by(s->b, op, sweep_of(s, op_result(op))));
        return extremes_flow(s, op, kind == REDUCE_min);
}
