/* SPDX-License-Identifier: MIT */
/* GridSample and AffineGrid. Each neighbour of a sample point is one gather; outside the image a
 * neighbour is 0, clamped, or reflected. */
#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };
enum sample_padding { PADDING_ZEROS, PADDING_BORDER, PADDING_REFLECTION };
enum { TAPS_MAX = 4, COMBINATIONS_MAX = 64 };

struct sample {
        int mode, padding, taps;
        int64_t align;
        int64_t points; /* per batch entry */
};

/* the neighbours of all points along one spatial dimension: <batch x points> each */
struct neighbour {
        struct value *index, *inside, *weight;
};

static struct value *beyond(struct onnx_import *im, struct value *x, double low, double high)
{
        struct value *right = compose_with(im->c, OP_gt, x, high);
        return compose_binary(im->c, OP_or, compose_with(im->c, OP_lt, x, low), right);
}

/* x mirrored at low and high until it lies between them */
static struct value *reflected(struct onnx_import *im, struct value *x, double low, double high)
{
        double range = high - low;

        if (!x || !(range > 0))
                return x ? build_like(&im->b, x, low) : NULL;
        struct value *below = compose_with(im->c, OP_lt, x, low);
        struct value *past = compose_select(im->c, below, compose_from(im->c, OP_sub, low, x),
                                            plus(im->c, x, -high));
        struct value *times_over =
                compose_unary(im->c, OP_floor, compose_with(im->c, OP_div, past, range));
        struct value *rest = compose_binary(im->c, OP_sub, past, times(im->c, times_over, range));
        struct value *half =
                times(im->c, compose_unary(im->c, OP_floor, times(im->c, times_over, 0.5)), 2);
        struct value *odd = compose_binary(im->c, OP_ne, times_over, half);
        struct value *otherwise = compose_from(im->c, OP_sub, high, rest);
        struct value *back = compose_select(im->c, compose_binary(im->c, OP_xor, below, odd),
                                            plus(im->c, rest, low), otherwise);
        return compose_select(im->c, beyond(im, x, low, high), back, x);
}

/* where a coordinate of [-1, 1] lies along an extent, brought to the image as far as the padding
 * does so. Of cubic interpolation with a border each neighbour is clamped by itself, as in PyTorch
 * and onnxruntime; the standard's reference clamps the point between them, too. */
static struct value *denormalized(struct onnx_import *im, const struct sample *s, struct value *x,
                                  int64_t extent, double low, double high)
{
        if (s->align)
                x = times(im->c, plus(im->c, x, 1), ((double)extent - 1) / 2);
        else
                x = times(im->c, plus(im->c, times(im->c, plus(im->c, x, 1), (double)extent), -1),
                          0.5);
        if (s->mode == SAMPLE_NEAREST)
                x = compose_unary(im->c, OP_round, x);
        if (s->padding == PADDING_BORDER && s->mode == SAMPLE_CUBIC)
                return x;
        if (s->padding == PADDING_BORDER)
                return compose_select(im->c, beyond(im, x, low, high),
                                      clamp(im->c, x, 0, (double)extent - 1), x);
        return s->padding == PADDING_REFLECTION ? reflected(im, x, low, high) : x;
}

/* the weight of neighbour number k at fraction t past the one on the left */
static struct value *tap_weight(struct onnx_import *im, const struct sample *s, struct value *t,
                                int k)
{
        static const double a = -0.75;

        if (s->mode == SAMPLE_LINEAR)
                return k ? t : compose_from(im->c, OP_sub, 1, t);
        struct value *d =
                k < 2 ? plus(im->c, t, 1 - k)
                      : compose_from(im->c, OP_sub, k - 1, t); /* distance of neighbour k - 1 */
        if (k == 1 || k == 2)
                return plus(
                        im->c,
                        mul(im->c, plus(im->c, times(im->c, d, a + 2), -(a + 3)), mul(im->c, d, d)),
                        1);
        return plus(im->c,
                    mul(im->c,
                        plus(im->c, mul(im->c, plus(im->c, times(im->c, d, a), -5 * a), d), 8 * a),
                        d),
                    -4 * a);
}

