/* quantize_products: weights to steps.
 *
 * A block of numbers of an output has a scale, and where the type has them a zero point:
 *
 *      s8, s4      scale = w / -2^(bits - 1), w the one of largest magnitude, which is kept as it is
 *                  (of s8: max |w| / 127, so that -128 is not used)
 *      u8, u4      scale = (most - least) / (2^bits - 1), zero = round(-least / scale), 0 counted in
 *
 * and each weight the number that is nearest to it. With the step `search` scales are tried that
 * clip the largest numbers, and of each the one that least squares give for the numbers that follow
 * from it; the one of least squared error is taken. */
#include "passes/quantize/quantize_products.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- weights as they are read ---- */

float *product_weights(struct arena *arena, const struct product *p)
{
        const struct op *op = p->op;
        const struct constant *c = op_operand(op, 1)->constant;
        const struct type *t = c->value.type;
        int count, order[RANK_MAX], rank = 0;
        const int64_t *contracted = op_ints(op, "contract_b", &count);
        int64_t strides[RANK_MAX], stride = 1, index[RANK_MAX] = { 0 }, at = 0;
        for (int d = t->rank - 1; d >= 0; stride *= t->dims[d--])
                strides[d] = stride;
        for (int d = 0; d < t->rank; d++) {
                bool inner = false;
                for (int i = 0; i < count; i++)
                        inner |= contracted[i] == d;
                if (!inner)
                        order[rank++] = d;
        }
        for (int i = 0; i < count; i++)
                order[rank++] = (int)contracted[i];
        float *weights = arena_array(arena, (size_t)type_elements(t), sizeof *weights);
        for (int64_t i = 0; i < type_elements(t); i++) {
                weights[i] = ((const float *)c->data)[at];
                for (int k = rank - 1; k >= 0; k--) {
                        int d = order[k];
                        at += strides[d];
                        if (++index[d] < t->dims[d])
                                break;
                        at -= index[d] * strides[d];
                        index[d] = 0;
                }
        }
        return weights;
}

/* ---- one block ---- */

struct step { float scale; int zero; };

/* `count` weights that share a step; least, most: the numbers that are used */
struct block {
        const float *w;
        int64_t count;
        float low, high;                /* of these and 0 */
        int least, most;
        float *numbers;                 /* [count] */
};

static void block_open(struct block *b, const float *w, int64_t count)
{
        b->w = w;
        b->count = count;
        b->low = b->high = 0;
        for (int64_t i = 0; i < count; i++) {
                b->low = w[i] < b->low ? w[i] : b->low;
                b->high = w[i] > b->high ? w[i] : b->high;
        }
}

/* to the nearest whole number, halves to even; |x| < 2^22 */
static inline float nearest(float x)
{
        const float magic = 0x1.8p23f;
        return x + magic - magic;
}

static void numbers_of(const struct block *b, struct step s)
{
        const float by = 1 / s.scale, zero = (float)s.zero, least = (float)b->least,
                    most = (float)b->most, far = 1024;
        for (int64_t i = 0; i < b->count; i++) {
                float x = b->w[i] * by;
                x = x > -far ? x : -far;
                x = nearest(x < far ? x : far) + zero;
                x = x > least ? x : least;
                b->numbers[i] = x < most ? x : most;
        }
}

static double error_of(const struct block *b, struct step s)
{
        const float zero = (float)s.zero;
        double error = 0;
        for (int64_t i = 0; i < b->count; i++) {
                double d = (double)b->w[i] - (double)((b->numbers[i] - zero) * s.scale);
                error += d * d;
        }
        return error;
}

/* Of numbers that there are: the scale of least squares, products / squares, and what it takes off the
 * error, products^2 / squares. Sums of every LANES-th number, added up in the end. */
struct fit { double products, squares; };

static struct fit fit_of(const struct block *b, int zero)
{
        enum { LANES = 8 };
        float products[LANES] = { 0 }, squares[LANES] = { 0 };
        const float shift = (float)zero;
        int64_t i = 0;
        for (; i + LANES <= b->count; i += LANES)
                for (int k = 0; k < LANES; k++) {
                        float q = b->numbers[i + k] - shift;
                        products[k] += q * b->w[i + k];
                        squares[k] += q * q;
                }
        struct fit f = { 0, 0 };
        for (; i < b->count; i++) {
                double q = (double)(b->numbers[i] - shift);
                f.products += q * (double)b->w[i];
                f.squares += q * q;
        }
        for (int k = 0; k < LANES; k++) {
                f.products += (double)products[k];
                f.squares += (double)squares[k];
        }
        return f;
}

