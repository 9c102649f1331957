/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that multiply integers as integers: networks of 8 bits are written as
 * products of decoded numbers. Their sums are exact, and so the same on every target. How they are
 * added up is decided by layout: by a multiply for bytes, as floats where these are exact, too
 * (layout/integers.c), or one by one. */
#include "passes/layout/multiplies.h"
#include "passes/simplify/simplify.h"
#include "passes/simplify/ranges.h"

#include <math.h>
#include <string.h>

enum { BIAS_MAX = 1 << 24 };            /* Sums leave room for a bias of this magnitude. */

/* Returns the value that v casts without changing it; else NULL. */
static struct value *cast_in_vain(const struct value *v)
{
        struct value *x = op_is(v, OP_cast) ? op_operand(v->op, 0) : NULL;
        if (!x || !element_is_integer(x->type->element) || !element_is_integer(v->type->element))
                return NULL;
        const struct whole_range before = whole_range_of(x), after = whole_range_of(v);
        return before.low == after.low && before.high == after.high ? x : NULL;
}

/* Returns the narrowest of the values that casts which change nothing lead to v. */
static struct value *uncast(struct value *v)
{
        struct value *narrowest = v;
        for (struct value *x = v; (x = cast_in_vain(x));)
                if (element_info[x->type->element].bytes <=
                    element_info[narrowest->type->element].bytes)
                        narrowest = x;
        return narrowest;
}

/* Is a product by w made of integers on this target? Products of two activations stay as they are
 * on targets with vectors; w is a constant, perhaps less a zero point. */
static bool is_for(const struct pass_context *context, struct value *w)
{
        return !target_engine(context->target)->blocks ||
               value_is_constant(op_is(w, OP_sub) ? uncast(op_operand(w->op, 0)) : w);
}

static bool is_whole(const struct value *v)
{
        return op_is(v, OP_cast) && element_is_integer(op_operand(v->op, 0)->type->element);
}

/* Returns x, where v = cast x, or cast x * factor, perhaps with its elements in another order where
 * the factor is a splat; else NULL. */
static struct value *find_whole(const struct value *v, struct value **factor)
{
        bool moved = false;
        *factor = NULL;
        for (; op_is(v, OP_transpose) || op_is(v, OP_reshape); moved = true)
                v = op_operand(v->op, 0);
        for (int i = 0; i < 2 && op_is(v, OP_mul) && !*factor; i++)
                if (is_whole(op_operand(v->op, i)))
                        *factor = op_operand(v->op, 1 - i);
        if (moved && *factor && !value_is_splat(*factor, NULL))
                return NULL;
        if (*factor)
                v = op_operand(v->op, 0) == *factor ? op_operand(v->op, 1) : op_operand(v->op, 0);
        return is_whole(v) ? op_operand(v->op, 0) : NULL;
}

/* Moves x as v moves the value that it is made of. */
static struct value *moved_like(struct builder *b, const struct value *v, struct value *x)
{
        if (!op_is(v, OP_transpose) && !op_is(v, OP_reshape))
                return x;
        x = moved_like(b, op_operand(v->op, 0), x);
        return x ? value_build(b, v->op->code, &x, 1, v->op->attrs,
                               type_with_element(b->m, v->type, x->type->element))
                 : NULL;
}

static struct value *contract(struct builder *b, const struct op *op, struct value *x,
                              struct value *w)
{
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_I32);
        return value_build(b, op->code, (struct value *[]){ x, w }, 2, attrs,
                           type_with_element(b->m, op_result(op)->type, E_I32));
}

/* Returns the product of scales: constants spread over the same places, or over all, become one
 * constant. */
static struct value *product_of(struct builder *b, struct value *x, struct value *y)
{
        for (int i = 0; i < 2; i++) {
                struct value *one = i ? y : x, *many = i ? x : y;
                if (!value_is_splat(one, NULL) || !op_is(many, OP_broadcast) ||
                    !value_is_constant(op_operand(many->op, 0)))
                        continue;
                struct value *from = op_operand(many->op, 0);
                struct value *scaled = build_binary(
                        b, OP_mul, constant_splat(b->m, from->type, constant_data(one->constant)),
                        from);
                return build_broadcast(b, scaled, many->type, op_ints(many->op, "dims", NULL));
        }
        return build_binary(b, OP_mul, x, y);
}

