/* SPDX-License-Identifier: MIT */
/* Calibration: sums that do not round, ranges in any order, observers by closed forms, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "passes/calibrate/calibration.h"

enum { HALF = RANGE_BINS / 2 };

static const struct scheme u8 = { .to = E_U8 }, s8 = { .to = E_I8, .symmetric = true };

/* ---- exact sums ---- */

static const char *sum_text(struct arena *arena, const struct exact_sum *s)
{
        struct text text = { 0 };
        exact_sum_print(&text, s);
        char *copy = arena_string(arena, text.data);
        text_free(&text);
        return copy;
}

static void test_sums(void **state)
{
        static const struct { double terms[4]; const char *text; double value; } cases[] = {
                { { 0 }, "0p0", 0 }, { { 1 }, "1p0", 1 }, { { -1 }, "-1p0", -1 }, { { 16 }, "1p4", 16 },
                { { 0.5 }, "8p-4", 0.5 }, { { 1e30, 1, -1e30 }, "1p0", 1 }, { { 1, -1 }, "0p0", 0 },
                { { 0x1p300, 0x1p-300, -0x1p300 }, "1p-300", 0x1p-300 },
                { { -0x1p-149, -0x1p-149 }, "-1p-148", -0x1p-148 }, { { 255, 1 }, "1p8", 256 },
        };
        struct arena *arena = arena_new();
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct exact_sum s = { { 0 } }, back;
                for (int k = 0; k < 4; k++)
                        exact_sum_add(&s, cases[i].terms[k]);
                assert_string_equal(sum_text(arena, &s), cases[i].text);
                assert_true(exact_sum_value(&s) == cases[i].value);
                assert_true(exact_sum_parse(cases[i].text, &back));
                assert_memory_equal(&back, &s, sizeof s);
        }
        static const char *const bad[] = { "", "-", "p0", "1", "1p", "1p-", "10p0", "01p0", "1p1", "0p4", "-0p0", "+1p0", "1P0", "Ap0",
                                           "1p0 ", "1p00", "1p-388", "1p448", "1p99999999999", "gp0", "1p0x" };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct exact_sum s;
                assert_false(exact_sum_parse(bad[i], &s));
        }
        arena_free(arena);
}

static double random_double(uint64_t *seed)
{
        return ldexp((double)(int64_t)random_next(seed), (int)(random_next(seed) % 300) - 220);
}

/* terms in any order, some taken back again */
static void test_sums_in_any_order(void **state)
{
        uint64_t seed = RANDOM_START;
        (void)state;
        for (int round = 0; round < 200; round++) {
                enum { TERMS = 60 };
                double x[TERMS];
                struct exact_sum a = { { 0 } }, b = { { 0 } }, part = { { 0 } };
                for (int i = 0; i < TERMS; i++)
                        x[i] = random_double(&seed);
                for (int i = 0; i < TERMS; i++)
                        exact_sum_add(&a, x[i]);
                for (int i = TERMS - 1; i >= 0; i--) {
                        exact_sum_add(i % 3 ? &b : &part, x[i]);
                        exact_sum_add(&b, x[i]);
                        exact_sum_add(&b, -x[i]);
                }
                exact_sum_merge(&b, &part);
                assert_memory_equal(&a, &b, sizeof a);
        }
}

/* ---- ranges ---- */

static void assert_same_range(const struct range *a, const struct range *b)
{
        assert_memory_equal(&a->all, &b->all, sizeof a->all);
        assert_true(a->count == b->count && a->infinite == b->infinite && a->exponent == b->exponent);
        assert_memory_equal(&a->sum, &b->sum, sizeof a->sum);
        assert_memory_equal(&a->squares, &b->squares, sizeof a->squares);
        assert_memory_equal(a->bins, b->bins, RANGE_BINS * sizeof *a->bins);
}

/* floats of very different sizes, and whole numbers: powers of two and zeros of both signs among them */
static float random_float(uint64_t *seed, int kind)
{
        int64_t n = (int64_t)random_next(seed);
        switch (kind) {
        case 0: return (float)(n % 9);
        case 1: return ldexpf((float)(n >> 40), (int)(random_next(seed) % 250) - 149);
        case 2: return n & 1 ? -0.0f : ldexpf(n & 2 ? -1 : 1, (int)(n >> 4 & 127) - 100);
        default: return (float)n * 0x1p-63f;
        }
}

