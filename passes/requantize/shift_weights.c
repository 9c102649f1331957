/* Weights whose scales are powers of two (shift_weights.h).
 *
 * A block's shift is the largest at which all its numbers fit into a byte, or one more, where cutting a
 * few large ones loses less than the finer step wins. */
#include "passes/requantize/shift_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, MOST = 127, SHIFT_MOST = 30 };

/* weights of an output, in runs of `inner` elements, `step` from run to run */
struct output {
        int64_t first, inner, step, count;
};

static struct output output_of(const struct type *t, int along, int64_t i)
{
        int64_t inner = 1;
        for (int d = along + 1; d < t->rank; d++)
                inner *= t->dims[d];
        return (struct output){ i * inner, inner, inner * t->dims[along], type_elements(t) / t->dims[along] };
}

static int64_t place_of(const struct output *o, int64_t k) { return o->first + k / o->inner * o->step + k % o->inner; }

static double rounded(double x)
{
        double y = rint(x);
        return y > MOST ? MOST : y < -MOST ? -MOST : y;
}

/* what an output loses at a shift, in squares */
static double lost(const struct constant *w, const struct output *o, double factor, int shift)
{
        double sum = 0, scale = ldexp(factor, shift);
        for (int64_t k = 0; k < o->count; k++) {
                double x = scale * (double)constant_element(w, place_of(o, k)).i, e = ldexp(x - rounded(x), -shift);
                sum += e * e;
        }
        return sum;
}

double shifted_weights_sum(const struct constant *w, int along, int64_t i)
{
        const struct output o = output_of(w->value.type, along, i);
        double sum = 0;
        for (int64_t k = 0; k < o.count; k++)
                sum += (double)constant_element(w, place_of(&o, k)).i;
        return sum;
}

static double largest(const struct constant *w, const struct output *o)
{
        double most = 0;
        for (int64_t k = 0; k < o->count; k++)
                most = fmax(most, fabs((double)constant_element(w, place_of(o, k)).i));
        return most;
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
static void round_output(const struct constant *w, const struct output *o, int64_t window, double scale,
                         struct rest *rests, int8_t *numbers)
{
        for (int64_t k = 0; k < o->count; k++) {
                int64_t place = place_of(o, k);
                double x = scale * (double)constant_element(w, place).i, y = rounded(x);
                numbers[place] = (int8_t)y;
                rests[k] = (struct rest){ x - y, place };
        }
        for (int64_t k = 0; k < o->count && window > 1; k += window)
                even_out(rests + k, window, numbers);
        even_out(rests, o->count, numbers);
}

static void measure(const struct constant *w, const struct output *o, double factor, int64_t i,
                    struct shifted_weights *s)
{
        for (int64_t k = 0; k < o->count; k++) {
                int64_t place = place_of(o, k);
                double x = factor * (double)constant_element(w, place).i,
                       e = x - ldexp(s->numbers[place], -s->shifts[i]);
                s->sums[i] += s->numbers[place];
                s->magnitudes[i] += abs(s->numbers[place]);
                s->signal += x * x;
                s->error += e * e;
        }
}

/* ---- shifts ---- */

/* of the outputs from `from` to `to`; negative: none of at least `least` */
static int find_shift(const struct constant *w, int along, const double *factors, int64_t from, int64_t to, int least)
{
        const struct type *t = w->value.type;
        double most = 0, now = 0, next = 0;
        int exponent;
        for (int64_t i = from; i < to; i++) {
                const struct output o = output_of(t, along, i);
                most = fmax(most, fabs(factors[i]) * largest(w, &o));
        }
        if (!isfinite(most))
                return -1;
        frexp((MOST + 0.5) / fmax(most, ldexp(1, -SHIFT_MOST)), &exponent);
        int shift = exponent - 1 < SHIFT_MOST - 1 ? exponent - 1 : SHIFT_MOST - 1;
        if (shift < least)
                return -1;
        for (int64_t i = from; i < to; i++) {
                const struct output o = output_of(t, along, i);
                now += lost(w, &o, factors[i], shift);
                next += lost(w, &o, factors[i], shift + 1);
        }
        return next < now ? shift + 1 : shift;
}

bool shifted_weights_find(struct arena *arena, const struct constant *w, int along, const double *factors, int least,
                          struct shifted_weights *s)
{
        const struct type *t = w->value.type;
        const size_t outputs = (size_t)t->dims[along];
        *s = (struct shifted_weights){ .outputs = t->dims[along] };
        s->numbers = arena_array(arena, (size_t)type_elements(t), sizeof *s->numbers);
        s->shifts = arena_array(arena, outputs, sizeof *s->shifts);
        s->sums = arena_array(arena, outputs, sizeof *s->sums);
        s->magnitudes = arena_array(arena, outputs, sizeof *s->magnitudes);
        int64_t window = 1; /* weights of the same channel stand beside each other */
        for (int d = 2; d < t->rank; d++)
                window *= t->dims[d];
        struct rest *rests = arena_array(arena, (size_t)output_of(t, along, 0).count, sizeof *rests);
        for (int64_t from = 0, to; from < s->outputs; from = to) {
                to = from + BLOCK < s->outputs ? from + BLOCK : s->outputs;
                int shift = find_shift(w, along, factors, from, to, least);
                if (shift < 0)
                        return false;
                for (int64_t i = from; i < to; i++) {
                        const struct output o = output_of(t, along, i);
                        s->shifts[i] = shift;
                        round_output(w, &o, window, ldexp(factors[i], shift), rests, s->numbers);
                        measure(w, &o, factors[i], i, s);
                }
        }
        return true;
}
