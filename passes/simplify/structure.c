/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that move, join or cancel reshapes, transposes, broadcasts, slices,
 * pads and concats, and those of reductions behind them. */
#include "passes/simplify/simplify.h"

#include <math.h>
#include <string.h>

static bool has_elements(const struct value *v)
{
        return type_is_static(v->type) && type_elements(v->type) > 0;
}

/* Finds the constant integers of operand i, one per dimension. */
static bool amounts(const struct op *op, int i, int64_t *ints)
{
        int n;
        return value_ints(op_operand(op, i), ints, RANK_MAX, &n);
}

static bool same_ints(const struct op *a, const struct op *b, const char *name)
{
        int n, count;
        const int64_t *x = op_ints(a, name, &n), *y = op_ints(b, name, &count);
        return n == count && !memcmp(x, y, sizeof *x * (size_t)n);
}

/* ---- element-wise operations on moved operands ---- */

/* Returns the first operand that is moved by `code`, when all others are moved alike or are splats;
 * else NULL. */
static const struct op *moved_alike(const struct op *op, enum opcode code, const char *how)
{
        const struct op *first = NULL;
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                if (value_is_splat(v, NULL))
                        continue;
                if (!op_is(v, code) || (first && (!same_ints(first, v->op, how) ||
                                                  !type_same_dims(op_operand(first, 0)->type,
                                                                  op_operand(v->op, 0)->type))))
                        return NULL;
                first = first ? first : v->op;
        }
        return first;
}

/* Builds op on the values that its operands were before the move. */
static struct value *before_move(struct builder *b, const struct op *op, const struct type *shape)
{
        struct value *operands[OPERAND_ROW_MAX];
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                operands[i] =
                        value_is_splat(v, NULL)
                                ? constant_splat(b->m,
                                                 type_with_element(b->m, shape, v->type->element),
                                                 constant_data(v->constant))
                                : op_operand(v->op, 0);
        }
        return value_build(b, op->code, operands, op->operand_count, op->attrs, NULL);
}

struct value *rewrite_broadcast_join(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        const struct op *first = moved_alike(op, OP_broadcast, "dims");
        if (!first || !type_is_static(op_result(op)->type))
                return NULL;
        struct value *y = before_move(b, op, op_operand(first, 0)->type);
        return y ? build_broadcast(b, y, op_result(op)->type, op_ints(first, "dims", NULL)) : NULL;
}

struct value *rewrite_transpose_join(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        const struct op *first = moved_alike(op, OP_transpose, "perm");
        int transposes = 0;
        for (int i = 0; first && i < op->operand_count; i++) {
                if (value_is_splat(op_operand(op, i), NULL))
                        continue;
                transposes++;
                if (!value_has_one_use(op_operand(op, i)))
                        return NULL;
        }
        if (transposes < 2)
                return NULL;
        struct value *y = before_move(b, op, op_operand(first, 0)->type);
        return y ? build_transpose(b, y, op_ints(first, "perm", NULL)) : NULL;
}

/* ---- transposes ---- */

struct value *rewrite_transpose_broadcast(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        if (!op_is(v, OP_broadcast))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        const int64_t *perm = op_ints(op, "perm", NULL), *onto = op_ints(v->op, "dims", NULL);
        int64_t order[RANK_MAX], dims[RANK_MAX];
        int count = 0;
        for (int i = 0; i < v->type->rank; i++)         /* Result dimension i was perm[i] before;
                                                         * this looks for the operand's dimension
                                                         * that goes there. */
                for (int k = 0; k < x->type->rank; k++)
                        if (onto[k] == perm[i]) {
                                order[count] = k;
                                dims[count++] = i;
                        }
        return build_broadcast(b, build_transpose(b, x, order), op_result(op)->type, dims);
}

struct value *rewrite_concat_transposes(struct builder *b, struct op *op,
                                        struct pass_context *context)
{
        (void)context;
        struct value **xs = arena_array(b->m->arena, (size_t)op->operand_count, sizeof *xs);
        for (int i = 0; i < op->operand_count; i++) {
                struct value *v = op_operand(op, i);
                if (!op_is(v, OP_transpose) || !value_has_one_use(v) ||
                    !same_ints(op_operand(op, 0)->op, v->op, "perm"))
                        return NULL;
                xs[i] = op_operand(v->op, 0);
        }
        const int64_t *perm = op_ints(op_operand(op, 0)->op, "perm", NULL);
        return build_transpose(
                b, build_concat(b, xs, op->operand_count, (int)perm[op_int(op, "axis")]), perm);
}