/* Is v made of numbers of 8 bits, perhaps less a zero point, and moved? */
static bool is_bytes(struct value *v)
{
        while (op_is(v, OP_transpose) || op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        v = uncast(op_is(v, OP_sub) ? op_operand(v->op, 0) : v);
        return element_info[v->type->element].bytes == 1;
}

/* Should a product of two values that are computed at run time be one of bytes? It should where the
 * target multiplies bytes as they lie in memory faster than floats, in words of four, or where
 * floats would not be exact. */
static bool multiplies_both(const struct pass_context *context, const struct op *op)
{
        enum { WORD = 4 };
        const struct multiply *m = whole_multiplies(context, E_U8, E_I8)
                                           ? multiply_in(context, E_U8, E_I8)
                                           : NULL;
        return m && (m->channels >= WORD || !whole_in_floats(op));
}

/* Returns why a product of these integers, times factors or NULL, is not made one of integers;
 * NULL: it is made one. */
static const char *obstacle_of(const struct op *op, struct value *const whole[2],
                               struct value *const factors[2], const struct pass_context *context)
{
        double largest = (double)whole_products(op);
        for (int i = 0; i < 2; i++)
                largest *= whole_largest(whole_range_of(whole[i]));
        bool both = op->code == OP_dot && is_bytes(whole[0]) && is_bytes(whole[1]);
        if (!is_for(context, whole[1]) && !both)
                return "both operands are made while it runs";
        if (largest > INT32_MAX - BIAS_MAX)
                return "a sum of so many products may not fit into i32";
        if (op->code == OP_convolve && factors[0] && !value_is_splat(factors[0], NULL))
                return "the scale of what is convolved is not one number";
        return NULL;
}

/* Are the extents of a contraction known? Of a product, a run may give the rows, of a convolution
 * the images. */
static bool is_known(const struct op *op)
{
        return op->code == OP_dot ? type_is_bound(op_module(op), op_operand(op, 0)->type) &&
                                            type_is_static(op_operand(op, 1)->type)
                                  : op_is_static_inside(op) &&
                                            type_is_static(op_operand(op, 1)->type);
}

static bool is_of_floats(const struct op *op)
{
        return (op->code == OP_convolve || op->code == OP_dot) &&
               op_result(op)->type->element == E_F32 && is_known(op);
}

static struct value *multiply_whole(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *whole[2], *factors[2];
        if (!is_of_floats(op))
                return NULL;
        for (int i = 0; i < 2; i++) {
                const struct value *v = op_operand(op, i);
                whole[i] = find_whole(v, &factors[i]);
                whole[i] = whole[i] ? moved_like(b, v, whole[i]) : NULL;
                if (!whole[i])
                        return NULL;
        }
        if (obstacle_of(op, whole, factors, context))
                return NULL;
        struct value *y = build_cast(b, contract(b, op, whole[0], whole[1]), E_F32), *scale = NULL;
        for (int i = 0; i < 2; i++) {
                struct value *factor =
                        factors[i] ? simplify_result_factor(b, op, i, factors[i]) : NULL;
                if (factors[i] && !factor)
                        return NULL;
                scale = scale && factor ? product_of(b, scale, factor) : factor ? factor : scale;
        }
        return scale ? build_binary(b, OP_mul, y, scale) : y;
}

const char *whole_obstacle(const struct op *op, const struct pass_context *context)
{
        struct value *whole[2], *factors[2];
        bool bytes[2];
        if (!is_of_floats(op))
                return NULL;
        for (int i = 0; i < 2; i++) {
                whole[i] = find_whole(op_operand(op, i), &factors[i]);
                bytes[i] = whole[i] && is_bytes(whole[i]);
        }
        if (!bytes[0] && !bytes[1])
                return NULL;
        if (!bytes[0] || !bytes[1])
                return bytes[1] ? "weights alone are quantized" : "weights are floats";
        if (context->exact)
                return "--exact keeps the model's sums of floats";
        const char *why = obstacle_of(op, whole, factors, context);
        return why ? why : "a scale differs along what is added up";
}

struct value *rewrite_convolve_whole(struct builder *b, struct op *op, struct pass_context *context)
{
        return multiply_whole(b, op, context);
}

struct value *rewrite_dot_whole(struct builder *b, struct op *op, struct pass_context *context)
{
        return multiply_whole(b, op, context);
}

/* Does every window lie inside x, and are there no zeros between its elements? */
static bool is_inside(const struct op *op)
{
        int pads = 0;
        const int64_t *pad = op->code == OP_convolve ? op_ints(op, "pads", &pads) : NULL;
        for (int i = 0; i < pads; i++)
                if (pad[i] > 0)
                        return false;
        return op->code == OP_dot || op_all_ones(op, "input_dilations");
}

/* ---- narrower operands ---- */

/* Rewrites a product by weights of a byte of what are bytes before a conversion. */
static struct value *narrow_bytes(struct builder *b, struct op *op, struct value *w)
{
        struct value *x = uncast(op_operand(op, 0));
        const bool bytes = element_info[x->type->element].bytes == 1 &&
                           element_info[w->type->element].bytes == 1;
        return bytes && x != op_operand(op, 0) ? contract(b, op, x, w) : NULL;
}

static struct value *narrow_operands(struct builder *b, struct op *op, struct pass_context *context)
{
        static const enum element narrower[] = { E_I8, E_U8, E_I16 };
        struct value *w = uncast(op_operand(op, 1));
        double least = 0, largest = 0;
        if (!is_for(context, w) || op_result(op)->type->element != E_I32 ||
            !value_is_constant(w) || value_is_splat(w, NULL))
                return NULL;
        if (w != op_operand(op, 1))
                return contract(b, op, op_operand(op, 0), w);
        if (element_info[w->type->element].bytes == 1)
                return narrow_bytes(b, op, w);
        const int64_t count = type_elements(w->type);
        for (int64_t i = 0; i < count; i++) {
                double number = (double)constant_element(w->constant, i).i;
                least = fmin(least, number);
                largest = fmax(largest, number);
        }
        for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++) {
                const struct whole_range range = whole_range_of_element(narrower[i]);
                if (element_info[narrower[i]].bytes >= element_info[w->type->element].bytes)
                        break;
                if (least >= range.low && largest <= range.high)
                        return contract(b, op, op_operand(op, 0), build_cast(b, w, narrower[i]));
        }
        return NULL;
}

