/* SPDX-License-Identifier: MIT */
/* Resize and Upsample: interpolation, separable, one axis after the other. For each axis the
 * coordinate of every output in the input is a vector that tensor operations compute (so
 * scales, sizes and regions may be run-time values; constant ones fold away); the neighbours are
 * gathered and their weighted sum taken. */
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum resize_transform {
        HALF_PIXEL,
        PYTORCH_HALF_PIXEL,
        ALIGN_CORNERS,
        ASYMMETRIC,
        TF_CROP_AND_RESIZE,
        HALF_PIXEL_SYMMETRIC,
        TF_HALF_PIXEL_FOR_NN
};
/* ROUND_SIMPLE: of opset 10, as onnxruntime reads it: up where it shrinks, else down */
enum resize_round { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL, ROUND_SIMPLE };
enum resize_policy { STRETCH, NOT_LARGER, NOT_SMALLER };

struct resize {
        int mode, transform, round, policy;
        int64_t exclude_outside, antialias;
        float cubic, extrapolation;
        int count; /* axes that are resized */
        int axes[RANK_MAX];
        int64_t out[RANK_MAX]; /* per entry of axes */
        double known_scale[RANK_MAX]; /* NaN when it is a run-time value */
        bool by_sizes;
        struct value *scales; /* <count x f64> */
        struct value *roi; /* <2 count x f64>: starts, then ends; or NULL */
};

static struct value *divide(struct onnx_import *im, struct value *x, struct value *y)
{
        return compose_binary(im->c, OP_div, x, y);
}
static struct value *entry(struct onnx_import *im, struct value *v, int i)
{
        return v ? build_gather(&im->b, v, compose_integer(im->c, E_I64, i), 0) : NULL;
}

/* ---- coordinates ---- */

/* (y + 0.5) / scale - 0.5 */
static struct value *half_pixel(struct onnx_import *im, struct value *y, struct value *scale)
{
        return plus(im->c, divide(im, plus(im->c, y, 0.5), scale), -0.5);
}

/* What coordinates are computed in. Where a rounded one decides which element is taken, that is f32
 * and the scale as it is given, as in onnxruntime and PyTorch: by 1/3 in f32, output 1 is element
 * 3, which is element 2.99999991 in f64, as in the standard's reference, which --exact follows. */
static enum element coordinate_element(const struct onnx_import *im, const struct resize *r)
{
        bool decides = r->mode == RESIZE_NEAREST || r->transform == TF_CROP_AND_RESIZE;
        return decides && !im->context->exact ? E_F32 : E_F64;
}

/* of the part roi[start], roi[end] of the input; *outside: which are not in the input */
static struct value *cropped(struct onnx_import *im, const struct resize *r, int i, int64_t in,
                             struct value *y, struct value **outside)
{
        enum element e = value_element(y);
        double out = (double)r->out[i];
        struct value *start = compose_cast(im->c, entry(im, r->roi, i), e),
                     *end = compose_cast(im->c, entry(im, r->roi, r->count + i), e), *x;
        if (!start || !end)
                return NULL;
        if (out > 1)
                x = add(im->c, times(im->c, start, (double)in - 1),
                        compose_with(im->c, OP_div,
                                     times(im->c,
                                           mul(im->c, y, compose_binary(im->c, OP_sub, end, start)),
                                           (double)in - 1),
                                     out - 1));
        else
                x = add(im->c, times(im->c, y, 0),
                        times(im->c, times(im->c, add(im->c, start, end), 0.5), (double)in - 1));
        struct value *above = compose_with(im->c, OP_gt, x, (double)in - 1);
        *outside = compose_binary(im->c, OP_or, compose_with(im->c, OP_lt, x, 0), above);
        return x;
}

/* where output y of axis number i lies in the input: <out x f64>. *outside: for a cropped region,
 * which lie outside the input. The text's length_resized is the extent of the result; the
 * standard's reference has scale times length there, which onnxruntime and PyTorch have not. */
static struct value *coordinates(struct onnx_import *im, const struct resize *r, int i, int64_t in,
                                 struct value **outside)
{
        enum element e = coordinate_element(im, r);
        double out = (double)r->out[i];
        struct value *y = compose_iota(im->c, e, r->out[i]),
                     *scale = compose_cast(im->c, entry(im, r->scales, i), e);