/* ---- broadcasts ---- */

static int extents_of_one(const struct type *t)
{
        int count = 0;
        for (int d = 0; d < t->rank; d++)
                count += dim_is(t->dims[d], 1);
        return count;
}

/* Drops a reshape that only adds extents of 1; the reshape that is built adds none. */
struct value *rewrite_broadcast_reshape(struct builder *b, struct op *op,
                                        struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        if (!op_is(v, OP_reshape) || !has_elements(v))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        const int64_t *onto = op_ints(op, "dims", NULL);
        int64_t dims[RANK_MAX];
        dim_t extents[RANK_MAX];
        int count = 0, kept = extents_of_one(x->type);
        if (extents_of_one(v->type) <= kept)
                return NULL;
        for (int k = 0; k < v->type->rank; k++) {
                if (dim_is(v->type->dims[k], 1) && kept-- <= 0)
                        continue;
                extents[count] = v->type->dims[k];
                dims[count++] = onto[k];
        }
        return build_broadcast(b, build_reshape(b, x, count, extents), op_result(op)->type, dims);
}

/* ---- slices ---- */

struct sliced { int64_t starts[RANK_MAX], steps[RANK_MAX]; };

static bool slice_of(const struct op *op, struct sliced *slice)
{
        return has_elements(op_result(op)) && type_is_static(op_operand(op, 0)->type) &&
               amounts(op, 1, slice->starts) && amounts(op, 2, slice->steps);
}

/* Finds the first and last index that the slice reads along d, in ascending order. */
static void reach_of(const struct op *op, const struct sliced *slice, int d, int64_t *low,
                     int64_t *high)
{
        int64_t end =
                slice->starts[d] + (type_extent(op_result(op)->type, d) - 1) * slice->steps[d];
        *low = slice->starts[d] < end ? slice->starts[d] : end;
        *high = slice->starts[d] < end ? end : slice->starts[d];
}

struct value *rewrite_slice_concat(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        struct sliced slice;
        int64_t low, high, offset = 0;
        if (!op_is(v, OP_concat) || !slice_of(op, &slice))
                return NULL;
        int axis = (int)op_int(v->op, "axis");
        reach_of(op, &slice, axis, &low, &high);
        for (int i = 0; i < v->op->operand_count; i++) {
                struct value *x = op_operand(v->op, i);
                if (low >= offset && high < offset + type_extent(x->type, axis)) {
                        slice.starts[axis] -= offset;
                        return build_slice(b, x, slice.starts, slice.steps,
                                           op_result(op)->type->dims);
                }
                offset += type_extent(x->type, axis);
        }
        return NULL;
}

struct value *rewrite_slice_pad(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        struct sliced slice;
        int64_t pads[RANK_MAX], low, high;
        if (!op_is(v, OP_pad) || !slice_of(op, &slice) || !amounts(v->op, 2, pads))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        for (int d = 0; d < v->type->rank; d++) {
                reach_of(op, &slice, d, &low, &high);
                if (low < pads[d] || high >= pads[d] + type_extent(x->type, d))
                        return NULL;
                slice.starts[d] -= pads[d];
        }
        return build_slice(b, x, slice.starts, slice.steps, op_result(op)->type->dims);
}

/* Builds a smaller pad, perhaps a crop, when some of x remains in all dimensions. */
struct value *rewrite_slice_of_pad(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        struct sliced slice;
        int64_t pads[RANK_MAX];
        if (!op_is(v, OP_pad) || !value_has_one_use(v) || op_int(v->op, "mode") != 0 ||
            !slice_of(op, &slice) || !amounts(v->op, 2, pads))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        const struct type *t = op_result(op)->type;
        for (int d = 0; d < t->rank; d++) {
                pads[d] -= slice.starts[d];
                if (slice.steps[d] != 1 || pads[d] >= type_extent(t, d) ||
                    pads[d] + type_extent(x->type, d) <= 0)
                        return NULL;
        }
        struct value *operands[] = { x, op_operand(v->op, 1), constant_ints(b->m, pads, t->rank) };
        return value_build(b, OP_pad, operands, 3, v->op->attrs, t);
}