static bool neighbours(struct onnx_import *im, const struct sample *s, struct value *x,
                       int64_t extent, enum element e, struct neighbour *taps)
{
        double low = s->align ? 0 : -0.5,
               high = s->align ? (double)extent - 1 : (double)extent - 0.5;

        x = denormalized(im, s, x, extent, low, high);
        struct value *base = compose_unary(im->c, OP_floor, x),
                     *t = base ? compose_binary(im->c, OP_sub, x, base) : NULL;
        for (int k = 0; k < s->taps; k++) {
                struct value *at = s->mode == SAMPLE_CUBIC ? plus(im->c, base, k - 1)
                                   : k                     ? plus(im->c, base, k)
                                                           : base;
                taps[k].inside = s->padding == PADDING_ZEROS
                                         ? compose_unary(im->c, OP_not,
                                                         beyond(im, at, 0, (double)extent - 1))
                                         : NULL;
                if (s->padding == PADDING_REFLECTION)
                        at = compose_unary(im->c, OP_trunc, reflected(im, at, low, high));
                taps[k].index = compose_cast(im->c, clamp(im->c, at, 0, (double)extent - 1), E_I32);
                taps[k].weight = s->mode == SAMPLE_NEAREST
                                         ? NULL
                                         : compose_cast(im->c, tap_weight(im, s, t, k), e);
                if (!taps[k].index)
                        return false;
        }
        return true;
}

/* image <N x C x pixels>; one neighbour of every point: its pixel times its weight */
static struct value *combination(struct onnx_import *im, struct value *image,
                                 const struct sample *s, struct neighbour (*taps)[TAPS_MAX],
                                 int dims, int number, const dim_t *extents)
{
        struct value *index = NULL, *inside = NULL, *weight = NULL;
        const int64_t onto[2] = { 0, 2 };

        for (int d = 0; d < dims; d++) {
                const struct neighbour *tap = &taps[d][number % s->taps];
                number /= s->taps;
                index = index ? add(im->c, times(im->c, index, (double)dim_extent(extents[d])),
                                    tap->index)
                              : tap->index;
                if (tap->inside)
                        inside = inside ? compose_binary(im->c, OP_and, inside, tap->inside)
                                        : tap->inside;
                if (tap->weight)
                        weight = weight ? mul(im->c, weight, tap->weight) : tap->weight;
        }
        const struct type *to =
                type_tensor(im->m, E_I64, 3,
                            (const dim_t[]){ dim_of(value_extent(image, 0)),
                                             dim_of(value_extent(image, 1)), dim_of(s->points) });
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", 2);
        index = compose_spread(im->c, index, to, onto);
        if (!index)
                return NULL;
        struct value *pixel = value_build(&im->b, OP_gather_elements,
                                          (struct value *[]){ image, index }, 2, attrs, NULL);
        if (inside && pixel)
                pixel = compose_select(im->c, compose_spread(im->c, inside, to, onto), pixel,
                                       build_like(&im->b, pixel, 0));
        return weight && pixel ? mul(im->c, pixel, compose_spread(im->c, weight, to, onto)) : pixel;
}

static bool sample_attributes(struct onnx_import *im, struct onnx_node *n, struct sample *s)
{
        static const char *const modes[] = { "nearest", "linear", "cubic", NULL },
                                 *const early[] = { "nearest", "bilinear", "bicubic", NULL };
        static const char *const paddings[] = { "zeros", "border", "reflection", NULL };

        if (!onnx_choice(im, n, "mode", n->opset < 20 ? early : modes, SAMPLE_LINEAR, &s->mode) ||
            !onnx_choice(im, n, "padding_mode", paddings, PADDING_ZEROS, &s->padding) ||
            !onnx_int_range(im, n, "align_corners", 0, 0, 1, &s->align))
                return false;
        s->taps = s->mode == SAMPLE_NEAREST ? 1 : s->mode == SAMPLE_LINEAR ? 2 : 4;
        return true;
}

