/* SPDX-License-Identifier: MIT */
/* The library of math functions: how far every function is from the exact result, against the bound
 * that its error clause states. With an argument: prints the measured distances. */
#include "test/unit/library_harness.h"

static bool verbose;

/* ---- distance ---- */

static long double unit(enum element e, long double exact)
{
        int exponent, digits = e == E_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
        int least = e == E_F32 ? FLT_MIN_EXP : DBL_MIN_EXP;
        frexpl(exact, &exponent);
        return ldexpl(1, (exponent < least ? least : exponent) - digits);
}

/* In units in the last place of the exact result; overflow counts as the power of two behind the
 * largest number. */
static double distance(enum element e, double got, long double exact)
{
        long double limit = ldexpl(1, e == E_F32 ? FLT_MAX_EXP : DBL_MAX_EXP);
        if (isnan(exact) || isnan(got))
                return isnan(exact) && isnan(got) ? 0 : (double)INFINITY;
        if (exact == 0 || (got == 0 && !signbit(got) != !signbit(exact)))
                return got == 0 && !signbit(got) == !signbit(exact) ? 0 : (double)INFINITY;
        long double bounded = fabsl(exact) < limit ? exact : copysignl(limit, exact);
        long double value = isinf(got) ? copysignl(limit, got) : (long double)got;
        return (double)(fabsl(value - bounded) / unit(e, fabsl(exact) < limit ? exact : limit / 2));
}

/* What the error clause allows; exact results of functions that must round may differ by half a
 * unit. */
static double bound_of(const struct loop_function *f)
{
        double bound;
        char after[8];
        assert_non_null(f->error);
        int bits;
        if (!strcmp(f->error, "exact"))
                return 0.5;
        if (sscanf(f->error, "2^-%d of %7s", &bits, after) == 2 && !strcmp(after, "it"))
                return ldexp(1, 24 - bits);     /* a number has fewer than 2^24 of its last places */
        if (sscanf(f->error, "%lf %7s", &bound, after) != 2 || strcmp(after, "ulp") ||
            !(bound >= 0.5 && bound <= 2))
                fail_msg("%s: error clause \"%s\"", f->name, f->error);
        return bound;
}

static void check_distance(struct harness *h, const char *name, const struct column *in, int arity,
                           size_t count, long double (*exact)(const double *x))
{
        struct column out;
        call_on(h, name, in, arity, count, &out);
        double worst = -1, at[3] = { 0 }, x[3] = { 0 }, got = 0;
        for (size_t i = 0; i < count; i++) {
                for (int k = 0; k < arity; k++)
                        x[k] = number(&in[k], i);
                double d = distance(out.element, number(&out, i), exact(x));
                if (d > worst) {
                        worst = d;
                        got = number(&out, i);
                        memcpy(at, x, sizeof x);
                }
        }
        const char *type = element_info[in[0].element].text;
        const struct loop_function *f = loop_library_find(h->library, name, in[0].element);
        if (verbose)
                print_message("%-7s %s %5.3f of %s\n", name, type, worst, f->error);
        if (!(worst <= bound_of(f) + 0.0005))
                fail_msg("%s of %s: %g ulp at (%a, %a, %a): %a, exact %La, stated %s", name, type,
                         worst, at[0], at[1], at[2], got, exact(at), f->error);
}

/* ---- functions of one number ---- */

static long double sign_of(long double x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }

static const struct unary { const char *name; long double (*exact)(long double x); } unaries[] = {
        { "abs", fabsl }, { "sign", sign_of }, { "floor", floorl }, { "ceil", ceill },
        { "round", rintl }, { "trunc", truncl }, { "sqrt", sqrtl }, { "exp", expl },
        { "expm1", expm1l }, { "log", logl }, { "log1p", log1pl }, { "erf", erfl },
        { "sin", sinl }, { "cos", cosl }, { "tan", tanl }, { "asin", asinl },
        { "acos", acosl }, { "atan", atanl }, { "sinh", sinhl }, { "cosh", coshl },
        { "tanh", tanhl }, { "asinh", asinhl }, { "acosh", acoshl }, { "atanh", atanhl },
};
enum { UNARY_COUNT = sizeof unaries / sizeof *unaries };
static const struct unary *current;
static long double current_exact(const double *x) { return current->exact((long double)x[0]); }

