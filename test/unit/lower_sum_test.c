/* SPDX-License-Identifier: MIT */
/* The lowering of contractions, reductions and windows, against sums over every pair of indices.
 * All numbers are small integers, so every sum is exact, whatever its order. */
#include <math.h>

#include "test/unit/lower_harness.h"

/* ---- dot ---- */

struct dot_case {
        int a_rank, b_rank;
        dim_t a[4], b[4];
        int batch, contract;
        int64_t ba[2], bb[2], ca[2], cb[2];
};

static const struct dot_case dots[] = {
        { 2, 2, { 3, 4 }, { 4, 5 }, 0, 1, { 0 }, { 0 }, { 1 }, { 0 } },
        { 2, 2, { 4, 3 }, { 5, 4 }, 0, 1, { 0 }, { 0 }, { 0 }, { 1 } },
        { 1, 1, { 6 }, { 6 }, 0, 1, { 0 }, { 0 }, { 0 }, { 0 } },
        { 1, 1, { 3 }, { 4 }, 0, 0, { 0 }, { 0 }, { 0 }, { 0 } },
        { 0, 2, { 0 }, { 3, 4 }, 0, 0, { 0 }, { 0 }, { 0 }, { 0 } },
        { 3, 3, { 2, 3, 4 }, { 2, 4, 5 }, 1, 1, { 0 }, { 0 }, { 2 }, { 1 } },
        { 3, 4, { 4, 2, 3 }, { 3, 4, 2, 2 }, 1, 2, { 1 }, { 3 }, { 2, 0 }, { 0, 1 } },
        { 4, 4, { 2, 3, 1, 4 }, { 3, 4, 2, 5 }, 2, 1, { 0, 1 }, { 2, 0 }, { 3 }, { 1 } },
        { 2, 2, { 3, 0 }, { 0, 5 }, 0, 1, { 0 }, { 0 }, { 1 }, { 0 } },
        { 2, 2, { 0, 4 }, { 4, 5 }, 0, 1, { 0 }, { 0 }, { 1 }, { 0 } },
        { 2, 2, { 3, 1 }, { 1, 5 }, 0, 1, { 0 }, { 0 }, { 1 }, { 0 } },
};

/* Is dimension d among the first `count` of list? Then where. */
static int among(const int64_t *list, int count, int d)
{
        for (int i = 0; i < count; i++)
                if (list[i] == d)
                        return i;
        return -1;
}

static void want_dot(const struct dot_case *c, struct array a, struct array b, struct array want)
{
        for (int64_t i = 0; i < type_elements(want.type); i++)
                put(want, i, 0);
        for (int64_t p = 0; p < type_elements(a.type); p++)
                for (int64_t q = 0; q < type_elements(b.type); q++) {
                        int64_t ai[4], bi[4], yi[8];
                        index_of(a.type, p, ai);
                        index_of(b.type, q, bi);
                        bool meet = true;
                        int rank = 0;
                        for (int k = 0; k < c->batch; k++) {
                                meet = meet && ai[c->ba[k]] == bi[c->bb[k]];
                                yi[rank++] = ai[c->ba[k]];
                        }
                        for (int k = 0; k < c->contract; k++)
                                meet = meet && ai[c->ca[k]] == bi[c->cb[k]];
                        for (int d = 0; d < c->a_rank; d++)
                                if (among(c->ba, c->batch, d) < 0 &&
                                    among(c->ca, c->contract, d) < 0)
                                        yi[rank++] = ai[d];
                        for (int d = 0; d < c->b_rank; d++)
                                if (among(c->bb, c->batch, d) < 0 &&
                                    among(c->cb, c->contract, d) < 0)
                                        yi[rank++] = bi[d];
                        if (meet) {
                                int64_t at = position_of(want.type, yi);
                                put(want, at,
                                    (int64_t)(number(want, at) + number(a, p) * number(b, q)));
                        }
                }
}

