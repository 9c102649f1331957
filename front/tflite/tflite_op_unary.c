/* SPDX-License-Identifier: MIT */
/* Operators of one operand, element by element. What one makes of 8 bits is a table of 256 entries,
 * computed while the model is read. */
#include "front/tflite/tflite_helpers.h"

#include <math.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

enum { BYTES = 256 };

static int64_t least_of(enum element e) { return e == E_I8 ? INT8_MIN : 0; }
static bool is_byte(const struct tflite_tensor *t)
{
        return tflite_is_quantized(t) && element_info[t->type->element].bytes == 1;
}

/* Returns the table's entry for each number of operand 0. */
static struct value *mapped(struct tflite_import *im, const struct tflite_node *n,
                            struct value *table)
{
        const struct tflite_tensor *x = n->inputs[0];
        return table ? compose_looked_up(im->c, x->value, table, least_of(x->type->element)) : NULL;
}

/* Returns the bytes as a table of the output's element. */
static struct value *byte_table(struct tflite_import *im, const struct tflite_node *n,
                                const unsigned char *bytes)
{
        const int64_t count = BYTES;
        return constant_dense(im->m, type_static(im->m, n->outputs[0]->type->element, 1, &count),
                              bytes, NULL);
}

/* Checks that operand 0 and output 0 are quantized, each by one scale. */
static bool affine(struct tflite_import *im, const struct tflite_node *n, float scale[2],
                   int64_t zero[2])
{
        return tflite_affine(im, n->inputs[0], &scale[0], &zero[0]) &&
               tflite_affine(im, n->outputs[0], &scale[1], &zero[1]);
}

/* Returns a table of a function of reals: numbers become reals, then the function's value, then
 * numbers, rounded, halves away from 0. */
static struct value *real_table(struct tflite_import *im, const struct tflite_node *n,
                                const struct compose_activation *a)
{
        struct compose *c = im->c;
        float scale[2];
        int64_t zero[2], low, high;
        if (!affine(im, n, scale, zero) ||
            !tflite_range(im, n->outputs[0], FUSED_NONE, &low, &high))
                return NULL;
        const double first = (double)(least_of(n->inputs[0]->type->element) - zero[0]);
        struct value *x = compose_cast(c, plus(c, compose_iota(c, E_I32, BYTES), first), E_F32);
        x = times(c, x, (double)scale[0]);
        const float inverse = 1 / scale[1];
        struct value *y = times(c, x ? compose_activate(c, a, x) : NULL, (double)inverse);
        y = compose_cast(c, y ? compose_round_away(c, y) : NULL, E_I32);
        return compose_bounded(c, plus(c, y, (double)zero[1]), low, high,
                               n->outputs[0]->type->element);
}

/* An activation of floats, or of bytes by a table. */
static bool activation(struct tflite_import *im, struct tflite_node *n,
                       const struct compose_activation *a)
{
        if (tflite_is_float(n->inputs[0]))
                return tflite_output(im, n, 0, compose_activate(im->c, a, n->inputs[0]->value));
        if (!is_byte(n->inputs[0]) || !is_byte(n->outputs[0]))
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, mapped(im, n, real_table(im, n, a)));
}

/* Returns 65536 / (1 + e^-(i / 24)), rounded. */
static struct value *logistic_table(struct tflite_import *im)
{
        const int64_t count = BYTES;
        int32_t *table = arena_array(im->m->arena, BYTES, sizeof *table);
        for (int i = 0; i < BYTES; i++)
                table[i] = (int32_t)lround(65536 / (1 + exp(-i / 24.0)));
        return constant_dense(im->m, type_static(im->m, E_I32, 1, &count), table, NULL);
}

/* Returns the logistic function of |x|, i32, interpolated between entries 2^bits apart, times
 * 2^(16 + bits). */
static struct value *interpolated(struct tflite_import *im, struct value *x, int bits, double most)
{
        struct compose *c = im->c;
        struct value *table = logistic_table(im);
        struct value *at = compose_with(c, OP_shr, x, bits);
        struct value *beyond = compose_with(c, OP_ge, at, BYTES - 1);
        at = compose_with(c, OP_min, at, BYTES - 2);
        struct value *below = compose_looked_up(c, at, table, 0);
        struct value *above = compose_looked_up(c, plus(c, at, 1), table, 0);
        struct value *part = compose_with(c, OP_and, x, (1 << bits) - 1);
        struct value *y = mul(c, part, sub(c, above, below));
        y = add(c, compose_with(c, OP_shl, below, bits), y);
        return y && beyond ? compose_select(c, beyond, build_like(c->b, y, most), y) : NULL;
}

