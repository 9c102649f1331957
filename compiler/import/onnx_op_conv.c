/* SPDX-License-Identifier: MIT */
/* Convolutions: Conv, FusedConv, ConvInteger, QLinearConv, ConvTranspose. All are the convolve
 * operation, which has strides, dilations of window and input, pads that may be negative, and
 * groups. */
#include "compiler/import/onnx_helpers.h"

bool onnx_conv_shapes(struct onnx_import *im, struct onnx_node *n, const struct value *x, const struct value *w,
                      struct onnx_window *window, int64_t *groups)
{
        dim_t dims[RANK_MAX];
        int64_t kernel[RANK_MAX];
        int rank = value_rank(x);

        if (rank < 3)
                return onnx_invalid(im, n, "the input is of rank %d, want at least 3", rank);
        if (value_rank(w) != rank)
                return onnx_invalid(im, n, "the weights are of rank %d, want %d as the input",
                                    value_rank(w), rank);
        dims_extents(kernel, rank - 2, w->type->dims + 2);
        if (!onnx_int_range(im, n, "group", 1, 1, NUMBER_MAX, groups) ||
            !onnx_window_read(im, n, rank - 2, kernel, true, window) ||
            !onnx_window_place(im, n, window, x->type->dims + 2, false))
                return false;
        if (value_extent(w, 1) * *groups != value_extent(x, 1))
                return onnx_invalid(im, n,
                                    "%lld channels in %lld groups for weights of %lld channels",
                                    (long long)value_extent(x, 1), (long long)*groups,
                                    (long long)value_extent(w, 1));
        if (value_extent(w, 0) % *groups)
                return onnx_invalid(im, n, "%lld output channels in %lld groups",
                                    (long long)value_extent(w, 0), (long long)*groups);
        dims[0] = dim_of(value_extent(x, 0));
        dims[1] = dim_of(value_extent(w, 0));
        for (int d = 2; d < rank; d++)
                dims[d] = dim_of(window->out[d - 2]);
        return compose_type(im->c, E_F32, rank, dims) != NULL;
}

struct value *onnx_move_channels(struct onnx_import *im, struct value *x, bool to_front)
{
        int64_t perm[RANK_MAX];
        int rank = x ? value_rank(x) : 0;

        for (int d = 0; d < rank; d++)
                perm[d] = d == 0          ? 0
                          : to_front      ? (d == 1 ? rank - 1 : d - 1)
                          : d == rank - 1 ? 1
                                          : d + 1;
        return x ? build_transpose(&im->b, x, perm) : NULL;
}

struct value *onnx_with_bias(struct onnx_import *im, const struct onnx_node *n, struct value *y, int input)
{
        struct value *bias = onnx_input(n, input);

        if (!y || !bias)
                return y;
        if (value_rank(bias) != 1 || value_extent(bias, 0) != value_extent(y, 1) ||
            value_element(bias) != value_element(y)) {
                onnx_invalid(im, n, "the bias is %s, want %lld of %s",
                             type_text(im->arena, im->m, bias->type), (long long)value_extent(y, 1),
                             element_info[value_element(y)].text);
                return NULL;
        }
        return compose_binary(im->c, OP_add, y,
                              compose_spread(im->c, bias, y->type, (const int64_t[]){ 1 }));
}

static struct value *conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, 2) };
        struct onnx_window window;
        int64_t groups;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 3) ||
            !onnx_conv_shapes(im, n, v[0], v[1], &window, &groups))
                return NULL;
        return onnx_with_bias(im, n, onnx_convolve(im, v[0], v[1], &window, groups, E_COMPUTE), 2);
}

bool onnx_import_conv(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_output(n, 0, conv(im, n));
}

/* com.microsoft: Conv, then + Z, then an activation */
bool onnx_import_fused_conv(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const activations[] = {
                "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid", NULL
        };
        const float *p;
        int which, count;

        if (!onnx_choice(im, n, "activation", activations, -1, &which) ||
            !onnx_floats(im, n, "activation_params", &p, &count))
                return false;
        struct value *y = conv(im, n), *sum = onnx_input(n, 3);
        if (!y)
                return false;
        if (sum && sum->type != y->type)
                return onnx_invalid(im, n, "operand 3 is %s, want %s",
                                    type_text(im->arena, im->m, sum->type),
                                    type_text(im->arena, im->m, y->type));
        if (sum)
                y = compose_binary(im->c, OP_add, y, sum);
        int want = which == 3 ? 1 : which >= 4 ? 2 : 0;
        if (count < want)
                return onnx_invalid(im, n, "activation_params has %d values, want %d", count, want);
        switch (which) {
        case 0: y = compose_with(im->c, OP_max, y, 0); break;
        case 1: y = compose_unary(im->c, OP_tanh, y); break;
        case 2: y = compose_unary(im->c, OP_sigmoid, y); break;
        case 3: y = compose_below_zero(im->c, y, compose_with(im->c, OP_mul, y, p[0])); break;
        case 4: y = compose_with(im->c, OP_min, compose_with(im->c, OP_max, y, p[0]), p[1]); break;
        case 5:
                y = compose_with(
                        im->c, OP_min,
                        compose_with(im->c, OP_max,
                                     compose_with(im->c, OP_add,
                                                  compose_with(im->c, OP_mul, y, p[0]), p[1]),
                                     0),
                        1);
                break;
        default: break;
        }
        return onnx_output(n, 0, y);
}

