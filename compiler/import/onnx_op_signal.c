/* SPDX-License-Identifier: MIT */
/* Signal processing: DFT, STFT, window functions. A transform is a product with the matrix of its
 * roots of unity, which tensor operations compute from indices reduced modulo the period, so angles
 * stay small and exact; one of many elements is several small ones (J. W. Cooley and J. W. Tukey,
 * An algorithm for the machine calculation of complex Fourier series, 1965). */
#include "compiler/import/onnx_helpers.h"

static const double turn = 6.283185307179586477; /* 2 pi */

struct transform {
        int64_t period;
        int64_t in, in_parts; /* extents of the operand: along the axis, and 1 or 2 for real or
                               * complex */
        int64_t out, out_parts;
        bool inverse, folded;           /* folded: the operand holds half of a symmetric spectrum */
};

/* cos(turn * (i k / period + quarters / 4)) */
static struct value *cosines(struct onnx_import *im, struct value *i, struct value *k,
                             struct value *quarters, int64_t period)
{
        struct value *at = compose_with(
                im->c, OP_mul,
                compose_with(im->c, OP_rem, compose_binary(im->c, OP_mul, i, k), (double)period),
                4);

        at = compose_binary(im->c, OP_add, at,
                            compose_with(im->c, OP_mul, quarters, (double)period));
        return compose_unary(im->c, OP_cos,
                             compose_with(im->c, OP_mul, compose_cast(im->c, at, E_F64),
                                          turn / (4 * (double)period)));
}

/* <in x in_parts x out x out_parts x f64>: part 1 is the imaginary one, a quarter turn away; the
 * inverse turns the other way */
static struct value *roots(struct onnx_import *im, const struct transform *t)
{
        const dim_t dims[4] = { dim_of(t->in), dim_of(t->in_parts), dim_of(t->out),
                                dim_of(t->out_parts) };
        const struct type *index = compose_type(im->c, E_I64, 4, dims);

        if (!index)
                return NULL;
        struct value *i = build_iota(&im->b, index, 0), *k = build_iota(&im->b, index, 2);
        struct value *right = build_iota(&im->b, index, t->inverse ? 3 : 1);
        struct value *quarters =
                compose_binary(im->c, OP_sub, build_iota(&im->b, index, t->inverse ? 1 : 3), right);
        struct value *root = cosines(im, i, k, quarters, t->period);
        if (t->folded) { /* every element but the first, and the middle one, stands for two */
                struct value *middle = compose_with(im->c, OP_eq, compose_with(im->c, OP_mul, i, 2),
                                                    (double)t->period);
                struct value *one =
                        compose_binary(im->c, OP_or, compose_with(im->c, OP_eq, i, 0), middle);
                root = compose_select(im->c, one, root, compose_with(im->c, OP_mul, root, 2));
        }
        return t->inverse ? compose_with(im->c, OP_div, root, (double)t->period) : root;
}

/* ---- in steps ---- */

/* of the first step; n itself: there is but one */
static int64_t factor_of(int64_t n)
{
        enum { ONE_STEP = 32, FACTOR_MAX = 16 };

        for (int64_t factor = FACTOR_MAX; factor > 1 && n > ONE_STEP; factor--)
                if (n % factor == 0)
                        return factor;
        return n;
}

/* y <rows x q x 2 x p> times exp(-turn i (row of q) (column of p) / (p q)); the inverse turns the
 * other way */
static struct value *twiddled(struct onnx_import *im, struct value *y, bool inverse)
{
        const int64_t onto[3] = { 1, 2, 3 }, starts[4] = { 0, 0, 1, 0 }, steps[4] = { 1, 1, -1, 1 };
        const struct type *index = y ? type_tensor(im->m, E_I64, 3, y->type->dims + 1) : NULL;

        if (!y)
                return NULL;
        struct value *i = build_iota(&im->b, index, 0), *part = build_iota(&im->b, index, 1),
                     *k = build_iota(&im->b, index, 2);
        int64_t period = type_extent(index, 0) * type_extent(index, 2);
        struct value *same = cosines(im, i, k, compose_with(im->c, OP_mul, part, 0), period);
        struct value *quarters =
                compose_with(im->c, OP_sub, compose_with(im->c, OP_mul, part, 2), 1);
        struct value *other = cosines(
                im, i, k, inverse ? compose_unary(im->c, OP_neg, quarters) : quarters, period);
        same = compose_spread(im->c, compose_cast(im->c, same, value_element(y)), y->type, onto);
        other = compose_spread(im->c, compose_cast(im->c, other, value_element(y)), y->type, onto);
        struct value *swapped = build_slice(&im->b, y, starts, steps, y->type->dims);
        struct value *right = compose_binary(im->c, OP_mul, swapped, other);
        return compose_binary(im->c, OP_add, compose_binary(im->c, OP_mul, y, same), right);
}

