/* SPDX-License-Identifier: MIT */
/* Resize and Upsample read the axes, the extents of the result and the scales, which may be
 * run-time values. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_resample.h"

#include <math.h>

enum resize_policy { STRETCH, NOT_LARGER, NOT_SMALLER };

/* Takes the extents of the result from its declaration, where only a run knows the scales. */
static bool resize_declared(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r)
{
        const struct type *x = n->inputs[0]->type,
                          *to = onnx_declared_as(im, n, 0, x->element, x->rank);

        for (int i = 0; to && i < r->count; i++)
                r->out[i] = to->dims[r->axes[i]];
        return to != NULL;
}

/* Resizes by constant scales. An axis whose extent a run gives, as that of images, stays as it is
 * where its scale is 1. */
static bool resize_by(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r,
                      const double *scales, int count)
{
        const struct type *x = n->inputs[0]->type;
        int resized = 0;

        if (count != r->count)
                return onnx_invalid(im, n, "scales has %d values, want %d", count, r->count);
        for (int i = 0; i < count; i++) {
                if (!(scales[i] > 0) || isinf(scales[i]))
                        return onnx_invalid(im, n, "scales[%d] is %g", i, scales[i]);
                if (!dim_is_static(x->dims[r->axes[i]]) && scales[i] == 1 &&
                    r->transform != RESIZE_TF_CROP_AND_RESIZE)
                        continue;
                const dim_t in = x->dims[r->axes[resized] = r->axes[i]];
                if (!compose_resize_by(im->c, r, resized++, in, scales[i]))
                        return onnx_unsupported(
                                im, n, "scales[%d] is %g along an extent %s that a run gives", i,
                                scales[i], dim_text(im->arena, im->m, in));
        }
        r->count = resized;
        return true;
}

/* Reads scales from operand `input`. */
static bool resize_scales(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r,
                          int input)
{
        double scales[RANK_MAX];
        int count;
        bool known;

        if (!onnx_want_float(im, n, input) || !onnx_want_rank(im, n, input, 1, 1) ||
            !onnx_operand_numbers(im, n, input, scales, RANK_MAX, &count, &known))
                return false;
        if (known)
                return resize_by(im, n, r, scales, count);
        r->scales = compose_cast(im->c, n->inputs[input], E_F64);
        if (!r->scales)
                return false;
        if (value_extent(r->scales, 0) != r->count)
                return onnx_invalid(im, n, "scales has %lld values, want %d",
                                    (long long)value_extent(r->scales, 0), r->count);
        return resize_declared(im, n, r);
}

/* Divides sizes that only a run knows by the extents of x. */
static bool resize_to_value(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r,
                            struct value *sizes, int policy)
{
        double *extents = arena_array(im->m->arena, RANK_MAX, sizeof *extents);
        const int64_t all[1] = { 0 };

        for (int i = 0; i < r->count; i++)
                extents[i] = (double)value_extent(n->inputs[0], r->axes[i]);
        const struct type *vector =
                type_tensor(im->m, E_F64, 1, (const dim_t[]){ dim_of(r->count) });
        r->scales = divide(im->c, compose_cast(im->c, sizes, E_F64),
                           constant_dense(im->m, vector, extents, NULL));
        if (policy != STRETCH)
                r->scales = compose_unreduce(
                        im->c,
                        compose_reduce(im->c, policy == NOT_LARGER ? REDUCE_min : REDUCE_max,
                                       r->scales, all, 1, E_COMPUTE),
                        vector, all, 1);
        return r->scales && resize_declared(im, n, r);
}

static bool resize_sizes(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r,
                         int input, int policy)
{
        const struct type *x = n->inputs[0]->type;
        struct amount sizes[AMOUNTS_MAX];
        double chosen = NAN;
        int count;
        bool known;

        if (!onnx_want_element(im, n, input, E_I64) ||
            !onnx_operand_amounts(im, n, input, sizes, RANK_MAX, &count, &known))
                return false;
        struct value *wanted = onnx_operand_vector(im, n, input);
        if (!wanted)
                return false;
        if (value_extent(wanted, 0) != r->count)
                return onnx_invalid(im, n, "sizes has %lld values, want %d",
                                    (long long)value_extent(wanted, 0), r->count);
        if (!known)
                return resize_to_value(im, n, r, wanted, policy);
        for (int i = 0; i < r->count; i++) {
                const dim_t in = x->dims[r->axes[i]];
                r->out[i] = amount_dim(sizes[i]);
                if (dim_equal(r->out[i], DIM_NONE))
                        return onnx_invalid(im, n, "sizes[%d] is %lld", i,
                                            (long long)sizes[i].number);
                r->scale[i] = 0;
                if (policy == STRETCH && !(dim_is_static(in) && dim_is_static(r->out[i])))
                        continue;
                r->scale[i] = (double)dim_extent(r->out[i]) / (double)dim_extent(in);
                if (isnan(chosen) ||
                    (policy == NOT_LARGER ? r->scale[i] < chosen : r->scale[i] > chosen))
                        chosen = r->scale[i];
        }
        for (int i = 0; policy != STRETCH && i < r->count; i++) {
                double extent = (double)value_extent(n->inputs[0], r->axes[i]);
                double out = floor(chosen * extent + 0.5);      /* Halves go up. */
                r->out[i] = dim_of(out < 9e18 ? (int64_t)out : INT64_MAX - 1);
                r->scale[i] = chosen;
        }
        return true;
}