struct value *rewrite_slice_broadcast(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        struct sliced slice;
        if (!op_is(v, OP_broadcast) || !slice_of(op, &slice))
                return NULL;
        struct value *x = op_operand(v->op, 0);
        const int64_t *onto = op_ints(v->op, "dims", NULL);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int k = 0; k < x->type->rank; k++) {
                bool spread = dim_is(x->type->dims[k], 1);
                starts[k] = spread ? 0 : slice.starts[onto[k]];
                steps[k] = spread ? 1 : slice.steps[onto[k]];
                dims[k] = dim_of(spread ? 1 : type_extent(op_result(op)->type, onto[k]));
        }
        return build_broadcast(b, build_slice(b, x, starts, steps, dims), op_result(op)->type,
                               onto);
}

/* ---- pads ---- */

/* Is op a pad by a constant that crops nowhere? */
static bool pad_of(const struct op *op, int64_t low[RANK_MAX], int64_t high[RANK_MAX])
{
        const struct type *x = op_operand(op, 0)->type, *y = op->results[0].type;
        if (op->code != OP_pad || op_int(op, "mode") != 0 || !amounts(op, 2, low))
                return false;
        for (int d = 0; d < x->rank; d++) {
                const bool all = !low[d] && dim_equal(x->dims[d], y->dims[d]);
                if (!all && !(dim_is_static(x->dims[d]) && dim_is_static(y->dims[d])))
                        return false;
                high[d] = all ? 0 : type_extent(y, d) - type_extent(x, d) - low[d];
                if (low[d] < 0 || high[d] < 0)
                        return false;
        }
        return true;
}

static bool same_number(const struct value *v, const struct value *w)
{
        double x, y;
        return value_is_splat(v, &x) && value_is_splat(w, &y) && x == y &&
               !signbit(x) == !signbit(y);
}

struct value *rewrite_pad_pad(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        int64_t low[RANK_MAX], high[RANK_MAX], inner[RANK_MAX];
        if (!op_is(v, OP_pad) || !pad_of(op, low, high) || !pad_of(v->op, inner, high) ||
            !same_number(op_operand(op, 1), op_operand(v->op, 1)))
                return NULL;
        for (int d = 0; d < v->type->rank; d++)
                low[d] += inner[d];
        struct value *operands[] = { op_operand(v->op, 0), op_operand(op, 1),
                                     constant_ints(b->m, low, v->type->rank) };
        return value_build(b, OP_pad, operands, 3, op->attrs, op_result(op)->type);
}

/* Makes a pad that only crops a slice, which can be a view. */
struct value *rewrite_pad_crop(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        const struct type *t = op_result(op)->type;
        int64_t low[RANK_MAX], steps[RANK_MAX];
        if (op_int(op, "mode") != 0 || !type_is_static(x->type) || !has_elements(op_result(op)) ||
            !amounts(op, 2, low))
                return NULL;
        for (int d = 0; d < t->rank; d++) {
                low[d] = -low[d];
                steps[d] = 1;
                if (low[d] < 0 || low[d] + type_extent(t, d) > type_extent(x->type, d))
                        return NULL;
        }
        return build_slice(b, x, low, steps, t->dims);
}

struct value *rewrite_pad_splat(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        const struct value *x = op_operand(op, 0);
        if (op_int(op, "mode") != 0 || !same_number(x, op_operand(op, 1)))
                return NULL;
        return constant_splat(b->m, op_result(op)->type, constant_data(x->constant));
}

/* ---- reductions ---- */