/* Finds the power of 2 that the scale of 16 bits is. */
static bool power_of(struct tflite_import *im, float scale, int *power)
{
        *power = (int)roundf(log2f(scale));
        return fabsf(log2f(scale) - (float)*power) < 1e-3f ||
               tflite_unsupported(im, "a scale of %g, which is no power of 2", (double)scale);
}

/* 16 bits: how far x is shifted, or by what it is multiplied, so that 1 is 2^12. */
static bool scale_16(struct tflite_import *im, const struct tflite_node *n, int32_t *factor,
                     int *shift)
{
        float scale[2];
        int64_t zero[2];
        int power;
        *factor = *shift = 0;
        if (!affine(im, n, scale, zero))
                return false;
        if (scale[0] > 1)
                return tflite_unsupported(im, "a scale of %g", (double)scale[0]);
        if (zero[0] || zero[1] || scale[1] != 1.0f / 32768)
                return tflite_invalid(im,
                                      "16 bits with zero points %lld and %lld, and the scale "
                                      "%g of the result",
                                      (long long)zero[0], (long long)zero[1], (double)scale[1]);
        if (fabsf(log2f(scale[0]) - roundf(log2f(scale[0]))) < 1e-3f) {
                if (!power_of(im, scale[0], &power))
                        return false;
                *shift = 12 + power;
                if (*shift >= 0)
                        return true;
        }
        /* x * 3 / 4 * 2^12, with as many bits of the multiplier as 16 hold. */
        double multiplier = (double)scale[0] * 4096 * 3;
        *shift = 0;
        while (multiplier <= 32767.0 / 2 && *shift <= 30) {
                (*shift)++;
                multiplier *= 2;
        }
        *factor = (int32_t)multiplier;
        return true;
}

/* Returns the operand of a function that is read from a table, as a place in it (i32). */
static struct value *scaled_16(struct tflite_import *im, const struct tflite_node *n)
{
        struct compose *c = im->c;
        int32_t factor;
        int shift;
        if (!scale_16(im, n, &factor, &shift))
                return NULL;
        struct value *x = compose_cast(c, n->inputs[0]->value, E_I32);
        if (!factor)
                return times(c, x, 3 * (1 << shift));
        x = plus(c, times(c, x, factor), shift ? 1 << (shift - 1) : 0);
        return compose_with(c, OP_shr, x, shift);
}

static struct value *logistic_16(struct tflite_import *im, const struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = scaled_16(im, n);
        if (!x)
                return NULL;
        struct value *y = interpolated(im, compose_unary(c, OP_abs, x), 9, 0x7fff << 10);
        struct value *above = plus(c, y, 1 << 9);
        struct value *below = compose_from(c, OP_sub, (1 << 25) + (1 << 9) - 1, y);
        struct value *positive = compose_with(c, OP_ge, x, 0);
        y = compose_with(c, OP_shr, compose_select(c, positive, above, below), 10);
        return compose_cast(c, y, E_I16);
}

static struct value *tanh_16(struct tflite_import *im, const struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = scaled_16(im, n);
        if (!x)
                return NULL;
        struct value *y = interpolated(im, compose_unary(c, OP_abs, x), 8, 0xffff << 8);
        struct value *above = plus(c, y, (1 << 7) - (1 << 23));
        struct value *below = compose_from(c, OP_sub, (1 << 23) + (1 << 7) - 1, y);
        struct value *positive = compose_with(c, OP_ge, x, 0);
        y = compose_with(c, OP_shr, compose_select(c, positive, above, below), 8);
        return compose_cast(c, y, E_I16);
}

static bool is_16(const struct tflite_node *n)
{
        return tflite_is_quantized(n->inputs[0]) && n->inputs[0]->type->element == E_I16 &&
               n->outputs[0]->type->element == E_I16;
}

bool tflite_import_logistic(struct tflite_import *im, struct tflite_node *n)
{
        if (is_16(n))
                return tflite_output(im, n, 0, logistic_16(im, n));
        return activation(im, n, &(struct compose_activation){ .kind = ACT_SIGMOID });
}

bool tflite_import_tanh(struct tflite_import *im, struct tflite_node *n)
{
        if (is_16(n))
                return tflite_output(im, n, 0, tanh_16(im, n));
        return activation(im, n, &(struct compose_activation){ ACT_SCALED_TANH, 1, 1 });
}

bool tflite_import_elu(struct tflite_import *im, struct tflite_node *n)
{
        return activation(im, n, &(struct compose_activation){ .kind = ACT_ELU, .alpha = 1 });
}

bool tflite_import_gelu(struct tflite_import *im, struct tflite_node *n)
{
        const bool by_tanh = TFLITE_OPTIONS(n, GeluOptions)->approximate;
        return activation(
                im, n, &(struct compose_activation){ .kind = by_tanh ? ACT_GELU_TANH : ACT_GELU });
}

/* ---- activations that are lines ---- */