static void test_ranges_merge_in_any_order(void **state)
{
        uint64_t seed = RANDOM_START;
        (void)state;
        for (int round = 0; round < 100; round++) {
                enum { PARTS = 5, BLOCKS = 3, COUNT = BLOCKS * RANGE_BLOCK };
                struct arena *arena = arena_new();
                float *x = arena_array(arena, (size_t)PARTS * COUNT, sizeof *x);
                struct range *whole = range_new(arena, NULL), *forth = range_new(arena, NULL),
                             *back = range_new(arena, NULL), *parts[PARTS];
                for (int i = 0; i < PARTS * COUNT; i++)
                        x[i] = random_float(&seed, (round + i / COUNT) % 4);
                assert_int_equal(range_add(whole, E_F32, x, PARTS * COUNT), -1);
                for (int p = 0; p < PARTS; p++) {
                        parts[p] = range_new(arena, NULL);
                        assert_int_equal(range_add(parts[p], E_F32, x + p * COUNT, COUNT), -1);
                }
                for (int p = 0; p < PARTS; p++) {
                        assert_true(range_merge(forth, parts[p]));
                        assert_true(range_merge(back, parts[PARTS - 1 - p]));
                }
                assert_same_range(whole, forth);
                assert_same_range(whole, back);
                arena_free(arena);
        }
}

/* against each number's own bin, and sums in double */
static void test_range_of_numbers(void **state)
{
        uint64_t seed = RANDOM_START;
        (void)state;
        for (int kind = 0; kind < 4; kind++) {
                enum { COUNT = 10001 };
                static float x[COUNT];
                struct arena *arena = arena_new();
                struct range *r = range_new(arena, "x");
                uint64_t bins[RANGE_BINS] = { 0 };
                double sum = 0, largest = 0;
                for (int i = 0; i < COUNT; i++) {
                        x[i] = random_float(&seed, kind);
                        sum += (double)x[i];
                        largest = fmax(largest, fabs((double)x[i]));
                }
                assert_int_equal(range_add(r, E_F32, x, COUNT), -1);
                assert_true(largest <= ldexp(1, r->exponent) && (largest >= ldexp(1, r->exponent - 1)));
                for (int i = 0; i < COUNT; i++)
                        bins[(int)floor(ldexp((double)x[i], 10 - r->exponent)) + HALF]++;
                assert_memory_equal(bins, r->bins, sizeof bins);
                assert_true(fabs(range_mean(r) - sum / COUNT) <= 1e-12 * largest);
                assert_true(!signbit(r->all.least) || r->all.least < 0);
                arena_free(arena);
        }
}

static void test_numbers_that_are_none(void **state)
{
        struct arena *arena = arena_new();
        struct range *r = range_new(arena, "x");
        static float x[9000];
        static const double wide[] = { 1e300, -1, 2 };
        static const uint16_t half[] = { 0x3c00, 0xfc00, 0xc000 };        /* 1, -inf, -2 */
        (void)state;
        x[5000] = INFINITY;
        x[5001] = -INFINITY;
        x[8999] = 3;
        assert_int_equal(range_add(r, E_F32, x, 9000), -1);
        assert_true(r->count == 8998 && r->infinite == 2 && r->all.least == 0 && r->all.most == 3);
        assert_int_equal(range_add(r, E_F64, wide, 3), -1);
        assert_true(r->count == 9000 && r->infinite == 3 && r->all.least == -1 && r->all.most == 3);
        assert_int_equal(range_add(r, E_F16, half, 3), -1);
        assert_true(r->count == 9002 && r->infinite == 4 && r->all.least == -2);
        x[8100] = NAN;
        assert_int_equal(range_add(range_new(arena, "y"), E_F32, x, 9000), 8100);
        struct range *none = range_new(arena, "z"), *most = range_new(arena, "m");
        assert_true(extent_is_none(none->all) && range_merge(none, r) && none->count == r->count);
        most->count = INT64_MAX;
        assert_false(range_merge(most, r));
        arena_free(arena);
}

/* ---- observers ---- */

static void assert_affine(struct affine a, double scale, int zero)
{
        assert_true((float)scale == a.scale);
        assert_int_equal(a.zero, zero);
}