        *outside = NULL;
        if (!y || !scale)
                return NULL;
        switch (r->transform) {
        case ALIGN_CORNERS:
                return out == 1 ? y
                                : compose_with(im->c, OP_div, times(im->c, y, (double)in - 1),
                                               out - 1);
        case ASYMMETRIC: return divide(im, y, scale);
        case TF_HALF_PIXEL_FOR_NN: return divide(im, plus(im->c, y, 0.5), scale);
        case PYTORCH_HALF_PIXEL: return out == 1 ? y : half_pixel(im, y, scale);
        case HALF_PIXEL_SYMMETRIC: {
                struct value *adjustment =
                        compose_from(im->c, OP_div, out, times(im->c, scale, (double)in));
                struct value *right =
                        times(im->c, compose_from(im->c, OP_sub, 1, adjustment), (double)in / 2);
                return add(im->c, half_pixel(im, y, scale), right);
        }
        case TF_CROP_AND_RESIZE: return cropped(im, r, i, in, y, outside);
        default: return half_pixel(im, y, scale);
        }
}

/* a coordinate as an index into [0, in) */
static struct value *index_at(struct onnx_import *im, struct value *x, int64_t in)
{
        return compose_cast(
                im->c,
                compose_with(im->c, OP_min, compose_with(im->c, OP_max, x, 0), (double)in - 1),
                E_I64);
}

/* of a smaller result the next, of a larger one the one before */
static struct value *nearest_simple(struct onnx_import *im, const struct resize *r, int i, struct value *x)
{
        struct value *before = compose_unary(im->c, OP_floor, x),
                     *next = compose_unary(im->c, OP_ceil, x);
        return compose_select(im->c, compose_with(im->c, OP_lt, entry(im, r->scales, i), 1), next,
                              before);
}

static struct value *nearest(struct onnx_import *im, const struct resize *r, int i, struct value *x)
{
        switch (r->round) {
        case ROUND_SIMPLE: return nearest_simple(im, r, i, x);
        case ROUND_PREFER_FLOOR: return compose_unary(im->c, OP_ceil, plus(im->c, x, -0.5));
        case ROUND_PREFER_CEIL: return compose_unary(im->c, OP_floor, plus(im->c, x, 0.5));
        case ROUND_FLOOR: return compose_unary(im->c, OP_floor, x);
        default: return compose_unary(im->c, OP_ceil, x);
        }
}

/* ---- weights ---- */

/* the interpolation kernel at distance d >= 0: a tent of width 1, or Keys' cubic of width 2 */
static struct value *kernel(struct onnx_import *im, const struct resize *r, struct value *d)
{
        double a = r->cubic;

        if (r->mode == RESIZE_LINEAR)
                return compose_with(im->c, OP_max, compose_from(im->c, OP_sub, 1, d), 0);
        struct value *square = mul(im->c, d, d);
        struct value *near =
                plus(im->c, mul(im->c, plus(im->c, times(im->c, d, a + 2), -(a + 3)), square), 1);
        struct value *far = plus(
                im->c,
                mul(im->c,
                    plus(im->c, mul(im->c, plus(im->c, times(im->c, d, a), -5 * a), d), 8 * a), d),
                -4 * a);
        struct value *zero = build_scalar(&im->b, E_F64, 0);
        struct value *otherwise =
                compose_select(im->c, compose_with(im->c, OP_lt, d, 2), far, zero);
        return compose_select(im->c, compose_with(im->c, OP_le, d, 1), near, otherwise);
}

/* elements to each side that the kernel of axis i reaches */
static int64_t kernel_reach(const struct resize *r, int i, int64_t in)
{
        double width = r->mode == RESIZE_LINEAR ? 1 : 2, scale = r->known_scale[i];

        if (!r->antialias)
                return (int64_t)width;
        if (isnan(scale)) /* at least this, for so many outputs */
                scale = ((double)r->out[i] - 0.5) / (double)in;
        double reach = ceil(width / (scale < 1 ? scale : 1));
        return reach < NUMBER_MAX ? (int64_t)reach : NUMBER_MAX;
}

