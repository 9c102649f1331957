/* SPDX-License-Identifier: MIT */
/* The steps of random programs: each adds an operation or a pattern of some to the values there are, and is a row of the table
 * at the end. A step that finds no value that it could take does nothing. */
#ifndef TEST_RANDOM_STEPS_H
#define TEST_RANDOM_STEPS_H

#include "test/unit/random_values.h"

/* ---- steps: element by element ---- */

static void step_unary(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        if (!e)
                return;
        static const enum opcode whole[] = { OP_neg, OP_abs, OP_sign, OP_floor, OP_ceil, OP_round, OP_trunc };
        static const enum opcode real[] = { OP_neg, OP_abs, OP_tanh, OP_sigmoid, OP_erf, OP_softplus, OP_sin, OP_cos, OP_atan, OP_asinh };
        enum opcode code = g->real ? real[pick(g, 10)] : whole[pick(g, element_is_float(element_at(e->v)) ? 7 : 3)];
        keep(g, build_unary(&g->b, code, code == OP_sin || code == OP_cos ? clamped(g, e, 16) : e->v), fmax(e->bound, 1));
}

/* pairs that a rule may cancel */
static void step_twice(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        if (!e)
                return;
        static const enum opcode pairs[][2] = { { OP_neg, OP_neg }, { OP_abs, OP_abs }, { OP_abs, OP_neg }, { OP_neg, OP_abs },
                                                { OP_floor, OP_round }, { OP_ceil, OP_ceil }, { OP_sign, OP_sign } };
        bool floats = !g->real && element_is_float(element_at(e->v));
        int k = pick(g, floats ? 7 : 4);
        keep(g, build_unary(&g->b, pairs[k][1], build_unary(&g->b, pairs[k][0], e->v)), fmax(e->bound, 1));
}

static void arithmetic(struct generator *g, const struct entry *x, struct value *y, double bound)
{
        static const enum opcode codes[] = { OP_add, OP_sub, OP_mul, OP_max, OP_min };
        enum opcode code = codes[pick(g, 5)];
        double result = code == OP_mul ? x->bound * bound : x->bound + bound, limit = exact_limit(g, element_at(y));
        struct entry other = { y, bound };
        if (result > limit) {
                double most = g->real ? 16 : 8;
                keep(g, build_binary(&g->b, code, clamped(g, x, most), clamped(g, &other, most)), most * most);
        } else {
                keep(g, chance(g, 80) ? build_binary(&g->b, code, x->v, y) : build_binary(&g->b, code, y, x->v), result);
        }
}

static void step_binary(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        double bound;
        struct value *y = e ? pick_like(g, e->v, &bound) : NULL;
        if (y)
                arithmetic(g, e, y, bound);
}

static void step_constant(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        if (e)
                arithmetic(g, e, spread(g, e->v, 3), 5);
}

/* quotients and remainders of integers; of floats by powers of two alone, or in double */
static void step_quotient(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        if (!e)
                return;
        static const enum opcode codes[] = { OP_div, OP_rem, OP_mod };
        if (g->real) {
                struct value *root = build_unary(&g->b, OP_sqrt, build_binary(&g->b, OP_add, build_unary(&g->b, OP_abs, e->v),
                                                                              splat(g, e->v, 1)));
                static const double by[] = { 2, 0.25, 3, 1, -1, 7 };
                keep(g, build_binary(&g->b, OP_div, e->v, chance(g, 50) ? root : splat(g, e->v, by[pick(g, 6)])), 4 * e->bound);
        } else if (element_is_integer(element_at(e->v))) {
                keep(g, build_binary(&g->b, codes[pick(g, 3)], e->v, chance(g, 50) ? spread(g, e->v, 3) : splat(g, e->v, 1 << pick(g, 4))),
                     e->bound + 8);
        } else {
                keep(g, build_binary(&g->b, OP_div, e->v, splat(g, e->v, chance(g, 50) ? 1 : -1)), e->bound);
        }
}