struct value *rewrite_convolve_narrow(struct builder *b, struct op *op,
                                      struct pass_context *context)
{
        return narrow_operands(b, op, context);
}

struct value *rewrite_dot_narrow(struct builder *b, struct op *op, struct pass_context *context)
{
        return narrow_operands(b, op, context);
}

/* Takes zero points of weights out of the product, for hardware tiles: what would be subtracted
 * from each weight is subtracted from the result, as that many sums of x. */
static struct value *center_weights(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        if (!target_engine(context->target)->blocks || whole_outputs(op) < 0 ||
            op_result(op)->type->element != E_I32 || !op_is(w, OP_sub))
                return NULL;
        struct value *plain = uncast(op_operand(w->op, 0)), *zero = op_operand(w->op, 1);
        /* The bytes are those before their zero point is taken out, too. */
        const struct value *bytes = uncast(op_is(x, OP_sub) ? op_operand(x->op, 0) : x);
        const struct type *t = op_result(op)->type;
        if (!value_is_constant(plain) || w->type->element != E_I32 || !type_is_static(t) ||
            !whole_multiplies(context, bytes->type->element,
                             plain->type->element))
                return NULL;
        int count;
        const int64_t *contracted = op_ints(op, "contract_a", &count);
        int64_t rows[RANK_MAX];
        for (int d = 0; d + 1 < t->rank; d++)
                rows[d] = d;
        zero = simplify_result_factor(b, op, 1, zero);
        struct value *sums =
                zero ? build_reduce(b, REDUCE_sum, build_cast(b, x, E_I32), contracted, count)
                     : NULL;
        sums = sums ? build_binary(b, OP_mul, build_broadcast(b, sums, t, rows), zero) : NULL;
        return sums ? build_binary(b, OP_sub, contract(b, op, x, plain), sums) : NULL;
}

struct value *rewrite_dot_centered(struct builder *b, struct op *op, struct pass_context *context)
{
        return center_weights(b, op, context);
}

/* ---- zero points ---- */

/* Returns minus c times the sum of each output's weights, as integers that wrap. An output is an
 * index of dimension `along`. */
static struct value *shifts_of(struct module *m, const struct value *w, int along, double c)
{
        const struct type *t = w->type;
        int64_t inner = 1, count = type_elements(t);
        uint32_t *shifts = arena_array(m->arena, (size_t)type_extent(t, along), sizeof *shifts);
        for (int d = along + 1; d < t->rank; d++)
                inner *= type_extent(t, d);
        for (int64_t i = 0; i < count; i++)
                shifts[i / inner % type_extent(t, along)] -=
                        (uint32_t)constant_element(w->constant, i).i * (uint32_t)(int64_t)c;
        return constant_dense(m, type_tensor(m, E_I32, 1, &t->dims[along]), shifts, "shift");
}