/* CausalConvWithState: each channel by itself, along past_state and the input; what the next call
 * starts with is the end of these. */
bool onnx_import_causal_conv(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const activations[] = { "none", "silu", "swish", NULL };
        struct value *v[4] = { n->inputs[0], n->inputs[1], onnx_input(n, 2), onnx_input(n, 3) },
                     *x = v[0];
        int activation;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 4) ||
            !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_rank(im, n, 1, 3, 3) ||
            !onnx_choice(im, n, "activation", activations, 0, &activation))
                return false;
        const dim_t *d = x->type->dims, kernel = dim_of(value_extent(v[1], 2)),
                    whole[3] = { d[0], d[1], dim_of(dim_extent(d[2]) + dim_extent(kernel) - 1) };
        if (!dim_is(d[1], value_extent(v[1], 0)) || value_extent(v[1], 1) != 1 ||
            dim_extent(kernel) < 1)
                return onnx_invalid(im, n, "the weights are %s for an input %s",
                                    type_text(im->arena, im->m, v[1]->type),
                                    type_text(im->arena, im->m, x->type));
        const dim_t state[3] = { d[0], d[1], dim_of(dim_extent(kernel) - 1) };
        const struct type *state_type = type_tensor(im->m, value_element(x), 3, state);
        if (v[3] && v[3]->type != state_type)
                return onnx_invalid(im, n, "past_state is %s, want %s",
                                    type_text(im->arena, im->m, v[3]->type),
                                    type_text(im->arena, im->m, state_type));
        if (!compose_type(im->c, value_element(x), 3, whole))
                return false;
        struct value *past = v[3] ? v[3] : constant_number(im->m, state_type, 0);
        x = build_concat(&im->b, (struct value *[]){ past, x }, 2, 2);
        struct onnx_window window = { .rank = 1,
                                      .kernel = { dim_extent(kernel) },
                                      .strides = { 1 },
                                      .dilations = { 1 },
                                      .out = { dim_extent(d[2]) } };
        struct value *y =
                x ? onnx_with_bias(im, n,
                                   onnx_convolve(im, x, v[1], &window, dim_extent(d[1]), E_COMPUTE),
                                   2)
                  : NULL;
        if (y && activation) {
                struct value *wide = compose_wide(im->c, y);
                y = compose_cast(
                        im->c,
                        compose_binary(im->c, OP_mul, wide, compose_unary(im->c, OP_sigmoid, wide)),
                        value_element(y));
        }
        return onnx_output(n, 0, y) &&
               onnx_output(n, 1,
                           build_slice(&im->b, x,
                                       (const int64_t[]){
                                               0, 0, dim_extent(whole[2]) - dim_extent(state[2]) },
                                       (const int64_t[]){ 1, 1, 1 }, state));
}

/* ---- integer forms ---- */

/* x less its zero point (operand `zero`), which is one number or, where it may, one per channel along
 * dimension 0 */
static struct value *centered_operand(struct onnx_import *im, const struct onnx_node *n,
                                      struct value *x, int zero, bool per_channel)
{
        struct value *v[2] = { x, onnx_input(n, zero) };

        if (v[1]) {
                int64_t count = type_elements(v[1]->type);
                if (!onnx_same_element(im, n, v, 2))
                        return NULL;
                if (count != 1 &&
                    (value_rank(v[1]) != 1 || count != value_extent(x, 0) || !per_channel)) {
                        onnx_invalid(im, n, "zero point is %s, want one number%s",
                                     type_text(im->arena, im->m, v[1]->type),
                                     per_channel ? " or one per output channel" : "");
                        return NULL;
                }
                v[1] = compose_along(im->c, v[1], x->type, 0);
                if (!v[1])
                        return NULL;
        }
        return onnx_centered(im, x, v[1], E_I32);
}