static bool present(const struct onnx_node *n, int input)
{
        return onnx_input(n, input) && type_elements(n->inputs[input]->type) > 0;
}

/* Reads the axes, in the order in which the operands count them. */
static bool resize_axes(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r)
{
        const int64_t *given = NULL;
        bool taken[RANK_MAX] = { false };
        int rank = value_rank(n->inputs[0]);

        r->count = 0;
        if (n->opset >= 18 && !onnx_ints(im, n, "axes", &given, &r->count))
                return false;
        if (r->count > rank)
                return onnx_invalid(im, n, "axes has %d values for a tensor of rank %d", r->count,
                                    rank);
        if (r->count == 0) {            /* All of them, also where the list is there. */
                given = NULL;
                r->count = rank;
        }
        for (int i = 0; i < r->count; i++) {
                if (!onnx_axis(im, n, given ? given[i] : i, rank, &r->axes[i]))
                        return false;
                if (taken[r->axes[i]])
                        return onnx_invalid(im, n, "axis %d is given twice", r->axes[i]);
                taken[r->axes[i]] = true;
        }
        return true;
}

static bool resize_attributes(struct onnx_import *im, struct onnx_node *n, struct compose_resize *r,
                              int *policy)
{
        int64_t exclude, antialias = 0;
        static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
        static const char *const transforms[] = { "half_pixel",           "pytorch_half_pixel",
                                                  "align_corners",        "asymmetric",
                                                  "tf_crop_and_resize",   "half_pixel_symmetric",
                                                  "tf_half_pixel_for_nn", NULL };
        static const char *const rounds[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                              "ceil", NULL };
        static const char *const policies[] = { "stretch", "not_larger", "not_smaller", NULL };

        if (!onnx_choice(im, n, "mode", modes, RESIZE_NEAREST, &r->mode) ||
            !onnx_choice(im, n, "coordinate_transformation_mode", transforms, RESIZE_HALF_PIXEL,
                         &r->transform) ||
            !onnx_choice(im, n, "nearest_mode", rounds, NEAREST_PREFER_FLOOR, &r->round) ||
            !onnx_float(im, n, "cubic_coeff_a", -0.75f, &r->cubic) ||
            !onnx_float(im, n, "extrapolation_value", 0, &r->extrapolation) ||
            !onnx_int_range(im, n, "exclude_outside", 0, 0, 1, &exclude))
                return false;
        if (n->opset >= 18 &&
            (!onnx_int_range(im, n, "antialias", 0, 0, 1, &antialias) ||
             !onnx_choice(im, n, "keep_aspect_ratio_policy", policies, STRETCH, policy)))
                return false;
        r->exclude_outside = exclude;
        r->antialias = antialias;
        if (r->antialias && r->mode == RESIZE_NEAREST)
                return onnx_invalid(im, n, "antialias with mode nearest");
        return true;
}

bool onnx_import_resize(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_resize r = { .mode = RESIZE_NEAREST };
        int policy = STRETCH;

        if (!resize_axes(im, n, &r))
                return false;
        if (n->opset < 11) {
                static const char *const modes[] = { "nearest", "linear", NULL };
                r.transform = RESIZE_ASYMMETRIC;
                r.round = NEAREST_SIMPLE;
                return onnx_choice(im, n, "mode", modes, 0, &r.mode) &&
                       resize_scales(im, n, &r, 1) &&
                       onnx_output(n, 0, compose_resize(im->c, n->inputs[0], &r));
        }
        if (!resize_attributes(im, n, &r, &policy))
                return false;
        if (present(n, 2) == present(n, 3))
                return onnx_invalid(im, n, "%s scales and sizes are given, want one",
                                    present(n, 2) ? "both" : "neither");
        if (!(present(n, 3) ? resize_sizes(im, n, &r, 3, policy) : resize_scales(im, n, &r, 2)))
                return false;
        if (r.transform == RESIZE_TF_CROP_AND_RESIZE) {
                if (!present(n, 1) || !onnx_want_float(im, n, 1) || value_rank(n->inputs[1]) != 1 ||
                    value_extent(n->inputs[1], 0) != 2 * r.count)
                        return onnx_invalid(im, n, "tf_crop_and_resize wants a roi of %d numbers",
                                            2 * r.count);
                r.roi = compose_cast(im->c, n->inputs[1], E_F64);
                if (!r.roi)
                        return false;
        }
        return onnx_output(n, 0, compose_resize(im->c, n->inputs[0], &r));
}

bool onnx_import_upsample(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "nearest", "linear", NULL };
        struct compose_resize r = { .transform = RESIZE_ASYMMETRIC, .round = NEAREST_FLOOR };
        const float *stated = NULL;
        double scales[RANK_MAX];
        int count = 0;

        if (!onnx_choice(im, n, "mode", modes, 0, &r.mode) || !resize_axes(im, n, &r))
                return false;
        if (n->opset < 9 && !onnx_floats(im, n, "scales", &stated, &count))
                return false;
        if (n->opset < 9 ? !stated : !onnx_input(n, 1))
                return onnx_invalid(im, n, "scales is missing");
        for (int i = 0; i < count && i < RANK_MAX; i++)
                scales[i] = stated[i];
        return (n->opset < 9 ? resize_by(im, n, &r, scales, count) : resize_scales(im, n, &r, 1)) &&
               onnx_output(n, 0, compose_resize(im->c, n->inputs[0], &r));
}