/* Does difference = x - c not wrap, and is c the same everywhere? c is a number, or *number (1
 * then) times *run, which is known at run time. */
static bool find_zero_point(const struct value *difference, double *number, struct value **run)
{
        const struct value *x = op_operand(difference->op, 0);
        struct value *v = op_operand(difference->op, 1);
        *run = NULL;
        if (value_is_splat(v, number)) {
                const struct whole_range before = whole_range_of(x),
                                         after = whole_range_of(difference);
                return after.low == before.low - *number && after.high == before.high - *number;
        }
        while (is_whole(v) || op_is(v, OP_broadcast) || op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        enum { NARROW = 1 << 16 };      /* Differences of numbers below this do not wrap in i32. */
        *number = 1;
        *run = v;
        return difference->type->element == E_I32 && element_is_integer(v->type->element) &&
               type_is_static(v->type) && type_elements(v->type) == 1 &&
               whole_largest(whole_range_of(v)) <= NARROW &&
               whole_largest(whole_range_of(x)) <= NARROW;
}

/* Is every window inside x, or could it be if the zero point lay around x, which takes memory? */
static bool can_be_inside(const struct op *op, const struct pass_context *context)
{
        int count;
        const int64_t *pads = op->code == OP_convolve ? op_ints(op, "pads", &count) : NULL;
        for (int i = 0; pads && i < count; i++)
                if (pads[i] < 0)
                        return false;
        return is_inside(op) || (target_engine(context->target)->blocks &&
                                 op_all_ones(op, "input_dilations"));
}

/* Builds the contraction of x, with the zero point c around it, by w. */
static struct value *contract_padded(struct builder *b, const struct op *op, struct value *x,
                                     struct value *w, double c)
{
        int count, spatial;
        const int64_t *pads = op_ints(op, "pads", &count);
        int64_t low[RANK_MAX] = { 0 }, none[RANK_MAX] = { 0 };
        dim_t dims[RANK_MAX];
        memcpy(dims, x->type->dims, (size_t)x->type->rank * sizeof *dims);
        spatial = count / 2;
        for (int d = 0; d < spatial; d++) {
                low[2 + d] = pads[d];
                dims[2 + d] = dim_of(dim_extent(dims[2 + d]) + (pads[d] + pads[spatial + d]));
        }
        const struct type *scalar = type_tensor(b->m, x->type->element, 0, NULL),
                          *whole = type_tensor(b->m, x->type->element, x->type->rank, dims);
        struct value *around[] = { x, constant_number(b->m, scalar, c),
                                   constant_ints(b->m, low, x->type->rank) };
        struct value *padded = value_build(b, OP_pad, around, 3, NULL, whole);
        struct attr attrs[ATTR_MAX];
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_I32);
        attr_set_ints(b->m, attrs, op->code, "pads", none, count);
        return value_build(b, op->code, (struct value *[]){ padded, w }, 2, attrs,
                           type_with_element(b->m, op_result(op)->type, E_I32));
}

/* Returns the difference that v moves, or casts without changing it; else NULL. */
static const struct value *difference_of(const struct value *v)
{
        for (const struct value *x = v; x;) {
                v = x;
                x = op_is(v, OP_reshape) || op_is(v, OP_transpose) ? op_operand(v->op, 0)
                                                                   : cast_in_vain(v);
        }
        return op_is(v, OP_sub) ? v : NULL;
}

/* Builds v without the zero point. */
static struct value *uncentered(struct builder *b, const struct value *v)
{
        if (op_is(v, OP_sub))
                return uncast(op_operand(v->op, 0));
        struct value *x = uncentered(b, op_operand(v->op, 0));
        if (!x || v->op->code == OP_cast)
                return x;
        return value_build(b, v->op->code, &x, 1, v->op->attrs,
                           type_with_element(b->m, v->type, x->type->element));
}