/* the products of the centered operands, x and operand w, summed in i32 */
static struct value *conv_integer(struct onnx_import *im, struct onnx_node *n, struct value *x,
                                  int x_zero, int w, int w_zero)
{
        struct onnx_window window;
        int64_t groups;

        if (!x || !onnx_want_8_bit(im, n, 0) || !onnx_want_8_bit(im, n, w) ||
            !onnx_conv_shapes(im, n, x, n->inputs[w], &window, &groups))
                return NULL;
        struct value *a = centered_operand(im, n, x, x_zero, false),
                     *b = a ? centered_operand(im, n, n->inputs[w], w_zero, true) : NULL;
        return onnx_convolve(im, a, b, &window, groups, E_I32);
}

bool onnx_import_conv_integer(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_output(n, 0, conv_integer(im, n, n->inputs[0], 2, 1, 3));
}

/* Operands x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias; of
 * com.microsoft: x may have its channels last. */
bool onnx_import_qlinear_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t last = 0;

        if (n->domain[0] && !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last))
                return false;
        if (last)
                x = value_rank(x) < 3 ? x : onnx_move_channels(im, x, true);
        if (!onnx_want_element(im, n, 1, E_F32) || !onnx_want_element(im, n, 4, E_F32) ||
            !onnx_want_element(im, n, 6, E_F32) || !onnx_want_8_bit(im, n, 7))
                return false;
        struct value *sum = onnx_with_bias(im, n, conv_integer(im, n, x, 2, 3, 5), 8);
        struct value *x_scale = onnx_scalar(im, n, 1), *y_scale = onnx_scalar(im, n, 6),
                     *zero = onnx_scalar(im, n, 7);
        struct value *w_scale = n->inputs[4];
        if (!sum || !x_scale || !y_scale || !zero)
                return false;
        if (type_elements(w_scale->type) != 1 &&
            (value_rank(w_scale) != 1 || value_extent(w_scale, 0) != value_extent(sum, 1)))
                return onnx_invalid(im, n,
                                    "w_scale is %s, want one number or one per output channel",
                                    type_text(im->arena, im->m, w_scale->type));
        struct value *factor = compose_binary(
                im->c, OP_div, compose_binary(im->c, OP_mul, x_scale, w_scale), y_scale);
        struct value *right = compose_along(im->c, factor, sum->type, 1);
        struct value *real = compose_binary(im->c, OP_mul, compose_cast(im->c, sum, E_F32), right);
        struct value *y = onnx_requantize(im, real, zero, value_element(zero));
        return onnx_output(n, 0, last ? onnx_move_channels(im, y, false) : y);
}

/* ---- ConvTranspose ----
 * The gradient of a convolution: the input is spread out by the strides, padded by the window's
 * reach less the pads, and convolved with the kernel mirrored and its channels exchanged. */

/* w [C, M / groups, window] as [M, C / groups, mirrored window] */
static struct value *mirrored(struct onnx_import *im, struct value *w, int64_t groups)
{
        int rank = value_rank(w);
        int64_t perm[RANK_MAX + 1], starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t split[RANK_MAX + 1], merged[RANK_MAX];

        split[0] = dim_of(groups);
        split[1] = dim_of(value_extent(w, 0) / groups);
        for (int d = 1; d < rank; d++)
                split[d + 1] = dim_of(value_extent(w, d));
        for (int d = 0; d <= rank; d++)
                perm[d] = d == 1 ? 2 : d == 2 ? 1 : d;
        merged[0] = dim_of(groups * value_extent(w, 1));
        merged[1] = split[1];
        for (int d = 0; d < rank; d++) {
                if (d >= 2) {
                        merged[d] = dim_of(value_extent(w, d));
                        starts[d] = dim_extent(merged[d]) - 1;
                }
                steps[d] = d < 2 || dim_is(merged[d], 1) ? 1 : -1;
        }
        w = compose_reshape(im->c, w, rank + 1, split);
        w = compose_reshape(im->c, w ? build_transpose(&im->b, w, perm) : NULL, rank, merged);
        return w ? build_slice(&im->b, w, starts, steps, merged) : NULL;
}

/* Pads from output_shape or auto_pad: what the full result has too much is cut, the odd row at the
 * end for SAME_UPPER, else at the start. */