static void test_steps(void **state)
{
        static const struct { struct scheme g; float least, most; double scale; int zero; } cases[] = {
                { { E_U8, false, false }, 0, 255, 1, 0 },          { { E_U8, false, false }, -128, 127, 1, 128 },
                { { E_U8, false, false }, 3, 255, 1, 0 },          { { E_U8, false, false }, -255, -3, 1, 255 },
                { { E_I8, false, false }, -128, 127, 1, 0 },       { { E_I8, false, false }, 0, 255, 1, -128 },
                { { E_I8, true, false }, -127, 12, 1, 0 },         { { E_I8, true, false }, 2, 254, 2, 0 },
                { { E_U8, true, false }, -127, 12, 1, 128 },       { { E_I16, true, false }, -1, 32767, 1, 0 },
                { { E_U16, false, false }, 0, 65535, 1, 0 },       { { E_I4, true, false }, -7, 3, 1, 0 },
                { { E_U4, false, false }, -5, 10, 1, 5 },          { { E_I8, true, true }, -1, 1, 0x1p-6, 0 },
                { { E_I8, true, true }, 0, 127, 1, 0 },            { { E_U8, false, true }, 0, 256, 2, 0 },
                { { E_U8, false, false }, 0, 0, 1, 0 },            { { E_U8, true, false }, 0, 0, 1, 128 },
                { { E_I8, true, false }, 0, 0, 1, 0 },             { { E_U8, false, false }, INFINITY, -INFINITY, 1, 0 },
                { { E_U8, false, false }, 0, 1e-42f, FLT_MIN, 0 }, { { E_U8, false, false }, -0x1p127f, 0x1p127f, 0x1p128 / 255, 127 },
        };
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                assert_affine(affine_of((struct extent){ cases[i].least, cases[i].most }, &cases[i].g),
                              cases[i].scale, cases[i].zero);
}

/* whatever the extent: 0 has a number, the scale is normal, no end is further out than a step */
static void test_steps_of_any_extent(void **state)
{
        static const enum element to[] = { E_U8, E_I8, E_U16, E_I16, E_U4, E_I4 };
        uint64_t seed = RANDOM_START;
        (void)state;
        for (int i = 0; i < 60000; i++) {
                struct scheme g = { to[i % 6], i / 6 & 1, i / 12 & 1 };
                float a = random_float(&seed, i / 24 % 4), b = random_float(&seed, i / 96 % 4);
                struct extent e = { a < b ? a : b, a < b ? b : a };
                int32_t lowest, highest;
                struct affine q = affine_of(e, &g);
                scheme_limits(&g, &lowest, &highest);
                assert_true(isnormal(q.scale) && q.scale > 0 && q.zero >= lowest && q.zero <= highest);
                double step = (double)q.scale, low = (lowest - q.zero) * step, high = (highest - q.zero) * step;
                assert_true((double)e.least >= low - step && (double)e.most <= high + step);
                int exponent;
                assert_true(!g.power_of_two || frexp(step, &exponent) == 0.5);
        }
}

static struct range *range_of(struct arena *arena, const float *x, int count)
{
        struct range *r = range_new(arena, "x");
        assert_int_equal(range_add(r, E_F32, x, count), -1);
        return r;
}

static void assert_extent(const struct range *r, enum observer o, const struct scheme *g, double least, double most)
{
        struct extent e = observe_extent(r, o, g);
        assert_true((float)least == e.least && (float)most == e.most);
}

static void test_percentiles(void **state)
{
        enum { COUNT = 100000 };
        static float x[COUNT];
        struct arena *arena = arena_new();
        const struct scheme asymmetric = { .to = E_I8 };
        (void)state;
        for (int i = 0; i < COUNT; i++)          /* 0 to 999, each a hundred times: a bin each */
                x[i] = (float)(i % 1000);
        const struct range *r = range_of(arena, x, COUNT);
        assert_int_equal(r->exponent, 10);
        assert_extent(r, OBSERVE_minmax, &u8, 0, 999);
        assert_extent(r, OBSERVE_percentile_3, &s8, -999, 999);           /* 100 may go: number 999 */
        assert_extent(r, OBSERVE_percentile_4, &s8, -999, 999);           /* 10 may go: none */
        for (int i = 0; i < COUNT; i++)
                x[i] = i < 10 ? 1000 : i < 30 ? -900 : i < 50 ? 700 : (float)(i % 100);
        r = range_of(arena, x, COUNT);
        assert_extent(r, OBSERVE_minmax, &asymmetric, -900, 1000);
        assert_extent(r, OBSERVE_percentile_3, &s8, -100, 100);           /* 100 go, of both signs */
        assert_extent(r, OBSERVE_percentile_3, &asymmetric, 0, 100);      /* 50 at each end */
        assert_extent(r, OBSERVE_percentile_4, &s8, -900, 900);           /* 10 go: number 1000 */
        assert_extent(r, OBSERVE_percentile_4, &asymmetric, -900, 1000);  /* 5 at each end: none */
        assert_extent(r, OBSERVE_percentile_5, &asymmetric, -900, 1000);
        arena_free(arena);
}