static void step_power(struct generator *g)
{
        struct entry *e = pick_value(g, is_number);
        if (!e)
                return;
        struct entry x = { clamped(g, e, 4), 4 };
        int exponent = pick(g, 4);
        if (element_is_float(element_at(e->v)) || element_info[element_at(e->v)].class == CLASS_SINT)
                keep(g, build_binary(&g->b, OP_pow, x.v, splat(g, x.v, exponent)), 64);
}

static void step_compare(struct generator *g)
{
        struct entry *e = pick_value(g, is_any);
        static const enum opcode codes[] = { OP_eq, OP_ne, OP_lt, OP_le, OP_gt, OP_ge };
        double bound;
        if (g->real || !e)
                return;
        struct value *y = chance(g, 50) ? pick_like(g, e->v, &bound) : splat(g, e->v, element_at(e->v) == E_BOOL ? 1 : some_number(g));
        struct value *c = y ? build_binary(&g->b, codes[pick(g, 6)], chance(g, 10) ? y : e->v, y) : NULL;
        keep(g, c, 1);
        struct entry *z = c && chance(g, 70) ? pick_value(g, is_number) : NULL;
        if (!z || !type_same_dims(z->v->type, c->type))
                return;
        if (chance(g, 30))
                c = build_unary(&g->b, OP_not, c);
        double other;
        struct value *w = chance(g, 50) ? pick_like(g, z->v, &other) : NULL;
        keep(g, w ? build_select(&g->b, c, z->v, w) : build_select(&g->b, c, z->v, splat(g, z->v, 2)), fmax(z->bound, w ? other : 2));
}

static bool is_logic(const struct entry *e) { return element_at(e->v) == E_BOOL || element_is_integer(element_at(e->v)); }

static void step_logic(struct generator *g)
{
        struct entry *e = pick_value(g, is_logic);
        static const enum opcode codes[] = { OP_and, OP_or, OP_xor, OP_shl, OP_shr };
        double bound;
        if (!e)
                return;
        if (chance(g, 25)) {
                keep(g, build_unary(&g->b, OP_not, chance(g, 40) ? build_unary(&g->b, OP_not, e->v) : e->v), INFINITY);
                return;
        }
        struct value *y = chance(g, 60) ? pick_like(g, e->v, &bound) : splat(g, e->v, pick(g, element_at(e->v) == E_BOOL ? 2 : 5));
        if (y)
                keep(g, build_binary(&g->b, codes[pick(g, element_at(e->v) == E_BOOL ? 3 : 5)], e->v, y), INFINITY);
}

static void step_cast(struct generator *g)
{
        static const enum element whole[] = { E_F32, E_F64, E_F16, E_BF16, E_I8, E_I16, E_I32, E_I64, E_U8, E_U16, E_U32, E_BOOL };
        struct entry *e = pick_value(g, is_any);
        if (!e || g->real) {
                if (e && is_number(e))
                        keep(g, build_cast(&g->b, build_cast(&g->b, e->v, E_F64), element_at(e->v)), e->bound);
                return;
        }
        enum element to = whole[pick(g, 12)];
        struct value *x = element_is_float(to) && e->bound > exact_limit(g, to) ? clamped(g, e, 16) : e->v;
        struct value *y = build_cast(&g->b, x, to);
        double bound = to == E_BOOL ? 1 : element_is_float(to) ? fmin(e->bound, exact_limit(g, to))
                       : e->bound <= largest_of(to) && element_info[to].class == CLASS_SINT ? e->bound : INFINITY;
        keep(g, y, bound);
        if (chance(g, 50))              /* back, as exporters do */
                keep(g, element_is_float(element_at(e->v)) && bound > exact_limit(g, element_at(e->v))
                        ? NULL : build_cast(&g->b, y, element_at(e->v)), bound);
}

/* ---- steps: moving ---- */

