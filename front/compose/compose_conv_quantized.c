/* SPDX-License-Identifier: MIT */
/* Convolutions of integers, and of quantized numbers. */
#include "front/compose/compose_quantize.h"

/* x less its zero point, which is one number or, where it may, one per channel along dimension 0 */
static struct value *centered(struct compose *c, struct value *x, struct value *zero,
                              bool per_channel)
{
        if (zero) {
                int64_t count = type_elements(zero->type);
                bool fits = count == 1 ||
                            (per_channel && value_rank(zero) == 1 && count == value_extent(x, 0));
                if (!fits || value_element(zero) != value_element(x)) {
                        compose_invalid(c, "zero point is %s, want one number%s of %s",
                                        type_text(c->arena, c->m, zero->type),
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
        if (!compose_conv_place(c, v->x, v->w, &v->window, v->groups))
                return NULL;
        struct value *x = centered(c, v->x, v->x_zero, false),
                     *w = x ? centered(c, v->w, v->w_zero, true) : NULL;
        return compose_convolve(c, x, w, &v->window, v->groups, E_I32);
}

static struct value *one_number(struct compose *c, const char *what, struct value *v)
{
        if (type_elements(v->type) == 1)
                return compose_reshape(c, v, 0, NULL);
        compose_invalid(c, "%s is %s, want one element", what, type_text(c->arena, c->m, v->type));
        return NULL;
}

struct value *compose_conv_quantized(struct compose *c, struct compose_conv_integer *v,
                                     struct value *bias, struct value *x_scale,
                                     struct value *w_scale, struct value *y_scale,
                                     struct value *y_zero)
{
        struct value *sum = compose_with_bias(c, compose_conv_integer(c, v), bias);

        if (!sum || !(x_scale = one_number(c, "the scale of the input", x_scale)) ||
            !(y_scale = one_number(c, "the scale of the result", y_scale)) ||
            !(y_zero = one_number(c, "the zero point of the result", y_zero)))
                return NULL;
        if (type_elements(w_scale->type) != 1 &&
            (value_rank(w_scale) != 1 || value_extent(w_scale, 0) != value_extent(sum, 1))) {
                compose_invalid(c,
                                "the scale of the weights is %s, want one number or one per "
                                "output channel",
                                type_text(c->arena, c->m, w_scale->type));
                return NULL;
        }
        struct value *factor = compose_binary(c, OP_mul, x_scale, w_scale);
        factor = compose_along(c, compose_binary(c, OP_div, factor, y_scale), sum->type, 1);
        sum = compose_binary(c, OP_mul, compose_cast(c, sum, E_F32), factor);
        return compose_requantize(c, sum, y_zero, value_element(y_zero));
}