static void test_average(void **state)
{
        struct arena *arena = arena_new();
        static const float x[] = { -8, 16 };
        struct range *r = range_of(arena, x, 2);
        struct extent samples[] = { { -4, 8 }, extent_none, { -8, 16 }, { 0, 0 } };
        (void)state;
        assert_extent(r, OBSERVE_average, &u8, -8, 16);                   /* of no samples: all */
        r->samples = samples;
        r->sample_count = 4;
        assert_extent(r, OBSERVE_average, &u8, ((-4 * .9) - .8) * .9, (8 * .9 + 1.6) * .9);
        arena_free(arena);
}

/* What is even up to its end is kept whole; far single numbers go. */
static void test_entropy_and_error(void **state)
{
        enum { COUNT = 1 << 18 };
        static float x[COUNT];
        struct arena *arena = arena_new();
        (void)state;
        for (int i = 0; i < COUNT; i++)
                x[i] = (float)(2 * i - COUNT + 1) / COUNT;
        const struct range *r = range_of(arena, x, COUNT);
        double end = (double)x[COUNT - 1], step = end / 127;
        assert_extent(r, OBSERVE_entropy, &s8, -end, end);
        assert_extent(r, OBSERVE_mse, &s8, -end, end);
        /* even numbers are off by step^2 / 12 on the average */
        double error = affine_error(r, observe(r, OBSERVE_minmax, &s8), &s8);
        assert_true(fabs(error - step * step / 12) < 0.02 * step * step / 12);
        /* a bell with ten numbers far outside: they go */
        uint64_t seed = RANDOM_START;
        for (int i = 0; i < COUNT; i++) {
                x[i] = i < 10 ? 40 : 0;
                for (int k = 0; k < 12 && i >= 10; k++)
                        x[i] += (float)((double)(random_next(&seed) >> 11) * 0x1p-53 - 0.5);
        }
        r = range_of(arena, x, COUNT);
        double bell = (double)observe_extent(r, OBSERVE_entropy, &s8).most;
        assert_true(bell > 3 && bell < 12);
        const struct scheme u4 = { .to = E_U4 };
        double kept = (double)observe_extent(r, OBSERVE_mse, &u4).most;
        assert_true(kept > 1 && kept < 30);
        for (int o = 0; o < OBSERVER_COUNT; o++)
                assert_true(affine_error(r, observe(r, OBSERVE_mse, &u4), &u4) <=
                            affine_error(r, observe(r, (enum observer)o, &u4), &u4) * 1.1);
        arena_free(arena);
}

static void test_degenerate(void **state)
{
        struct arena *arena = arena_new();
        static const float zeros[100], ones[] = { 1, 1, 1, 1 };
        const struct range *cases[] = { range_new(arena, "none"), range_of(arena, zeros, 100), range_of(arena, ones, 4) };
        (void)state;
        for (int o = 0; o < OBSERVER_COUNT; o++) {
                enum observer found;
                assert_true(observer_from_text(observer_name((enum observer)o), &found) && (int)found == o);
                assert_affine(observe(cases[0], (enum observer)o, &u8), 1, 0);
                assert_affine(observe(cases[1], (enum observer)o, &u8), 1, 0);
                assert_affine(observe(cases[1], (enum observer)o, &s8), 1, 0);
                assert_affine(observe(cases[2], (enum observer)o, &u8), 1. / 255, 0);
        }
        enum observer found;
        assert_false(observer_from_text("percentile", &found));
        arena_free(arena);
}

/* ---- files ---- */

