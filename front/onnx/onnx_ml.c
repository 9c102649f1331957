/* SPDX-License-Identifier: MIT */
/* Models of ai.onnx.ml have this in common. */
#include "front/onnx/onnx_ml.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_activation.h"
#include "front/compose/compose_softmax.h"

#include <string.h>

/* ---- what becomes of scores ---- */

struct value *onnx_post_transform(struct onnx_import *im, struct value *x, int post)
{
        switch (post) {
        case POST_SOFTMAX: return compose_softmax(im->c, x, (const int64_t[]){ 1 }, 1, false);
        case POST_LOGISTIC: return compose_unary(im->c, OP_sigmoid, x);
        case POST_SOFTMAX_ZERO: return compose_softmax_nonzero(im->c, x);
        case POST_PROBIT: return compose_probit(im->c, x);
        default: return x;
        }
}

bool onnx_ml_post(struct onnx_import *im, struct onnx_node *n, int *post)
{
        static const char *const posts[] = { "NONE",         "SOFTMAX", "LOGISTIC",
                                             "SOFTMAX_ZERO", "PROBIT",  NULL };
        return onnx_choice(im, n, "post_transform", posts, POST_NONE, post);
}

struct value *onnx_ml_two(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                          int post, bool mirrored)
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

bool onnx_ml_labels(struct onnx_import *im, struct onnx_node *n, const char *name,
                    struct ml_labels *labels)
{
        int texts;
        *labels = (struct ml_labels){ 0 };
        if (!onnx_ints(im, n, name, &labels->numbers, &labels->count) ||
            !onnx_strings(im, n, "classlabels_strings", &labels->texts, &texts))
                return false;
        if (texts && labels->count)
                return onnx_invalid(im, n, "labels are numbers and strings");
        if (texts) {
                labels->count = texts;
                labels->numbers = NULL;
        }
        return labels->count > 0 || onnx_invalid(im, n, "attribute %s is missing", name);
}

bool onnx_ml_label(struct onnx_import *im, struct onnx_node *n, struct value *index,
                   const struct ml_labels *labels)
{
        const int64_t extent = labels->count;
        if (!labels->numbers) {
                struct value *table = onnx_texts_constant(im, "labels", 1, &extent, labels->texts,
                                                          (size_t)labels->count, 0);
                return table && index &&
                       onnx_output(n, 0,
                                   onnx_texts_new(im, build_gather(&im->b, onnx_texts_bytes(table),
                                                                   index, 0)));
        }
        return onnx_output(
                       n, 0,
                       index ? build_gather(&im->b,
                                            constant_ints(im->m, labels->numbers, labels->count),
                                            index, 0)
                             : NULL);
}

bool onnx_ml_best(struct onnx_import *im, struct onnx_node *n, struct value *scores,
                  const struct ml_labels *labels)
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

bool onnx_ml_floats(struct onnx_import *im, struct onnx_node *n, const char *name, bool required,
                    const float **values, int *count)
{
        return onnx_floats(im, n, name, values, count) &&
               (!required || *count || onnx_invalid(im, n, "attribute %s is missing", name));
}

bool onnx_ml_integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                      const int64_t **values)
{
        int given;

        if (!onnx_ints(im, n, name, values, &given))
                return false;
        if (!*values)
                return onnx_invalid(im, n, "attribute %s is missing", name);
        if (*count >= 0 && given != *count)
                return onnx_invalid(im, n, "%s has %d values, want %lld", name, given,
                                    (long long)*count);
        *count = given;
        return true;
}
