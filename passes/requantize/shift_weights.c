/* SPDX-License-Identifier: MIT */
/* Weights whose scales are powers of two (shift_weights.h).
 *
 * A block's shift is the largest at which all its numbers fit into a byte, or one more, where cutting a
 * few large ones loses less than the finer step wins. */
#include "passes/requantize/shift_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes/quantize/rounding.h"

enum { BLOCK = 16, MOST = 127, SHIFT_MOST = 30 };

/* weight k of output o, times its factor */
static double exact(const struct shifted_weights *s, int64_t o, int64_t k)
{
        return s->factors[o] * (double)constant_element(s->w, weight_place(&s->places, o, k)).i;
}

static double rounded(double x)
{
        double y = rint(x);
        return y > MOST ? MOST : y < -MOST ? -MOST : y;
}

/* what an output loses at a shift, in squares */
static double lost_at(const struct shifted_weights *s, int64_t o, int shift)
{
        double sum = 0;
        for (int64_t k = 0; k < s->places.depth; k++) {
                double x = ldexp(exact(s, o, k), shift), e = ldexp(x - rounded(x), -shift);
                sum += e * e;
        }
        return sum;
}

/* ---- rounding ---- */

struct rest {
        double rest;
        int64_t place;
};

static int by_rest(const void *a, const void *b)
{
        const struct rest *x = a, *y = b;
        return x->rest != y->rest ? (x->rest > y->rest ? -1 : 1) : x->place < y->place ? -1 : x->place > y->place;
}

/* Of `count` numbers those that were nearest to a half go the other way, as many as it takes for what is
 * lost of them to be half a number at most. */
static void even_out(struct rest *rests, int64_t count, int8_t *numbers)
{
        double all = 0;
        for (int64_t k = 0; k < count; k++)
                all += rests[k].rest;
        const int way = all > 0 ? 1 : -1;
        for (int64_t k = 0; k < count; k++)
                rests[k].rest *= way;
        qsort(rests, (size_t)count, sizeof *rests, by_rest);
        int64_t more = (int64_t)rint(fabs(all));
        for (int64_t k = 0; k < count; k++) {
                int8_t *number = &numbers[rests[k].place];
                if (more > 0 && rests[k].rest > 0 && abs(*number + way) <= MOST) {
                        *number = (int8_t)(*number + way);
                        rests[k].rest -= 1;
                        more--;
                }
                rests[k].rest *= way;
        }
}

/* Rounds an output's numbers: even over each window, and over all. */
static void round_output(struct shifted_weights *s, int64_t o, int64_t window, struct rest *rests)
{
        const int64_t depth = s->places.depth;
        for (int64_t k = 0; k < depth; k++) {
                double x = ldexp(exact(s, o, k), s->shifts[o]), y = rounded(x);
                rests[k] = (struct rest){ x - y, weight_place(&s->places, o, k) };
                s->numbers[rests[k].place] = (int8_t)y;
        }
        for (int64_t k = 0; k < depth && window > 1; k += window)
                even_out(rests + k, window, s->numbers);
        even_out(rests, depth, s->numbers);
}

/* what there is to know of the numbers; means: of operand k of output o's group; NULL: `average`, of all */
static void measure(struct shifted_weights *s, const struct moments *m, double average)
{
        const int64_t depth = s->places.depth, outputs = m ? s->places.outputs / m->groups : 0;
        s->signal = s->error = 0;
        for (int64_t o = 0; o < s->places.outputs; o++) {
                s->magnitudes[o] = s->lost[o] = 0;
                for (int64_t k = 0; k < depth; k++) {
                        double x = exact(s, o, k), number = s->numbers[weight_place(&s->places, o, k)],
                               e = x - ldexp(number, -s->shifts[o]);
                        s->magnitudes[o] += fabs(number);
                        s->lost[o] += e * (m ? m->sums[o / outputs * depth + k] / (double)m->rows : average);
                        s->signal += x * x;
                        s->error += e * e;
                }
        }
}

/* ---- shifts ---- */

/* of the outputs from `from` to `to`; negative: none of at least `least` */
static int find_shift(const struct shifted_weights *s, int64_t from, int64_t to, int least)
{
        double most = 0, now = 0, next = 0;
        int exponent;
        for (int64_t o = from; o < to; o++)
                for (int64_t k = 0; k < s->places.depth; k++)
                        most = fmax(most, fabs(exact(s, o, k)));
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

bool shifted_weights_find(struct arena *arena, const struct op *op, const double *factors, int least,
                          double average, struct shifted_weights *s)
{
        const struct type *t = op_operand(op, 1)->type;
        *s = (struct shifted_weights){ .places = weight_places_of(op), .w = op_operand(op, 1)->constant,
                                       .factors = factors };
        const size_t outputs = (size_t)s->places.outputs;
        s->numbers = arena_array(arena, (size_t)type_elements(t), sizeof *s->numbers);
        s->shifts = arena_array(arena, outputs, sizeof *s->shifts);
        s->lost = arena_array(arena, outputs, sizeof *s->lost);
        s->magnitudes = arena_array(arena, outputs, sizeof *s->magnitudes);
        int64_t window = 1;             /* weights of the same channel stand beside each other */
        for (int d = 2; d < t->rank && op->code == OP_convolve; d++)
                window *= t->dims[d];
        struct rest *rests = arena_array(arena, (size_t)s->places.depth, sizeof *rests);
        for (int64_t from = 0, to; from < s->places.outputs; from = to) {
                to = from + BLOCK < s->places.outputs ? from + BLOCK : s->places.outputs;
                int shift = find_shift(s, from, to, least);
                if (shift < 0)
                        return false;
                for (int64_t o = from; o < to; o++) {
                        s->shifts[o] = shift;
                        round_output(s, o, window, rests);
                }
        }
        measure(s, NULL, average);
        return true;
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
                                exacts[o * depth + k] = (float)exact(s, g * outputs + o, k);
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