static void step_reshape(struct generator *g)
{
        struct entry *e = pick_value(g, is_any);
        dim_t dims[RANK_MAX];
        int rank = 0, split = e && rank_of(e->v) ? pick(g, rank_of(e->v)) : 0;
        int64_t elements = 1;
        if (!e)
                return;
        for (int i = 0; i < rank_of(e->v); i++) {
                int64_t d = type_extent(e->v->type, i);
                if (rank && chance(g, 30)) {
                        dims[rank - 1] = dim_of(dim_extent(dims[rank - 1]) * d);
                } else if (i == split && d > 1 && chance(g, 60)) {
                        int64_t factor = 2;
                        while (d % factor)
                                factor++;
                        dims[rank++] = dim_of(chance(g, 50) ? factor : d / factor);
                        dims[rank] = dim_of(d / dim_extent(dims[rank - 1]));
                        rank++;
                } else {
                        dims[rank++] = dim_of(d);
                }
        }
        if (rank < 6 && chance(g, 25)) {
                int at = pick(g, rank + 1);
                memmove(dims + at + 1, dims + at, (size_t)(rank++ - at) * sizeof *dims);
                dims[at] = dim_of(1);
        }
        for (int i = 0, none = pick(g, rank + 1); i < rank; i++)        /* one 0 is enough for no elements */
                if (!type_elements(e->v->type) && i != none && chance(g, 50))
                        dims[i] = dim_of(pick_extent(g, 7));
        for (int i = 0; i < rank; i++)
                elements *= dim_extent(dims[i]);
        if (rank <= 6 && elements == type_elements(e->v->type))
                keep(g, build_reshape(&g->b, e->v, rank, dims), e->bound);
}

static void step_transpose(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t perm[RANK_MAX];
        if (!e)
                return;
        for (int i = 0; i < rank_of(e->v); i++) {
                int k = pick(g, i + 1);
                perm[i] = perm[k];
                perm[k] = i;
        }
        keep(g, build_transpose(&g->b, e->v, perm), e->bound);
}

static void step_broadcast(struct generator *g)
{
        struct entry *e = pick_value(g, is_any);
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX];
        int rank = 0, at = e ? pick(g, rank_of(e->v) + 1) : 0;
        if (!e || rank_of(e->v) >= 5 || type_elements(e->v->type) > ELEMENTS_MAX / 3)
                return;
        for (int i = 0; i <= rank_of(e->v); i++) {
                if (i == at)
                        dims[rank++] = dim_of(pick_extent(g, 3));
                if (i == rank_of(e->v))
                        break;
                onto[i] = rank;
                dim_t d = e->v->type->dims[i];
                dims[rank++] = dim_of(dim_is(d, 1) && type_elements(e->v->type) < 300 ? pick_extent(g, 4) : dim_extent(d));
        }
        keep(g, build_broadcast(&g->b, e->v, type_of(g, element_at(e->v), rank, dims), onto), e->bound);
}

static void step_slice(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        if (!e)
                return;
        for (int i = 0; i < rank_of(e->v); i++) {
                static const int by[] = { 1, 1, 1, 2, -1, 3 };
                dim_t d = e->v->type->dims[i];
                bool whole = chance(g, 40) || dim_is(d, 0);
                starts[i] = whole ? 0 : pick(g, (int)dim_extent(d));
                steps[i] = whole ? 1 : by[pick(g, 6)];
                int64_t room = steps[i] > 0 ? (dim_extent(d) - 1 - starts[i]) / steps[i] + 1 : starts[i] / -steps[i] + 1;
                sizes[i] = dim_of(whole || chance(g, 50) ? room : pick_extent(g, (int)room));
        }
        keep(g, build_slice(&g->b, e->v, starts, steps, sizes), e->bound);
}

static void step_pad(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t low[RANK_MAX];
        dim_t dims[RANK_MAX];
        if (!e || type_elements(e->v->type) > ELEMENTS_MAX / 6)
                return;
        int mode = pick(g, 3);          /* constant, reflect, edge */
        for (int i = 0; i < rank_of(e->v); i++) {
                int d = (int)type_extent(e->v->type, i), most = mode == 1 ? (d > 2 ? 2 : d - 1) : mode && !d ? 0 : 2;
                low[i] = chance(g, 50) ? 0 : pick(g, most + 1);
                dims[i] = dim_of(d + low[i] + (chance(g, 50) ? 0 : pick(g, most + 1)));
        }
        struct attr *attrs = attrs_new(g->m, OP_pad);
        attr_set(attrs, OP_pad, "mode", mode);
        struct value *operands[] = { e->v, build_scalar(&g->b, element_at(e->v), chance(g, 70) ? 0 : 1),
                                     constant_ints(g->m, low, rank_of(e->v)) };
        keep(g, value_build(&g->b, OP_pad, operands, 3, attrs, type_of(g, element_at(e->v), rank_of(e->v), dims)), fmax(e->bound, 1));
}