/* ---- one axis ---- */

/* y over to's shape, where y's two dimensions are axis and axis + 1 */
static struct value *spread_taps(struct onnx_import *im, struct value *v, const struct type *to,
                                 int axis)
{
        return compose_spread(im->c, v, to, (const int64_t[]){ axis, axis + 1 });
}

/* the sum of many neighbours: all picked at once */
static struct value *sum_picked(struct onnx_import *im, struct value *data, int axis,
                                struct value *index, struct value *weight)
{
        dim_t dims[2 * RANK_MAX];
        int rank = value_rank(data);
        for (int d = 0; d <= rank; d++)
                dims[d] = dim_of(d == axis || d == axis + 1
                                         ? value_extent(index, d - axis)
                                         : value_extent(data, d < axis ? d : d - 1));
        const struct type *wide = compose_type(im->c, value_element(data), rank + 1, dims);
        struct value *picked = wide ? build_gather(&im->b, data, index, axis) : NULL;
        return picked ? compose_reduce(im->c, REDUCE_sum,
                                       mul(im->c, picked, spread_taps(im, weight, wide, axis)),
                                       (const int64_t[]){ axis + 1 }, 1, E_COMPUTE)
                      : NULL;
}

/* the sum of a few neighbours: one product for each */
static struct value *sum_taps(struct onnx_import *im, struct value *data, int axis,
                              struct value *index, struct value *weight)
{
        struct value *sum = NULL;
        for (int k = 0; k < value_extent(index, 1); k++) {
                struct value *tap = compose_integer(im->c, E_I64, k),
                             *column = build_gather(&im->b, index, tap, 1);
                struct value *picked = column ? build_gather(&im->b, data, column, axis) : NULL;
                if (!picked)
                        return NULL;
                picked = mul(im->c, picked,
                             compose_along(im->c, build_gather(&im->b, weight, tap, 1),
                                           picked->type, axis));
                sum = sum ? add(im->c, sum, picked) : picked;
        }
        return sum;
}

/* weights of the neighbours `at` of x along axis i, which are `distance` from it */
static struct value *tap_weights(struct onnx_import *im, const struct resize *r, int i, int64_t in,
                                 struct value *at, struct value *distance)
{
        const int64_t along_taps[1] = { 1 };
        if (r->antialias)
                distance = mul(im->c, distance,
                               compose_with(im->c, OP_min, entry(im, r->scales, i), 1));
        struct value *weight = kernel(im, r, distance);
        if (r->exclude_outside) {
                struct value *above = compose_with(im->c, OP_gt, at, (double)in - 1);
                struct value *beyond =
                        compose_binary(im->c, OP_or, compose_with(im->c, OP_lt, at, 0), above);
                weight = compose_select(im->c, beyond, build_scalar(&im->b, E_F64, 0), weight);
        }
        if (!r->exclude_outside && !r->antialias)
                return weight;
        struct value *sum = compose_reduce(im->c, REDUCE_sum, weight, along_taps, 1, E_COMPUTE);
        sum = compose_select(im->c, compose_with(im->c, OP_eq, sum, 0),
                             build_scalar(&im->b, E_F64, 1), sum);
        return at ? divide(im, weight, compose_unreduce(im->c, sum, at->type, along_taps, 1))
                  : NULL;
}

static struct value *interpolate(struct onnx_import *im, const struct resize *r, int i,
                                 struct value *data, struct value *x)
{
        enum { FEW = 4 };
        int axis = r->axes[i];
        int64_t in = value_extent(data, axis), reach = kernel_reach(r, i, in), taps = 2 * reach;
        const struct type *table =
                compose_type(im->c, E_F64, 2, (const dim_t[]){ dim_of(r->out[i]), dim_of(taps) });
        struct value *base = compose_unary(im->c, OP_floor, x);