static void test_dot(void **state)
{
        (void)state;
        static const struct { enum element a, b; int accumulator; } types[] = {
                { E_F32, E_F32, E_COMPUTE }, { E_F64, E_F64, E_COMPUTE },
                { E_F16, E_F16, E_COMPUTE }, { E_I32, E_I32, E_COMPUTE },
                { E_U8, E_I8, E_I32 },       { E_I8, E_I8, E_I32 },
                { E_BF16, E_BF16, E_F32 },   { E_U64, E_U64, E_COMPUTE },
                { E_I64, E_I64, E_COMPUTE },
        };
        for (size_t k = 0; k < COUNT(dots); k++)
                for (size_t t = 0; t < COUNT(types); t++) {
                        const struct dot_case *c = &dots[k];
                        struct fixture *x = fixture_new();
                        struct array a = array_random(
                                x, type_tensor(x->m, types[t].a, c->a_rank, c->a), -4, 4);
                        struct array b = array_random(
                                x, type_tensor(x->m, types[t].b, c->b_rank, c->b), -4, 4);
                        struct attr *at = attrs(x, OP_dot);
                        attr_set_ints(x->m, at, OP_dot, "batch_a", c->ba, c->batch);
                        attr_set_ints(x->m, at, OP_dot, "batch_b", c->bb, c->batch);
                        attr_set_ints(x->m, at, OP_dot, "contract_a", c->ca, c->contract);
                        attr_set_ints(x->m, at, OP_dot, "contract_b", c->cb, c->contract);
                        attr_set(at, OP_dot, "accumulator", types[t].accumulator);
                        struct value *y = apply(x, OP_dot, at, NULL, 2, input(x, a),
                                                operand(x, b, t % 2), NULL);
                        struct array want = array_new(x, y->type);
                        want_dot(c, a, b, want);
                        check(x, y, want);
                }
}

/* int8 sums wrap at the accumulator, not before */
static void test_dot_accumulator(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_new(x, TYPE(x, E_I8, 1, 1000)),
                     b = array_new(x, TYPE(x, E_U8, 1000, 1));
        for (int i = 0; i < 1000; i++) {
                put(a, i, -128);
                put(b, i, 255);
        }
        struct attr *at = attrs(x, OP_dot);
        attr_set_ints(x->m, at, OP_dot, "contract_a", INTS(1), 1);
        attr_set_ints(x->m, at, OP_dot, "contract_b", INTS(0), 1);
        attr_set(at, OP_dot, "accumulator", E_I32);
        struct value *y = apply(x, OP_dot, at, NULL, 2, input(x, a), input(x, b), NULL);
        struct array want = array_new(x, TYPE(x, E_I32, 1, 1));
        put(want, 0, -128 * 255 * 1000);
        check(x, y, want);
}

/* ---- convolve ---- */

struct convolution {
        int spatial, groups, channels, filters;         /* channels and filters of one group */
        int64_t extent[3], window[3], strides[3], dilations[3], spreads[3], low[3], high[3];
};

static void want_convolve(const struct convolution *c, struct array a, struct array w,
                          struct array want)
{
        int64_t yi[5], wi[5];
        for (int64_t p = 0; p < type_elements(want.type); p++) {
                index_of(want.type, p, yi);
                double sum = 0;
                for (int64_t q = 0; q < type_elements(w.type); q++) {
                        index_of(w.type, q, wi);
                        if (wi[0] != yi[1])
                                continue;
                        int64_t xi[5] = { yi[0], yi[1] / c->filters * c->channels + wi[1] };
                        bool inside = true;
                        for (int d = 0; d < c->spatial; d++) {
                                int64_t at = yi[d + 2] * c->strides[d] +
                                             wi[d + 2] * c->dilations[d] - c->low[d];
                                inside = inside && at >= 0 && at % c->spreads[d] == 0 &&
                                         at / c->spreads[d] < c->extent[d];
                                xi[d + 2] = at / c->spreads[d];
                        }
                        if (inside)
                                sum += number(a, position_of(a.type, xi)) * number(w, q);
                }
                put(want, p, (int64_t)sum);
        }
}

