/* SPDX-License-Identifier: MIT */
/* This file imports GridSample and AffineGrid. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_resample.h"

static bool sample_attributes(struct onnx_import *im, struct onnx_node *n, struct compose_sample *s)
{
        int64_t align;
        static const char *const modes[] = { "nearest", "linear", "cubic", NULL },
                                 *const early[] = { "nearest", "bilinear", "bicubic", NULL };
        static const char *const paddings[] = { "zeros", "border", "reflection", NULL };

        if (!onnx_choice(im, n, "mode", n->opset < 20 ? early : modes, SAMPLE_LINEAR, &s->mode) ||
            !onnx_choice(im, n, "padding_mode", paddings, PADDING_ZEROS, &s->padding) ||
            !onnx_int_range(im, n, "align_corners", 0, 0, 1, &align))
                return false;
        s->align = align;
        return true;
}

bool onnx_import_grid_sample(struct onnx_import *im, struct onnx_node *n)
{
        int rank = value_rank(n->inputs[0]);
        struct compose_sample s;

        return onnx_want_rank(im, n, 0, 3, RANK_MAX) && onnx_want_rank(im, n, 1, rank, rank) &&
               onnx_want_float(im, n, 1) && sample_attributes(im, n, &s) &&
               onnx_output(n, 0, compose_grid_sample(im->c, n->inputs[0], n->inputs[1], &s));
}

/* The result is the grid [N, size, d] that theta [N, d, d + 1] makes of a regular one over [-1,
 * 1]. */
bool onnx_import_affine_grid(struct onnx_import *im, struct onnx_node *n)
{
        struct value *theta = n->inputs[0];
        int64_t align;
        struct amount size[AMOUNTS_MAX];
        int count, dims = (int)type_elements(n->inputs[1]->type) - 2;
        dim_t result[RANK_MAX];
        bool known;
        const struct type *to;

        if (!onnx_want_float(im, n, 0) || !onnx_want_element(im, n, 1, E_I64) ||
            !onnx_int_range(im, n, "align_corners", 0, 0, 1, &align) ||
            !onnx_operand_amounts(im, n, 1, size, RANK_MAX, &count, &known))
                return false;
        if ((dims != 2 && dims != 3) || value_rank(theta) != 3 || value_extent(theta, 1) != dims ||
            value_extent(theta, 2) != dims + 1)
                return onnx_invalid(im, n, "theta is %s for a size of %d numbers",
                                    compose_text(im->c, theta->type), dims + 2);
        if (known) {
                for (int d = 0; d <= dims; d++)
                        result[d] = amount_dim(size[d ? d + 1 : 0]);
                if (!dim_equal(result[0], theta->type->dims[0]))
                        return onnx_invalid(im, n, "size has %s images, theta %s",
                                            dim_text(im->arena, im->m, result[0]),
                                            dim_text(im->arena, im->m, theta->type->dims[0]));
                result[dims + 1] = dim_of(dims);
                to = compose_type(im->c, value_element(theta), dims + 2, result);
        } else {
                to = onnx_declared_as(im, n, 0, value_element(n->inputs[0]), dims + 2);
                if (to && (!dim_equal(to->dims[0], theta->type->dims[0]) ||
                           !dim_is(to->dims[dims + 1], dims)))
                        return onnx_invalid(im, n, "output 0 is declared as %s",
                                            compose_text(im->c, to));
        }
        if (!to)
                return false;
        return onnx_output(n, 0, compose_affine_grid(im->c, theta, to, align));
}