/* Returns x * m + zero of the output, for x of 16 bits or less, bounded. */
static struct value *line(struct tflite_import *im, const struct tflite_node *n, struct value *x,
                          double real, int64_t fused)
{
        const struct tflite_tensor *y = n->outputs[0];
        const struct compose_multiplier m = compose_multiplier_of(real);
        struct compose_rescale r = { .by = { &m, 1, 0 },
                                     .zero = y->q.zeros[0],
                                     .to = y->type->element };
        return tflite_range(im, y, fused, &r.low, &r.high) ? compose_rescale(im->c, x, &r) : NULL;
}

static bool quantized_both(struct tflite_import *im, const struct tflite_node *n)
{
        return (tflite_is_quantized(n->inputs[0]) && tflite_is_quantized(n->outputs[0])) ||
               tflite_no_element(im, n, 0);
}

bool tflite_import_relu(struct tflite_import *im, struct tflite_node *n)
{
        float scale[2];
        int64_t zero[2];
        if (tflite_is_float(n->inputs[0]))
                return tflite_output(im, n, 0,
                                     tflite_activated(im, n->inputs[0]->value, tflite_variant(n)));
        if (!quantized_both(im, n) || !affine(im, n, scale, zero))
                return false;
        const float real = scale[0] / scale[1];
        return tflite_output(
                im, n, 0,
                line(im, n, tflite_centered(im, n->inputs[0]), (double)real, tflite_variant(n)));
}

bool tflite_import_leaky_relu(struct tflite_import *im, struct tflite_node *n)
{
        const float alpha = TFLITE_OPTIONS(n, LeakyReluOptions)->alpha;
        struct compose *c = im->c;
        float scale[2];
        int64_t zero[2];
        if (tflite_is_float(n->inputs[0])) {
                struct value *below = times(c, n->inputs[0]->value, (double)alpha);
                return tflite_output(im, n, 0, compose_below_zero(c, n->inputs[0]->value, below));
        }
        if (!quantized_both(im, n) || !affine(im, n, scale, zero))
                return false;
        const float product = scale[0] * alpha, identity = scale[0] / scale[1];
        const float slope = product / scale[1];
        if (slope < 0)
                return tflite_unsupported(im, "a negative slope of integers");
        struct value *x = tflite_centered(im, n->inputs[0]);
        struct value *above = x ? line(im, n, x, (double)identity, FUSED_NONE) : NULL;
        struct value *below = above ? line(im, n, x, (double)slope, FUSED_NONE) : NULL;
        struct value *positive = compose_with(c, OP_ge, x, 0);
        return tflite_output(im, n, 0, compose_select(c, positive, above, below));
}

/* ---- HARD_SWISH: bytes in 16 bits' fixed point ---- */

static int16_t high_16(int16_t a, int16_t b)
{
        const int32_t product = (int32_t)a * b;
        return (int16_t)compose_max(
                INT16_MIN,
                compose_min(INT16_MAX,
                            (product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15)));
}

static int16_t saturated_16(int32_t x)
{
        return (int16_t)compose_max(INT16_MIN, compose_min(INT16_MAX, x));
}

static int16_t rounded_16(struct compose_multiplier m)
{
        return m.m >= INT32_MAX - (1 << 15) ? INT16_MAX : (int16_t)((m.m + (1 << 15)) >> 16);
}

/* Returns hard_swish of a number less its zero point, in the output's numbers. */
static int32_t swish_of(int32_t number, struct compose_multiplier output,
                        struct compose_multiplier reluish)
{
        const int16_t high = (int16_t)(number * (1 << 7));
        const int16_t on_output = high_16(high, rounded_16(output));
        int16_t x = high;
        if (reluish.shift > 0)
                x = saturated_16((int32_t)x * (1 << (reluish.shift - 1)));
        x = high_16(x, rounded_16(reluish));
        if (reluish.shift > 0)
                x = saturated_16((int32_t)x * 2);
        if (reluish.shift < 0)
                x = (int16_t)compose_fixed_shift(x, -reluish.shift);
        x = (int16_t)((x + (1 << 15)) >> 1);
        /* This product rounds down. */
        const int32_t product = (int32_t)x * on_output;
        const int16_t before = (int16_t)(product / (1 << 15));
        return compose_fixed_shift(before, -output.shift);
}

