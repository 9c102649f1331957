/* SPDX-License-Identifier: MIT */
/* What the library of math functions gets right to the bit: special values, square roots, integers,
 * conversions of storage types, the multiply-add that rounds once. */
#include "test/unit/library_harness.h"

#include <inttypes.h>

/* ---- special values, as Annex F lists them ---- */

#define INF (double)INFINITY
#define NOT (double)NAN
static const struct {
        const char *name;
        double x, y, want;
} points[] = {
        { "floor", -0.0, 0, -0.0 },  { "floor", -0.3, 0, -1 },   { "floor", 0.7, 0, 0 },
        { "floor", INF, 0, INF },    { "ceil", -0.3, 0, -0.0 },  { "ceil", -0.0, 0, -0.0 },
        { "ceil", 0.3, 0, 1 },       { "ceil", -INF, 0, -INF },  { "round", -0.3, 0, -0.0 },
        { "round", 0.5, 0, 0 },      { "round", 1.5, 0, 2 },     { "round", 2.5, 0, 2 },
        { "round", -2.5, 0, -2 },    { "trunc", -0.7, 0, -0.0 }, { "trunc", 2.7, 0, 2 },
        { "sqrt", -0.0, 0, -0.0 },   { "sqrt", -1, 0, NOT },     { "sqrt", INF, 0, INF },
        { "abs", -0.0, 0, 0.0 },     { "sign", -0.0, 0, 0 },     { "sign", NOT, 0, NOT },
        { "exp", -INF, 0, 0 },       { "exp", INF, 0, INF },     { "exp", -0.0, 0, 1 },
        { "exp", 1e9, 0, INF },      { "exp", -1e9, 0, 0 },      { "expm1", -0.0, 0, -0.0 },
        { "expm1", -INF, 0, -1 },    { "log", -0.0, 0, -INF },   { "log", 1, 0, 0 },
        { "log", -1, 0, NOT },       { "log", INF, 0, INF },     { "log1p", -1, 0, -INF },
        { "log1p", -0.0, 0, -0.0 },  { "log1p", -1.5, 0, NOT },  { "log1p", INF, 0, INF },
        { "erf", -0.0, 0, -0.0 },    { "erf", -INF, 0, -1 },     { "tanh", -0.0, 0, -0.0 },
        { "tanh", INF, 0, 1 },       { "sin", -0.0, 0, -0.0 },   { "sin", INF, 0, NOT },
        { "cos", 0, 0, 1 },          { "cos", -INF, 0, NOT },    { "tan", -0.0, 0, -0.0 },
        { "tan", INF, 0, NOT },      { "asin", -0.0, 0, -0.0 },  { "asin", 1.5, 0, NOT },
        { "acos", 1, 0, 0 },         { "acos", -1.5, 0, NOT },   { "atan", -0.0, 0, -0.0 },
        { "cosh", -INF, 0, INF },    { "sinh", -INF, 0, -INF },  { "asinh", -0.0, 0, -0.0 },
        { "asinh", -INF, 0, -INF },  { "acosh", 1, 0, 0 },       { "acosh", 0.5, 0, NOT },
        { "acosh", INF, 0, INF },    { "atanh", 1, 0, INF },     { "atanh", -1, 0, -INF },
        { "atanh", 2, 0, NOT },      { "atanh", -0.0, 0, -0.0 }, { "exp", NOT, 0, NOT },
        { "tanh", NOT, 0, NOT },     { "erf", NOT, 0, NOT },     { "pow", NOT, 0, 1 },
        { "pow", NOT, -0.0, 1 },     { "pow", 1, NOT, 1 },       { "pow", 1, INF, 1 },
        { "pow", -1, INF, 1 },       { "pow", -1, -INF, 1 },     { "pow", 0.0, -3, INF },
        { "pow", -0.0, -3, -INF },   { "pow", -0.0, -2, INF },   { "pow", 0, -INF, INF },
        { "pow", -0.0, 3, -0.0 },    { "pow", -0.0, 2, 0 },      { "pow", -2, 0.5, NOT },
        { "pow", 0.5, -INF, INF },   { "pow", 2, -INF, 0 },      { "pow", 0.5, INF, 0 },
        { "pow", 2, INF, INF },      { "pow", -INF, -3, -0.0 },  { "pow", -INF, -2, 0 },
        { "pow", -INF, 3, -INF },    { "pow", -INF, 2, INF },    { "pow", INF, -1, 0 },
        { "pow", INF, 1, INF },      { "pow", -INF, 0.5, INF },  { "pow", -2, 3, -8 },
        { "pow", -8, 1.0 / 3, NOT }, { "pow", 2, 10, 1024 },     { "pow", 10, 2, 100 },
        { "pow", 3, NOT, NOT },      { "rem", -0.0, 1, -0.0 },   { "rem", -6, 3, -0.0 },
        { "rem", 5, INF, 5 },        { "rem", INF, 1, NOT },     { "rem", 1, 0, NOT },
        { "rem", -7, 3, -1 },        { "mod", -7, 3, 2 },        { "mod", 7, -3, -2 },
        { "mod", -6, 3, 0.0 },       { "mod", 6, -3, -0.0 },     { "mod", -1, INF, INF },
        { "mod", 1, 0, NOT },
};