        if (!table || !base)
                return NULL;
        /* neighbours base + 1 - reach, ..., base + reach, and their distances from x */
        struct value *offset = plus(im->c, compose_iota(im->c, E_F64, taps), 1 - (double)reach);
        struct value *right = compose_spread(im->c, offset, table, (const int64_t[]){ 1 });
        struct value *at =
                add(im->c, compose_spread(im->c, base, table, (const int64_t[]){ 0 }), right);
        struct value *distance = compose_unary(
                im->c, OP_abs,
                compose_binary(im->c, OP_sub, at,
                               compose_spread(im->c, x, table, (const int64_t[]){ 0 })));
        struct value *weight =
                compose_cast(im->c, tap_weights(im, r, i, in, at, distance), value_element(data));
        struct value *index = index_at(im, at, in);
        if (!weight || !index)
                return NULL;
        return taps > FEW ? sum_picked(im, data, axis, index, weight)
                          : sum_taps(im, data, axis, index, weight);
}

static struct value *resize(struct onnx_import *im, struct onnx_node *n, const struct resize *r)
{
        struct value *x = n->inputs[0], *masks[RANK_MAX] = { NULL };
        enum element e = value_element(x), computed = compose_wide_element(e);

        if (r->mode != RESIZE_NEAREST && !element_is_float(e))
                computed = element_info[e].bytes < 4 ? E_F32 : E_F64;
        x = compose_cast(im->c, x, computed);
        for (int i = 0; i < r->count && x; i++) {
                int64_t in = value_extent(x, r->axes[i]);
                if (r->out[i] == in && r->known_scale[i] == 1 && r->transform != TF_CROP_AND_RESIZE)
                        continue;
                struct value *at = compose_cast(im->c, coordinates(im, r, i, in, &masks[i]), E_F64);
                if (r->mode == RESIZE_NEAREST) {
                        struct value *index = index_at(im, nearest(im, r, i, at), in);
                        x = index ? build_gather(&im->b, x, index, r->axes[i]) : NULL;
                } else {
                        x = interpolate(im, r, i, x, at);
                }
        }
        for (int i = 0; i < r->count && x; i++)
                if (masks[i])
                        x = compose_select(im->c,
                                           compose_along(im->c, masks[i], x->type, r->axes[i]),
                                           build_like(&im->b, x, r->extrapolation), x);
        if (!element_is_float(e) && r->mode != RESIZE_NEAREST)
                x = compose_unary(im->c, OP_round, x);
        return compose_cast(im->c, x, e);
}

/* ---- operands ---- */

static bool resize_dims_ok(struct onnx_import *im, struct onnx_node *n, struct resize *r)
{
        const struct type *x = n->inputs[0]->type;
        dim_t dims[RANK_MAX];

        for (int d = 0; d < x->rank; d++)
                dims[d] = x->dims[d];
        for (int i = 0; i < r->count; i++) {
                if (dim_is(x->dims[r->axes[i]], 0) && r->out[i] != 0)
                        return onnx_invalid(im, n, "an extent of 0 resized to %lld",
                                            (long long)r->out[i]);
                dims[r->axes[i]] = dim_of(r->out[i]);
        }
        return compose_type(im->c, x->element, x->rank, dims) != NULL;
}

/* extents of the result that are not known from constants */
static bool resize_declared(struct onnx_import *im, struct onnx_node *n, struct resize *r)
{
        const struct type *x = n->inputs[0]->type,
                          *to = onnx_declared_as(im, n, 0, x->element, x->rank);

        for (int i = 0; to && i < r->count; i++) {
                r->out[i] = type_extent(to, r->axes[i]);
                r->known_scale[i] = NAN;
        }
        return to != NULL;
}

/* scales from operand `input`, or from the numbers `given` (an attribute of Upsample before opset
 * 9) */