static void step_concat(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        struct value *xs[3];
        int count = 1;
        double bound = e ? e->bound : 0, other;
        if (!e || type_elements(e->v->type) > ELEMENTS_MAX / 3)
                return;
        for (xs[0] = e->v; count < 3 && chance(g, 70);) {
                xs[count] = pick_like(g, e->v, &other);
                if (!xs[count])
                        break;
                bound = fmax(bound, other);
                count++;
        }
        keep(g, build_concat(&g->b, xs, count, pick(g, rank_of(e->v))), bound);
}

/* slices of one value, side by side again or in another order */
static void step_split(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t sizes[RANK_MAX];
        if (!e)
                return;
        int rank = rank_of(e->v), axis = pick(g, rank);
        dim_t d = e->v->type->dims[axis], cut = dim_of(pick_extent(g, (int)dim_extent(d) - 1));
        if (dim_is(cut, 0) && !g->empties)
                return;
        memcpy(sizes, e->v->type->dims, (size_t)rank * sizeof *sizes);
        for (int i = 0; i < rank; i++)
                steps[i] = 1;
        sizes[axis] = cut;
        struct value *a = build_slice(&g->b, e->v, starts, steps, sizes);
        starts[axis] = dim_extent(cut);
        sizes[axis] = dim_of(dim_extent(d) - dim_extent(cut));
        struct value *c = build_slice(&g->b, e->v, starts, steps, sizes);
        keep(g, a, e->bound);
        keep(g, c, e->bound);
        keep(g, build_concat(&g->b, chance(g, 60) ? (struct value *[]){ a, c } : (struct value *[]){ c, a }, 2, axis), e->bound);
}

static void step_gather(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t indices[6];
        if (!e || rank_of(e->v) > 5)
                return;
        int axis = pick(g, rank_of(e->v)), d = (int)type_extent(e->v->type, axis), count = d ? pick_extent(g, 6) : 0;
        if (d && type_elements(e->v->type) / d * count > ELEMENTS_MAX)
                return;
        for (int i = 0, start = pick(g, d), even = pick(g, 2); i < count; i++)
                indices[i] = even ? (start + i) % d : pick(g, 2 * d) - d;
        keep(g, build_gather(&g->b, e->v, constant_ints(g->m, indices, count), axis), e->bound);
}

/* Indices that only a run knows, and constant ones; the ranks are of whole numbers, many of them equal. */
static void step_order(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        if (!e || g->real)
                return;
        int axis = pick(g, rank_of(e->v));
        dim_t dims[RANK_MAX];
        memcpy(dims, e->v->type->dims, sizeof *dims * (size_t)rank_of(e->v));
        dims[axis] = dim_of(chance(g, 50) ? dim_extent(dims[axis]) : pick_extent(g, (int)dim_extent(dims[axis])));
        struct attr *attrs = attrs_new(g->m, OP_argsort), *to = attrs_new(g->m, OP_scatter);
        attr_set(attrs, OP_argsort, "axis", axis);
        attr_set(attrs, OP_argsort, "descending", pick(g, 2));
        struct value *order = value_build(&g->b, OP_argsort, &e->v, 1, attrs, type_of(g, E_I64, rank_of(e->v), dims));
        struct entry *x = pick_value(g, is_number);
        double bound = 0;
        struct value *y = x ? pick_like(g, x->v, &bound) : NULL;
        int kind = pick(g, 2) ? 1 + REDUCE_sum : pick(g, 2) ? 1 + REDUCE_max : 0;
        keep(g, order, 64);
        if (!order || !y || !type_same_dims(y->type, order->type) || !type_same_dims(x->v->type, e->v->type) ||
            x->bound + 64 * bound > exact_limit(g, element_at(x->v)))
                return;
        attr_set(to, OP_scatter, "axis", axis);
        attr_set(to, OP_scatter, "kind", kind);
        keep(g, value_build(&g->b, OP_scatter, (struct value *[]){ x->v, order, y }, 3, to, NULL), x->bound + 64 * bound);
}

