/* SPDX-License-Identifier: MIT */
/* Quantized numbers: (q - zero) * scale is what q stands for. Scales and zero points are of the
 * numbers' shape, or broadcast to it; a zero point may be NULL, which is 0. */
#ifndef FRONT_COMPOSE_COMPOSE_QUANTIZE_H
#define FRONT_COMPOSE_COMPOSE_QUANTIZE_H

#include "front/compose/compose_window.h"

struct compose_quantization {
        struct value *scale, *zero;
        enum element to;                /* of the quantized numbers */
        enum element computed;          /* a float: in which x is divided by the scale */
        bool saturate;                  /* to floats of 8 bits: struct compose_conversion */
};
/* saturate(round_half_even(x / scale) + zero) */
struct value *compose_quantize(struct compose *c, struct value *x,
                               const struct compose_quantization *q);
/* (x - zero) * scale as the float `to` */
struct value *compose_dequantize(struct compose *c, struct value *x, struct value *scale,
                                 struct value *zero, enum element to);

/* saturate(round_half_even(real) + zero) as `to` */
struct value *compose_requantize(struct compose *c, struct value *real, struct value *zero,
                                 enum element to);
/* x - zero in the type `as`, or x itself where that is 0 */
struct value *compose_centered(struct compose *c, struct value *x, struct value *zero,
                               enum element as);
/* x as u8, with a scale and a zero point (scalars) from its range, which is made to hold 0 */
struct compose_dynamic { struct value *numbers, *scale, *zero; };
struct compose_dynamic compose_quantize_dynamic(struct compose *c, struct value *x);

/* ---- convolutions of integers (compose_conv_quantized.c) ---- */

/* x and w of 8 bits less their zero points, of their types (NULL: 0): one number, or, of w, one per
 * output channel. The window's kernel is that of w. */
struct compose_conv_integer {
        struct value *x, *x_zero, *w, *w_zero;
        struct compose_window window;
        int64_t groups;
};
/* the sums of products, in i32; the window is placed */
struct value *compose_conv_integer(struct compose *c, struct compose_conv_integer *v);
/* The sums plus bias (i32 <channels>, or NULL) times x_scale * w_scale / y_scale, rounded half to
 * even, plus y_zero, whose type the result has. Scales are f32 and one number; w_scale may be one
 * per output channel. */
struct value *compose_conv_quantized(struct compose *c, struct compose_conv_integer *v,
                                     struct value *bias, struct value *x_scale,
                                     struct value *w_scale, struct value *y_scale,
                                     struct value *y_zero);

#endif