static bool resize_scales(struct onnx_import *im, struct onnx_node *n, struct resize *r, int input,
                          const float *given, int given_count)
{
        const struct type *x = n->inputs[0]->type;
        double scales[RANK_MAX];
        int count = given_count;
        bool known = true;

        if (given) {
                double *copy = arena_array(im->m->arena, (size_t)count + 1, sizeof *copy);
                for (int i = 0; i < count; i++)
                        copy[i] = given[i];
                for (int i = 0; i < count && i < RANK_MAX; i++)
                        scales[i] = given[i];
                r->scales = constant_dense(
                        im->m, type_tensor(im->m, E_F64, 1, (const dim_t[]){ dim_of(count) }), copy,
                        NULL);
        } else {
                if (!onnx_want_float(im, n, input) || !onnx_want_rank(im, n, input, 1, 1) ||
                    !onnx_operand_numbers(im, n, input, scales, RANK_MAX, &count, &known))
                        return false;
                r->scales = compose_cast(im->c, n->inputs[input], E_F64);
        }
        if (!r->scales)
                return false;
        if (value_extent(r->scales, 0) != r->count)
                return onnx_invalid(im, n, "scales has %lld values, want %d",
                                    (long long)value_extent(r->scales, 0), r->count);
        if (!known)
                return resize_declared(im, n, r);
        for (int i = 0; i < r->count; i++) {
                float extent = (float)type_extent(x, r->axes[i]),
                      product = floorf(extent * (float)scales[i]);
                if (!(scales[i] > 0) || isinf(scales[i]))
                        return onnx_invalid(im, n, "scales[%d] is %g", i, scales[i]);
                r->out[i] = product < 9e18f ? (int64_t)product : INT64_MAX;
                r->known_scale[i] = scales[i];
        }
        return true;
}

static bool resize_sizes(struct onnx_import *im, struct onnx_node *n, struct resize *r, int input)
{
        const struct type *x = n->inputs[0]->type;
        double *extents = arena_array(im->m->arena, RANK_MAX, sizeof *extents), chosen = NAN;
        int64_t sizes[RANK_MAX];
        const int64_t all[1] = { 0 };
        int count;
        bool known;

        if (!onnx_want_element(im, n, input, E_I64) ||
            !onnx_operand_ints(im, n, input, sizes, RANK_MAX, &count, &known))
                return false;
        struct value *wanted = onnx_operand_vector(im, n, input);
        if (!wanted)
                return false;
        if (value_extent(wanted, 0) != r->count)
                return onnx_invalid(im, n, "sizes has %lld values, want %d",
                                    (long long)value_extent(wanted, 0), r->count);
        r->by_sizes = true;
        for (int i = 0; i < r->count; i++)
                extents[i] = (double)type_extent(x, r->axes[i]);
        const struct type *vector =
                type_tensor(im->m, E_F64, 1, (const dim_t[]){ dim_of(r->count) });
        r->scales = divide(im, compose_cast(im->c, wanted, E_F64),
                           constant_dense(im->m, vector, extents, NULL));
        if (r->policy != STRETCH)
                r->scales = compose_unreduce(
                        im->c,
                        compose_reduce(im->c, r->policy == NOT_LARGER ? REDUCE_min : REDUCE_max,
                                       r->scales, all, 1, E_COMPUTE),
                        vector, all, 1);
        if (!r->scales)
                return false;
        if (!known)
                return resize_declared(im, n, r);
        for (int i = 0; i < r->count; i++) {
                if (sizes[i] < 0)
                        return onnx_invalid(im, n, "sizes[%d] is %lld", i, (long long)sizes[i]);
                r->out[i] = sizes[i];
                r->known_scale[i] = (double)sizes[i] / extents[i];
                if (isnan(chosen) || (r->policy == NOT_LARGER ? r->known_scale[i] < chosen
                                                              : r->known_scale[i] > chosen))
                        chosen = r->known_scale[i];
        }
        for (int i = 0; r->policy != STRETCH && i < r->count; i++) {
                double product = floor(chosen * extents[i] + 0.5); /* halves go up */
                r->out[i] = product < 9e18 ? (int64_t)product : INT64_MAX;
                r->known_scale[i] = chosen;
        }
        return true;
}

static bool present(const struct onnx_node *n, int input)
{
        return onnx_input(n, input) && type_elements(n->inputs[input]->type) > 0;
}

/* the axes in the order that the operands count them */
static bool resize_axes(struct onnx_import *im, struct onnx_node *n, struct resize *r)
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
        if (!given || r->count == 0)
                r->count = rank;
        for (int i = 0; i < r->count; i++) {
                if (!onnx_axis(im, n, given ? given[i] : i, rank, &r->axes[i]))
                        return false;
                if (taken[r->axes[i]])
                        return onnx_invalid(im, n, "axis %d is given twice", r->axes[i]);
                taken[r->axes[i]] = true;
        }
        return true;
}

