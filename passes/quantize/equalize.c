/* SPDX-License-Identifier: MIT */
/* Chooses scales of channels, and scales the channels.
 *
 * With A the step of x, and B[o] the steps of a reader's weights, whole numbers are off by 1/12 in
 * the mean square, so that sums are off by about
 *
 *      N(s) = 1/12 sum over readers, outputs o of (  sum over k of (w[o][k] s[k])^2 A^2             ; of x
 *                                                  + B[o]^2 sum over k of mean(x[k]^2) / s[k]^2 )   ; of w
 *      A = max |x[k]| / s[k] * (2, or 1 where x is never negative) / 255;  B[o] = max |w[o][k]| s[k] / 127 (7 of 4 bits)
 *
 * A larger s of a channel gives w more of the levels, a smaller one gives x more. Of the candidates
 * the one of least N is taken, but no scale at all where that gains less than a twentieth. */
#include "passes/quantize/equalize.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/quantize/layer_weights.h"

static const double ALPHAS[] = { 0, .25, .5, .75, 1 }, GAIN_LEAST = .05;
enum { ALPHA_COUNT = sizeof ALPHAS / sizeof *ALPHAS };

/* ---- what is multiplied together ---- */

/* Returns the dimension that holds the channels of what a layer multiplies. */
static int channels_of(const struct op *op)
{
        return op->code == OP_convolve ? 1 : (int)*op_ints(op, "contract_a", NULL);
}

static bool is_candidate(const struct layer *l)
{
        return !l->obstacle && !l->both && moments_possible(l->op);
}

/* Returns the channel of feature k of group g, which is channel k / (features of each) of the
 * group. */
static int64_t channel_of(const struct channels *c, const struct op *op, const struct moments *m,
                          int64_t g, int64_t k)
{
        const struct type *w = op_operand(op, 1)->type;
        int64_t channels = op->code == OP_convolve ? type_extent(w, 1) : m->depth,
                fine = g * channels + k / (m->depth / channels);
        return fine / c->each % c->count;
}

/* Finds all layers that multiply what layer `first` does, by the same dimension. */
static struct channels gather(struct quantizing *q, int first)
{
        struct layer *l = &q->layers[first];
        struct value *x = op_operand(l->op, 0);
        const int d = channels_of(l->op);
        struct channels c = { .x = x, .count = type_extent(x->type, d), .inner = 1 };
        c.readers = arena_array(q->arena, (size_t)q->layer_count, sizeof *c.readers);
        for (int e = d + 1; e < x->type->rank; e++)
                c.inner *= type_extent(x->type, e);
        for (int i = first; i < q->layer_count; i++) {
                struct layer *other = &q->layers[i];
                if (is_candidate(other) && op_operand(other->op, 0) == x &&
                    channels_of(other->op) == d)
                        c.readers[c.reader_count++] = other;
        }
        return c;
}

static bool is_first_reader(const struct quantizing *q, int layer)
{
        for (int i = 0; i < layer; i++)
                if (is_candidate(&q->layers[i]) &&
                    op_operand(q->layers[i].op, 0) == op_operand(q->layers[layer].op, 0))
                        return false;
        return is_candidate(&q->layers[layer]);
}

/* ---- which scales ---- */

/* A reader has a layer's weights, output by output, and the moments of its rows. */
struct reader { const struct op *op; const struct moments *m; const float *w; int64_t outputs; };

static struct reader reader_of(struct arena *arena, const struct op *op, const struct moments *m)
{
        const struct weight_places places = weight_places_of(op);
        const float *numbers = constant_numbers(arena, op_operand(op, 1)->constant);
        float *w = arena_array(arena, (size_t)(places.outputs * places.depth), sizeof *w);
        for (int64_t o = 0; o < places.outputs; o++)
                for (int64_t k = 0; k < places.depth; k++)
                        w[o * places.depth + k] = numbers[weight_place(&places, o, k)];
        return (struct reader){ op, m, w, places.outputs };
}

struct search {
        const struct channels *c;
        const struct reader *readers;
        double *a, *w;                  /* [count]: the largest |x| and the largest |w| of each
                                         * channel. */
        bool negative;                  /* Some element of x is negative. */
        double levels;                  /* Weights have this many levels on either side of 0. */
};

/* Gives channels of zeros the geometric mean of the others. */
static void fill_empty(double *largest, int64_t count)
{
        double logarithms = 0, filled = 0;
        for (int64_t i = 0; i < count; i++)
                if (largest[i] > 0) {
                        logarithms += log(largest[i]);
                        filled++;
                }
        for (int64_t i = 0; i < count; i++)
                if (!(largest[i] > 0))
                        largest[i] = filled > 0 ? exp(logarithms / filled) : 1;
}

