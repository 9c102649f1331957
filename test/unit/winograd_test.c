/* SPDX-License-Identifier: MIT */
/* The transforms of F(m, r): held in exact rationals against what filtering is, and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/tensor/winograd_tiles.h"

/* ---- rationals ---- */

struct rational {
        int64_t n, d;
};

static struct rational reduced(int64_t n, int64_t d)
{
        int64_t a = n < 0 ? -n : n, b = d;
        while (b) {
                const int64_t rest = a % b;
                a = b;
                b = rest;
        }
        return (struct rational){ n / a, d / a };
}

static struct rational times(struct rational a, struct rational b)
{
        return reduced(a.n * b.n, a.d * b.d);
}

static struct rational plus(struct rational a, struct rational b)
{
        return reduced(a.n * b.d + b.n * a.d, a.d * b.d);
}

/* Returns the rational with a denominator of at most 100,000 that x is, rounded to double. */
static struct rational rational_of(double x)
{
        for (int64_t d = 1; d <= 100000; d++) {
                const double n = x * (double)d;
                const int64_t near = (int64_t)(n < 0 ? n - .5 : n + .5);
                if ((double)near / (double)d == x)
                        return reduced(near, d);
        }
        fail_msg("%g is no such rational", x);
        return (struct rational){ 0, 1 };
}

/* Computes what a line makes of value number `one`, which is 1 where all others are 0. */
static void column_of(const struct winograd_line *line, int one, struct rational *results)
{
        struct rational values[WINOGRAD_VALUES_MAX];
        for (int i = 0; i < line->count; i++)
                values[i] = (struct rational){ i == one, 1 };
        for (int i = 0; i < line->step_count; i++) {
                const struct winograd_step *s = &line->steps[i];
                assert_true(s->a < line->count + i && s->b < line->count + i && s->k != 0);
                values[line->count + i] =
                        plus(values[s->a], times(rational_of(s->k), values[s->b]));
        }
        for (int i = 0; i < line->results; i++)
                results[i] = values[line->result[i]];
}

/* ---- tests ---- */

/* Result i of a window with tap k alone is x[i + k], whatever x. */
static void filters(const struct winograd *f)
{
        struct rational b[WINOGRAD_SIZE_MAX][WINOGRAD_SIZE_MAX],
                a[WINOGRAD_SIZE_MAX][WINOGRAD_SIZE_MAX];
        for (int k = 0; k < f->size; k++) {
                column_of(&f->input, k, b[k]);
                column_of(&f->output, k, a[k]);
        }
        for (int i = 0; i < f->tile; i++)
                for (int k = 0; k < f->window; k++)
                        for (int l = 0; l < f->size; l++) {
                                struct rational sum = { 0, 1 };
                                for (int e = 0; e < f->size; e++)
                                        sum = plus(sum, times(times(a[e][i], b[l][e]),
                                                              rational_of(f->weights[e][k])));
                                assert_int_equal(sum.d, 1);
                                assert_int_equal(sum.n, l == i + k);
                        }
}

static void test_every_tile_by_every_window(void **state)
{
        (void)state;
        int found = 0;
        for (int m = -1; m <= 10; m++)
                for (int r = -1; r <= 10; r++) {
                        struct winograd f;
                        const bool there =
                                (m == 1 && r == 1) || (m > 1 && r > 1 && r <= WINOGRAD_WINDOW_MAX &&
                                                       m + r <= WINOGRAD_SIZE_MAX + 1);
                        assert_int_equal(winograd_find(m, r, &f), there);
                        if (!there)
                                continue;
                        assert_int_equal(f.tile, m);
                        assert_int_equal(f.window, r);
                        assert_int_equal(f.size, m + r - 1);
                        filters(&f);
                        found++;
                }
        assert_int_equal(found, 22);
}

/* The transforms that were written by hand before there was a generator (Lavin and Gray). */
static void test_known_ones(void **state)
{
        (void)state;
        static const int input[4][4] = {
                { -1, 0, 1, 0 }, { 0, 1, 1, 0 }, { 0, -1, 1, 0 }, { 0, -1, 0, 1 }
        };
        static const int larger[6][6] = { { 4, 0, -5, 0, 1, 0 },  { 0, -4, -4, 1, 1, 0 },
                                          { 0, 4, -4, -1, 1, 0 }, { 0, -2, -1, 2, 1, 0 },
                                          { 0, 2, -1, -2, 1, 0 }, { 0, 4, 0, -5, 0, 1 } };
        static const int output[4][6] = { { 1, 1, 1, 1, 1, 0 },
                                          { 0, 1, -1, 2, -2, 0 },
                                          { 0, 1, 1, 4, 4, 0 },
                                          { 0, 1, -1, 8, -8, 1 } };
        struct winograd f;
        struct rational column[WINOGRAD_SIZE_MAX];
        assert_true(winograd_find(2, 3, &f));
        assert_int_equal(f.input.step_count, 4);
        assert_int_equal(f.output.step_count, 4);
        for (int j = 0; j < f.size; j++) {
                column_of(&f.input, j, column);
                for (int i = 0; i < f.size; i++)
                        assert_true(column[i].n == input[i][j] && column[i].d == 1);
        }
        assert_true(winograd_find(4, 3, &f));
        assert_int_equal(f.input.step_count, 12);
        assert_int_equal(f.output.step_count, 10);
        for (int j = 0; j < f.size; j++) {
                column_of(&f.input, j, column);
                for (int i = 0; i < f.size; i++)
                        assert_true(column[i].n == larger[i][j] && column[i].d == 1);
                column_of(&f.output, j, column);
                for (int i = 0; i < f.tile; i++)
                        assert_true(column[i].n == output[i][j] && column[i].d == 1);
        }
}

/* What rows have in common is computed once. */
static void test_steps(void **state)
{
        (void)state;
        struct winograd f;
        assert_true(winograd_find(4, 5, &f));
        assert_int_equal(f.input.step_count, 24);
        assert_int_equal(f.output.step_count, 6 + 3 + 2 + 2 + 3);
        assert_true(winograd_find(1, 1, &f));
        assert_int_equal(f.input.step_count + f.output.step_count, 0);
        struct winograd_square square;
        const int64_t tile[] = { 2, 4 }, window[] = { 7, 3 };
        assert_true(winograd_find_square(tile, window, &square));
        assert_int_equal(square.elements, 8 * 6);
        assert_int_equal(winograd_steps(&square.along[0].input, &square.along[1].input),
                         6 * 24 + 8 * 12);
}

static void test_forms(void **state)
{
        (void)state;
        int64_t found[WINOGRAD_FORMS_MAX][WINOGRAD_DIMS];
        assert_int_equal(winograd_forms((int64_t[]){ 3, 3 }, found), 4);
        assert_int_equal(winograd_forms((int64_t[]){ 7, 5 }, found), 2);
        assert_true(found[1][0] == 2 && found[1][1] == 4);
        assert_int_equal(winograd_forms((int64_t[]){ 1, 3 }, found), 3);
        assert_true(found[2][0] == 1 && found[2][1] == 6);
        assert_int_equal(winograd_forms((int64_t[]){ 1, 1 }, found), 0);
        assert_int_equal(winograd_forms((int64_t[]){ 3, 8 }, found), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_tile_by_every_window),
                cmocka_unit_test(test_known_ones),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_forms),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