static bool transpose_pads(struct onnx_import *im, struct onnx_node *n, struct onnx_window *w,
                           const dim_t *in, const int64_t *extra)
{
        const int64_t *shape;
        int count;

        if (!onnx_ints(im, n, "output_shape", &shape, &count))
                return false;
        if (count != 0 && count != w->rank && count != w->rank + 2)
                return onnx_invalid(im, n, "output_shape has %d values, want %d", count, w->rank);
        for (int d = 0; d < w->rank; d++) {
                int64_t full = w->strides[d] * (dim_extent(in[d]) - 1) + extra[d] +
                               onnx_window_extent(w, d),
                        want;
                int64_t *low = &w->pads[d], *high = &w->pads[w->rank + d];
                if (count) {
                        want = shape[count - w->rank + d];
                        if (want < 0 || want > NUMBER_MAX)
                                return onnx_invalid(im, n, "output_shape holds %lld",
                                                    (long long)want);
                } else if (w->auto_pad == PAD_SAME_UPPER || w->auto_pad == PAD_SAME_LOWER) {
                        want = dim_extent(in[d]) * w->strides[d];
                } else {
                        if (w->auto_pad == PAD_VALID)
                                *low = *high = 0;
                        w->out[d] = full - *low - *high;
                        continue;
                }
                /* A result longer than the full one has empty rows at its end; pads do not go below
                 * 0 by themselves. */
                int64_t total = compose_max(0, full - want);
                *low = w->auto_pad == PAD_SAME_UPPER ? total / 2 : total - total / 2;
                *high = total - *low;
                w->out[d] = want;
        }
        return true;
}

bool onnx_import_conv_transpose(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, 2) }, *x = v[0], *w = v[1];
        int rank = value_rank(x);
        int64_t groups, pads[2 * RANK_MAX], extra[RANK_MAX] = { 0 }, kernel[RANK_MAX];
        const int64_t *output_padding;
        struct onnx_window window;
        dim_t dims[RANK_MAX];
        int count;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 3))
                return false;
        if (rank < 3 || value_rank(w) != rank)
                return onnx_invalid(im, n, "the input is of rank %d and the weights are of rank %d",
                                    rank, value_rank(w));
        dims_extents(kernel, rank - 2, w->type->dims + 2);
        if (!onnx_int_range(im, n, "group", 1, 1, NUMBER_MAX, &groups) ||
            !onnx_ints(im, n, "output_padding", &output_padding, &count) ||
            !onnx_window_read(im, n, rank - 2, kernel, true, &window))
                return false;
        if (count && count != rank - 2)
                return onnx_invalid(im, n, "output_padding has %d values, want %d", count,
                                    rank - 2);
        for (int d = 0; d < count; d++) {
                extra[d] = output_padding[d];
                if (extra[d] < 0 || extra[d] > NUMBER_MAX)
                        return onnx_invalid(im, n, "output_padding holds %lld",
                                            (long long)extra[d]);
        }
        if (value_extent(w, 0) != value_extent(x, 1) || value_extent(x, 1) % groups)
                return onnx_invalid(im, n,
                                    "%lld channels in %lld groups for weights of %lld channels",
                                    (long long)value_extent(x, 1), (long long)groups,
                                    (long long)value_extent(w, 0));
        if (!transpose_pads(im, n, &window, x->type->dims + 2, extra))
                return false;
        dims[0] = dim_of(value_extent(x, 0));
        dims[1] = dim_of(value_extent(w, 1) * groups);
        for (int d = 0; d < window.rank; d++) {
                int64_t in = value_extent(x, d + 2);
                if (in == 0)
                        return onnx_invalid(im, n, "spatial dimension %d is of extent 0", d);
                dims[d + 2] = dim_of(window.out[d]);
                pads[d] = onnx_window_extent(&window, d) - 1 - window.pads[d];
                /* what makes exactly the extent wanted: (in - 1) * stride + 1 + low + high -
                 * (window - 1) == out */
                pads[window.rank + d] = window.out[d] - 1 - (in - 1) * window.strides[d] - pads[d] +
                                        onnx_window_extent(&window, d) - 1;
        }
        if (!compose_type(im->c, value_element(x), rank, dims))
                return false;
        struct attr *attrs = attrs_new(im->m, OP_convolve);
        attr_set_ints(im->m, attrs, OP_convolve, "input_dilations", window.strides, window.rank);
        attr_set_ints(im->m, attrs, OP_convolve, "dilations", window.dilations, window.rank);
        attr_set_ints(im->m, attrs, OP_convolve, "pads", pads, 2 * window.rank);
        attr_set(attrs, OP_convolve, "groups", groups);
        w = mirrored(im, w, groups);
        struct value *y =
                w ? value_build(&im->b, OP_convolve, (struct value *[]){ x, w }, 2, attrs, NULL)
                  : NULL;
        return onnx_output(n, 0, onnx_with_bias(im, n, y, 2));
}