static void find_largest(struct search *s)
{
        for (int r = 0; r < s->c->reader_count; r++) {
                const struct reader *reader = &s->readers[r];
                const struct moments *m = reader->m;
                for (int64_t o = 0; o < reader->outputs; o++)
                        for (int64_t k = 0; k < m->depth; k++) {
                                int64_t g = o / (reader->outputs / m->groups),
                                        i = channel_of(s->c, reader->op, m, g, k),
                                        f = g * m->depth + k;
                                s->a[i] = fmax(s->a[i], (double)m->largest[f]);
                                s->w[i] = fmax(s->w[i], fabs((double)reader->w[o * m->depth + k]));
                                s->negative |= m->sums[f] != m->magnitudes[f];
                        }
        }
        fill_empty(s->a, s->c->count);
        fill_empty(s->w, s->c->count);
}

/* Returns N(s). */
static double noise_of(const struct search *s, const float *scales)
{
        double largest = 0, sum = 0;
        for (int64_t i = 0; i < s->c->count; i++)
                largest = fmax(largest, s->a[i] / (double)scales[i]);
        const double step = largest * (s->negative ? 2 : 1) / 255;
        for (int r = 0; r < s->c->reader_count; r++) {
                const struct reader *reader = &s->readers[r];
                const struct moments *m = reader->m;
                for (int64_t o = 0; o < reader->outputs; o++) {
                        double of_x = 0, of_w = 0, most = 0;
                        for (int64_t k = 0; k < m->depth; k++) {
                                int64_t g = o / (reader->outputs / m->groups);
                                double scale = (double)
                                               scales[channel_of(s->c, reader->op, m, g, k)],
                                       w = fabs((double)reader->w[o * m->depth + k]) * scale;
                                of_x += w * w;
                                most = fmax(most, w);
                                of_w += m->squares[g * m->depth + k] / (double)m->rows /
                                        (scale * scale);
                        }
                        sum += of_x * step * step + of_w * most * most / (s->levels * s->levels);
                }
        }
        return sum / 12;
}

/* Finds the scales of least noise. Returns false if none gains enough. */
static bool choose(struct arena *arena, struct search *s, float *best)
{
        const int64_t count = s->c->count;
        float *scales = arena_array(arena, (size_t)count, sizeof *scales);
        for (int64_t i = 0; i < count; i++)
                scales[i] = 1;
        double least = noise_of(s, scales) * (1 - GAIN_LEAST);
        bool found = false;
        for (int k = 0; k < ALPHA_COUNT; k++) {
                bool normal = true;
                for (int64_t i = 0; i < count; i++) {
                        scales[i] = (float)(pow(s->a[i], ALPHAS[k]) / pow(s->w[i], 1 - ALPHAS[k]));
                        normal &= isnormal(scales[i]) && isnormal(1 / scales[i]);
                }
                double noise = normal ? noise_of(s, scales) : INFINITY;
                if (!(noise < least))
                        continue;
                least = noise;
                found = true;
                memcpy(best, scales, (size_t)count * sizeof *best);
        }
        return found;
}

/* ---- what changes ---- */

static void set_weights(struct op *op, const float *numbers)
{
        const struct constant *old = op_operand(op, 1)->constant;
        struct module *m = op->region->function->module;
        const size_t bytes = (size_t)type_elements(old->value.type) * sizeof *numbers;
        float *data = constant_room(m, bytes);
        memcpy(data, numbers, bytes);
        op_set_operand(op, 1, constant_dense(m, old->value.type, data, old->name));
}

static void scale_reader(struct arena *arena, const struct channels *c, struct op *op,
                         const struct moments *m, const float *scales)
{
        const struct weight_places w = weight_places_of(op);
        float *numbers = constant_numbers(arena, op_operand(op, 1)->constant);
        for (int64_t o = 0; o < w.outputs; o++)
                for (int64_t k = 0; k < w.depth; k++)
                        numbers[weight_place(&w, o, k)] *=
                                scales[channel_of(c, op, m, o / (w.outputs / m->groups), k)];
        set_weights(op, numbers);
}

static void scale_layer(struct arena *arena, struct op *op, const float *scales)
{
        const struct weight_places w = weight_places_of(op);
        float *numbers = constant_numbers(arena, op_operand(op, 1)->constant);
        for (int64_t i = 0; i < w.outputs * w.depth; i++)
                numbers[i] /= scales[weight_output(&w, i)];
        set_weights(op, numbers);
}

