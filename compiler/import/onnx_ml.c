/* SPDX-License-Identifier: MIT */
/* What models of ai.onnx.ml have in common. */
#include "compiler/import/onnx_ml.h"
#include "front/compose/compose_softmax.h"

#include <math.h>
#include <string.h>

/* ---- what becomes of scores ---- */

/* softmax of what is not 0, which stays 0 */
static struct value *softmax_zero(struct onnx_import *im, struct value *x)
{
        const int64_t axis = 1;
        struct value *some = compose_with(im->c, OP_gt, compose_unary(im->c, OP_abs, x), 1e-7),
                     *none = x ? build_like(&im->b, x, 0) : NULL;
        struct value *most =
                compose_select(im->c, some, x, x ? build_like(&im->b, x, -(double)INFINITY) : NULL);

        most = compose_reduce(im->c, REDUCE_max, most, &axis, 1, E_COMPUTE);
        if (!most)
                return NULL;
        struct value *e = compose_unary(
                im->c, OP_exp, sub(im->c, x, compose_unreduce(im->c, most, x->type, &axis, 1)));
        e = compose_select(im->c, some, e, none);
        struct value *sum = compose_reduce(im->c, REDUCE_sum, e, &axis, 1, E_COMPUTE);
        sum = sum ? compose_select(im->c, compose_with(im->c, OP_eq, sum, 0),
                                   build_like(&im->b, sum, 1), sum)
                  : NULL;
        return sum ? compose_binary(im->c, OP_div, e,
                                    compose_unreduce(im->c, sum, x->type, &axis, 1))
                   : NULL;
}

/* The number that a normal variable is below with probability x: by Newton's method on erf, from the
 * approximation of S. Winitzki (A handy approximation for the error function and its inverse, 2008). 0 and 1
 * are infinitely far, what is no probability is NaN. */
static struct value *probit(struct onnx_import *im, struct value *x)
{
        const double a = 0.147, slope = 1.1283791670955126, root = 1.4142135623730951; /* 2 / sqrt(pi), sqrt(2) */
        struct value *p = plus(im->c, times(im->c, compose_cast(im->c, x, E_F64), 2), -1);
        struct value *logarithm = compose_unary(
                im->c, OP_log, mul(im->c, compose_from(im->c, OP_sub, 1, p), plus(im->c, p, 1)));
        struct value *half = plus(im->c, times(im->c, logarithm, 0.5), slope * slope / (2 * a));
        struct value *y = compose_unary(
                im->c, OP_sqrt, sub(im->c, mul(im->c, half, half), times(im->c, logarithm, 1 / a)));

        y = compose_unary(im->c, OP_sqrt, sub(im->c, y, half));
        y = mul(im->c, y, compose_unary(im->c, OP_sign, p));
        for (int k = 0; k < 3 && y; k++) {
                struct value *off = sub(im->c, compose_unary(im->c, OP_erf, y), p);
                struct value *rate =
                        times(im->c,
                              compose_unary(im->c, OP_exp,
                                            compose_unary(im->c, OP_neg, mul(im->c, y, y))),
                              slope);
                y = sub(im->c, y, compose_binary(im->c, OP_div, off, rate));
        }
        struct value *end = compose_with(im->c, OP_eq, compose_unary(im->c, OP_abs, p), 1);
        y = compose_select(im->c, end, compose_with(im->c, OP_div, p, 0), times(im->c, y, root));
        return x ? compose_cast(im->c, y, value_element(x)) : NULL;
}

struct value *onnx_post_transform(struct onnx_import *im, struct value *x, int post)
{
        switch (post) {
        case POST_SOFTMAX: return compose_softmax(im->c, x, (const int64_t[]){ 1 }, 1, false);
        case POST_LOGISTIC: return compose_unary(im->c, OP_sigmoid, x);
        case POST_SOFTMAX_ZERO: return softmax_zero(im, x);
        case POST_PROBIT: return probit(im, x);
        default: return x;
        }
}

