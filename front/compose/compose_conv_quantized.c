/* SPDX-License-Identifier: MIT */
/* This file has convolutions of integers, and of quantized numbers. */
#include "front/compose/compose_quantize.h"

#include "front/compose/compose_arithmetic.h"

/* Returns the numbers less their zero point, which is one number or, where per_channel, may be one
 * for each channel along dimension 0. */
static struct value *centered(struct compose *c, const struct compose_quantized *q,
                              bool per_channel)
{
        struct value *x = q->numbers, *zero = q->zero;

        if (zero) {
                int64_t count = type_elements(zero->type);
                bool fits = count == 1 ||
                            (per_channel && value_rank(zero) == 1 && count == value_extent(x, 0));
                if (!fits || value_element(zero) != value_element(x)) {
                        compose_invalid(c, "zero point is %s, want one number%s of %s",
                                        compose_text(c, zero->type),
                                        per_channel ? " or one per output channel" : "",
                                        element_info[value_element(x)].text);
                        return NULL;
                }
                zero = compose_along(c, zero, x->type, 0);
                if (!zero)
                        return NULL;
        }
        return compose_centered(c, x, zero, E_I32);
}

struct value *compose_conv_integer(struct compose *c, struct compose_conv_integer *v)
{
        if (!compose_conv_place(c, v->x.numbers, v->w.numbers, &v->window, v->groups))
                return NULL;
        struct value *x = centered(c, &v->x, false), *w = x ? centered(c, &v->w, true) : NULL;
        return compose_convolve(c, x, w, &v->window, v->groups, E_I32);
}

struct value *compose_conv_quantized(struct compose *c, struct compose_conv_integer *v,
                                     struct value *bias, const struct compose_quantized *y)
{
        struct value *sum = compose_with_bias(c, compose_conv_integer(c, v), bias), *x_scale,
                     *y_scale, *zero, *w_scale = v->w.scale;

        if (!sum ||
            !(x_scale = compose_one_number(c, "the scale of the input", v->x.scale, E_F32)) ||
            !(y_scale = compose_one_number(c, "the scale of the result", y->scale, E_F32)) ||
            !(zero = compose_one_number(c, "the zero point of the result", y->zero,
                                        value_element(y->zero))))
                return NULL;
        if (type_elements(w_scale->type) != 1 &&
            (value_rank(w_scale) != 1 || value_extent(w_scale, 0) != value_extent(sum, 1))) {
                compose_invalid(c,
                                "the scale of the weights is %s, want one number or one per "
                                "output channel",
                                compose_text(c, w_scale->type));
                return NULL;
        }
        struct value *factor = mul(c, x_scale, w_scale);
        factor = compose_along(c, divide(c, factor, y_scale), sum->type, 1);
        sum = mul(c, compose_cast(c, sum, E_F32), factor);
        return compose_requantize(c, sum, zero, value_element(zero));
}