static struct calibration *example(struct arena *arena, int first_sample, int samples, enum channel_axis axis)
{
        static const char *const names[] = { "input", "conv1.convolve", "conv1.convolve#2", "soft-max_1/y\\x20", "none" };
        struct calibration *c = calibration_new(arena, axis);
        uint64_t seed = RANDOM_START + (uint64_t)first_sample;
        memset(c->digest, 'a', 64);
        c->sample_count = samples;
        c->samples = arena_array(arena, (size_t)samples, sizeof *c->samples);
        for (int i = 0; i < samples; i++) {
                c->samples[i].name = arena_printf(arena, "file.npz:%d", first_sample + i);
                snprintf(c->samples[i].digest, 65, "%064d", first_sample + i);
        }
        for (int t = 0; t < 5; t++) {
                struct range *r = range_new(arena, names[t]);
                r->sample_count = samples;
                r->samples = arena_array(arena, (size_t)samples, sizeof *r->samples);
                r->channel_count = axis == CHANNELS_NONE ? 0 : 2;
                r->channels = arena_array(arena, 2, sizeof *r->channels);
                r->channels[0] = r->channels[1] = extent_none;
                for (int i = 0; i < samples; i++) {
                        float x[64];
                        for (int k = 0; k < 64; k++)
                                x[k] = random_float(&seed, t);
                        struct range *one = range_of(arena, x, t == 4 ? 0 : 64);
                        r->samples[i] = one->all;
                        assert_true(range_merge(r, one));
                        for (int k = 0; k < r->channel_count; k++)
                                r->channels[k] = extent_join(r->channels[k], range_of(arena, x + 32 * k, t == 4 ? 0 : 32)->all);
                }
                calibration_add(c, arena, r);
        }
        return c;
}

static char *file_text(const struct calibration *c, size_t *length)
{
        char *text = NULL;
        FILE *out = open_memstream(&text, length);
        calibration_write(c, out);
        fclose(out);
        return text;
}

static struct calibration *read_silently(struct arena *arena, const char *text, size_t length)
{
        struct diag diag = { .silent = true };
        struct calibration *c = calibration_read(arena, text, length, INT64_MAX, &diag);
        assert_true(c ? !diag.errors : diag.errors == 1 && diag.code == EXIT_INVALID);
        return c;
}

static void test_file(void **state)
{
        (void)state;
        for (int axis = CHANNELS_NONE; axis <= CHANNELS_LAST; axis++) {
                struct arena *arena = arena_new();
                const struct calibration *c = example(arena, 0, 3, (enum channel_axis)axis);
                size_t length, again_length;
                char *text = file_text(c, &length);
                const struct calibration *back = read_silently(arena, text, length);
                assert_non_null(back);
                char *again = file_text(back, &again_length);
                assert_string_equal(text, again);
                for (int i = 0; i < c->range_count; i++)
                        assert_same_range(c->ranges[i], calibration_find(back, c->ranges[i]->name));
                assert_null(calibration_find(back, "conv2"));
                free(text);
                free(again);
                arena_free(arena);
        }
}

/* 0 and 1, 2 to 4, 5 to 11 in any order and grouping */
static void test_merge(void **state)
{
        static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 }, { 1, 0, 2 } }, first[] = { 0, 2, 5, 12 };
        char *texts[4];
        size_t length;
        (void)state;
        for (int o = 0; o < 4; o++) {
                struct arena *arena = arena_new();
                struct diag diag = { .silent = true };
                struct calibration *parts[3];
                for (int i = 0; i < 3; i++)
                        parts[i] = example(arena, first[orders[o][i]],
                                           first[orders[o][i] + 1] - first[orders[o][i]], CHANNELS_LAST);
                assert_true(calibration_merge(parts[0], parts[1], arena, &diag));
                assert_true(calibration_merge(parts[0], parts[2], arena, &diag));
                assert_int_equal(parts[0]->sample_count, 12);
                texts[o] = file_text(parts[0], &length);
                assert_non_null(read_silently(arena, texts[o], length));
                assert_string_equal(texts[o], texts[0]);
                /* what is there already, or of something else */
                assert_false(calibration_merge(parts[0], example(arena, 11, 2, CHANNELS_LAST), arena, &diag));
                assert_false(calibration_merge(example(arena, 20, 1, CHANNELS_LAST),
                                               example(arena, 21, 1, CHANNELS_SECOND), arena, &diag));
                struct calibration *other = example(arena, 22, 1, CHANNELS_LAST);
                other->digest[0] = 'b';
                assert_false(calibration_merge(example(arena, 20, 1, CHANNELS_LAST), other, arena, &diag));
                other = example(arena, 22, 1, CHANNELS_LAST);
                other->ranges[1]->count = INT64_MAX;
                assert_false(calibration_merge(example(arena, 20, 1, CHANNELS_LAST), other, arena, &diag));
                assert_int_equal(diag.errors, 4);
                arena_free(arena);
        }
        for (int o = 0; o < 4; o++)
                free(texts[o]);
}

