/* SPDX-License-Identifier: MIT */
/* Operators of com.microsoft.nchwc are what onnxruntime saves for convolutions whose images have
 * blocks of channels side by side, [N, C / block, rows, columns, block], where C is filled up with
 * zeros to whole blocks. Shapes say [N, C, rows, columns], and so images are read: the blocks are
 * only those of weights. */
#include "base/size.h"
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_resample.h"

/* Returns the block, or 0 after an error. */
static int64_t block_of(struct onnx_import *im, struct onnx_node *n)
{
        const int block = onnx_channel_block(im);

        if (!block)
                onnx_unsupported(im, n,
                                 "blocks of channels of a size that the model does not show; "
                                 "--nchwc=8 says that it was saved on a processor with AVX, "
                                 "--nchwc=16 on one with AVX-512, or of Arm");
        return block;
}

bool onnx_import_reorder_input(struct onnx_import *im, struct onnx_node *n)
{
        const int known = onnx_channel_block(im), block = known ? known : 8;
        struct value *x = n->inputs[0];
        int64_t last;

        /* Without a block, pools are right in blocks of any size, and convolutions are refused. */
        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_rank(im, n, 0, 4, 4) ||
            !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last))
                return false;
        if (last)
                x = compose_move_channels(im->c, x, true);
        return onnx_output(
                n, 0, x ? compose_fitted(im->c, x, 1, round_up(value_extent(x, 1), block)) : NULL);
}

bool onnx_import_reorder_output(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t last, channels;

        if (!onnx_want_rank(im, n, 0, 4, 4) || !onnx_int_required(im, n, "channels", &channels) ||
            !onnx_int_range(im, n, "channels_last", 0, 0, 1, &last))
                return false;
        if (channels < 1 || channels > value_extent(x, 1))
                return onnx_invalid(im, n, "channels is %lld of %lld", (long long)channels,
                                    (long long)value_extent(x, 1));
        x = compose_fitted(im->c, x, 1, channels);
        return onnx_output(n, 0, last ? compose_move_channels(im->c, x, false) : x);
}

/* Returns weights [O, I, rows, columns] of what lies as [O / b, I / b, rows, columns, b of I, b of
 * O]; or, where the I channels are fewer than a block, as [O / b, I, rows, columns, b of O]. */
static struct value *plain_weights(struct onnx_import *im, struct value *w, int64_t block)
{
        const dim_t *d = w->type->dims, side = dim_of(block);
        const dim_t outer = dim_of(value_extent(w, 0) / block);
        const dim_t inner = dim_of(value_extent(w, 1) / block);
        struct value *y;

        if (value_extent(w, 1) < block)
                y = compose_transpose(im->c,
                                      compose_reshape(im->c, w, 5,
                                                      (const dim_t[]){ outer, d[1], d[2], d[3],
                                                                       side }),
                                      (const int64_t[]){ 0, 4, 1, 2, 3 });
        else
                y = compose_transpose(im->c,
                                      compose_reshape(im->c, w, 6,
                                                      (const dim_t[]){ outer, inner, d[2], d[3],
                                                                       side, side }),
                                      (const int64_t[]){ 0, 5, 1, 4, 2, 3 });
        return compose_reshape(im->c, y, 4, d);
}

/* Imports Conv, then + Sum, then an activation. */
bool onnx_import_nchwc_conv(struct onnx_import *im, struct onnx_node *n)
{
        struct value *w = n->inputs[1];

        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_rank(im, n, 1, 4, 4))
                return false;
        const int64_t block = block_of(im, n), outputs = value_extent(w, 0);
        const int64_t inputs = value_extent(w, 1);
        if (!block)
                return false;
        if (outputs % block || (inputs > block && inputs % block))
                return onnx_invalid(im, n, "weights are %s in blocks of %lld channels",
                                    compose_text(im->c, w->type), (long long)block);
        struct value **v = arena_array(im->arena, (size_t)n->input_count, sizeof *v);
        for (int i = 0; i < n->input_count; i++)
                v[i] = i == 1 ? plain_weights(im, w, block) : n->inputs[i];
        n->inputs = v;
        return v[1] && onnx_import_fused_conv(im, n);
}

bool onnx_import_nchwc_max_pool(struct onnx_import *im, struct onnx_node *n)
{
        n->opset = 12;
        return onnx_import_max_pool(im, n);
}

bool onnx_import_nchwc_average_pool(struct onnx_import *im, struct onnx_node *n)
{
        n->opset = 19;
        return onnx_import_average_pool(im, n);
}

/* Imports Upsample, whose scales are whole. */
bool onnx_import_nchwc_upsample(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "nearest", "linear", NULL };
        static const char *const transforms[] = { "asymmetric", "align_corners", "half_pixel",
                                                  NULL };
        static const int kinds[] = { RESIZE_ASYMMETRIC, RESIZE_ALIGN_CORNERS, RESIZE_HALF_PIXEL };
        struct compose_resize r = { .round = NEAREST_FLOOR, .count = 2, .axes = { 2, 3 } };
        const int64_t *scales;
        int count, transform;

        if (!onnx_want_rank(im, n, 0, 4, 4) || !onnx_choice(im, n, "mode", modes, 0, &r.mode) ||
            !onnx_choice(im, n, "coordinate_transformation_mode", transforms, 0, &transform) ||
            !onnx_ints(im, n, "scales", &scales, &count))
                return false;
        if (count != 4 || scales[0] != 1 || scales[1] != 1)
                return onnx_invalid(im, n, "scales of %d numbers, want 1, 1 and two more", count);
        for (int i = 0; i < r.count; i++) {
                const int64_t scale = scales[2 + i], extent = value_extent(n->inputs[0], 2 + i);
                if (scale < 1 || scale > NUMBER_MAX || extent > INT64_MAX / scale)
                        return onnx_invalid(im, n, "scales holds %lld", (long long)scale);
                r.scale[i] = (double)scale;
                r.out[i] = dim_of(scale * extent);
        }
        /* Every transformation takes the pixel that a block of results lies in. */
        r.transform = r.mode == RESIZE_NEAREST ? RESIZE_ASYMMETRIC : kinds[transform];
        return onnx_output(n, 0, compose_resize(im->c, n->inputs[0], &r));
}
