/* SPDX-License-Identifier: MIT */
/* Finds weights whose scales are powers of two (shift_weights.h).
 *
 * A block's shift is the largest at which all its numbers fit into a byte, or one more, where
 * clipping a few large numbers loses less than the finer step wins. */
#include "passes/requantize/shift_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/quantize/rounding.h"

enum { MOST = 127, SHIFT_MOST = 30 };

/* Returns weight k of output o, times its factor. */
static double exact_at(const struct shifted_weights *s, int64_t o, int64_t k)
{
        return s->factors[o] * (double)constant_element(s->w, weight_place(&s->places, o, k)).i;
}

static double rounded(double x)
{
        double y = rint(x);
        return y > MOST ? MOST : y < -MOST ? -MOST : y;
}

/* Returns the sum of squared errors of an output at a shift. */
static double lost_at(const struct shifted_weights *s, int64_t o, int shift)
{
        const double scale = ldexp(1, shift), back = ldexp(1, -shift),
                     *exact = s->exact + o * s->places.depth;
        double sum = 0;
        for (int64_t k = 0; k < s->places.depth; k++) {
                double x = exact[k] * scale, e = (x - rounded(x)) * back;
                sum += e * e;
        }
        return sum;
}

/* ---- rounding ---- */

struct rest {
        double rest;
        int64_t place;
};

/* Lets those of `count` numbers that were nearest to a half go the other way, as many as it takes
 * to bring the sum of their errors to at most half a number. They are few, so each is searched by
 * itself. */
static void even_out(struct rest *rests, int64_t count, int8_t *numbers)
{
        double all = 0;
        for (int64_t k = 0; k < count; k++)
                all += rests[k].rest;
        const int way = all > 0 ? 1 : -1;
        for (int64_t more = (int64_t)rint(fabs(all)); more > 0; more--) {
                struct rest *most = NULL;
                for (struct rest *r = rests; r < rests + count; r++)
                        if (way * r->rest > (most ? way * most->rest : 0) &&
                            abs(numbers[r->place] + way) <= MOST)
                                most = r;
                if (!most)
                        return;
                numbers[most->place] = (int8_t)(numbers[most->place] + way);
                most->rest -= way;
        }
}

/* Rounds an output's numbers so that errors cancel over each window, and over all. */
static void round_output(struct shifted_weights *s, int64_t o, int64_t window, struct rest *rests)
{
        const int64_t depth = s->places.depth;
        const double scale = ldexp(1, s->shifts[o]);
        for (int64_t k = 0; k < depth; k++) {
                double x = s->exact[o * depth + k] * scale, y = rounded(x);
                rests[k] = (struct rest){ x - y, weight_place(&s->places, o, k) };
                s->numbers[rests[k].place] = (int8_t)y;
        }
        for (int64_t k = 0; k < depth && window > 1; k += window)
                even_out(rests + k, window, s->numbers);
        even_out(rests, depth, s->numbers);
}

/* Measures magnitudes and errors of the numbers. m has the mean of operand k in output o's group;
 * NULL: `average` is the mean of all operands. */
static void measure(struct shifted_weights *s, const struct moments *m, double average)
{
        const int64_t depth = s->places.depth, outputs = m ? s->places.outputs / m->groups : 0;
        s->signal = s->error = 0;
        for (int64_t o = 0; o < s->places.outputs; o++) {
                const double back = ldexp(1, -s->shifts[o]);
                s->magnitudes[o] = s->lost[o] = 0;
                for (int64_t k = 0; k < depth; k++) {
                        double x = exact_at(s, o, k),
                               number = s->numbers[weight_place(&s->places, o, k)],
                               e = x - number * back;
                        s->magnitudes[o] += fabs(number);
                        s->lost[o] += e * (m ? m->sums[o / outputs * depth + k] / (double)m->rows
                                             : average);
                        s->signal += x * x;
                        s->error += e * e;
                }
        }
}

/* ---- shifts ---- */