static void step_scatter(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t to[6], from[6];
        if (!e || g->real || rank_of(e->v) > 5 || !is_number(e) || 7 * e->bound > exact_limit(g, element_at(e->v)))
                return;
        int d = (int)type_extent(e->v->type, 0), count = d ? pick_extent(g, 6) : 0;
        for (int i = 0; i < count; i++) {
                to[i] = pick(g, 2 * d) - d;
                from[i] = pick(g, d);
        }
        struct value *at = build_reshape(&g->b, constant_ints(g->m, to, count), 2, (dim_t[]){ count, 1 });
        struct value *updates = build_gather(&g->b, e->v, constant_ints(g->m, from, count), 0);
        struct attr *attrs = attrs_new(g->m, OP_scatter);
        attr_set(attrs, OP_scatter, "kind", pick(g, 2) ? 1 + REDUCE_sum : pick(g, 2) ? 1 + REDUCE_min : 0);
        keep(g, value_build(&g->b, OP_scatter, (struct value *[]){ e->v, at, updates }, 3, attrs, NULL), 7 * e->bound);
}

static void step_iota(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        if (e && is_number(e) && !g->real)
                keep(g, build_iota(&g->b, e->v->type, pick(g, rank_of(e->v))), 64);
}

/* ---- steps: sums and products ---- */

static int some_axes(struct generator *g, const struct value *v, int64_t *axes, int64_t *elements)
{
        int count = 0;
        *elements = 1;
        for (int i = 0; i < rank_of(v); i++)
                if (chance(g, 45)) {
                        axes[count++] = i;
                        *elements *= type_extent(v->type, i);
                }
        return count;
}

static void step_reduce(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        static const enum reducer kinds[] = { REDUCE_sum, REDUCE_sum, REDUCE_max, REDUCE_min };
        int64_t axes[RANK_MAX], elements;
        if (!e || !is_number(e))
                return;
        int count = some_axes(g, e->v, axes, &elements);
        enum reducer kind = kinds[pick(g, 4)];
        bool sum = kind == REDUCE_sum, large = sum && e->bound * (double)elements > exact_limit(g, element_at(e->v));
        if (large && exact_limit(g, element_at(e->v)) < 2 * (double)elements)
                return;
        struct value *x = large ? clamped(g, e, 2) : e->v;
        double bound = sum ? (large ? 2 : e->bound) * (double)elements : elements ? e->bound : INFINITY;
        keep(g, build_reduce(&g->b, kind, x, axes, count), bound);
}

static void step_window(struct generator *g)
{
        struct entry *e = pick_value(g, has_rank);
        int64_t window[RANK_MAX], strides[RANK_MAX], pads[2 * RANK_MAX] = { 0 }, elements = 1;
        if (!e || !is_number(e))
                return;
        int rank = rank_of(e->v);
        for (int i = 0; i < rank; i++) {
                int d = (int)type_extent(e->v->type, i);
                window[i] = i < rank - 2 && rank > 2 ? 1 : 1 + pick(g, d < 3 ? d : 3);
                strides[i] = window[i] > 1 ? 1 + pick(g, 2) : 1;
                pads[i] = window[i] > 1 ? pick(g, (int)window[i]) : 0;
                pads[rank + i] = window[i] > 1 ? pick(g, (int)window[i]) : 0;
                elements *= window[i];
        }
        static const enum reducer kinds[] = { REDUCE_sum, REDUCE_max, REDUCE_min };
        enum reducer kind = kinds[pick(g, 3)];
        struct value *x = kind == REDUCE_sum ? clamped(g, e, 4) : e->v;
        struct attr *attrs = attrs_new(g->m, OP_reduce_window);
        attr_set(attrs, OP_reduce_window, "kind", kind);
        attr_set_ints(g->m, attrs, OP_reduce_window, "window", window, rank);
        attr_set_ints(g->m, attrs, OP_reduce_window, "strides", strides, rank);
        attr_set_ints(g->m, attrs, OP_reduce_window, "pads", pads, 2 * rank);
        keep(g, value_build(&g->b, OP_reduce_window, &x, 1, attrs, NULL), kind == REDUCE_sum ? 4 * (double)elements : e->bound);
}