static void test_special_values(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        for (size_t i = 0; i < sizeof points / sizeof *points; i++)
                for (int e = E_F32; e <= E_F64; e++) {
                        struct column in[2], out;
                        for (int k = 0; k < 2; k++) {
                                column_new(&h, &in[k], (enum element)e, 1);
                                set_number(&in[k], 0, k ? points[i].y : points[i].x);
                        }
                        const struct loop_function *f =
                                loop_library_find(h.library, points[i].name, (enum element)e);
                        assert_non_null(f);
                        call_on(&h, points[i].name, in, f->scalar_count, 1, &out);
                        double got = number(&out, 0), want = points[i].want;
                        if (isnan(want) ? !isnan(got)
                                        : got != want || !signbit(got) != !signbit(want))
                                fail_msg("%s(%g, %g) of %s = %g, want %g", points[i].name,
                                         points[i].x, points[i].y, element_info[e].text, got, want);
                }
        harness_close(&h);
}

/* ---- square roots: near the ends of an octave, and squares with their neighbours ---- */

static void test_sqrt_rounding(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        enum { COUNT = 120000 };
        for (int e = E_F32; e <= E_F64; e++) {
                struct column in, out;
                column_new(&h, &in, (enum element)e, COUNT);
                column_new(&h, &out, (enum element)e, COUNT);
                double tiny = e == E_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
                for (int i = 0; i < COUNT; i++) {
                        double root = 1 + tiny * floor(random_between(0, 1 / tiny));
                        double near = i % 2 ? 1 + tiny * (i / 4 - COUNT / 8)
                                            : root * root * (1 + tiny * (i / 2 % 3 - 1));
                        set_number(&in, (size_t)i, near * (i % 4 < 2 ? 1 : 2));
                }
                call_on(&h, "sqrt", &in, 1, COUNT, &out);
                for (size_t i = 0; i < COUNT; i++) {
                        double x = number(&in, i),
                               want = e == E_F32 ? (double)sqrtf((float)x) : sqrt(x);
                        if (number(&out, i) != want)
                                fail_msg("sqrt(%a) = %a, want %a", x, number(&out, i), want);
                }
        }
        harness_close(&h);
}

/* ---- integers ---- */

__extension__ typedef __int128 wide;

static wide wide_power(wide x, wide y, unsigned width)
{
        if (y < 0)
                return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
        uint64_t result = 1, base = (uint64_t)x;
        for (; y; y >>= 1, base *= base)
                if (y & 1)
                        result *= base;
        return width == 32 ? (wide)(uint32_t)result : (wide)result;
}