bool tflite_import_hard_swish(struct tflite_import *im, struct tflite_node *n)
{
        unsigned char *table = arena_array(im->m->arena, BYTES, 1);
        float scale[2];
        int64_t zero[2], low, high;
        if (tflite_is_float(n->inputs[0]))
                return tflite_output(
                        im, n, 0,
                        compose_activate(im->c,
                                         &(struct compose_activation){ .kind = ACT_HARD_SWISH },
                                         n->inputs[0]->value));
        if (!is_byte(n->inputs[0]) || !is_byte(n->outputs[0]))
                return tflite_no_element(im, n, 0);
        if (!affine(im, n, scale, zero) ||
            !tflite_range(im, n->outputs[0], FUSED_NONE, &low, &high))
                return false;
        const float fine = (1.0f / 128.0f) * scale[0], reluish = 3.0f / 32768.0f;
        const float on_output = fine / scale[1], on_reluish = fine / reluish;
        const struct compose_multiplier m = compose_multiplier_of((double)on_output),
                                        r = compose_multiplier_of((double)on_reluish);
        if (m.shift > 0 || r.shift > 15)
                return tflite_invalid(im, "scales %g and %g", (double)scale[0], (double)scale[1]);
        for (int i = 0; i < BYTES; i++) {
                const int64_t number = i + least_of(n->inputs[0]->type->element);
                const int64_t y = swish_of((int32_t)(number - zero[0]), m, r) + zero[1];
                table[i] = (unsigned char)compose_max(low, compose_min(high, y));
        }
        return tflite_output(im, n, 0, mapped(im, n, byte_table(im, n, table)));
}

/* ---- functions of floats ---- */

bool tflite_import_unary(struct tflite_import *im, struct tflite_node *n)
{
        const int code = tflite_variant(n);
        const bool numbers = code == OP_abs || code == OP_neg || code == OP_sign;
        if (n->inputs[0]->q.count ||
            (!tflite_is_float(n->inputs[0]) &&
             !(numbers && element_is_integer(value_element(n->inputs[0]->value)))))
                return tflite_no_element(im, n, 0);
        return tflite_output(
                im, n, 0,
                compose_unary(im->c, (enum opcode)tflite_variant(n), n->inputs[0]->value));
}

bool tflite_import_rsqrt(struct tflite_import *im, struct tflite_node *n)
{
        if (!tflite_is_float(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        struct value *root = compose_unary(im->c, OP_sqrt, n->inputs[0]->value);
        return tflite_output(im, n, 0, compose_unary(im->c, OP_reciprocal, root));
}

bool tflite_import_square(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        if (n->inputs[0]->q.count)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, mul(im->c, x, x));
}

bool tflite_import_not(struct tflite_import *im, struct tflite_node *n)
{
        if (value_element(n->inputs[0]->value) != E_BOOL)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, inverse(im->c, n->inputs[0]->value));
}

/* ---- numbers and reals ---- */

bool tflite_import_cast(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_tensor *y = n->outputs[0];
        struct value *x = n->inputs[0]->value;
        if (element_is_float(value_element(x)) && element_is_integer(y->type->element))
                x = compose_cast(im->c, x, E_I64);
        return tflite_output(im, n, 0, compose_cast(im->c, x, y->type->element));
}

bool tflite_import_dequantize(struct tflite_import *im, struct tflite_node *n)
{
        struct tflite_tensor *x = n->inputs[0];
        if (n->outputs[0]->type->element != E_F32)
                return tflite_unsupported(im, "a result %s",
                                          compose_text(im->c, n->outputs[0]->type));
        if (tflite_is_float(x) && value_is_constant(x->value))
                return tflite_output(im, n, 0, constant_cast(im->m, x->value->constant, E_F32));
        return tflite_output(im, n, 0, tflite_real(im, x));
}

bool tflite_import_quantize(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        const struct tflite_tensor *x = n->inputs[0], *y = n->outputs[0];
        float scale[2];
        int64_t zero[2], low, high;
        if (!tflite_affine(im, y, &scale[1], &zero[1]))
                return false;
        if (tflite_is_float(x)) {
                if (!tflite_range(im, y, FUSED_NONE, &low, &high))
                        return false;
                struct value *q = compose_with(c, OP_div, x->value, (double)scale[1]);
                q = q ? compose_round_away(c, q) : NULL;
                q = compose_cast(c, plus(c, compose_cast(c, q, E_I32), (double)zero[1]), E_I32);
                return tflite_output(im, n, 0, compose_bounded(c, q, low, high, y->type->element));
        }
        if (!tflite_is_quantized(x) || !affine(im, n, scale, zero))
                return tflite_no_element(im, n, 0);
        const struct compose_multiplier m =
                compose_multiplier_of((double)scale[0] / (double)scale[1]);
        if (y->type->element == E_I32) {
                struct value *q = compose_scaled(c, tflite_centered(im, x),
                                                 &(struct compose_multipliers){ &m, 1, 0 });
                return tflite_output(im, n, 0, zero[1] ? plus(c, q, (double)zero[1]) : q);
        }
        return tflite_output(im, n, 0,
                             line(im, n, tflite_centered(im, x),
                                  (double)scale[0] / (double)scale[1], FUSED_NONE));
}