bool simplify_axes(const struct op *op, unsigned *mask)
{
        int64_t axes[RANK_MAX];
        int n;
        const struct type *x = op_operand(op, 0)->type;
        *mask = 0;
        if (!value_ints(op_operand(op, 1), axes, RANK_MAX, &n))
                return false;
        for (int i = 0; i < n; i++)
                *mask |= 1u << (axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        return op_result(op)->type->rank + __builtin_popcount(*mask) == x->rank;
}

struct value *simplify_reduce(struct builder *b, const struct op *like, struct value *x,
                              unsigned mask)
{
        int64_t axes[RANK_MAX];
        int count = 0;
        for (int d = 0; d < x->type->rank; d++)
                if (mask >> d & 1)
                        axes[count++] = d;
        struct value *operands[] = { x, constant_ints(b->m, axes, count) };
        return value_build(b, OP_reduce, operands, 2, like->attrs, NULL);
}

struct value *rewrite_reduce_reduce(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        unsigned outer, inner;
        if (!op_is(v, OP_reduce) || !value_has_one_use(v) ||
            op_int(op, "kind") != op_int(v->op, "kind") || op_int(op, "accumulator") != E_COMPUTE ||
            op_int(v->op, "accumulator") != E_COMPUTE || !simplify_axes(op, &outer) ||
            !simplify_axes(v->op, &inner))
                return NULL;
        unsigned both = inner;
        for (int d = 0, k = 0; d < op_operand(v->op, 0)->type->rank; d++)
                if (!(inner >> d & 1)) {
                        if (outer >> k & 1)
                                both |= 1u << d;
                        k++;
                }
        return simplify_reduce(b, v->op, op_operand(v->op, 0), both);
}

/* Returns what a broadcast spreads, spread over the dimensions that a reduction along other ones
 * leaves; *times: how many equal elements the reduction meets. NULL: it meets different ones. */
static struct value *met_once(struct builder *b, const struct op *op, int64_t *times)
{
        struct value *v = op_operand(op, 0);
        unsigned mask;
        if (!op_is(v, OP_broadcast) || !has_elements(v) || !simplify_axes(op, &mask) || !mask ||
            v->type->element != op_result(op)->type->element)
                return NULL;
        struct value *x = op_operand(v->op, 0);
        const int64_t *onto = op_ints(v->op, "dims", NULL);
        int64_t dims[RANK_MAX];
        dim_t kept[RANK_MAX];
        int count = 0;
        *times = 1;
        for (int d = 0; d < v->type->rank; d++)
                *times *= mask >> d & 1 ? type_extent(v->type, d) : 1;
        for (int k = 0; k < x->type->rank; k++) {
                if (mask >> onto[k] & 1) {
                        if (!dim_is(x->type->dims[k], 1))
                                return NULL;
                        continue;
                }
                kept[count] = x->type->dims[k];
                dims[count++] = onto[k] - __builtin_popcount(mask & ((1u << onto[k]) - 1));
        }
        return build_broadcast(b, build_reshape(b, x, count, kept), op_result(op)->type, dims);
}

struct value *rewrite_extreme_of_broadcast(struct builder *b, struct op *op,
                                           struct pass_context *context)
{
        (void)context;
        int64_t times, kind = op_int(op, "kind");
        return kind == REDUCE_max || kind == REDUCE_min ? met_once(b, op, &times) : NULL;
}

struct value *rewrite_sum_of_broadcast(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        int64_t times;
        struct value *x = op_int(op, "kind") == REDUCE_sum ? met_once(b, op, &times) : NULL;
        return x ? build_binary(b, OP_mul, x, build_like(b, x, (double)times)) : NULL;
}

/* Reduces along one axis, in the same order, before the transpose, which then moves the smaller
 * result. */
struct value *rewrite_reduce_transpose(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        unsigned mask;
        if (!op_is(v, OP_transpose) || !value_has_one_use(v) || !simplify_axes(op, &mask) ||
            __builtin_popcount(mask) != 1)
                return NULL;
        const int64_t *perm = op_ints(v->op, "perm", NULL);
        int64_t axis = perm[__builtin_ctz(mask)], order[RANK_MAX];
        int count = 0;
        for (int d = 0; d < v->type->rank; d++)
                if (!(mask >> d & 1))
                        order[count++] = perm[d] - (perm[d] > axis);
        struct value *y = simplify_reduce(b, op, op_operand(v->op, 0), 1u << axis);
        return y ? build_transpose(b, y, order) : NULL;
}

/* Moves a factor, or the sign, of all that is summed behind the sum. */
struct value *rewrite_sum_scaled(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        unsigned mask;
        if (op_int(op, "kind") != REDUCE_sum || v->type->element != op_result(op)->type->element ||
            v->kind != VALUE_RESULT || !value_has_one_use(v) || !simplify_axes(op, &mask))
                return NULL;
        if (v->op->code == OP_neg)
                return build_unary(b, OP_neg, simplify_reduce(b, op, op_operand(v->op, 0), mask));
        for (int i = 0; i < 2 && v->op->code == OP_mul; i++) {
                struct value *c = op_operand(v->op, i);
                if (!value_is_splat(c, NULL))
                        continue;
                struct value *sum = simplify_reduce(b, op, op_operand(v->op, 1 - i), mask);
                return sum ? build_binary(
                                     b, OP_mul, sum,
                                     constant_splat(b->m, sum->type, constant_data(c->constant)))
                           : NULL;
        }
        return NULL;
}

/* ---- windows ---- */

struct value *rewrite_window_of_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        int n;
        const int64_t *window = op_ints(op, "window", &n), *strides = op_ints(op, "strides", NULL),
                      *pads = op_ints(op, "pads", NULL);
        for (int d = 0; d < n; d++)
                if (window[d] != 1 || strides[d] != 1 || pads[d] || pads[n + d])
                        return NULL;
        if (op_int(op, "kind") == REDUCE_sum && element_is_float(op_result(op)->type->element))
                return NULL;            /* The sum is not exact: 0 + -0 = 0. */
        return op_operand(op, 0)->type == op_result(op)->type ? op_operand(op, 0) : NULL;
}