/* Of the type's small numbers, so few that their sum is exact; 0: not even one product fits */
static double factor_bound(const struct generator *g, enum element e, double products)
{
        double limit = exact_limit(g, e);
        return limit >= 9 * products ? 3 : limit >= products ? 1 : 0;
}

static bool is_arithmetic(const struct entry *e) { return has_rank(e) && is_number(e); }

/* elements for one position along a dimension */
static int64_t rest_of(const struct value *v, int along)
{
        int64_t elements = 1;
        for (int i = 0; i < rank_of(v); i++)
                elements *= i == along ? 1 : type_extent(v->type, i);
        return elements;
}

static void step_dot(struct generator *g)
{
        struct entry *e = pick_value(g, is_arithmetic);
        if (!e)
                return;
        struct value *x = e->v;
        int rank = rank_of(x), along = chance(g, 70) ? rank - 1 : pick(g, rank);
        int64_t k = type_extent(x->type, along), outputs = pick_extent(g, chance(g, 40) ? 40 : 9);
        double most = factor_bound(g, element_at(x), (double)k);
        if (!most || rest_of(x, along) * outputs > ELEMENTS_MAX)
                return;
        bool turned = chance(g, 40);
        dim_t dims[] = { turned ? outputs : k, turned ? k : outputs };
        struct value *w = dense(g, type_of(g, element_at(x), 2, dims), (int)most);
        double other;
        struct value *y = chance(g, 25) ? pick_like(g, x, &other) : NULL;      /* x times something like it */
        struct attr *attrs = attrs_new(g->m, OP_dot);
        int64_t contract_a[] = { along }, contract_b[] = { turned };
        bool square = y && rank == 2 && type_extent(x->type, 1 - along) <= 40;
        attr_set_ints(g->m, attrs, OP_dot, "contract_a", contract_a, 1);
        attr_set_ints(g->m, attrs, OP_dot, "contract_b", square ? contract_a : contract_b, 1);
        struct entry right = { square ? y : w, square ? other : most };
        struct value *operands[] = { clamped(g, e, most), clamped(g, &right, most) };
        struct value *product = value_build(&g->b, OP_dot, operands, 2, attrs, NULL);
        keep(g, product, most * most * (double)k);
        if (product && chance(g, 50))
                arithmetic(g, &g->values[g->count - 1], spread(g, product, 3), 5);
}

/* products of pairs of matrices, as attention has them */
static void step_batched_dot(struct generator *g)
{
        struct entry *e = pick_value(g, is_arithmetic);
        double other;
        struct value *y = e && rank_of(e->v) >= 3 ? pick_like(g, e->v, &other) : NULL;
        if (!y)
                return;
        int rank = rank_of(y), count = rank - 2;
        int64_t k = type_extent(y->type, rank - 1), rows = type_extent(y->type, rank - 2), batch[RANK_MAX];
        double most = factor_bound(g, element_at(y), (double)k);
        if (!most || rest_of(y, rank - 1) * rows > ELEMENTS_MAX)
                return;
        for (int i = 0; i < count; i++)
                batch[i] = i;
        struct attr *attrs = attrs_new(g->m, OP_dot);
        attr_set_ints(g->m, attrs, OP_dot, "batch_a", batch, count);
        attr_set_ints(g->m, attrs, OP_dot, "batch_b", batch, count);
        attr_set_ints(g->m, attrs, OP_dot, "contract_a", (int64_t[]){ rank - 1 }, 1);
        attr_set_ints(g->m, attrs, OP_dot, "contract_b", (int64_t[]){ rank - 1 }, 1);
        struct entry right = { y, other };
        struct value *operands[] = { clamped(g, e, most), clamped(g, &right, most) };
        if (chance(g, 40))
                operands[0] = build_binary(&g->b, OP_mul, operands[0], splat(g, y, 1));
        keep(g, value_build(&g->b, OP_dot, operands, 2, attrs, NULL), most * most * (double)k);
}