static void check_convolution(const struct convolution *c, enum element e)
{
        struct fixture *x = fixture_new();
        dim_t xd[5] = { 2, c->groups * c->channels },
              wd[5] = { c->groups * c->filters, c->channels };
        int64_t pads[6];
        for (int d = 0; d < c->spatial; d++) {
                xd[d + 2] = dim_of(c->extent[d]);
                wd[d + 2] = dim_of(c->window[d]);
                pads[d] = c->low[d];
                pads[c->spatial + d] = c->high[d];
        }
        struct array a = array_random(x, type_tensor(x->m, e, c->spatial + 2, xd), -3, 3);
        struct array w = array_random(x, type_tensor(x->m, e, c->spatial + 2, wd), -3, 3);
        struct attr *at = attrs(x, OP_convolve);
        attr_set_ints(x->m, at, OP_convolve, "strides", c->strides, c->spatial);
        attr_set_ints(x->m, at, OP_convolve, "dilations", c->dilations, c->spatial);
        attr_set_ints(x->m, at, OP_convolve, "input_dilations", c->spreads, c->spatial);
        attr_set_ints(x->m, at, OP_convolve, "pads", pads, 2 * c->spatial);
        attr_set(at, OP_convolve, "groups", c->groups);
        struct value *y = apply(x, OP_convolve, at, NULL, 2, input(x, a), input(x, w), NULL);
        struct array want = array_new(x, y->type);
        want_convolve(c, a, w, want);
        check(x, y, want);
}

static void test_convolve(void **state)
{
        (void)state;
        static const enum element types[] = { E_F32, E_I32, E_F64, E_F16, E_I64 };
        for (int i = 0; i < 400; i++) {
                struct convolution c = { .spatial = (int)random_between(0, 3),
                                         .groups = (int)random_between(1, 3),
                                         .channels = (int)random_between(1, 2),
                                         .filters = (int)random_between(1, 2) };
                for (int d = 0; d < c.spatial; d++) {
                        c.extent[d] = random_between(i % 16 ? 1 : 0, 6);
                        c.window[d] = random_between(1, 3);
                        c.strides[d] = random_between(1, 3);
                        c.dilations[d] = random_between(1, 3);
                        c.spreads[d] = i % 2 ? 1 : random_between(1, 3);
                        c.low[d] = i % 3 ? random_between(-2, 4) : 0;
                        c.high[d] = i % 3 ? random_between(-2, 4) : 0;
                }
                check_convolution(&c, types[i % (int)COUNT(types)]);
        }
}

/* ---- reduce ---- */

static double combine(enum reducer kind, double a, double b)
{
        switch (kind) {
        case REDUCE_sum: return a + b;
        case REDUCE_prod: return a * b;
        case REDUCE_max: return a > b ? a : b;
        default: return a < b ? a : b;
        }
}

