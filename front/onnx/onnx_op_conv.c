/* SPDX-License-Identifier: MIT */
/* This file imports Conv, FusedConv, CausalConvWithState, ConvInteger, QLinearConv and
 * ConvTranspose. */
#include <string.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_activation.h"
#include "front/compose/compose_arithmetic.h"

bool onnx_conv_read(struct onnx_import *im, struct onnx_node *n, const struct value *x,
                    const struct value *w, struct compose_window *window, int64_t *groups)
{
        int64_t kernel[RANK_MAX];

        if (!compose_conv_ranks(im->c, x, w))
                return false;
        dims_extents(kernel, value_rank(x) - 2, w->type->dims + 2);
        return onnx_int_range(im, n, "group", 1, 1, NUMBER_MAX, groups) &&
               onnx_window_read(im, n, value_rank(x) - 2, kernel, true, window);
}

static struct value *conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, 2) };
        struct compose_window window;
        int64_t groups;

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 3) ||
            !onnx_conv_read(im, n, v[0], v[1], &window, &groups))
                return NULL;
        return compose_conv(im->c, v[0], v[1], v[2], &window, groups);
}

bool onnx_import_conv(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_output(n, 0, conv(im, n));
}

/* Imports com.microsoft's Conv, to whose result Z is added, before an activation; of variant 1
 * (Nhwc) images and Z have their channels last. */
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
        const bool last = onnx_variant(n) == 1;
        if (last && (!onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
                     !(n->inputs[0] = compose_move_channels(im->c, n->inputs[0], true))))
                return false;
        struct value *y = conv(im, n), *sum = onnx_input(n, 3);
        if (y && last)
                y = compose_move_channels(im->c, y, false);
        if (!y)
                return false;
        if (sum && sum->type != y->type)
                return onnx_invalid(im, n, "operand 3 is %s, want %s",
                                    compose_text(im->c, sum->type), compose_text(im->c, y->type));
        if (sum)
                y = add(im->c, y, sum);
        enum { CLIP = 4, KINDS = 6 };   /* These are positions in the list of activations. */
        static const int kinds[KINDS] = { ACT_RELU, ACT_TANH, ACT_SIGMOID, ACT_LEAKY_RELU,
                                          [CLIP + 1] = ACT_HARD_SIGMOID };
        int want = which == 3 ? 1 : which >= CLIP ? 2 : 0;
        if (count < want)
                return onnx_invalid(im, n, "activation_params has %d values, want %d", count, want);
        if (which == CLIP) {
                y = compose_with(im->c, OP_max, y, p[0]);
                y = compose_with(im->c, OP_min, y, p[1]);
        } else if (which >= 0) {
                const struct compose_activation use = { .kind = kinds[which],
                                                        .alpha = want >= 1 ? p[0] : 0,
                                                        .beta = want >= 2 ? p[1] : 0 };
                y = compose_activate(im->c, &use, y);
        }
        return onnx_output(n, 0, y);
}

/* Moves the steps of [N, steps, channels, ..] behind the channels, which become one dimension.
 * Where `first` is 1, a window's dimension stands in front of these. */
static struct value *steps_last(struct onnx_import *im, struct value *x, int first)
{
        int64_t channels = 1, perm[4] = { 0, 1, 2, 3 };
        dim_t dims[RANK_MAX];

        if (!x)
                return NULL;
        for (int d = first + 2; d < value_rank(x); d++)
                channels *= value_extent(x, d);
        memcpy(dims, x->type->dims, (size_t)(first + 2) * sizeof *dims);
        dims[first + 2] = dim_of(channels);
        perm[first + 1] = first + 2;
        perm[first + 2] = first + 1;
        return compose_transpose(im->c, compose_reshape(im->c, x, first + 3, dims), perm);
}

/* Moves them back, to the extents of channels that `like` has. */
static struct value *steps_second(struct onnx_import *im, struct value *y, const struct type *like,
                                  int first)
{
        int64_t perm[4] = { 0, 1, 2, 3 };
        dim_t dims[RANK_MAX];

        perm[first + 1] = first + 2;
        perm[first + 2] = first + 1;
        y = compose_transpose(im->c, y, perm);
        if (!y)
                return NULL;
        memcpy(dims, y->type->dims, (size_t)(first + 2) * sizeof *dims);
        memcpy(dims + first + 2, like->dims + 2, (size_t)(like->rank - 2) * sizeof *dims);
        return compose_reshape(im->c, y, first + like->rank, dims);
}