static void check_unaries(enum element e)
{
        struct harness h;
        harness_open(&h);
        struct column in;
        enum { COUNT = 2 * 65536 + 80000 };
        column_new(&h, &in, e, COUNT);
        random_state = 88172645463325252u;
        for (size_t i = 0; i < COUNT; i++)
                set_number(&in, i, sample(e, i));
        for (int k = 0; k < UNARY_COUNT; k++) {
                current = &unaries[k];
                check_distance(&h, current->name, &in, 1, COUNT, current_exact);
                const char *twin = arena_printf(h.arena, "%s_fused", current->name);
                if (loop_library_find(h.library, twin, e))
                        check_distance(&h, twin, &in, 1, COUNT, current_exact);
        }
        harness_close(&h);
}

/* each of these gives exp of it where that is 0 or 1, NaN of NaN */
static void check_ends(struct harness *h, const char *name, struct column *in, const double *numbers, size_t count)
{
        struct column out;
        for (size_t i = 0; i < count; i++)
                set_number(in, i, numbers[i]);
        call_on(h, name, in, 1, count, &out);
        for (size_t i = 0; i < count; i++)
                assert_true(isnan(numbers[i]) ? isnan(number(&out, i)) : number(&out, i) == (numbers[i] == 0));
}

/* of numbers up to 0 alone; below -87 it is 0 */
static void test_exp_negative(void **state)
{
        (void)state;
        enum { COUNT = 200000 };
        static const struct unary exponential = { "exp_negative", expl };
        struct harness h;
        struct column in;
        harness_open(&h);
        column_new(&h, &in, E_F32, COUNT);
        random_state = 88172645463325252u;
        for (size_t i = 0; i < COUNT; i++)
                set_number(&in, i, i < 2 ? i * -87.0 : random_between(-87, 0));
        current = &exponential;
        check_distance(&h, current->name, &in, 1, COUNT, current_exact);
        const double others[] = { -87.00001, -100, -1e30, (double)-INFINITY, -0.0, (double)NAN, -(double)NAN };
        check_ends(&h, current->name, &in, others, sizeof others / sizeof *others);
        harness_close(&h);
}

/* what is stated is of the number itself; nothing for 0 or less than the least exponent, and all of NaN */
static void test_exp_share(void **state)
{
        (void)state;
        enum { COUNT = 200000 };
        struct harness h;
        struct column in, out;
        harness_open(&h);
        column_new(&h, &in, E_F32, COUNT);
        random_state = 88172645463325252u;
        for (size_t i = 0; i < COUNT; i++)
                set_number(&in, i, i < COUNT / 2 ? random_between(-87, 0) : -(double)(i - COUNT / 2) / 1e5);
        call_on(&h, "exp_share", &in, 1, COUNT, &out);
        double worst = 0;
        for (size_t i = 0; i < COUNT; i++) {
                const double error = fabs(number(&out, i) / (double)expl((long double)number(&in, i)) - 1);
                worst = error > worst ? error : worst;
        }
        assert_true(worst < ldexp(1, -13) && worst > ldexp(1, -14));
        const double others[] = { -0.0, 0, -88, -88.00001, -100, -1e30, -(double)FLT_MAX, (double)-INFINITY, (double)NAN, -(double)NAN };
        check_ends(&h, "exp_share", &in, others, sizeof others / sizeof *others);
        harness_close(&h);
}

/* of numbers up to 0 alone; below -80 (-700) it is 0, and nothing above that is below the normal numbers */
static void test_exp_flushed(void **state)
{
        (void)state;
        enum { COUNT = 200000 };
        static const struct unary exponential = { "exp_flushed", expl };
        struct harness h;
        harness_open(&h);
        for (int e = E_F32; e <= E_F64; e++) {
                const double least = e == E_F32 ? -80 : -700;
                const char *const names[] = { "exp_flushed", "exp_flushed_fused" };
                struct column in;
                column_new(&h, &in, (enum element)e, COUNT);
                random_state = 88172645463325252u;
                for (size_t i = 0; i < COUNT; i++)
                        set_number(&in, i, i < 2 ? (double)i * least : random_between(least, 0));
                current = &exponential;
                const double others[] = { least * 1.000001, 2 * least, -1e30, (double)-INFINITY,
                                          -0.0, (double)NAN, -(double)NAN };
                for (int k = 0; k < 2 && loop_library_find(h.library, names[k], (enum element)e); k++) {
                        check_distance(&h, names[k], &in, 1, COUNT, current_exact);
                        struct column ends = in;
                        check_ends(&h, names[k], &ends, others, sizeof others / sizeof *others);
                        for (size_t i = 0; i < COUNT; i++)
                                set_number(&in, i, i < 2 ? (double)i * least : random_between(least, 0));
                }
        }
        harness_close(&h);
}