/* Returns the shift of the outputs from `from` to `to`; negative: none is at least `least`. */
static int find_shift(const struct shifted_weights *s, int64_t from, int64_t to, int least)
{
        double most = 0, now = 0, next = 0;
        int exponent;
        for (int64_t o = from; o < to; o++)
                for (int64_t k = 0; k < s->places.depth; k++)
                        most = fmax(most, fabs(s->exact[o * s->places.depth + k]));
        if (!isfinite(most))
                return -1;
        frexp((MOST + 0.5) / fmax(most, ldexp(1, -SHIFT_MOST)), &exponent);
        int shift = exponent - 1 < SHIFT_MOST - 1 ? exponent - 1 : SHIFT_MOST - 1;
        if (shift < least)
                return -1;
        for (int64_t o = from; o < to; o++) {
                now += lost_at(s, o, shift);
                next += lost_at(s, o, shift + 1);
        }
        return next < now ? shift + 1 : shift;
}

bool shifted_weights_find(struct arena *arena, const struct op *op, const double *factors,
                          int least, double average, int block, struct shifted_weights *s)
{
        const struct type *t = op_operand(op, 1)->type;
        *s = (struct shifted_weights){ .places = weight_places_of(op),
                                       .w = op_operand(op, 1)->constant,
                                       .factors = factors };
        const size_t outputs = (size_t)s->places.outputs;
        s->numbers = arena_array(arena, (size_t)type_elements(t), sizeof *s->numbers);
        s->shifts = arena_array(arena, outputs, sizeof *s->shifts);
        s->lost = arena_array(arena, outputs, sizeof *s->lost);
        s->magnitudes = arena_array(arena, outputs, sizeof *s->magnitudes);
        int64_t window = 1;             /* Weights of the same channel stand beside each other. */
        for (int d = 2; d < t->rank && op->code == OP_convolve; d++)
                window *= type_extent(t, d);
        struct arena *own = arena_new();
        struct rest *rests = arena_array(own, (size_t)s->places.depth, sizeof *rests);
        s->exact = arena_array(own, (size_t)type_elements(t), sizeof *s->exact);
        for (int64_t o = 0; o < s->places.outputs; o++)
                for (int64_t k = 0; k < s->places.depth; k++)
                        s->exact[o * s->places.depth + k] = exact_at(s, o, k);
        bool fine = true;
        for (int64_t from = 0, to; from < s->places.outputs && fine; from = to) {
                to = from + block < s->places.outputs ? from + block : s->places.outputs;
                int shift = find_shift(s, from, to, least);
                fine = shift >= 0;
                for (int64_t o = from; o < to && fine; o++) {
                        s->shifts[o] = shift;
                        round_output(s, o, window, rests);
                }
        }
        s->exact = NULL;
        arena_free(own);
        if (fine)
                measure(s, NULL, average);
        return fine;
}

/* ---- samples ---- */

void shifted_weights_learn(struct shifted_weights *s, const struct moments *m)
{
        const int64_t depth = m->depth, outputs = s->places.outputs / m->groups;
        if (!m->products || !m->rows)
                return;
        struct arena *arena = arena_new();
        const size_t count = (size_t)(outputs * depth);
        float *exacts = arena_array(arena, count, sizeof *exacts),
              *scales = arena_array(arena, (size_t)outputs, sizeof *scales);
        signed char *numbers = arena_array(arena, count, 1);
        for (int64_t g = 0; g < m->groups; g++) {
                struct arena *own = arena_new();
                const float *h = rounding_matrix(own, m, g, true);
                for (int64_t o = 0; o < outputs; o++) {
                        scales[o] = ldexpf(1, -s->shifts[g * outputs + o]);
                        for (int64_t k = 0; k < depth; k++)
                                exacts[o * depth + k] = (float)exact_at(s, g * outputs + o, k);
                }
                rounding_learn(h, depth, exacts, scales, outputs, MOST, numbers);
                for (int64_t o = 0; o < outputs; o++)
                        for (int64_t k = 0; k < depth; k++)
                                s->numbers[weight_place(&s->places, g * outputs + o, k)] =
                                        (int8_t)numbers[o * depth + k];
                arena_free(own);
        }
        arena_free(arena);
        measure(s, m, 0);
}