static wide expected(const char *name, wide x, wide y, unsigned width)
{
        if (!strcmp(name, "abs"))
                return x < 0 ? -x : x;
        if (!strcmp(name, "sign"))
                return x > 0 ? 1 : x < 0 ? -1 : 0;
        if (!strcmp(name, "pow"))
                return wide_power(x, y, width);
        wide rest = y ? x % y : 0;
        return !strcmp(name, "mod") && rest && (rest < 0) != (y < 0) ? rest + y : rest;
}

static void check_integers(struct harness *h, const char *name, enum element e)
{
        static const int64_t edges[] = { 0,         1,         -1,
                                         2,         -2,        3,
                                         -3,        5,         7,
                                         -7,        10,        31,
                                         32,        33,        63,
                                         64,        100,       -100,
                                         65535,     65536,     46341,
                                         INT32_MAX, INT32_MIN, UINT32_MAX,
                                         INT64_MAX, INT64_MIN, INT32_MIN + 1,
                                         4294967296 };
        enum { N = sizeof edges / sizeof *edges };
        struct column in[2], out;
        for (int k = 0; k < 2; k++) {
                column_new(h, &in[k], e, N * N);
                for (size_t i = 0; i < N * N; i++)
                        element_store(e, in[k].data, i,
                                      element_wrap(e, (uint64_t)edges[k ? i % N : i / N]));
        }
        const struct loop_function *f = loop_library_find(h->library, name, e);
        assert_non_null(f);
        call_on(h, name, in, f->scalar_count, N * N, &out);
        for (size_t i = 0; i < N * N; i++) {
                union scalar x = element_load(e, in[0].data, i), y = element_load(e, in[1].data, i);
                bool is_signed = element_info[e].class == CLASS_SINT;
                wide want = expected(name, is_signed ? (wide)x.i : (wide)x.u,
                                     is_signed ? (wide)y.i : (wide)y.u,
                                     (unsigned)element_info[e].bytes * 8);
                union scalar wrapped = element_wrap(e, (uint64_t)want),
                             got = element_load(e, out.data, i);
                if (got.u != wrapped.u)
                        fail_msg("%s(%lld, %lld) of %s = %lld, want %lld", name, x.i, y.i,
                                 element_info[e].text, got.i, wrapped.i);
        }
}

static void test_integers(void **state)
{
        (void)state;
        static const char *const names[] = { "abs", "sign", "pow", "rem", "mod" };
        static const enum element elements[] = { E_I32, E_I64, E_U32, E_U64 };
        struct harness h;
        harness_open(&h);
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
                for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
                        check_integers(&h, names[n], elements[e]);
        harness_close(&h);
}

/* ---- storage types ---- */

static bool same_float(float a, float b) { return isnan(a) ? isnan(b) : !memcmp(&a, &b, sizeof a); }

static void test_from_small(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        for (int small = E_F16; small <= E_BF16; small++) {
                struct column in, out, back;
                uint32_t *bits = column_new(&h, &in, E_U32, 65536);
                for (uint32_t i = 0; i < 65536; i++)
                        bits[i] = i;
                call_on(&h, small == E_F16 ? "f16_to_f32" : "bf16_to_f32", &in, 1, 65536, &out);
                call_on(&h, small == E_F16 ? "f32_to_f16" : "f32_to_bf16", &out, 1, 65536, &back);
                const float *got = out.data;
                const uint32_t *again = back.data;
                for (uint32_t i = 0; i < 65536; i++) {
                        uint16_t stored = (uint16_t)i;
                        float want = (float)element_load((enum element)small, &stored, 0).f;
                        uint32_t quiet = small == E_F16 ? 0x200 : 0x40;
                        uint32_t wanted = isnan(want) ? i | quiet : i;
                        if (!same_float(got[i], want) || again[i] != wanted)
                                fail_msg("%s %#" PRIx32 ": %a, want %a; back %#" PRIx32,
                                         element_info[small].text, i, (double)got[i], (double)want,
                                         again[i]);
                }
        }
        harness_close(&h);
}

/* Doubles around the points half way between two neighbours of the small type, where a second
 * rounding would show. */
