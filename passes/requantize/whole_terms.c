/* SPDX-License-Identifier: MIT */
/* Makes bytes of several whole numbers that floats scale and add up, by integers alone.
 *
 *   y = cast(round(bound((cast(s) * @a + @b + cast(q) * c) / d)) + zero)
 *     ->
 *   y = cast(bound((i64(s) * @A + i64(q) * C + @B) >> shift))
 *
 * s is the sum of a layer, q is bytes of another branch. Factors and what is added may differ along
 * one dimension. In exact numbers the first is a line in each of s and q; A, C and B are its
 * factors times 2^shift, with the zero point and a half in B. Where the sum is within 2^-5 of a
 * half, a byte may be off by one; halves go up. Factors have 31 bits, or more where 31 are too few;
 * no possible sum overflows 64 bits. */
#include <math.h>

#include "passes/requantize/requantize.h"
#include "passes/requantize/terms.h"
#include "passes/simplify/ranges.h"

enum { SHIFT_MOST = 48, SHIFT_LEAST = 1, NEAR = 5, WIDE = 61 };

struct whole_terms {
        int shift;
        double sizes[TERMS_SOURCES]; /* Each source has this largest magnitude. */
        int64_t *of[TERMS_SOURCES], *one; /* The arrays have a number for each place. */
};

/* Scales the lines to numbers of this many bits beside the sign, with w's shift. Returns false if
 * they do not fit, or are not precise enough. */
static bool scale_lines(const struct terms *t, int bits, struct whole_terms *w)
{
        double doubt = 0;
        for (int k = 0; k < t->source_count; k++)
                doubt += ldexp(w->sizes[k], -w->shift - 1);
        for (int64_t i = 0; i < t->places; i++) {
                double one = ldexp(t->lines[i].one + 0.5, w->shift), all = fabs(one);
                for (int k = 0; k < t->source_count; k++) {
                        double of = rint(ldexp(t->lines[i].of[k], w->shift));
                        if (!(fabs(of) < ldexp(1, bits)))
                                return false;
                        w->of[k][i] = (int64_t)of;
                        all += fabs(of) * w->sizes[k];
                }
                if (!(all < ldexp(1, WIDE)))
                        return false;
                w->one[i] = (int64_t)rint(one);
        }
        return doubt < ldexp(1, -NEAR);
}

/* Finds the most precise factors of 31 bits; where these are not precise enough, the shortest that
 * are. */
static bool find_whole(const struct terms *t, struct whole_terms *w)
{
        for (w->shift = SHIFT_MOST; w->shift >= SHIFT_LEAST; w->shift--)
                if (scale_lines(t, 31, w))
                        return true;
        while (++w->shift <= SHIFT_MOST)
                if (scale_lines(t, 63, w))
                        return true;
        return false;
}

static struct value *sum_of_terms(struct builder *b, const struct terms *t,
                                  const struct whole_terms *w)
{
        struct value *sum = spread_build(b, t->type, t->along, E_I64, w->one, t->places, "offset");
        for (int k = 0; k < t->source_count; k++) {
                struct value *x = build_cast(b, t->sources[k], E_I64),
                             *factor = spread_build(b, t->type, t->along, E_I64, w->of[k],
                                                    t->places, "factor");
                x = build_binary(b, OP_mul, x, factor);
                sum = build_binary(b, OP_add, x, sum);
        }
        return sum;
}

int requantize_terms(struct op *op, struct pass_context *context)
{
        struct terms t;
        struct value *y = NULL;
        struct arena *arena = arena_new();
        if (terms_find(arena, op, &t)) {
                struct builder b = builder_before(op, context->diag);
                struct whole_terms w = { .one = arena_array(arena, (size_t)t.places,
                                                            sizeof *w.one) };
                for (int k = 0; k < t.source_count; k++) {
                        w.of[k] = arena_array(arena, (size_t)t.places, sizeof *w.of[k]);
                        w.sizes[k] = whole_largest(requantize_range(t.sources[k]));
                }
                if (find_whole(&t, &w)) {
                        struct value *sum = sum_of_terms(&b, &t, &w);
                        if (sum)
                                sum = build_binary(&b, OP_shr, sum,
                                                   constant_number(b.m, sum->type, w.shift));
                        y = terms_byte(&b, &t, sum);
                }
        }
        arena_free(arena);
        if (!y)
                return context->diag->code ? -1 : 0;
        value_replace(op_result(op), y);
        op_erase(op);
        return 1;
}