static struct value *shift_whole(struct builder *b, struct op *op, struct pass_context *context)
{
        const struct value *centered = difference_of(op_operand(op, 0));
        struct value *w = op_operand(op, 1);
        const struct type *t = op_result(op)->type;
        int along = whole_outputs(op);
        if (!is_for(context, w) || op_result(op)->type->element != E_I32 || along < 0 ||
            !centered || !value_is_constant(w) || !is_known(op) ||
            !type_elements(w->type) || !can_be_inside(op, context))
                return NULL;
        double c;
        struct value *run;
        if (!find_zero_point(centered, &c, &run) || (run && !is_inside(op)))
                return NULL;
        const int64_t outputs = op->code == OP_convolve ? 1 : t->rank - 1;
        struct value *x = uncentered(b, op_operand(op, 0));
        if (!x)
                return NULL;
        struct value *y = is_inside(op) ? contract(b, op, x, w) : contract_padded(b, op, x, w, c);
        struct value *shifts = shifts_of(b->m, w, along, c);
        if (run) {                      /* There is one for each output, not for each element. */
                struct value *zero = build_cast(b, build_reshape(b, run, 0, NULL), E_I32);
                shifts = build_binary(b, OP_mul, shifts,
                                      build_broadcast(b, zero, shifts->type, NULL));
        }
        return build_binary(b, OP_add, y, build_broadcast(b, shifts, t, &outputs));
}

/* Changes the sign of x, where the target multiplies bytes with, or without, a sign faster: it
 * becomes x + 128, less 128, or the other way round. */
static struct value *change_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        enum element from = x->type->element, to = multiply_sign(context);
        bool alone =
                op->code == OP_convolve && dim_is(w->type->dims[1], 1) && op_int(op, "groups") > 1;
        bool changes = (from == E_I8 && to == E_U8) || (from == E_U8 && to == E_I8);
        if (!changes || alone || w->type->element != E_I8 || !value_is_constant(w) ||
            op_result(op)->type->element != E_I32 || !is_known(op) ||
            difference_of(x) || whole_outputs(op) < 0 || !can_be_inside(op, context))
                return NULL;
        struct value *wide = build_cast(b, x, E_I32);
        double more = to == E_U8 ? 128 : -128;
        struct value *bytes =
                build_binary(b, OP_add, wide, constant_number(b->m, wide->type, more));
        struct value *less = build_binary(b, OP_sub, build_cast(b, build_cast(b, bytes, to), E_I32),
                                          constant_number(b->m, wide->type, more));
        return contract(b, op, build_cast(b, less, from), w);
}

struct value *rewrite_convolve_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        return change_sign(b, op, context);
}

struct value *rewrite_dot_sign(struct builder *b, struct op *op, struct pass_context *context)
{
        return change_sign(b, op, context);
}

/* ---- two that are made while it runs ---- */

/* A centered value is bytes - shift - factor * run. */
struct centered {
        struct value *bytes, *run;
        double shift, factor;
};

static bool find_centered(struct builder *b, struct value *v, struct centered *c)
{
        const struct value *difference = difference_of(v);
        *c = (struct centered){ .bytes = difference ? NULL : uncast(v) };
        if (difference) {
                if (!find_zero_point(difference, &c->factor, &c->run))
                        return false;
                c->bytes = uncentered(b, v);
                c->shift = c->run ? 0 : c->factor;
        }
        return c->bytes && element_is_integer(c->bytes->type->element) &&
               element_info[c->bytes->type->element].bytes == 1;
}

/* Builds bytes x + `more` as e. What moves x moves the result, too, so that it is computed where x
 * is. */
static struct value *shifted(struct builder *b, struct value *x, double more, enum element e)
{
        if (op_is(x, OP_transpose) || op_is(x, OP_reshape)) {
                struct value *from = shifted(b, op_operand(x->op, 0), more, e);
                return from ? value_build(b, x->op->code, &from, 1, x->op->attrs,
                                          type_with_element(b->m, x->type, e))
                            : NULL;
        }
        struct value *wide = build_cast(b, x, E_I32);
        return build_cast(b, build_binary(b, OP_add, wide, constant_number(b->m, wide->type, more)),
                          e);
}

static void bring_to(struct builder *b, struct centered *c, enum element e)
{
        double more = e == E_U8 ? 128 : -128;
        if (c->bytes->type->element == e)
                return;
        c->bytes = shifted(b, c->bytes, more, e);
        c->shift += more;
}

/* Returns what is subtracted from each byte; NULL: nothing is. */
static struct value *zero_of(struct builder *b, const struct centered *c, const struct type *t)
{
        struct value *shift = c->shift != 0 ? constant_number(b->m, t, c->shift) : NULL;
        if (!c->run)
                return shift;
        struct value *run = build_broadcast(
                b, build_cast(b, build_reshape(b, c->run, 0, NULL), E_I32), t, NULL);
        run = build_binary(b, OP_mul, run, constant_number(b->m, t, c->factor));
        return shift ? build_binary(b, OP_add, shift, run) : run;
}