static double near_tie(enum element small, size_t i)
{
        const int unused = small == E_TF32 ? 13 : 0;      /* bits */
        uint32_t a = (uint32_t)random_bits() >> unused << unused, b = a + (1u << unused);
        double middle = (element_load(small, &a, 0).f + element_load(small, &b, 0).f) / 2;
        if (i % 4 == 0 || isnan(middle) || isinf(middle))
                return random_pattern(i % 8 ? E_F32 : E_F64);
        return i % 4 == 1 ? middle : nextafter(middle, i % 4 == 2 ? INF : -INF);
}

static void test_to_small(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        enum { COUNT = 200000 };
        for (int small = E_F16; small <= E_TF32; small++)
                for (int e = E_F32; e <= E_F64; e++) {
                        struct column in, out;
                        column_new(&h, &in, (enum element)e, COUNT);
                        for (size_t i = 0; i < COUNT; i++)
                                set_number(&in, i, near_tie((enum element)small, i));
                        const char *name = arena_printf(h.arena, "%s_to_%s", element_info[e].text,
                                                        element_info[small].text);
                        call_on(&h, name, &in, 1, COUNT, &out);
                        for (size_t i = 0; i < COUNT; i++) {
                                uint32_t want = 0;
                                uint32_t got = ((const uint32_t *)out.data)[i];
                                element_store((enum element)small, &want, 0,
                                              (union scalar){ .f = number(&in, i) });
                                bool nan = isnan(number(&in, i));
                                if ((small != E_TF32 && got > 65535) ||
                                    (nan ? !isnan(element_load((enum element)small, &got, 0).f)
                                         : got != want))
                                        fail_msg("%s(%a) = %#" PRIx32 ", want %#" PRIx32, name,
                                                 number(&in, i), got, want);
                        }
                }
        harness_close(&h);
}

/* ---- fused multiply-add ---- */

static double factor(enum element e)
{
        uint64_t kind = random_bits() % 6;
        if (kind == 0)
                return random_pattern(e);
        if (kind == 1)
                return special[random_bits() % SPECIAL_COUNT];
        if (kind == 2)
                return (double)(random_bits() % 4096) * 0x1p-1074 * (e == E_F32 ? 0x1p925 : 1);
        return ldexp(random_between(-1, 1), (int)(random_bits() % 121) - 60);
}

static void test_fma(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        enum { COUNT = 200000 };
        for (int e = E_F32; e <= E_F64; e++) {
                struct column in[3], out;
                for (int k = 0; k < 3; k++)
                        column_new(&h, &in[k], (enum element)e, COUNT);
                for (size_t i = 0; i < COUNT; i++) {
                        set_number(&in[0], i, factor((enum element)e));
                        set_number(&in[1], i, factor((enum element)e));
                        double product = number(&in[0], i) * number(&in[1], i),
                               c = factor((enum element)e);
                        double tiny = e == E_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
                        if (i % 4 == 1) /* cancels all but the last bits */
                                c = -product * (1 + tiny * (double)(random_bits() % 5) - 2 * tiny);
                        if (i % 4 == 2)
                                c = ldexp(product, (int)(random_bits() % 121) - 60);
                        set_number(&in[2], i, c);
                }
                call_on(&h, e == E_F32 ? "fma_f32" : "fma_f64", in, 3, COUNT, &out);
                for (size_t i = 0; i < COUNT; i++) {
                        double a = number(&in[0], i), b = number(&in[1], i), c = number(&in[2], i),
                               got = number(&out, i);
                        double want = e == E_F32 ? (double)fmaf((float)a, (float)b, (float)c)
                                                 : fma(a, b, c);
                        if (isnan(want) ? !isnan(got)
                                        : got != want || !signbit(got) != !signbit(want))
                                fail_msg("fma(%a, %a, %a) = %a, want %a", a, b, c, got, want);
                }
        }
        harness_close(&h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_special_values), cmocka_unit_test(test_sqrt_rounding),
                cmocka_unit_test(test_integers),       cmocka_unit_test(test_from_small),
                cmocka_unit_test(test_to_small),       cmocka_unit_test(test_fma),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