/* Is v a splat that changes no result of a window of that kind? */
static bool is_neutral(const struct value *v, int64_t kind)
{
        double number;
        if (!value_is_splat(v, &number))
                return false;
        return kind == REDUCE_sum ? number == 0
                                  : element_is_float(v->type->element) &&
                                            number == (kind == REDUCE_max   ? -INFINITY
                                                       : kind == REDUCE_min ? INFINITY
                                                                            : 0);
}

struct value *rewrite_pad_into_window(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        int64_t low[RANK_MAX], high[RANK_MAX], pads[2 * RANK_MAX], kind = op_int(op, "kind");
        if (!op_is(v, OP_pad) || kind == REDUCE_prod || !pad_of(v->op, low, high) ||
            !is_neutral(op_operand(v->op, 1), kind))
                return NULL;
        int n;
        const int64_t *window = op_ints(op, "window", &n), *strides = op_ints(op, "strides", NULL),
                      *old = op_ints(op, "pads", NULL);
        const int64_t *dilations = op_ints(op, "dilations", NULL);
        for (int d = 0; d < n; d++) {
                int64_t reach = (window[d] - 1) * dilations[d] + 1,
                        room = type_extent(v->type, d) + old[d] + old[n + d] - reach;
                if (old[d] < 0 || old[n + d] < 0 || room < 0 ||
                    !dim_is(op_result(op)->type->dims[d], room / strides[d] + 1))
                        return NULL;    /* A last window that only begins inside would no longer be
                                         * one. */
                pads[d] = old[d] + low[d];
                pads[n + d] = old[n + d] + high[d];
        }
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set_ints(b->m, attrs, OP_reduce_window, "pads", pads, 2 * n);
        struct value *x = op_operand(v->op, 0);
        return value_build(b, OP_reduce_window, &x, 1, attrs, op_result(op)->type);
}

/* ---- indices ---- */

struct value *rewrite_iota_of_one(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        const struct type *t = op_result(op)->type;
        return dim_is(t->dims[op_int(op, "axis")], 1) ? build_like(b, op_result(op), 0) : NULL;
}

/* Returns the number up to which whole numbers are exact in the type. */
static double whole_limit(enum element e)
{
        switch (e) {
        case E_F64: return 0x1p53;
        case E_F32: return 0x1p24;
        case E_F16: case E_TF32: return 0x1p11;
        case E_BF16: return 0x1p8;
        default:
                return ldexp(1, 8 * element_info[e].bytes - (element_info[e].class == CLASS_SINT)) -
                       1;
        }
}

struct value *rewrite_cast_iota(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = op_operand(op, 0);
        enum element to = op_result(op)->type->element;
        if (!op_is(x, OP_iota) || !value_has_one_use(x) || to == E_BOOL || !element_is_stored(to))
                return NULL;
        int axis = (int)op_int(x->op, "axis");
        dim_t extent = x->type->dims[axis];
        if (!dim_is_static(extent) || (double)dim_extent(extent) > whole_limit(x->type->element) ||
            (double)dim_extent(extent) > whole_limit(to))
                return NULL;
        return build_iota(b, op_result(op)->type, axis);
}

/* ---- regions ---- */

struct value *rewrite_if_same(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)b, (void)context;
        struct value *v = op_operand(op->regions[0]->last, 0);
        const struct region *home = v->kind == VALUE_RESULT     ? v->op->region
                                    : v->kind == VALUE_ARGUMENT ? v->region
                                                                : NULL;
        bool inside = home == op->regions[0] || home == op->regions[1];
        return !inside && simplify_same(v, op_operand(op->regions[1]->last, 0)) ? v : NULL;
}