/* Finds the dimensions of the result that the dimensions of operand i become; -1: they are
 * contracted. */
static void places_of(const struct op *op, int i, int places[RANK_MAX])
{
        int contracted, batch, rank = op_operand(op, i)->type->rank;
        const int64_t *along = op_ints(op, i ? "contract_b" : "contract_a", &contracted),
                      *batches = op_ints(op, i ? "batch_b" : "batch_a", &batch);
        int free = batch + (i ? op_operand(op, 0)->type->rank - contracted - batch : 0);
        for (int d = 0; d < rank; d++)
                places[d] = RANK_MAX;
        for (int k = 0; k < contracted; k++)
                places[along[k]] = -1;
        for (int k = 0; k < batch; k++)
                places[batches[k]] = k;
        for (int d = 0; d < rank; d++)
                if (places[d] == RANK_MAX)
                        places[d] = free++;
}

/* Builds the sums of operand i's bytes along the contracted dimensions, taken before the bytes are
 * moved, and spread over the result. */
static struct value *sums_of(struct builder *b, const struct op *op, int i, struct value *bytes)
{
        int places[RANK_MAX], count = 0, contracted = 0;
        int64_t along[RANK_MAX], onto[RANK_MAX], perm[RANK_MAX];
        places_of(op, i, places);
        for (; op_is(bytes, OP_transpose); bytes = op_operand(bytes->op, 0)) {
                const int64_t *moved = op_ints(bytes->op, "perm", NULL);
                int before[RANK_MAX];
                memcpy(before, places, sizeof before);
                for (int d = 0; d < bytes->type->rank; d++)
                        places[moved[d]] = before[d];
        }
        for (int d = 0, left = 0; d < bytes->type->rank; d++) {
                if (places[d] < 0) {
                        along[contracted++] = d;
                        continue;
                }
                int at = count++;       /* The dimensions are sorted by the places that they go
                                         * to. */
                for (; at > 0 && onto[at - 1] > places[d]; at--) {
                        onto[at] = onto[at - 1];
                        perm[at] = perm[at - 1];
                }
                onto[at] = places[d];
                perm[at] = left++;
        }
        struct value *sums = build_reduce(b, REDUCE_sum, build_cast(b, bytes, E_I32), along,
                                          contracted);
        sums = sums ? build_transpose(b, sums, perm) : NULL;
        return sums ? build_broadcast(b, sums, op_result(op)->type, onto) : NULL;
}

/* Builds y - zero * sums, or y where there is no zero. */
static struct value *less(struct builder *b, struct value *y, struct value *sums,
                          struct value *zero)
{
        return zero ? build_binary(b, OP_sub, y, build_binary(b, OP_mul, sums, zero)) : y;
}

struct value *rewrite_dot_apart(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        const struct type *t = op_result(op)->type;
        struct centered a, c;
        bool done = x->type->element == E_U8 && w->type->element == E_I8 && !difference_of(w);
        if (done || t->element != E_I32 || !type_is_static(x->type) || !type_is_static(w->type) ||
            !type_elements(t) || !multiplies_both(context, op) || value_is_constant(uncast(w)) ||
            !find_centered(b, x, &a) || !find_centered(b, w, &c))
                return NULL;
        bring_to(b, &a, E_U8);
        bring_to(b, &c, E_I8);
        struct value *rows = sums_of(b, op, 0, a.bytes), *columns = sums_of(b, op, 1, c.bytes);
        if (!rows || !columns)
                return NULL;
        struct value *taken = zero_of(b, &a, t), *from = zero_of(b, &c, t);
        struct value *y = less(b, contract(b, op, a.bytes, c.bytes), rows, from);
        y = less(b, y, columns, taken);
        if (!taken || !from)
                return y;
        double products = (double)whole_products(op);
        return build_binary(b, OP_add, y,
                            build_binary(b, OP_mul, build_binary(b, OP_mul, taken, from),
                                         constant_number(b->m, t, products)));
}

struct value *rewrite_convolve_shifted(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        return shift_whole(b, op, context);
}

struct value *rewrite_dot_shifted(struct builder *b, struct op *op, struct pass_context *context)
{
        return shift_whole(b, op, context);
}