bool onnx_import_grid_sample(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *grid = n->inputs[1], *sum = NULL;
        struct neighbour taps[RANK_MAX][TAPS_MAX];
        struct sample s = { .points = 1 };
        int rank = value_rank(x), dims = rank - 2, combinations = 1;
        dim_t result[RANK_MAX], pixels = dim_of(1);

        if (!onnx_want_rank(im, n, 0, 3, RANK_MAX) || !onnx_want_rank(im, n, 1, rank, rank) ||
            !onnx_want_float(im, n, 1) || !sample_attributes(im, n, &s))
                return false;
        if (value_extent(grid, 0) != value_extent(x, 0) || value_extent(grid, rank - 1) != dims)
                return onnx_invalid(im, n, "a grid %s for an image %s",
                                    type_text(im->arena, im->m, grid->type),
                                    type_text(im->arena, im->m, x->type));
        result[0] = dim_of(value_extent(x, 0));
        result[1] = dim_of(value_extent(x, 1));
        for (int d = 0; d < dims; d++) {
                result[d + 2] = dim_of(value_extent(grid, d + 1));
                s.points *= dim_extent(result[d + 2]);
                pixels = dim_of(dim_extent(pixels) * value_extent(x, d + 2));
                combinations =
                        combinations <= COMBINATIONS_MAX ? combinations * s.taps : combinations;
        }
        if (combinations > COMBINATIONS_MAX)
                return onnx_unsupported(im, n, "more than %d neighbours of a point",
                                        COMBINATIONS_MAX);
        enum element e = value_element(x), computed = compose_wide_element(e);
        if (!element_is_float(e) && s.mode != SAMPLE_NEAREST)
                return onnx_unsupported(im, n, "interpolation of %s", element_info[e].text);
        const struct type *to = compose_type(im->c, e, rank, result);
        if (!to)
                return false;
        if (type_elements(to) == 0 || dim_is(pixels, 0))
                return dim_extent(pixels) || type_elements(to) == 0
                               ? onnx_output(n, 0, constant_number(im->m, to, 0))
                               : onnx_invalid(im, n, "an image without pixels");
        grid = compose_reshape(
                im->c, compose_wide(im->c, grid), 3,
                (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(s.points), dim_of(dims) });
        x = compose_reshape(
                im->c, compose_cast(im->c, x, computed), 3,
                (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(value_extent(x, 1)), pixels });
        if (!grid || !x)
                return false;
        for (int d = 0; d < dims; d++) /* the grid counts dimensions from the last */
                if (!neighbours(im, &s,
                                build_gather(&im->b, grid,
                                             compose_integer(im->c, E_I64, dims - 1 - d), 2),
                                value_extent(n->inputs[0], d + 2), computed, taps[d]))
                        return false;
        for (int i = 0; i < combinations; i++) {
                struct value *term =
                        combination(im, x, &s, taps, dims, i, n->inputs[0]->type->dims + 2);
                sum = sum ? add(im->c, sum, term) : term;
                if (!sum)
                        return false;
        }
        return onnx_output(n, 0, compose_cast(im->c, compose_reshape(im->c, sum, rank, result), e));
}

/* theta [N, d, d + 1] applied to the points of a regular grid over [-1, 1]: [N, size, d] */
bool onnx_import_affine_grid(struct onnx_import *im, struct onnx_node *n)
{
        struct value *theta = compose_wide(im->c, n->inputs[0]), *sum = NULL;
        int64_t align, size[RANK_MAX];
        int count, dims = (int)type_elements(n->inputs[1]->type) - 2;
        dim_t result[RANK_MAX];
        bool known;
        const struct type *to;

        if (!onnx_want_float(im, n, 0) || !onnx_want_element(im, n, 1, E_I64) ||
            !onnx_int_range(im, n, "align_corners", 0, 0, 1, &align) ||
            !onnx_operand_ints(im, n, 1, size, RANK_MAX, &count, &known) || !theta)
                return false;
        if ((dims != 2 && dims != 3) || value_rank(theta) != 3 || value_extent(theta, 1) != dims ||
            value_extent(theta, 2) != dims + 1)
                return onnx_invalid(im, n, "theta is %s for a size of %d numbers",
                                    type_text(im->arena, im->m, theta->type), dims + 2);
        if (known) {
                if (size[0] != value_extent(theta, 0))
                        return onnx_invalid(im, n, "size has %lld images, theta %lld",
                                            (long long)size[0], (long long)value_extent(theta, 0));
                for (int d = 0; d <= dims; d++)
                        result[d] = dim_of(d ? size[d + 1] : size[0]);
                result[dims + 1] = dim_of(dims);
                to = compose_type(im->c, value_element(theta), dims + 2, result);
        } else {
                to = onnx_declared_as(im, n, 0, value_element(n->inputs[0]), dims + 2);
                if (to && (!dim_is(to->dims[0], value_extent(theta, 0)) ||
                           !dim_is(to->dims[dims + 1], dims)))
                        return onnx_invalid(im, n, "output 0 is declared as %s",
                                            type_text(im->arena, im->m, to));
                to = to ? type_with_element(im->m, to, value_element(theta)) : NULL;
        }
        if (!to)
                return false;
        const int64_t onto[2] = { 0, dims + 1 };
        for (int m = 0; m <= dims; m++) {
                struct value *factor = compose_spread(
                        im->c, build_gather(&im->b, theta, compose_integer(im->c, E_I64, m), 2), to,
                        onto);
                if (m < dims) { /* x first, which is the last dimension */
                        int64_t extent = type_extent(to, dims - m);
                        struct value *at = compose_iota(im->c, to->element, extent);
                        at = align ? times(im->c, at, extent > 1 ? 2 / ((double)extent - 1) : 0)
                                   : compose_with(im->c, OP_div,
                                                  plus(im->c, times(im->c, at, 2), 1),
                                                  (double)extent);
                        factor = mul(im->c, factor,
                                     compose_spread(im->c, plus(im->c, at, -1), to,
                                                    (const int64_t[]){ dims - m }));
                }
                sum = sum ? add(im->c, sum, factor) : factor;
                if (!sum)
                        return false;
        }
        return onnx_output(n, 0, compose_cast(im->c, sum, value_element(n->inputs[0])));
}
