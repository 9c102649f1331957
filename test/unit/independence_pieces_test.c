/* SPDX-License-Identifier: MIT */
/* Pieces of memory that iterations touch, against all bytes of all iterations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/vectorize/independence_pieces.h"

enum { BYTES = 4096, TRIALS = 20000 };

static uint64_t random_bits(void)
{
        static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
        state ^= state << 13;
        state ^= state >> 7;
        return state ^= state << 17;
}

static int64_t below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

/* does a byte belong to two iterations of two loops? */
static bool shares(const struct pieces *p, const int64_t *step, const int64_t *trip)
{
        unsigned char owner[BYTES];
        memset(owner, 0, sizeof owner);
        for (int64_t j = 0; j < trip[1]; j++)
                for (int64_t i = 0; i < trip[0]; i++)
                        for (int k = 0; k < p->count; k++)
                                for (int64_t at = p->low[k]; at < p->high[k]; at++) {
                                        const int64_t byte = at + step[0] * i + step[1] * j, me = 1 + i + trip[0] * j;
                                        if (owner[byte] && owner[byte] != me)
                                                return true;
                                        owner[byte] = (unsigned char)me;
                                }
        return false;
}

static void test_pieces(void **state)
{
        int proved = 0, apart = 0;
        (void)state;
        for (int trial = 0; trial < TRIALS; trial++) {
                struct pieces p = { .count = 0 };
                const int64_t step[] = { 1 + below(12), 1 + below(90) }, trip[] = { 1 + below(6), 1 + below(6) };
                const int64_t between = 1 + below(60), width = 1 + below(4);
                for (int64_t k = 1 + below(6); k > 0; k--)
                        pieces_add(&p, k * between, k * between + width);
                struct pieces all = p;
                const bool sure = pieces_repeat(&all, step[0], trip[0]) && pieces_repeat(&all, step[1], trip[1]);
                const bool shared = shares(&p, step, trip);
                assert_false(sure && shared);
                proved += sure;
                apart += !shared;
        }
        assert_true(proved > TRIALS / 10 && proved > apart / 2);
}

/* the passes of a transform: radix 16, elements of 4 bytes, imaginary parts behind real ones */
static void test_passes(void **state)
{
        struct pieces p = { .count = 0 }, more = { .count = 0 };
        (void)state;
        for (int64_t part = 0; part < 2; part++)
                for (int64_t k = 0; k < 16; k++)
                        pieces_add(&p, 4 * (4096 * part + 16 * k), 4 * (4096 * part + 16 * k) + 4);
        more = p;
        assert_true(pieces_repeat(&p, 4, 16) && pieces_repeat(&p, 4 * 256, 16));
        assert_true(pieces_repeat(&p, 4 * 8192, 3));
        assert_int_equal(p.count, 1);
        assert_false(pieces_repeat(&more, 4, 17));
        for (int64_t k = 0; k <= PIECES_MAX; k++)
                pieces_add(&more, 8 * k, 8 * k + 4);
        assert_int_equal(more.count, -1);
        assert_false(pieces_repeat(&more, 4096, 2));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces), cmocka_unit_test(test_passes) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