static bool scale_constant(struct quantizing *q, const struct channels *c,
                           const struct channel_constant *at, const float *scales)
{
        struct builder b = builder_before(at->op, q->context->diag);
        float *numbers =
                numbers_along(q->arena, &b, op_operand(at->op, at->operand), at->along, c->count);
        for (int64_t i = 0; i < c->count; i++)
                numbers[i] /= scales[i];
        struct value *v =
                spread_along(&b, op_result(at->op)->type, at->along, c->count, numbers, "scaled");
        if (v)
                op_set_operand(at->op, at->operand, v);
        return v;
}

/* Builds x / s behind x, for the readers alone. */
static bool scale_apart(struct quantizing *q, const struct channels *c, const float *scales)
{
        struct op *maker = c->x->op;
        struct builder b = { .m = q->m, .region = maker->region, .before = maker->next,
                             .location = maker->location, .diag = q->context->diag };
        const int d = channels_of(c->readers[0]->op);
        const int64_t all = type_extent(c->x->type, d);
        float *inverse = arena_array(q->arena, (size_t)all, sizeof *inverse);
        for (int64_t i = 0; i < all; i++)
                inverse[i] = 1 / scales[i / c->each % c->count];
        struct value *factor = spread_along(&b, c->x->type, d, all, inverse, "scales");
        struct value *x = factor ? build_binary(&b, OP_mul, c->x, factor) : NULL;
        for (int i = 0; i < c->reader_count && x; i++)
                op_set_operand(c->readers[i]->op, 0, x);
        ARENA_GROW(q->arena, q->scaled, q->scaled_count);
        q->scaled[q->scaled_count++] = x;
        return x;
}

static bool apply(struct quantizing *q, const struct channels *c, const struct reader *readers,
                  const float *scales)
{
        bool fine = true;
        for (int i = 0; i < c->reader_count; i++)
                scale_reader(q->arena, c, c->readers[i]->op, readers[i].m, scales);
        if (c->apart)
                return scale_apart(q, c, scales);
        for (int i = 0; i < c->added_count && fine; i++)
                fine = scale_constant(q, c, &c->added[i], scales);
        if (c->layer)
                scale_layer(q->arena, c->layer, scales);
        else
                fine = fine && scale_constant(q, c, &c->factor, scales);
        return fine;
}

/* ---- all ---- */

/* Scales the channels of x. Returns 1 if it did, 0 if that gains too little, -1 after an error. */
static int equalize(struct quantizing *q, const struct channels *c, const struct moments *const *of)
{
        struct arena *arena = arena_new();
        struct reader *readers = arena_array(arena, (size_t)c->reader_count, sizeof *readers);
        const size_t count = (size_t)c->count;
        struct search s = { .c = c,
                            .readers = readers,
                            .levels = quantize_largest_weight(q->policy) };
        float *scales = arena_array(arena, count, sizeof *scales);
        for (int i = 0; i < c->reader_count; i++)
                readers[i] = reader_of(arena, c->readers[i]->op, of[c->readers[i] - q->layers]);
        s.a = arena_array(arena, count, sizeof *s.a);
        s.w = arena_array(arena, count, sizeof *s.w);
        find_largest(&s);
        int result = choose(arena, &s, scales) ? apply(q, c, readers, scales) ? 1 : -1 : 0;
        arena_free(arena);
        return result;
}

/* Begins the moments of all layers, without products, so that they are in memory together. */
static struct moments_run *begin(struct quantizing *q, const struct moments **of)
{
        struct op **ops = arena_array(q->arena, (size_t)q->layer_count + 1, sizeof(struct op *));
        int count = 0, seen = 0;
        for (int i = 0; i < q->layer_count; i++)
                if (is_candidate(&q->layers[i]))
                        ops[count++] = q->layers[i].op;
        struct moments_run *r = moments_begin(q->context, ops, count, false);
        quantize_remember_sites(q);
        for (int i = 0; i < q->layer_count && r; i++)
                if (is_candidate(&q->layers[i]))
                        of[i] = moments_of(r, seen++);
        return r;
}

int quantize_equalize(struct quantizing *q)
{
        int done = 0;
        const struct moments **of =
                arena_array(q->arena, (size_t)q->layer_count + 1, sizeof(struct moments *));
        struct moments_run *r = begin(q, of);
        for (int i = 0; i < q->layer_count && r && done >= 0 && !q->context->diag->errors; i++) {
                if (!is_first_reader(q, i))
                        continue;
                struct channels c = gather(q, i);
                if (!channels_find_maker(q, &c) ||
                    !q->policy->steps[c.layer ? STEP_equalize : STEP_smooth])
                        continue;
                int scaled = equalize(q, &c, of);
                done = scaled < 0 ? -1 : done + scaled;
        }
        moments_end(r);
        return q->context->diag->errors ? -1 : done;
}