static bool is_image(const struct entry *e) { return rank_of(e->v) >= 3 && rank_of(e->v) <= 5 && is_number(e); }

static void step_convolve(struct generator *g)
{
        struct entry *e = pick_value(g, is_image);
        if (!e)
                return;
        struct value *x = e->v;
        int spatial = rank_of(x) - 2;
        int64_t channels = type_extent(x->type, 1), groups = 1, outputs = pick_extent(g, chance(g, 30) ? 33 : 6);
        int64_t strides[3], dilations[3], gaps[3], pads[6], products, positions = type_extent(x->type, 0);
        if (channels && chance(g, 35)) {          /* depthwise, or two groups */
                groups = chance(g, 70) || channels % 2 ? channels : 2;
                outputs = groups * pick_extent(g, 2);
        }
        dim_t window[RANK_MAX] = { outputs, channels / groups };
        products = channels / groups;
        bool same = chance(g, 50);
        for (int i = 0; i < spatial; i++) {
                int d = (int)type_extent(x->type, 2 + i);
                window[2 + i] = dim_of(chance(g, 60) ? 3 : 1 + pick(g, 4));
                strides[i] = chance(g, 70) ? 1 : 2;
                dilations[i] = chance(g, 85) ? 1 : 2;
                gaps[i] = chance(g, 90) ? 1 : 2;
                int64_t reach = (dim_extent(window[2 + i]) - 1) * dilations[i] + 1, extent = d ? (d - 1) * gaps[i] + 1 : 0;
                pads[i] = same ? reach / 2 : pick(g, (int)reach);
                pads[spatial + i] = same ? reach / 2 : chance(g, 8) && extent > reach + 1 ? -1 : pick(g, (int)reach);
                if (extent + pads[i] + pads[spatial + i] < reach)
                        return;
                positions *= (extent + pads[i] + pads[spatial + i] - reach) / strides[i] + 1;
                products *= dim_extent(window[2 + i]);
        }
        double most = factor_bound(g, element_at(x), (double)products);
        if (!most || positions * outputs > ELEMENTS_MAX || positions * outputs * products > 200000)
                return;
        struct attr *attrs = attrs_new(g->m, OP_convolve);
        attr_set_ints(g->m, attrs, OP_convolve, "strides", strides, spatial);
        attr_set_ints(g->m, attrs, OP_convolve, "dilations", dilations, spatial);
        attr_set_ints(g->m, attrs, OP_convolve, "input_dilations", gaps, spatial);
        attr_set_ints(g->m, attrs, OP_convolve, "pads", pads, 2 * spatial);
        attr_set(attrs, OP_convolve, "groups", groups);
        struct value *operands[] = { clamped(g, e, most), dense(g, type_of(g, element_at(x), spatial + 2, window), (int)most) };
        struct value *y = value_build(&g->b, OP_convolve, operands, 2, attrs, NULL);
        keep(g, y, most * most * (double)products);
        for (int k = pick(g, 3); y && k > 0; k--)       /* a norm, a bias, an activation */
                arithmetic(g, &g->values[g->count - 1], spread(g, y, 3), 5);
}

/* ---- steps: patterns and structure ---- */

static bool is_real_rows(const struct entry *e) { return rank_of(e->v) >= 2 && element_is_float(element_at(e->v)); }

static struct value *reduced_and_back(struct generator *g, struct value *x, enum reducer kind)
{
        int rank = rank_of(x);
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX], axis = rank - 1;
        for (int i = 0; i < rank; i++) {
                dims[i] = dim_of(i == rank - 1 ? 1 : type_extent(x->type, i));
                onto[i] = i;
        }
        struct value *y = build_reduce(&g->b, kind, x, &axis, 1);
        return build_broadcast(&g->b, build_reshape(&g->b, y, rank, dims), x->type, onto);
}