static void test_sample_order(void **state)
{
        static const char *const names[] = { "a", "a:0", "a:2", "a:10", "a:010", "a:10b", "b", "b1:2", "b2:1" };
        enum { NAMES = sizeof names / sizeof *names };
        (void)state;
        for (int i = 0; i < NAMES; i++)
                for (int j = 0; j < NAMES; j++) {
                        struct sample a = { .name = names[i] }, b = { .name = names[j] };
                        int order = sample_order(&a, &b);
                        bool zeros = (i == 3 && j == 4) || (i == 4 && j == 3);     /* one way or the other */
                        assert_true(zeros ? order : i < j ? order < 0 : i > j ? order > 0 : !order);
                }
        struct sample a = { "x", "1" }, b = { "x", "2" };
        assert_true(sample_order(&a, &b) < 0);
}

/* any byte changed, any end cut off: an error, or something that is written as it was read */
static void test_hostile_bytes(void **state)
{
        struct arena *arena = arena_new();
        size_t length;
        char *text = file_text(example(arena, 0, 2, CHANNELS_SECOND), &length);
        uint64_t seed = RANDOM_START;
        int fine = 0;
        (void)state;
        for (size_t i = 0; i < length; i += i < 1500 ? 1 : 97) {
                struct arena *scratch = arena_new();
                assert_null(read_silently(scratch, text, i));
                arena_free(scratch);
        }
        for (int i = 0; i < 20000; i++) {
                struct arena *scratch = arena_new();
                size_t at = random_next(&seed) % (i % 2 ? length : 900);
                char was = text[at];
                text[at] = i % 4 < 2 ? (char)(was ^ 1 << random_next(&seed) % 8) : " \n0919-.enaxp"[random_next(&seed) % 13];
                const struct calibration *c = read_silently(scratch, text, length);
                if (c) {
                        size_t again_length;
                        char *again = file_text(c, &again_length);
                        assert_non_null(read_silently(scratch, again, again_length));
                        free(again);
                        fine++;
                }
                text[at] = was;
                arena_free(scratch);
        }
        assert_true(fine > 0 && fine < 10000);
        free(text);
        arena_free(arena);
}