/* x <rows x parts x n> as <rows x 2 x n>. With n = p q, p transforms follow q ones of every q-th
 * element:
 *     y[k1 + p k2] = sum over i2 of w_q^(i2 k2) w_n^(i2 k1) (sum over i1 of w_p^(i1 k1) x[q i1 +
 *     i2]) */
static struct value *spectrum(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                              bool inverse)
{
        const int64_t over_x[2] = { 1, 2 }, over_roots[2] = { 0, 1 };
        struct attr *attrs = attrs_new(im->m, OP_dot);

        if (!x)
                return NULL;
        int64_t rows = value_extent(x, 0), length = value_extent(x, 2), p = factor_of(length),
                q = length / p;
        const struct transform t = { .period = p,
                                     .in = p,
                                     .in_parts = value_extent(x, 1),
                                     .out = p,
                                     .out_parts = 2,
                                     .inverse = inverse };
        struct value *matrix = compose_cast(im->c, roots(im, &t), value_element(x));
        matrix = matrix ? build_transpose(&im->b, matrix, (const int64_t[]){ 1, 0, 3, 2 }) : NULL;
        x = compose_reshape(
                im->c, x, 4,
                (const dim_t[]){ dim_of(rows), dim_of(t.in_parts), dim_of(p), dim_of(q) });
        if (!x || !matrix)
                return NULL;
        attr_set_ints(im->m, attrs, OP_dot, "contract_a", over_x, 2);
        attr_set_ints(im->m, attrs, OP_dot, "contract_b", over_roots, 2);
        x = value_build(&im->b, OP_dot, (struct value *[]){ x, matrix }, 2, attrs, NULL);
        if (q > 1) {
                x = twiddled(im, x, inverse);
                x = x ? build_transpose(&im->b, x, (const int64_t[]){ 0, 3, 2, 1 }) : NULL;
                x = spectrum(
                        im, n,
                        compose_reshape(im->c, x, 3,
                                        (const dim_t[]){ dim_of(rows * p), dim_of(2), dim_of(q) }),
                        inverse);
                x = compose_reshape(
                        im->c, x, 4,
                        (const dim_t[]){ dim_of(rows), dim_of(p), dim_of(2), dim_of(q) });
                x = x ? build_transpose(&im->b, x, (const int64_t[]){ 0, 2, 3, 1 }) : NULL;
        }
        return compose_reshape(im->c, x, 3,
                               (const dim_t[]){ dim_of(rows), dim_of(2), dim_of(length) });
}

/* x, whose last dimension is the parts, transformed along axis in steps */
static struct value *in_steps(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                              int axis, const struct transform *t)
{
        int rank = value_rank(x), k = 0;
        int64_t perm[RANK_MAX], back[RANK_MAX], starts[RANK_MAX] = { 0 }, steps[RANK_MAX], rows = 1;
        dim_t dims[RANK_MAX];

        for (int d = 0; d < rank; d++)
                if (d != axis)
                        perm[k++] = d;
        perm[k] = axis;
        for (int d = 0; d < rank; d++) {
                back[perm[d]] = d;
                steps[d] = 1;
                dims[d] = dim_of(d < rank - 2    ? value_extent(x, (int)perm[d])
                                 : d == rank - 2 ? 2
                                                 : t->period);
                rows *= d < rank - 2 ? dim_extent(dims[d]) : 1;
        }
        x = build_transpose(&im->b, x, perm);
        x = spectrum(im, n,
                     compose_reshape(im->c, x, 3,
                                     (const dim_t[]){ dim_of(rows), dim_of(t->in_parts),
                                                      dim_of(t->period) }),
                     t->inverse);
        x = compose_reshape(im->c, x, rank, dims);
        dims[rank - 1] = dim_of(t->out);
        x = x ? build_slice(&im->b, x, starts, steps, dims) : NULL;
        return x ? build_transpose(&im->b, x, back) : NULL;
}

/* x, whose last dimension is the parts, transformed along axis */
static struct value *transformed(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                                 int axis, const struct transform *t)
{
        int last = value_rank(x) - 1;
        const int64_t over_x[2] = { axis, last }, over_roots[2] = { 0, 1 };
        struct attr *attrs = attrs_new(im->m, OP_dot);
        int64_t perm[RANK_MAX];

        x = compose_fitted(im->c, x, axis, t->in);
        if (x && !t->folded && factor_of(t->period) < t->period)
                return in_steps(im, n, x, axis, t);
        struct value *matrix = x ? compose_cast(im->c, roots(im, t), value_element(x)) : NULL;
        if (!matrix)
                return NULL;
        attr_set_ints(im->m, attrs, OP_dot, "contract_a", over_x, 2);
        attr_set_ints(im->m, attrs, OP_dot, "contract_b", over_roots, 2);
        x = value_build(&im->b, OP_dot, (struct value *[]){ x, matrix }, 2, attrs, NULL);
        /* the transformed dimension is the last but one; it goes where it was */
        for (int d = 0; d <= last; d++)
                perm[d] = d == last ? last : d < axis ? d : d == axis ? last - 1 : d - 1;
        return x ? build_transpose(&im->b, x, perm) : NULL;
}

