/* SPDX-License-Identifier: MIT */
/* This file imports regions of images: RoiAlign, and CropAndResize of com.microsoft. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_resample.h"

static bool roi_read(struct onnx_import *im, struct onnx_node *n, struct compose_roi_align *r)
{
        static const char *const modes[] = { "avg", "max", NULL }, *const shifts[] = {
                "half_pixel", "output_half_pixel", NULL
        };
        int mode, unshifted = 1;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 4, 4) ||
            !onnx_same_element(im, n, n->inputs, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_want_element(im, n, 2, E_I64) || !onnx_want_rank(im, n, 2, 1, 1) ||
            !onnx_choice(im, n, "mode", modes, 0, &mode) ||
            (n->opset >= 16 &&
             !onnx_choice(im, n, "coordinate_transformation_mode", shifts, 0, &unshifted)) ||
            !onnx_int_range(im, n, "output_height", 1, 1, NUMBER_MAX, &r->bins[0]) ||
            !onnx_float(im, n, "spatial_scale", 1, &r->scale) ||
            !onnx_int_range(im, n, "output_width", 1, 1, NUMBER_MAX, &r->bins[1]) ||
            !onnx_int_range(im, n, "sampling_ratio", 0, 0, NUMBER_MAX, &r->samples))
                return false;
        if (value_extent(r->regions, 1) != 4 ||
            !dim_equal(n->inputs[2]->type->dims[0], r->regions->type->dims[0]) ||
            dim_is(r->x->type->dims[2], 0) || dim_is(r->x->type->dims[3], 0))
                return onnx_invalid(im, n, "regions are %s of images %s",
                                    compose_text(im->c, r->regions->type),
                                    compose_text(im->c, r->x->type));
        r->largest = mode;
        r->unshifted = unshifted;
        return true;
}

bool onnx_import_roi_align(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_roi_align r = { .x = n->inputs[0],
                                       .regions = n->inputs[1],
                                       .images = n->inputs[2] };

        return roi_read(im, n, &r) && onnx_output(n, 0, compose_roi_align(im->c, &r));
}

/* The operands are X, rois, batch_indices, crop_size. */
bool onnx_import_crop_and_resize(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "bilinear", "nearest", NULL };
        struct compose_crops r = { .x = n->inputs[0],
                                   .regions = n->inputs[1],
                                   .images = n->inputs[2] };
        float outside;
        int mode, count;
        bool known;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 4, 4) ||
            !onnx_same_element(im, n, n->inputs, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_want_integer(im, n, 2) || !onnx_want_rank(im, n, 2, 1, 1) ||
            !onnx_choice(im, n, "mode", modes, 0, &mode) ||
            !onnx_float(im, n, "extrapolation_value", 0, &outside) ||
            !onnx_operand_ints(im, n, 3, r.extents, 2, &count, &known))
                return false;
        if (!known)
                return onnx_unsupported(im, n, "a crop_size that only a run knows");
        if (count != 2 || r.extents[0] < 1 || r.extents[1] < 1 || value_extent(r.regions, 1) != 4 ||
            !dim_equal(r.images->type->dims[0], r.regions->type->dims[0]) ||
            dim_least(im->m, r.x->type->dims[2]) < 1 || dim_least(im->m, r.x->type->dims[3]) < 1)
                return onnx_invalid(im, n, "regions are %s of images %s",
                                    compose_text(im->c, r.regions->type),
                                    compose_text(im->c, r.x->type));
        const dim_t batch[1] = { r.x->type->dims[0] };
        if (!onnx_indices_fit(im, n, r.images, batch, 1))
                return false;
        r.nearest = mode;
        r.outside = outside;
        return onnx_output(n, 0, compose_crops(im->c, &r));
}
