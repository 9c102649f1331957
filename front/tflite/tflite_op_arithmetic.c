/* SPDX-License-Identifier: MIT */
/* Operators of two operands, element by element, which are broadcast to each other. */
#include "front/tflite/tflite_helpers.h"

#include <math.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

/* Broadcasts the two operands to each other. */
static bool operands(struct tflite_import *im, const struct tflite_node *n, struct value *v[2])
{
        v[0] = n->inputs[0]->value;
        v[1] = n->inputs[1]->value;
        return tflite_same_element(im, n, 2) && compose_broadcast(im->c, v, 2);
}

/* Returns what the operator's row says of two values. */
static struct value *combined(struct tflite_import *im, const struct tflite_node *n,
                              struct value *v[2])
{
        return compose_binary(im->c, (enum opcode)tflite_variant(n), v[0], v[1]);
}

/* Returns whether all of x, y and the result are quantized. */
static bool all_quantized(const struct tflite_node *n)
{
        return tflite_is_quantized(n->inputs[0]) && tflite_is_quantized(n->inputs[1]) &&
               tflite_is_quantized(n->outputs[0]);
}

/* Returns v - zero, of an operand that was broadcast, as i32. */
static struct value *centered(struct tflite_import *im, const struct tflite_tensor *t,
                              struct value *v)
{
        v = compose_cast(im->c, v, E_I32);
        return t->q.zeros[0] ? plus(im->c, v, (double)-t->q.zeros[0]) : v;
}

static struct value *scaled(struct tflite_import *im, struct value *v, struct compose_multiplier m)
{
        return compose_scaled(im->c, v, &(struct compose_multipliers){ &m, 1, 0 });
}

/* Returns y * m + zero, bounded as the activation says, as the output's numbers. */
static struct value *result(struct tflite_import *im, const struct tflite_node *n, struct value *y,
                            double real, int64_t fused)
{
        const struct tflite_tensor *t = n->outputs[0];
        const struct compose_multiplier m = compose_multiplier_of(real);
        struct compose_rescale r = { .by = { &m, 1, 0 },
                                     .zero = t->q.zeros[0],
                                     .to = t->type->element };
        return tflite_range(im, t, fused, &r.low, &r.high) ? compose_rescale(im->c, y, &r) : NULL;
}

/* Is the scale a power of 2? *power: which. */
static bool is_power(float scale, int *power)
{
        const float logarithm = log2f(scale);
        *power = (int)roundf(logarithm);
        return fabsf(logarithm - (float)*power) < 1e-3f;
}

/* Sums of 16 bits whose scales are all powers of 2 are shifted. Returns false where they are
 * not. */
static bool add_powers(struct tflite_import *im, const struct tflite_node *n, struct value *v[2],
                       int64_t fused, struct value **y)
{
        struct compose *c = im->c;
        int power[3];
        int64_t low, high;
        if (!is_power(n->inputs[0]->q.scales[0], &power[0]) ||
            !is_power(n->inputs[1]->q.scales[0], &power[1]) ||
            !is_power(n->outputs[0]->q.scales[0], &power[2]))
                return false;
        *y = NULL;
        const int right[2] = { power[2] - power[0], power[2] - power[1] };
        if (right[0] < 0 || right[1] < 0 || (right[0] && right[1]) || right[0] > 15 ||
            right[1] > 15) {
                tflite_unsupported(im, "shifts by %d and %d bits", right[0], right[1]);
                return true;
        }
        if (!tflite_range(im, n->outputs[0], fused, &low, &high))
                return true;
        struct value *x[2];
        for (int i = 0; i < 2; i++)
                x[i] = compose_shifted(c, compose_cast(c, v[i], E_I32), right[i]);
        struct value *sum = combined(im, n, x);
        sum = sum ? clamp(c, sum, INT16_MIN, INT16_MAX) : NULL;
        *y = compose_bounded(c, sum, low, high, E_I16);
        return true;
}