bool onnx_silu(struct onnx_import *im, struct onnx_node *n, bool *silu)
{
        static const char *const activations[] = { "none", "silu", "swish", NULL };
        int activation;

        if (!onnx_choice(im, n, "activation", activations, 0, &activation))
                return false;
        *silu = activation != 0;
        return true;
}

/* Imports CausalConvWithState, which convolves each channel by itself, along past_state and the
 * input; what the next call starts with is the end of these. com.microsoft's has more
 * attributes. */
/* Reads the attributes that onnxruntime has for GPUs alone, which other providers want at their
 * presets. */
static bool extensions_absent(struct onnx_import *im, struct onnx_node *n)
{
        static const struct { const char *name; int64_t preset; } extensions[] = {
                { "state_update_capacity", 0 }, { "state_channels_last", -1 },
                { "state_length", 0 }, { "input_channel_offset", 0 }, { "input_channels", 0 }
        };
        int64_t number;

        for (size_t i = 0; n->domain[0] && i < sizeof extensions / sizeof *extensions; i++) {
                if (!onnx_int(im, n, extensions[i].name, extensions[i].preset, &number))
                        return false;
                if (number != extensions[i].preset)
                        return onnx_unsupported(im, n, "%s = %lld", extensions[i].name,
                                                (long long)number);
        }
        return true;
}

bool onnx_import_causal_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[4] = { n->inputs[0], n->inputs[1], onnx_input(n, 2), onnx_input(n, 3) };
        struct compose_causal conv = { .w = v[1], .bias = v[2], .dilation = 1 };
        int64_t last = 0, dimensions = 1;

        if (n->domain[0] &&
            (!onnx_int_range(im, n, "state_window", 0, 0, CAUSAL_WINDOW_MAX, &conv.window) ||
             !onnx_int_range(im, n, "dilation", 1, 1, NUMBER_MAX, &conv.dilation) ||
             !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last) ||
             !onnx_int_range(im, n, "ndim", 1, 1, 3, &dimensions)))
                return false;
        if (dimensions != 1)
                return onnx_unsupported(im, n, "ndim = %lld", (long long)dimensions);
        if (!extensions_absent(im, n))
                return false;
        const int most = last ? RANK_MAX - 1 : 3, windowed = conv.window != 0;
        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 4) ||
            !onnx_want_rank(im, n, 0, 3, most) || !onnx_want_rank(im, n, 1, 3, 3) ||
            !onnx_want_rank(im, n, 3, windowed + 3, windowed + most) ||
            !onnx_silu(im, n, &conv.swish))
                return false;
        conv.x = last ? steps_last(im, v[0], 0) : v[0];
        conv.past = last ? steps_last(im, v[3], windowed) : v[3];
        if (!conv.x || (v[3] && !conv.past))
                return false;
        struct value *state, *y = compose_causal_conv(im->c, &conv, &state);
        if (!y)
                return false;
        if (last) {
                y = steps_second(im, y, v[0]->type, 0);
                state = steps_second(im, state, v[0]->type, windowed);
        }
        return onnx_output(n, 0, y) && onnx_output(n, 1, state);
}

/* ---- integer forms ---- */

static bool integers_read(struct onnx_import *im, struct onnx_node *n, int w,
                          struct compose_conv_integer *v)
{
        return v->x.numbers && onnx_want_8_bit(im, n, 0) && onnx_want_8_bit(im, n, w) &&
               onnx_conv_read(im, n, v->x.numbers, v->w.numbers, &v->window, &v->groups);
}

/* The operands are x, w, x_zero_point, w_zero_point. */
bool onnx_import_conv_integer(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_conv_integer v = {
                .x = { .numbers = n->inputs[0], .zero = onnx_input(n, 2) },
                .w = { .numbers = n->inputs[1], .zero = onnx_input(n, 3) },
        };

        return integers_read(im, n, 1, &v) && onnx_output(n, 0, compose_conv_integer(im->c, &v));
}

/* The operands are x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias.
 * In com.microsoft's, x may have its channels last. */