static bool is_scale(double scale) { return fabs(scale) >= FLT_MIN && fabs(scale) <= FLT_MAX; }

/* the step that holds all numbers, or a part of them */
static struct step step_of(const struct block *b, const struct rounded *r, double part)
{
        const double least = (double)b->low * part, most = (double)b->high * part;
        const int middle = 1 << (r->bits - 1), levels = b->most - b->least;
        double scale = r->zeros      ? (most - least) / levels
                       : b->least    ? fmax(-least, most) / (middle - 1)
                       : most > -least ? most / -middle : -least / middle;
        struct step s = { .scale = is_scale(scale) ? (float)scale : 1, .zero = middle };
        if (r->zeros)
                s.zero = (int)fmin(fmax(rint(-least / (double)s.scale), 0), levels);
        return s;
}

/* Of 4 bits, parts of the largest number that are kept: from 1 on by steps of 1 / PARTS, down to a
 * half. Of 8 bits, where clipping gains nothing, all of it. */
static struct step search(const struct block *b, const struct rounded *r)
{
        enum { PARTS = 40, HALF = PARTS / 2 };
        const struct step all = step_of(b, r, 1);
        struct step best = all;
        double most = 0;
        for (int i = 0; i < (r->bits == 8 ? 1 : HALF); i++) {
                struct step s = step_of(b, r, 1 - (double)i / PARTS);
                numbers_of(b, s);
                struct fit f = fit_of(b, s.zero);
                double gain = f.squares > 0 ? f.products * f.products / f.squares : 0,
                       scale = f.squares > 0 ? f.products / f.squares : 0;
                if (gain > most && is_scale((float)scale)) {
                        most = gain;
                        best = (struct step){ .scale = (float)scale, .zero = s.zero };
                }
        }
        numbers_of(b, best);
        double error = error_of(b, best);
        numbers_of(b, all);
        return error < error_of(b, all) ? best : all;
}

/* ---- all of them ---- */

struct rounded *product_round(const struct products *q, const struct product *p, const float *weights)
{
        const struct weights_type *type = q->policy->weights ? q->policy->weights : weights_types;
        struct rounded *r = ARENA_NEW(q->arena, struct rounded);
        *r = (struct rounded){ .outputs = p->outputs, .inner = p->inner, .bits = type->bits, .zeros = type->zeros };
        r->block = q->policy->block;
        if (type->bits == 8 && (!r->block || r->block >= p->inner))
                r->block = p->inner;
        while (r->block / 2 >= p->inner && r->block > BLOCK_LEAST)
                r->block /= 2;
        r->blocks = divide_up(p->inner, r->block);
        r->numbers = arena_array(q->arena, (size_t)(p->outputs * p->inner), sizeof *r->numbers);
        r->scales = arena_array(q->arena, (size_t)(p->outputs * r->blocks), sizeof *r->scales);
        r->zero = arena_array(q->arena, (size_t)(p->outputs * r->blocks), sizeof *r->zero);
        struct block b = { .least = type->bits == 8 && !type->zeros, .most = (1 << type->bits) - 1 };
        b.numbers = arena_array(q->arena, (size_t)r->block, sizeof *b.numbers);
        for (int64_t o = 0; o < p->outputs; o++)
                for (int64_t i = 0; i < r->blocks; i++) {
                        const int64_t from = o * p->inner + i * r->block, at = o * r->blocks + i;
                        int64_t count = p->inner - i * r->block;
                        block_open(&b, weights + from, count < r->block ? count : r->block);
                        struct step s = q->policy->steps[STEP_search] ? search(&b, r) : step_of(&b, r, 1);
                        numbers_of(&b, s);
                        for (int64_t k = 0; k < b.count; k++)
                                r->numbers[from + k] = (unsigned char)b.numbers[k];
                        r->scales[at] = s.scale;
                        r->zero[at] = (unsigned char)s.zero;
                }
        return r;
}