static struct value *add_quantized(struct tflite_import *im, const struct tflite_node *n,
                                   struct value *v[2], bool powers, int64_t fused)
{
        float scale[3];
        int64_t zero;
        struct value *y, *x[2];
        const bool is_16 = value_element(v[0]) == E_I16;
        for (int i = 0; i < 3; i++)
                if (!tflite_affine(im, i < 2 ? n->inputs[i] : n->outputs[0], &scale[i], &zero))
                        return NULL;
        if (is_16 && powers && add_powers(im, n, v, fused, &y))
                return y;
        const int left = is_16 ? 15 : 20;
        const double most = 2 * (double)(scale[0] > scale[1] ? scale[0] : scale[1]);
        for (int i = 0; i < 2; i++) {
                x[i] = compose_with(im->c, OP_shl, centered(im, n->inputs[i], v[i]), left);
                x[i] = scaled(im, x[i], compose_multiplier_of((double)scale[i] / most));
        }
        y = combined(im, n, x);
        return result(im, n, y, most / ((double)(1 << left) * (double)scale[2]), fused);
}

bool tflite_import_add(struct tflite_import *im, struct tflite_node *n)
{
        const bool is_add = tflite_variant(n) == OP_add;
        const int64_t fused = is_add ? TFLITE_OPTIONS(n, AddOptions)->fused
                                     : TFLITE_OPTIONS(n, SubOptions)->fused;
        const bool powers = is_add ? TFLITE_OPTIONS(n, AddOptions)->pot_scale
                                   : TFLITE_OPTIONS(n, SubOptions)->pot_scale;
        struct value *v[2], *y;
        if (!operands(im, n, v))
                return false;
        if (all_quantized(n))
                y = add_quantized(im, n, v, powers, fused);
        else if (element_info[value_element(v[0])].bytes < 4)
                return tflite_no_element(im, n, 0);
        else
                y = tflite_activated(im, combined(im, n, v), fused);
        return tflite_output(im, n, 0, y);
}

bool tflite_import_mul(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t fused = TFLITE_OPTIONS(n, MulOptions)->fused;
        struct value *v[2], *y;
        float scale[3];
        int64_t zero;
        if (!operands(im, n, v))
                return false;
        if (all_quantized(n)) {
                for (int i = 0; i < 3; i++)
                        if (!tflite_affine(im, i < 2 ? n->inputs[i] : n->outputs[0], &scale[i],
                                           &zero))
                                return false;
                struct value *x = centered(im, n->inputs[0], v[0]);
                y = mul(im->c, x, centered(im, n->inputs[1], v[1]));
                const float product = scale[0] * scale[1];
                const float real = product / scale[2];
                y = result(im, n, y, (double)real, fused);
        } else if (element_info[value_element(v[0])].bytes < 4) {
                return tflite_no_element(im, n, 0);
        } else {
                y = tflite_activated(im, mul(im->c, v[0], v[1]), fused);
        }
        return tflite_output(im, n, 0, y);
}

bool tflite_import_div(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (n->inputs[0]->q.count || element_info[value_element(v[0])].bytes < 4)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0,
                             tflite_activated(im, divide(im->c, v[0], v[1]),
                                              TFLITE_OPTIONS(n, DivOptions)->fused));
}

/* Do operands and result have one scale and zero point? */
static bool alike(const struct tflite_node *n)
{
        const struct tflite_quantization *q = &n->inputs[0]->q;
        for (int i = 1; i < 3; i++) {
                const struct tflite_quantization *other =
                        i < 2 ? &n->inputs[i]->q : &n->outputs[0]->q;
                if (other->count != q->count ||
                    (q->count && (other->count != 1 || other->scales[0] != q->scales[0] ||
                                  other->zeros[0] != q->zeros[0])))
                        return false;
        }
        return true;
}

bool tflite_import_extreme(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (!alike(n))
                return tflite_unsupported(im, "operands of different scales");
        return tflite_output(im, n, 0, combined(im, n, v));
}

/* Compares integers of different scales as the numbers that both stand for, less 8 bits. */
static bool rescaled(struct tflite_import *im, const struct tflite_node *n, struct value *v[2])
{
        enum { LEFT = 8 };
        for (int i = 0; i < 2; i++) {
                float scale;
                int64_t zero;
                if (!tflite_affine(im, n->inputs[i], &scale, &zero))
                        return false;
                v[i] = compose_with(im->c, OP_shl, centered(im, n->inputs[i], v[i]), LEFT);
                v[i] = scaled(im, v[i], compose_multiplier_of((double)scale));
                if (!v[i])
                        return false;
        }
        return true;
}