bool onnx_ml_post(struct onnx_import *im, struct onnx_node *n, int *post)
{
        static const char *const posts[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT", NULL };
        return onnx_choice(im, n, "post_transform", posts, POST_NONE, post);
}

struct value *onnx_ml_two(struct onnx_import *im, const struct onnx_node *n, struct value *x, int post, bool mirrored)
{
        if (post == POST_PROBIT) {
                onnx_unsupported(im, n, "PROBIT of one score for two classes");
                return NULL;
        }
        struct value *other = post == POST_LOGISTIC || mirrored ? compose_unary(im->c, OP_neg, x)
                                                                : compose_from(im->c, OP_sub, 1, x);
        if (post == POST_LOGISTIC) {
                x = compose_unary(im->c, OP_sigmoid, x);
                other = compose_unary(im->c, OP_sigmoid, other);
        }
        return x && other ? build_concat(&im->b, (struct value *[]){ other, x }, 2, 1) : NULL;
}

/* ---- labels ---- */

bool onnx_ml_labels(struct onnx_import *im, struct onnx_node *n, const char *name, struct ml_labels *labels)
{
        const Onnx__AttributeProto *strings = onnx_attribute(n, "classlabels_strings");
        *labels = (struct ml_labels){ 0 };
        if (!onnx_ints(im, n, name, &labels->numbers, &labels->count))
                return false;
        if (strings && strings->n_strings && labels->count)
                return onnx_invalid(im, n, "labels are numbers and strings");
        if (strings && strings->n_strings) {
                labels->count = strings->n_strings < NUMBER_MAX ? (int)strings->n_strings : NUMBER_MAX;
                labels->numbers = NULL;
        }
        return labels->count > 0 || onnx_invalid(im, n, "attribute %s is missing", name);
}

bool onnx_ml_label(struct onnx_import *im, struct onnx_node *n, struct value *index, const struct ml_labels *labels)
{
        if (!labels->numbers)
                n->lacking = "labels are strings";
        return !labels->numbers ||
               onnx_output(n, 0, index ? build_gather(&im->b, constant_ints(im->m, labels->numbers, labels->count), index, 0) : NULL);
}

bool onnx_ml_best(struct onnx_import *im, struct onnx_node *n, struct value *scores, const struct ml_labels *labels)
{
        return onnx_ml_label(
                im, n, scores ? compose_arg_reduce(im->c, scores, REDUCE_max, 1, false) : NULL,
                labels);
}

/* ---- features and coefficients ---- */

struct value *onnx_ml_numbers(struct onnx_import *im, const struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        enum element e = value_element(x);
        if (e == E_F32 || e == E_F64)
                return x;
        if (e == E_I64 || e == E_I32)
                return compose_cast(im->c, x, E_F32);
        onnx_invalid(im, n, "operand 0 is of %s, want f32, f64, i64 or i32", element_info[e].text);
        return NULL;
}

struct value *onnx_ml_rows(struct onnx_import *im, const struct onnx_node *n)
{
        struct value *x = onnx_want_rank(im, n, 0, 1, 2) ? onnx_ml_numbers(im, n) : NULL;
        x = x ? compose_cast(im->c, x, E_F32) : NULL;
        return x && value_rank(x) == 1
                       ? compose_reshape(im->c, x, 2,
                                         (const dim_t[]){ dim_of(1), dim_of(value_extent(x, 0)) })
                       : x;
}

bool onnx_ml_floats(struct onnx_import *im, struct onnx_node *n, const char *name, bool required, const float **values, int *count)
{
        return onnx_floats(im, n, name, values, count) && (!required || *count || onnx_invalid(im, n, "attribute %s is missing", name));
}

struct value *onnx_ml_matrix(struct onnx_import *im, int64_t rows, int64_t columns, const float *values)
{
        size_t bytes = (size_t)(rows * columns) * sizeof *values;
        void *data = constant_room(im->m, bytes);
        memcpy(data, values, bytes);
        return constant_dense(
                im->m,
                type_tensor(im->m, E_F32, 2, (const dim_t[]){ dim_of(rows), dim_of(columns) }),
                data, NULL);
}