#define HEAD "dnncc-ranges 1\nfunction 0000000000000000000000000000000000000000000000000000000000000000\n"
#define SAMPLE "sample s 0000000000000000000000000000000000000000000000000000000000000000\n"
#define ONE HEAD "channels none\nsamples 1\n" SAMPLE "tensors 1\n"
#define SUMS "sum 1p0 squares 1p0 "
static void test_hostile_lines(void **state)
{
        static const struct { const char *text, *want; } cases[] = {
                { "", "the first line is not" }, { "dnncc-ranges 2\n", "the first line is not" }, { "dnncc-ranges 1", "the first line is not" },
                { "dnncc-ranges 1\r\n", "the first line is not" }, { "dnncc-ranges 1\n", "line 2 of the ranges: the file ends" },
                { "dnncc-ranges 1\nfunction 00\n", "line 2 of the ranges: want the 64 digits" },
                { HEAD "channels first\n", "line 3 of the ranges: want none, second or last, not 'first'" },
                { HEAD "channels none\nsamples 0\n", "line 4 of the ranges: there are no samples" },
                { HEAD "channels none\nsamples -1\n", "want a count, not '-1'" }, { HEAD "channels none\nsamples 01\n", "want a count" },
                { HEAD "channels none\nsamples 99999999999999999999\n", "want a count" },
                { HEAD "channels none\nsamples 9000000000000000000\n" SAMPLE, "line 6 of the ranges: the file ends" },
                { HEAD "channels none\nsamples 2\n" SAMPLE SAMPLE, "line 6 of the ranges: sample s is there twice" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 1 bins 512 1\n", NULL },
                { ONE "tensor x count 1 infinite 0 extent nan 1.0 ", "the file ends" },
                { ONE "tensor x count 1 infinite 0 extent nan 1.0 \n", "want a finite number, not 'nan'" },
                { ONE "tensor x count 1 infinite 0 extent -inf 1.0\n", "want a finite number, not '-inf'" },
                { ONE "tensor x count 1 infinite 0 extent 1e39 1.0\n", "want a finite number" },
                { ONE "tensor x count 1 infinite 0 extent -0.0 1.0\n", "want a finite number" },
                { ONE "tensor x count 1 infinite 0 extent 2.0 1.0\n", "the least of a range is above the most" },
                { ONE "tensor x count 1 infinite 0 extent  1.0 1.0\n", "want a finite number, not ''" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 sum 10p0\n", "'10p0' is no sum" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 2.0 channels 0 exponent 1 bins 512 1\n",
                  "line 7 of the ranges: the extent is not that of all samples" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 4611686018427387904 exponent 1 bins 512 1\n",
                  "there are fewer than" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 1 1.0 1.0 exponent 1 bins 512 1\n",
                  "the file has no channels" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 2 bins 512 1\n",
                  "the exponent for this extent is 1" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 129 bins 512 1\n", "not from -100 to 128" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 1 bins 511 1\n", "bin 511 is not" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 1 bins 512 2\n", "the bins count 2 numbers" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS "samples 1.0 1.0 channels 0 exponent 1 bins 1023 1 0\n", "more than 2048 bins" },
                { ONE "tensor x count 1 infinite 0 extent 1.0 1.0 " SUMS
                      "samples 1.0 1.0 channels 0 exponent 1 bins 510 9223372036854775807 9223372036854775807 9223372036854775807\n", "wraps" },
                { ONE "tensor x count 1 infinite 0 extent none " SUMS "samples none channels 0 exponent -100 bins 0 1\n", "an extent is of some numbers" },
                { ONE "tensor x count 0 infinite 0 extent none " SUMS "samples none channels 0 exponent -100 bins 0\ntensor\n", "there are 1 tensors and more" },
                { HEAD "channels none\nsamples 1\n" SAMPLE "tensors 2\ntensor x count 0 infinite 0 extent none sum 0p0 squares 0p0 samples none channels 0 exponent -100 bins 0\n"
                       "tensor x count 0\n", "line 8 of the ranges: tensor x is there twice" },
        };
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct arena *arena = arena_new();
                char *said = NULL;
                size_t length;
                struct diag diag = { .subject = "x.ranges", .stream = open_memstream(&said, &length) };
                const struct calibration *c = calibration_read(arena, cases[i].text, strlen(cases[i].text), INT64_MAX, &diag);
                fclose(diag.stream);
                assert_true(cases[i].want ? !c && diag.code == EXIT_INVALID && strstr(said, cases[i].want) : c != NULL);
                free(said);
                arena_free(arena);
        }
}

/* SHA-256 of the text as version 1 of the format has it: ranges hold when the version rises. */
static void test_digest_of_any_version(void **state)
{
        static const char text[] = "dnn 3\nmodule \"m\"\nfunc @main(%x \"x\": <4 x f32>) -> (\"y\") {\n"
                                   "  %0 = neg(%x) : <4 x f32>\n  yield(%0)\n}\n";
        struct diag diag = { .subject = "m.dnn" };
        struct module *m = tensor_parse(text, strlen(text), NULL, NULL, &diag);
        char hex[65];
        (void)state;
        assert_non_null(m);
        calibration_digest(m, hex);
        assert_string_equal(hex, "8af441caf549523f94a0cd19f2539c413cdb0ad7f7c3aede66e219dd73853a74");
        module_free(m);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sums), cmocka_unit_test(test_sums_in_any_order), cmocka_unit_test(test_ranges_merge_in_any_order),
                cmocka_unit_test(test_range_of_numbers), cmocka_unit_test(test_numbers_that_are_none), cmocka_unit_test(test_steps),
                cmocka_unit_test(test_steps_of_any_extent), cmocka_unit_test(test_percentiles), cmocka_unit_test(test_average),
                cmocka_unit_test(test_entropy_and_error), cmocka_unit_test(test_degenerate), cmocka_unit_test(test_file),
                cmocka_unit_test(test_merge), cmocka_unit_test(test_sample_order), cmocka_unit_test(test_hostile_bytes),
                cmocka_unit_test(test_hostile_lines), cmocka_unit_test(test_digest_of_any_version),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