/* extents for axis; length: of the transform, -1 when not stated. False, without a message, when
 * there are none. */
static bool transform_read(const struct type *x, int axis, int64_t length, bool inverse,
                           bool onesided, struct transform *t)
{
        int64_t extent = type_extent(x, axis), parts = type_extent(x, x->rank - 1);

        *t = (struct transform){ .inverse = inverse, .folded = inverse && onesided, .in_parts = parts };
        t->period = length >= 0 ? length : t->folded ? 2 * (extent - 1) : extent;
        t->in = t->folded ? t->period / 2 + 1 : t->period;
        t->out = onesided && !inverse ? t->period / 2 + 1 : t->period;
        t->out_parts = t->folded ? 1 : 2;
        return (parts == 1 || parts == 2) && t->period >= 1 && t->period <= NUMBER_MAX;
}

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
                chosen =
                        onnx_axes_wrap(im, compose_cast(im->c, onnx_scalar(im, n, 2), E_I64), rank);
                if (!to || !chosen)
                        return false;
        }
        /* a run-time axis chooses among those that give the declared shape */
        for (int d = axis_known ? axis : 0; d < (axis_known ? axis + 1 : rank - 1); d++) {
                struct transform t;
                dim_t dims[RANK_MAX];
                if (!transform_read(x->type, d, length, inverse, onesided, &t)) {
                        if (axis_known)
                                return onnx_invalid(im, n, "a transform of length %lld of %s",
                                                    (long long)t.period,
                                                    type_text(im->arena, im->m, x->type));
                        continue;
                }
                for (int k = 0; k < rank; k++)
                        dims[k] = dim_of(k == d          ? t.out
                                         : k == rank - 1 ? t.out_parts
                                                         : value_extent(x, k));
                const struct type *type = compose_type(im->c, value_element(x), rank, dims);
                if (!type)
                        return false;
                if (to && !type_same_dims(type, to))
                        continue;
                struct value *here = transformed(im, n, x, d, &t);
                y = y ? compose_select(im->c, compose_with(im->c, OP_eq, chosen, d), here, y)
                      : here;
                if (!y)
                        return false;
        }
        if (!y)
                return onnx_invalid(im, n, "no axis gives the declared %s",
                                    type_text(im->arena, im->m, to));
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* a short-time transform: what a node says */
struct frames {
        struct value *x, *window;       /* of a wide type; window may be NULL */
        struct value *step;
        int64_t count;
        bool onesided;
        struct value *length;           /* a run-time one, or NULL */
};

/* Frames of `length` transformed, [batch, frames, bins, 2]; those of another run-time length read element 0
 * alone, or, where it is not `other` either, none there is. */
static struct value *frames_of(struct onnx_import *im, const struct onnx_node *n, const struct frames *f,
                               int64_t length, int64_t other)
{
        const dim_t dims[4] = { dim_of(value_extent(f->x, 0)), dim_of(f->count), dim_of(length),
                                dim_of(value_extent(f->x, 2)) };
        const struct type *cut = compose_type(im->c, value_element(f->x), 4, dims),
                          *table = cut ? compose_type(im->c, E_I64, 2, dims + 1) : NULL;
        struct transform t;

        if (!table)
                return NULL;
        struct value *index = compose_binary(im->c, OP_mul, build_iota(&im->b, table, 0), f->step);
        index = compose_binary(im->c, OP_add, index, build_iota(&im->b, table, 1));
        if (f->length) {
                struct value *fits = compose_with(im->c, OP_eq, f->length, (double)length);
                struct value *outside =
                        compose_select(im->c, compose_with(im->c, OP_eq, f->length, (double)other),
                                       compose_integer(im->c, E_I64, 0),
                                       compose_integer(im->c, E_I64, value_extent(f->x, 1)));
                index = compose_select(im->c, fits, index, outside);
        }
        struct value *x = index ? build_gather(&im->b, f->x, index, 1) : NULL;
        if (f->window)
                x = compose_binary(im->c, OP_mul, x,
                                   compose_spread(im->c, f->window, cut, (const int64_t[]){ 2 }));
        if (!x)
                return NULL;
        if (!transform_read(x->type, 2, -1, false, f->onesided, &t)) {
                onnx_invalid(im, n, "the signal is %s", type_text(im->arena, im->m, n->inputs[0]->type));
                return NULL;
        }
        return compose_type(im->c, value_element(x), 4,
                            (const dim_t[]){ dims[0], dim_of(f->count), dim_of(t.out), dim_of(2) })
                       ? transformed(im, n, x, 2, &t)
                       : NULL;
}