/* what a reduction of nothing gives */
static void put_identity(struct array want, int64_t i, enum reducer kind)
{
        enum element e = want.type->element;
        int bits = 8 * element_info[e].bytes;
        bool low = kind == REDUCE_max;
        union scalar s = scalar_of(e, kind == REDUCE_prod);
        if (kind == REDUCE_max || kind == REDUCE_min) {
                if (element_is_float(e))
                        s.f = low ? -INFINITY : INFINITY;
                else if (element_info[e].class == CLASS_SINT)
                        s.i = low ? -(int64_t)(UINT64_C(1) << (bits - 1))
                                  : (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
                else
                        s.u = low ? 0 : e == E_BOOL ? 1 : ~UINT64_C(0) >> (64 - bits);
        }
        element_store(e, want.data, (size_t)i, s);
}

static void want_reduce(enum reducer kind, struct array a, unsigned axes, struct array want)
{
        int64_t count = type_elements(want.type);
        bool *seen = calloc((size_t)count + 1, 1);
        double *so_far = calloc((size_t)count + 1, sizeof *so_far);
        for (int64_t p = 0; p < type_elements(a.type); p++) {
                int64_t ai[4], at = 0;
                index_of(a.type, p, ai);
                for (int d = 0; d < a.type->rank; d++)
                        if (!(axes >> d & 1))
                                at = at * type_extent(a.type, d) + ai[d];
                so_far[at] = seen[at] ? combine(kind, so_far[at], number(a, p)) : number(a, p);
                seen[at] = true;
        }
        for (int64_t i = 0; i < count; i++) {
                if (seen[i])
                        put(want, i, (int64_t)so_far[i]);
                else
                        put_identity(want, i, kind);
        }
        free(seen);
        free(so_far);
}

enum form { KNOWN, RUN_TIME, RUN_TIME_KEPT };

static void check_reduce(enum reducer kind, enum element e, int rank, const dim_t *dims,
                         unsigned axes, enum form form)
{
        struct fixture *x = fixture_new();
        struct array a = array_random(x, type_tensor(x->m, e, rank, dims), -2, 2);
        int64_t list[4], kept[4];
        int count = 0, kept_rank = 0;
        for (int d = rank - 1; d >= 0; d--)
                if (axes >> d & 1)
                        list[count++] = form != KNOWN && d % 2 ? d - rank : d;
        for (int d = 0; d < rank; d++) {
                if (!(axes >> d & 1))
                        kept[kept_rank++] = dim_extent(dims[d]);
                else if (form == RUN_TIME_KEPT)
                        kept[kept_rank++] = 1;
        }
        const struct type *t = type_static(x->m, e, kept_rank, kept);
        struct attr *at = attrs(x, OP_reduce);
        attr_set(at, OP_reduce, "kind", kind);
        struct value *y = apply(x, OP_reduce, at, form == KNOWN ? NULL : t, 2, input(x, a),
                                operand(x, array_ints(x, list, count), form == KNOWN), NULL);
        struct array want = array_new(x, t);
        want_reduce(kind, a, axes, want);
        check(x, y, want);
}

static void test_reduce(void **state)
{
        (void)state;
        static const struct { int rank; dim_t dims[4]; } shapes[] = {
                { 0, { 0 } },          { 1, { 5 } },    { 2, { 3, 4 } },    { 3, { 2, 3, 2 } },
                { 4, { 2, 1, 3, 2 } }, { 2, { 0, 3 } }, { 3, { 2, 0, 0 } },
        };
        int turn = 0;
        for (size_t s = 0; s < COUNT(shapes); s++)
                for (unsigned axes = 0; axes < 1u << shapes[s].rank; axes++)
                        for (int kind = 0; kind < REDUCER_COUNT; kind++)
                                for (int form = KNOWN; form <= RUN_TIME_KEPT; form++) {
                                        bool any = kind == REDUCE_max || kind == REDUCE_min;
                                        enum element e = all_types[(size_t)turn++ %
                                                                   (COUNT(all_types) - !any)];
                                        check_reduce((enum reducer)kind, e, shapes[s].rank,
                                                     shapes[s].dims, axes, (enum form)form);
                                }
}

static void test_reduce_fails(void **state)
{
        (void)state;
        static const int64_t axes[][2] = { { 0, 0 },  { 0, -2 },        { 2, 0 },
                                           { -3, 1 }, { INT64_MAX, 0 }, { INT64_C(1) << 32, 1 } };
        for (size_t k = 0; k < COUNT(axes) + 2; k++) {
                struct fixture *x = fixture_new();
                struct array a = array_random(x, TYPE(x, E_F32, 3, 4), -2, 2);
                struct value *list =
                        k < COUNT(axes)
                                ? input(x, array_ints(x, axes[k], 2))
                                : input(x, array_ints(x, INTS((int64_t)(k - COUNT(axes))), 1));
                const struct type *t = k < COUNT(axes) ? SCALAR(x, E_F32) : TYPE(x, E_F32, 2);
                check_fails(x, apply(x, OP_reduce, NULL, t, 2, input(x, a), list, NULL),
                            FAILED_EXTENT);
        }
}

/* the sum of f16 is kept in f32 and rounded once; NaN wins max and min */
static void test_reduce_floats(void **state)
{
        (void)state;
        struct fixture *x = fixture_new();
        struct array a = array_new(x, TYPE(x, E_F16, 3));
        put(a, 0, 2048);
        put(a, 1, 1);
        put(a, 2, 1);
        struct array want = array_new(x, SCALAR(x, E_F16));
        put(want, 0, 2050);
        check(x, build_reduce(&x->b, REDUCE_sum, input(x, a), INTS(0), 1), want);
        for (int kind = REDUCE_max; kind <= REDUCE_min; kind++)
                for (int at = 0; at < 3; at++) {
                        x = fixture_new();
                        a = array_random(x, TYPE(x, E_F32, 3), -9, 9);
                        element_store(E_F32, a.data, (size_t)at, (union scalar){ .f = NAN });
                        want = array_new(x, SCALAR(x, E_F32));
                        element_store(E_F32, want.data, 0, (union scalar){ .f = NAN });
                        check(x, build_reduce(&x->b, (enum reducer)kind, input(x, a), INTS(0), 1),
                              want);
                }
}

/* the accumulator's type is the result's */
static void test_accumulators(void **state)
{
        (void)state;
        for (int window = 0; window < 2; window++) {
                struct fixture *x = fixture_new();
                enum opcode code = window ? OP_reduce_window : OP_reduce;
                struct array a = array_new(x, TYPE(x, E_I8, 1000));
                for (int i = 0; i < 1000; i++)
                        put(a, i, 100);
                struct attr *at = attrs(x, code);
                attr_set(at, code, "kind", REDUCE_sum);
                attr_set(at, code, "accumulator", E_I64);
                if (window)
                        attr_set_ints(x->m, at, code, "window", INTS(1000), 1);
                struct value *v = input(x, a), *axes = constant_ints(x->m, INTS(0), 1);
                struct value *y = apply(x, code, at, NULL, window ? 1 : 2, v, axes, NULL);
                struct array want = array_new(x, window ? TYPE(x, E_I64, 1) : SCALAR(x, E_I64));
                put(want, 0, 100000);
                check(x, y, want);
        }
}

/* ---- windows ---- */

static void check_windows(int i)
{
        enum { RANK = 3 };
        struct fixture *x = fixture_new();
        dim_t dims[RANK];
        int64_t window[RANK], strides[RANK], dilations[RANK], pads[2 * RANK];
        for (int d = 0; d < RANK; d++) {
                bool plain = d == 0 && i % 4;
                dims[d] = dim_of(random_between(1, 6));
                window[d] = plain ? 1 : random_between(1, 3);
                strides[d] = plain ? 1 : random_between(1, 3);
                dilations[d] = plain ? 1 : random_between(1, 2);
                pads[d] = plain ? 0 : random_between(-1, 3);
                pads[RANK + d] = plain ? 0 : random_between(-1, 3);
        }
        bool arg = i % 5 == 0;
        for (int d = 0; d < RANK && i % 3 == 0; d++) {  /* windows that reach back to the first element, or the one before */
                bool along = d == i % RANK;
                int one_less = along && i % 2;
                window[d] = along ? dim_extent(dims[d]) + i % 4 / 3 : 1;
                strides[d] = dilations[d] = 1;
                pads[d] = window[d] - 1 + one_less;
                pads[RANK + d] = -one_less;
        }
        enum reducer kind = arg ? REDUCE_max : (enum reducer)(i % REDUCER_COUNT);
        enum element e = number_types[(size_t)i % COUNT(number_types)];
        enum opcode code = arg ? OP_arg_window : OP_reduce_window;
        struct array a = array_random(x, type_tensor(x->m, e, RANK, dims), -2, 2);
        struct attr *at = attrs(x, code);
        if (!arg)
                attr_set(at, code, "kind", kind);
        attr_set_ints(x->m, at, code, "window", window, RANK);
        attr_set_ints(x->m, at, code, "strides", strides, RANK);
        attr_set_ints(x->m, at, code, "dilations", dilations, RANK);
        attr_set_ints(x->m, at, code, "pads", pads, 2 * RANK);
        struct value *y = apply(x, code, at, NULL, 1, input(x, a), NULL, NULL);
        struct array want = array_new(x, y->type);
        for (int64_t p = 0; p < type_elements(y->type); p++) {
                int64_t yi[RANK], xi[RANK], best = -1;
                double so_far = 0;
                index_of(y->type, p, yi);
                for (int64_t q = 0; q < type_elements(a.type); q++) {
                        index_of(a.type, q, xi);
                        bool inside = true;
                        for (int d = 0; d < RANK; d++) {
                                int64_t k = xi[d] - (yi[d] * strides[d] - pads[d]);
                                inside = inside && k >= 0 && k % dilations[d] == 0 &&
                                         k / dilations[d] < window[d];
                        }
                        if (!inside)
                                continue;
                        double n = number(a, q);
                        so_far = best < 0 ? n : combine(kind, so_far, n);
                        if (best < 0 || n > number(a, best))
                                best = q;
                }
                if (arg)
                        put(want, p, best);
                else if (best < 0)
                        put_identity(want, p, kind);
                else
                        put(want, p, (int64_t)so_far);
        }
        check(x, y, want);
}

static void test_windows(void **state)
{
        (void)state;
        for (int i = 0; i < 600; i++)
                check_windows(i);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dot),             cmocka_unit_test(test_dot_accumulator),
                cmocka_unit_test(test_convolve),        cmocka_unit_test(test_reduce),
                cmocka_unit_test(test_reduce_fails),    cmocka_unit_test(test_reduce_floats),
                cmocka_unit_test(test_accumulators),
                cmocka_unit_test(test_windows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
