/* SPDX-License-Identifier: MIT */
/* This file imports signal processing: DFT, STFT, window functions. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_fourier.h"

bool onnx_import_dft(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = compose_wide(im->c, n->inputs[0]), *y = NULL, *chosen = NULL;
        int64_t inverse, onesided, length, stated;
        bool known, axis_known = true;
        int axis = 0, rank = value_rank(n->inputs[0]);

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, RANK_MAX) ||
            !onnx_int_range(im, n, "inverse", 0, 0, 1, &inverse) ||
            !onnx_int_range(im, n, "onesided", 0, 0, 1, &onesided) ||
            !onnx_operand_int(im, n, 1, -1, &length, &known) || !x)
                return false;
        if (!known)
                return onnx_unsupported(im, n, "dft_length is a run-time value, want a constant");
        if (n->opset < 20 ? !onnx_int(im, n, "axis", 1, &stated)
                          : !onnx_operand_int(im, n, 2, -2, &stated, &axis_known))
                return false;
        if (axis_known && !onnx_axis(im, n, stated, rank, &axis))
                return false;
        if (axis == rank - 1)
                return onnx_invalid(im, n, "axis %lld is the complex one", (long long)stated);
        const struct type *to =
                axis_known ? NULL : onnx_declared_as(im, n, 0, value_element(n->inputs[0]), rank);
        if (!axis_known) {
                chosen = compose_axes_wrap(im->c, compose_cast(im->c, onnx_scalar(im, n, 2), E_I64),
                                           rank);
                if (!to || !chosen)
                        return false;
        }
        /* A run-time axis chooses among those that give the declared shape. */
        for (int d = axis_known ? axis : 0; d < (axis_known ? axis + 1 : rank - 1); d++) {
                struct compose_transform t;
                dim_t dims[RANK_MAX];
                if (!compose_transform_of(x->type, d, length, inverse, onesided, &t)) {
                        if (axis_known)
                                return onnx_invalid(im, n, "a transform of length %lld of %s",
                                                    (long long)t.period,
                                                    compose_text(im->c, x->type));
                        continue;
                }
                for (int k = 0; k < rank; k++)
                        dims[k] = k == d          ? dim_of(t.out)
                                  : k == rank - 1 ? dim_of(t.out_parts)
                                                  : x->type->dims[k];
                const struct type *type = compose_type(im->c, value_element(x), rank, dims);
                if (!type)
                        return false;
                if (to && !type_same_dims(type, to))
                        continue;
                struct value *here = compose_transform(im->c, x, d, &t);
                y = y ? compose_select(im->c, compose_with(im->c, OP_eq, chosen, d), here, y)
                      : here;
                if (!y)
                        return false;
        }
        if (!y)
                return onnx_invalid(im, n, "no axis gives the declared %s",
                                    compose_text(im->c, to));
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* Returns (extent - length) / step + 1, and 0 where a frame is longer than the signal. */
static dim_t frame_count(struct module *m, dim_t extent, int64_t length, int64_t step)
{
        const dim_t places = dim_binary(m, DIM_SUB, extent, dim_of(length - 1));
        return dim_binary(m, DIM_DIV, dim_binary(m, DIM_ADD, places, dim_of(step - 1)),
                          dim_of(step));
}

/* The operands are signal [batch, length, parts], frame_step, window, frame_length. */
bool onnx_import_stft(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_frames f = { .x = compose_wide(im->c, n->inputs[0]),
                                    .window = onnx_input(n, 2) };
        int64_t onesided, step, length;
        bool known, length_known;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) ||
            !onnx_want_integer(im, n, 1) || !onnx_want_integer(im, n, 3) ||
            !onnx_int_range(im, n, "onesided", 1, 0, 1, &onesided) ||
            !onnx_operand_int(im, n, 1, 1, &step, &known) ||
            !onnx_operand_int(im, n, 3, -1, &length, &length_known) || !f.x)
                return false;
        if (f.window &&
            (value_rank(f.window) != 1 || value_element(f.window) != value_element(n->inputs[0])))
                return onnx_invalid(im, n, "the window is %s", compose_text(im->c, f.window->type));
        if (f.window && length_known && length >= 0 && length != value_extent(f.window, 0))
                return onnx_invalid(im, n, "frame_length is %lld for a window of %lld",
                                    (long long)length, (long long)value_extent(f.window, 0));
        length = f.window ? value_extent(f.window, 0) : length;
        length_known |= f.window != NULL;
        const dim_t extent = f.x->type->dims[1];
        if ((length_known && (length < 1 || length > dim_bound(im->m, extent))) ||
            (known && (step < 1 || step > NUMBER_MAX)))
                return onnx_invalid(im, n, "frames of %lld every %lld of a signal of %s",
                                    (long long)length, (long long)step,
                                    dim_text(im->arena, im->m, extent));
        const struct type *to =
                known && length_known ? NULL
                                      : onnx_declared_as(im, n, 0, value_element(n->inputs[0]), 4);
        if (!(known && length_known) && !to)
                return false;
        f.count = to ? to->dims[1] : frame_count(im->m, extent, length, step);
        f.onesided = onesided;
        f.step = compose_cast(im->c, onnx_scalar(im, n, 1), E_I64);
        f.window = compose_wide(im->c, f.window);
        if (!f.step)
                return false;
        if (!length_known && !(f.length = compose_cast(im->c, onnx_scalar(im, n, 3), E_I64)))
                return false;
        struct value *y = length_known ? compose_frames(im->c, &f, length, -1)
                                       : compose_frames_open(im->c, &f, type_extent(to, 2));
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* Imports HannWindow, HammingWindow, BlackmanWindow (variant 0, 1, 2), which are sums of cosines a0
 * - a1 cos x + a2 cos 2x. */
bool onnx_import_window(struct onnx_import *im, struct onnx_node *n)
{
        static const double coefficients[3][3] = { { 0.5, 0.5, 0 },
                                                   { 25.0 / 46, 1 - 25.0 / 46, 0 },
                                                   { 0.42, 0.5, 0.08 } };
        const double *a = coefficients[onnx_variant(n)];
        int64_t number, periodic, size;
        enum element e;
        bool known;

        if (!onnx_int(im, n, "output_datatype", 1, &number) ||
            !onnx_element_number(im, n, "output_datatype", number, &e) ||
            !onnx_int_range(im, n, "periodic", 1, 0, 1, &periodic) ||
            !onnx_operand_int(im, n, 0, 0, &size, &known))
                return false;
        const struct type *to =
                known ? compose_type(im->c, E_F64, 1, (const dim_t[]){ dim_of(size) })
                      : onnx_declared_as(im, n, 0, e, 1);
        if (!to)
                return false;
        struct value *w = compose_cosine_window(im->c, a, type_extent(to, 0), periodic);
        return onnx_output(n, 0, compose_cast(im->c, w, e));
}