/* A run-time length is one of those that have as many bins as are declared: half a spectrum is that of two.
 * The length chooses. */
static struct value *frames_open(struct onnx_import *im, const struct onnx_node *n, struct frames *f, int64_t bins)
{
        const int64_t lengths[2] = { f->onesided ? 2 * bins - 1 : bins, f->onesided ? 2 * bins - 2 : 0 };
        struct value *y = NULL;

        f->length = compose_cast(im->c, onnx_scalar(im, n, 3), E_I64);
        if (!f->length)
                return NULL;
        for (int k = 0; k < 2; k++) {
                if (lengths[k] < 1 || lengths[k] > value_extent(f->x, 1))
                        continue;
                bool other = lengths[1 - k] >= 1 && lengths[1 - k] <= value_extent(f->x, 1);
                struct value *here = frames_of(im, n, f, lengths[k], other ? lengths[1 - k] : -1);
                if (!here)
                        return NULL;
                y = y ? compose_select(im->c,
                                       compose_with(im->c, OP_eq, f->length, (double)lengths[k]),
                                       here, y)
                      : here;
        }
        if (!y)
                onnx_invalid(im, n, "no frame of a signal of %lld has %lld bins, as is declared",
                             (long long)value_extent(f->x, 1), (long long)bins);
        return y;
}

/* Operands signal [batch, length, parts], frame_step, window, frame_length */
bool onnx_import_stft(struct onnx_import *im, struct onnx_node *n)
{
        struct frames f = { .x = compose_wide(im->c, n->inputs[0]), .window = onnx_input(n, 2) };
        int64_t onesided, step, length;
        bool known, length_known;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 3) || !onnx_want_integer(im, n, 1) ||
            !onnx_want_integer(im, n, 3) || !onnx_int_range(im, n, "onesided", 1, 0, 1, &onesided) ||
            !onnx_operand_int(im, n, 1, 1, &step, &known) || !onnx_operand_int(im, n, 3, -1, &length, &length_known) ||
            !f.x)
                return false;
        if (f.window &&
            (value_rank(f.window) != 1 || value_element(f.window) != value_element(n->inputs[0])))
                return onnx_invalid(im, n, "the window is %s", type_text(im->arena, im->m, f.window->type));
        if (f.window && length_known && length >= 0 && length != value_extent(f.window, 0))
                return onnx_invalid(im, n, "frame_length is %lld for a window of %lld",
                                    (long long)length, (long long)value_extent(f.window, 0));
        length = f.window ? value_extent(f.window, 0) : length;
        length_known |= f.window != NULL;
        if ((length_known && (length < 1 || length > value_extent(f.x, 1))) ||
            (known && (step < 1 || step > NUMBER_MAX)))
                return onnx_invalid(im, n, "frames of %lld every %lld of a signal of %lld",
                                    (long long)length, (long long)step,
                                    (long long)value_extent(f.x, 1));
        const struct type *to =
                known && length_known ? NULL
                                      : onnx_declared_as(im, n, 0, value_element(n->inputs[0]), 4);
        if (!(known && length_known) && !to)
                return false;
        f.count = to ? type_extent(to, 1) : (value_extent(f.x, 1) - length) / step + 1;
        f.onesided = onesided;
        f.step = compose_cast(im->c, onnx_scalar(im, n, 1), E_I64);
        f.window = compose_wide(im->c, f.window);
        if (!f.step)
                return false;
        struct value *y = length_known ? frames_of(im, n, &f, length, -1)
                                       : frames_open(im, n, &f, type_extent(to, 2));
        return onnx_output(n, 0, compose_cast(im->c, y, value_element(n->inputs[0])));
}

/* HannWindow, HammingWindow, BlackmanWindow (variant 0, 1, 2): sums of cosines a0 - a1 cos x + a2
 * cos 2x */
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
        int64_t period = periodic ? type_extent(to, 0) : type_extent(to, 0) - 1;
        struct value *i = compose_iota(im->c, E_F64, type_extent(to, 0));
        struct value *x = compose_with(im->c, OP_mul, i, period > 0 ? turn / (double)period : 0);
        struct value *w =
                compose_from(im->c, OP_sub, a[0],
                             compose_with(im->c, OP_mul, compose_unary(im->c, OP_cos, x), a[1]));
        if (a[2] != 0)
                w = compose_binary(im->c, OP_add, w,
                                   compose_with(im->c, OP_mul,
                                                compose_unary(im->c, OP_cos,
                                                              compose_with(im->c, OP_mul, x, 2)),
                                                a[2]));
        return onnx_output(n, 0, compose_cast(im->c, w, e));
}