bool onnx_import_qlinear_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_conv_integer v = { .x = onnx_quantized(n, 0), .w = onnx_quantized(n, 3) };
        const struct compose_quantized y = { NULL, n->inputs[6], n->inputs[7] };
        int64_t last = 0;

        if (n->domain[0] && !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last))
                return false;
        if (last && value_rank(v.x.numbers) >= 3)
                v.x.numbers = compose_move_channels(im->c, v.x.numbers, true);
        if (!onnx_want_element(im, n, 1, E_F32) || !onnx_want_element(im, n, 4, E_F32) ||
            !onnx_want_element(im, n, 6, E_F32) || !onnx_want_8_bit(im, n, 7) ||
            !integers_read(im, n, 3, &v))
                return false;
        struct value *sum = compose_conv_quantized(im->c, &v, onnx_input(n, 8), &y);
        return onnx_output(n, 0, last ? compose_move_channels(im->c, sum, false) : sum);
}

/* ---- ConvTranspose ---- */

/* Reads output_padding and output_shape, which may have the result's first two extents in front. */
static bool transposed_read(struct onnx_import *im, struct onnx_node *n,
                            struct compose_transposed *t)
{
        const int64_t *extra, *shape;
        int rank = t->window.rank, count;

        if (!onnx_ints(im, n, "output_padding", &extra, &count))
                return false;
        if (count && count != rank)
                return onnx_invalid(im, n, "output_padding has %d values, want %d", count, rank);
        for (int d = 0; d < count; d++) {
                t->extra[d] = extra[d];
                if (extra[d] < 0 || extra[d] > NUMBER_MAX)
                        return onnx_invalid(im, n, "output_padding holds %lld",
                                            (long long)extra[d]);
        }
        if (!onnx_ints(im, n, "output_shape", &shape, &count))
                return false;
        if (count != 0 && count != rank && count != rank + 2)
                return onnx_invalid(im, n, "output_shape has %d values, want %d", count, rank);
        t->shaped = count != 0;
        for (int d = 0; d < rank && t->shaped; d++) {
                t->shape[d] = shape[count - rank + d];
                if (t->shape[d] < 0 || t->shape[d] > NUMBER_MAX)
                        return onnx_invalid(im, n, "output_shape holds %lld",
                                            (long long)t->shape[d]);
        }
        return true;
}

/* Reads the pads of a window from an operand. */
static bool pads_read(struct onnx_import *im, struct onnx_node *n, int input,
                      struct compose_window *window)
{
        int count;
        bool known;

        if (!onnx_input(n, input))
                return true;
        if (!onnx_operand_ints(im, n, input, window->pads, 2 * RANK_MAX, &count, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "pads that only a run knows");
        for (int i = 0; i < count; i++)
                if (window->pads[i] < 0 || window->pads[i] > NUMBER_MAX)
                        return onnx_invalid(im, n, "a pad of %lld", (long long)window->pads[i]);
        return count == 2 * window->rank ||
               onnx_invalid(im, n, "%d pads of %d dimensions", count, window->rank);
}

/* In variant 1, which is com.microsoft's, pads are an operand in front of the bias. */
bool onnx_import_conv_transpose(struct onnx_import *im, struct onnx_node *n)
{
        const bool padded = onnx_variant(n) == 1;
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, padded ? 3 : 2) };
        struct compose_transposed t = { 0 };
        int64_t kernel[RANK_MAX];
        int rank = value_rank(v[0]);

        if (!onnx_want_float(im, n, 0) || !onnx_same_element(im, n, v, 3))
                return false;
        if (rank < 3 || value_rank(v[1]) != rank)
                return onnx_invalid(im, n, "the input is of rank %d and the weights are of rank %d",
                                    rank, value_rank(v[1]));
        dims_extents(kernel, rank - 2, v[1]->type->dims + 2);
        return onnx_int_range(im, n, "group", 1, 1, NUMBER_MAX, &t.groups) &&
               onnx_window_read(im, n, rank - 2, kernel, true, &t.window) &&
               (!padded || pads_read(im, n, 2, &t.window)) && transposed_read(im, n, &t) &&
               onnx_output(n, 0, compose_conv_transposed(im->c, v[0], v[1], v[2], &t));
}