static void step_softmax(struct generator *g)
{
        struct entry *e = pick_value(g, is_real_rows);
        if (!e || !g->real)
                return;
        struct value *x = clamped(g, e, 16);
        struct value *z = build_unary(&g->b, OP_exp, build_binary(&g->b, OP_sub, x, reduced_and_back(g, x, REDUCE_max)));
        keep(g, build_binary(&g->b, OP_div, z, reduced_and_back(g, z, REDUCE_sum)), 1);
}

static void step_norm(struct generator *g)
{
        struct entry *e = pick_value(g, is_real_rows);
        if (!e || !g->real)
                return;
        struct value *x = clamped(g, e, 16), *n = splat(g, x, (double)type_extent(x->type, rank_of(x) - 1));
        struct value *centred = build_binary(&g->b, OP_sub, x, build_binary(&g->b, OP_div, reduced_and_back(g, x, REDUCE_sum), n));
        struct value *square = build_binary(&g->b, OP_mul, centred, centred);
        struct value *variance = build_binary(&g->b, OP_div, reduced_and_back(g, square, REDUCE_sum), n);
        struct value *root = build_unary(&g->b, OP_sqrt, build_binary(&g->b, OP_add, variance, splat(g, x, 0.5)));
        keep(g, build_binary(&g->b, OP_div, centred, root), 32);
}

static bool is_condition(const struct entry *e) { return element_at(e->v) == E_BOOL; }

static void step_if(struct generator *g)
{
        struct entry *e = pick_value(g, is_number), *c = pick_value(g, is_condition);
        double bound;
        struct value *y = e ? pick_like(g, e->v, &bound) : NULL, *flag;
        if (!y)
                return;
        if (c && chance(g, 70))
                flag = build_reduce(&g->b, REDUCE_max, c->v, (int64_t[]){ 0, 1, 2, 3, 4, 5, 6 }, rank_of(c->v));
        else
                flag = build_scalar(&g->b, E_BOOL, pick(g, 2));
        if (!flag)
                return;
        struct op *op = op_build_results(&g->b, OP_if, &flag, 1, NULL, &e->v->type, 1, 2);
        if (!op)
                return;
        for (int i = 0; i < 2; i++) {
                struct builder inside = { .m = g->m, .region = op_add_region(op, i), .diag = g->b.diag };
                struct value *v = i ? y : build_unary(&inside, OP_abs, e->v);
                if (chance(g, 50))
                        v = build_binary(&inside, OP_max, v, e->v);
                build_yield(&inside, &v, 1);
        }
        if (op_infer(g->m, op, g->b.diag))
                keep(g, op_result(op), fmax(e->bound, bound));
}

/* the same operation again, for cse, and one that nothing reads, for dce */
static void step_again(struct generator *g)
{
        struct entry *e = pick_value(g, is_any);
        if (!e || e->v->kind != VALUE_RESULT || e->v->op->region_count)
                return;
        struct op *copy = op_clone(&g->b, e->v->op);
        if (chance(g, 70))
                keep(g, op_result(copy), e->bound);
}

static const struct { void (*make)(struct generator *g); int weight; } random_steps[] = {
        { step_unary, 5 }, { step_twice, 2 }, { step_binary, 8 }, { step_constant, 10 }, { step_quotient, 3 }, { step_power, 1 },
        { step_compare, 4 }, { step_logic, 3 }, { step_cast, 4 },
        { step_reshape, 7 }, { step_transpose, 7 }, { step_broadcast, 4 }, { step_slice, 5 }, { step_pad, 4 }, { step_concat, 3 },
        { step_split, 2 }, { step_gather, 2 }, { step_order, 2 }, { step_scatter, 2 }, { step_iota, 1 },
        { step_reduce, 5 }, { step_window, 3 }, { step_dot, 6 }, { step_batched_dot, 2 }, { step_convolve, 9 },
        { step_softmax, 3 }, { step_norm, 3 }, { step_if, 2 }, { step_again, 2 },
};

static void random_step(struct generator *g)
{
        int total = 0, count = (int)(sizeof random_steps / sizeof *random_steps), k = 0;
        for (int i = 0; i < count; i++)
                total += random_steps[i].weight;
        for (int at = pick(g, total); at >= random_steps[k].weight; k++)
                at -= random_steps[k].weight;
        random_steps[k].make(g);
}

#endif