bool tflite_import_compare(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (tflite_is_quantized(n->inputs[0]) && tflite_is_quantized(n->inputs[1]) &&
            !rescaled(im, n, v))
                return false;
        return tflite_output(im, n, 0, combined(im, n, v));
}

bool tflite_import_logical(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (value_element(v[0]) != E_BOOL)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, combined(im, n, v));
}

bool tflite_import_squared_difference(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (n->inputs[0]->q.count)
                return tflite_no_element(im, n, 0);
        struct value *y = sub(im->c, v[0], v[1]);
        return tflite_output(im, n, 0, mul(im->c, y, y));
}

bool tflite_import_prelu(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *v[2];
        float scale[3];
        int64_t zero;
        if (!operands(im, n, v))
                return false;
        if (!all_quantized(n)) {
                if (!tflite_is_float(n->inputs[0]))
                        return tflite_no_element(im, n, 0);
                struct value *below = mul(c, v[0], v[1]);
                return tflite_output(im, n, 0, compose_below_zero(c, v[0], below));
        }
        for (int i = 0; i < 3; i++)
                if (!tflite_affine(im, i < 2 ? n->inputs[i] : n->outputs[0], &scale[i], &zero))
                        return false;
        struct value *x = centered(im, n->inputs[0], v[0]);
        struct value *below = mul(c, x, centered(im, n->inputs[1], v[1]));
        const double one = (double)scale[0] / (double)scale[2],
                     product = (double)scale[0] * (double)scale[1] / (double)scale[2];
        struct value *above = result(im, n, x, one, FUSED_NONE);
        below = result(im, n, below, product, FUSED_NONE);
        struct value *positive = compose_with(c, OP_ge, x, 0);
        return tflite_output(im, n, 0, compose_select(c, positive, above, below));
}

bool tflite_import_add_n(struct tflite_import *im, struct tflite_node *n)
{
        struct value *sum = NULL;
        for (int i = 0; i < n->input_count; i++) {
                const struct value *x = tflite_input(n, i);
                if (!x)
                        return tflite_invalid(im, "operand %d is missing", i);
                if (n->inputs[i]->q.count || element_info[value_element(x)].bytes < 4)
                        return tflite_no_element(im, n, i);
                if (x->type != n->inputs[0]->value->type)
                        return tflite_invalid(im, "operand %d is %s, want %s as operand 0", i,
                                              compose_text(im->c, x->type),
                                              compose_text(im->c, n->inputs[0]->value->type));
                sum = i ? add(im->c, sum, n->inputs[i]->value) : n->inputs[i]->value;
        }
        return tflite_output(im, n, 0, sum);
}

/* Quotients of integers, rounded down: that of C, less one where it was rounded up. */
static struct value *floor_quotient(struct compose *c, struct value *x, struct value *y)
{
        struct value *quotient = divide(c, x, y), *rest = compose_binary(c, OP_rem, x, y);
        struct value *inexact = compose_with(c, OP_ne, rest, 0);
        struct value *signs = compose_with(c, OP_lt, compose_binary(c, OP_xor, rest, y), 0);
        return compose_select(c, both(c, inexact, signs), plus(c, quotient, -1), quotient);
}

/* FLOOR_DIV, FLOOR_MOD (variant OP_mod). */
bool tflite_import_floor(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2], *y;
        if (!operands(im, n, v))
                return false;
        if (n->inputs[0]->q.count || value_element(v[0]) == E_BOOL)
                return tflite_no_element(im, n, 0);
        if (tflite_variant(n) == OP_mod)
                y = combined(im, n, v);
        else if (element_is_float(value_element(v[0])))
                y = compose_unary(im->c, OP_floor, divide(im->c, v[0], v[1]));
        else
                y = floor_quotient(im->c, v[0], v[1]);
        return tflite_output(im, n, 0, y);
}

bool tflite_import_pow(struct tflite_import *im, struct tflite_node *n)
{
        struct value *v[2];
        if (!operands(im, n, v))
                return false;
        if (n->inputs[0]->q.count || value_element(v[0]) == E_BOOL)
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, combined(im, n, v));
}