static bool resize_attributes(struct onnx_import *im, struct onnx_node *n, struct resize *r)
{
        static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
        static const char *const transforms[] = { "half_pixel",           "pytorch_half_pixel",
                                                  "align_corners",        "asymmetric",
                                                  "tf_crop_and_resize",   "half_pixel_symmetric",
                                                  "tf_half_pixel_for_nn", NULL };
        static const char *const rounds[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
                                              "ceil", NULL };
        static const char *const policies[] = { "stretch", "not_larger", "not_smaller", NULL };

        if (!onnx_choice(im, n, "mode", modes, RESIZE_NEAREST, &r->mode) ||
            !onnx_choice(im, n, "coordinate_transformation_mode", transforms, HALF_PIXEL,
                         &r->transform) ||
            !onnx_choice(im, n, "nearest_mode", rounds, ROUND_PREFER_FLOOR, &r->round) ||
            !onnx_float(im, n, "cubic_coeff_a", -0.75f, &r->cubic) ||
            !onnx_float(im, n, "extrapolation_value", 0, &r->extrapolation) ||
            !onnx_int_range(im, n, "exclude_outside", 0, 0, 1, &r->exclude_outside))
                return false;
        if (n->opset >= 18 &&
            (!onnx_int_range(im, n, "antialias", 0, 0, 1, &r->antialias) ||
             !onnx_choice(im, n, "keep_aspect_ratio_policy", policies, STRETCH, &r->policy)))
                return false;
        if (r->antialias && r->mode == RESIZE_NEAREST)
                return onnx_invalid(im, n, "antialias with mode nearest");
        return true;
}

bool onnx_import_resize(struct onnx_import *im, struct onnx_node *n)
{
        struct resize r = { .mode = RESIZE_NEAREST };

        if (!resize_axes(im, n, &r))
                return false;
        if (n->opset < 11) {
                static const char *const modes[] = { "nearest", "linear", NULL };
                r.transform = ASYMMETRIC;
                r.round = ROUND_SIMPLE;
                return onnx_choice(im, n, "mode", modes, 0, &r.mode) &&
                       resize_scales(im, n, &r, 1, NULL, 0) && resize_dims_ok(im, n, &r) &&
                       onnx_output(n, 0, resize(im, n, &r));
        }
        if (!resize_attributes(im, n, &r))
                return false;
        if (present(n, 2) == present(n, 3))
                return onnx_invalid(im, n, "%s scales and sizes are given, want one",
                                    present(n, 2) ? "both" : "neither");
        if (!(present(n, 3) ? resize_sizes(im, n, &r, 3) : resize_scales(im, n, &r, 2, NULL, 0)) ||
            !resize_dims_ok(im, n, &r))
                return false;
        if (r.transform == TF_CROP_AND_RESIZE) {
                if (!present(n, 1) || !onnx_want_float(im, n, 1) || value_rank(n->inputs[1]) != 1 ||
                    value_extent(n->inputs[1], 0) != 2 * r.count)
                        return onnx_invalid(im, n, "tf_crop_and_resize wants a roi of %d numbers",
                                            2 * r.count);
                r.roi = compose_cast(im->c, n->inputs[1], E_F64);
                if (!r.roi)
                        return false;
        }
        return onnx_output(n, 0, resize(im, n, &r));
}

bool onnx_import_upsample(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const modes[] = { "nearest", "linear", NULL };
        struct resize r = { .transform = ASYMMETRIC, .round = ROUND_FLOOR };
        const float *scales = NULL;
        int count = 0;

        if (!onnx_choice(im, n, "mode", modes, 0, &r.mode) || !resize_axes(im, n, &r))
                return false;
        if (n->opset < 9 && !onnx_floats(im, n, "scales", &scales, &count))
                return false;
        if (n->opset < 9 ? !scales : !onnx_input(n, 1))
                return onnx_invalid(im, n, "scales is missing");
        return resize_scales(im, n, &r, 1, scales, count) && resize_dims_ok(im, n, &r) &&
               onnx_output(n, 0, resize(im, n, &r));
}