static void test_unary_f32(void **state)
{
        (void)state;
        check_unaries(E_F32);
}

static void test_unary_f64(void **state)
{
        (void)state;
        check_unaries(E_F64);
}

/* ---- functions of two numbers ---- */

static long double exact_pow(const double *x) { return powl((long double)x[0], (long double)x[1]); }
static long double exact_rem(const double *x)
{
        return fmodl((long double)x[0], (long double)x[1]);
}

static long double exact_mod(const double *x)
{
        long double rest = exact_rem(x), y = (long double)x[1];
        if (rest == 0)
                return copysignl(0, y);
        return (rest < 0) != (y < 0) ? rest + y : rest;
}

static void pair(enum element e, size_t i, double *x, double *y)
{
        size_t s = i % (SPECIAL_COUNT * SPECIAL_COUNT);
        *x = sample(e, 2 * 65536 + (random_bits() & 0xffff));
        *y = sample(e, 2 * 65536 + (random_bits() & 0xffff));
        if (i < SPECIAL_COUNT * SPECIAL_COUNT) {
                *x = special[s / SPECIAL_COUNT];
                *y = special[s % SPECIAL_COUNT];
        } else if (i % 4 == 1) { /* powers near the ends of the range */
                double limit = e == E_F32 ? 104 : 746;
                *x = i % 8 == 1 ? fabs(random_pattern(e))
                                : 1 + ldexp(random_between(-0.5, 1), -(int)(random_bits() % 20));
                *y = random_between(-limit, limit) / log(*x);
        } else if (i % 4 == 2) {
                *y = floor(random_between(-20, 20)) / (i % 8 == 2 ? 1 : 4);
        } else if (i % 4 == 3) {
                *x = random_pattern(e);
                *y = random_pattern(e);
        }
}

static void check_binary(const char *name, long double (*exact)(const double *x), size_t count)
{
        struct harness h;
        harness_open(&h);
        for (int e = E_F32; e <= E_F64; e++) {
                struct column in[2];
                random_state = 362436069u;
                column_new(&h, &in[0], (enum element)e, count);
                column_new(&h, &in[1], (enum element)e, count);
                for (size_t i = 0; i < count; i++) {
                        double x, y;
                        pair((enum element)e, i, &x, &y);
                        set_number(&in[0], i, x);
                        set_number(&in[1], i, y);
                }
                check_distance(&h, name, in, 2, count, exact);
                const char *twin = arena_printf(h.arena, "%s_fused", name);
                if (loop_library_find(h.library, twin, (enum element)e))
                        check_distance(&h, twin, in, 2, count, exact);
        }
        harness_close(&h);
}

static void test_pow(void **state)
{
        (void)state;
        check_binary("pow", exact_pow, 200000);
}

static void test_rem(void **state)
{
        (void)state;
        check_binary("rem", exact_rem, 60000);
}

static void test_mod(void **state)
{
        (void)state;
        check_binary("mod", exact_mod, 60000);
}

/* ---- the text as a whole ---- */

static void test_every_bound_is_stated(void **state)
{
        (void)state;
        struct harness h;
        harness_open(&h);
        int count = 0;
        for (const struct loop_function *f = loop_library_first(h.library); f; f = f->next, count++)
                bound_of(f);
        assert_true(count > 60);
        harness_close(&h);
}

int main(int argc, char **argv)
{
        (void)argv;
        verbose = argc > 1;
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_bound_is_stated),
                cmocka_unit_test(test_exp_negative), cmocka_unit_test(test_exp_share), cmocka_unit_test(test_exp_flushed), cmocka_unit_test(test_unary_f32),
                cmocka_unit_test(test_unary_f64),
                cmocka_unit_test(test_pow),
                cmocka_unit_test(test_rem),
                cmocka_unit_test(test_mod),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
