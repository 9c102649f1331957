/* SPDX-License-Identifier: MIT */
/* What models of ai.onnx.ml have in common: rows of features, coefficients in attributes, labels, and what becomes of scores. */
#ifndef FRONT_ONNX_ONNX_ML_H
#define FRONT_ONNX_ONNX_ML_H

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

/* in the order of TreeEnsemble, opset 5 */
enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT };
bool onnx_ml_post(struct onnx_import *im, struct onnx_node *n, int *post);        /* the attribute post_transform */
struct value *onnx_post_transform(struct onnx_import *im, struct value *x, int post);
/* Scores <N x 2> of two classes that have one, <N x 1>: of the first -x where it is mirrored, else 1 - x. NULL after an error. */
struct value *onnx_ml_two(struct onnx_import *im, const struct onnx_node *n, struct value *x, int post, bool mirrored);

/* Labels of classes: integers of the attribute of that name, or strings, of which nothing but their number counts. */
struct ml_labels { int count; const int64_t *numbers; };  /* NULL: strings */
bool onnx_ml_labels(struct onnx_import *im, struct onnx_node *n, const char *name, struct ml_labels *labels);
/* Output 0: the label for each row, whose index is the one of its highest score, the first of such; or given. Strings: there is none,
 * which is an error where it is needed. False after an error. */
bool onnx_ml_best(struct onnx_import *im, struct onnx_node *n, struct value *scores, const struct ml_labels *labels);
bool onnx_ml_label(struct onnx_import *im, struct onnx_node *n, struct value *index, const struct ml_labels *labels);

/* input 0, of numbers, as it is where of f64, else as f32; NULL after an error */
struct value *onnx_ml_numbers(struct onnx_import *im, const struct onnx_node *n);
/* input 0 as rows <N x features> of f32: a vector is one row; NULL after an error */
struct value *onnx_ml_rows(struct onnx_import *im, const struct onnx_node *n);
/* An attribute of floats; absent: NULL and 0. false after an error: absent though required. */
bool onnx_ml_floats(struct onnx_import *im, struct onnx_node *n, const char *name, bool required, const float **values, int *count);
/* An attribute of integers that must be there, *count of them; -1: however many, which it then says. */
bool onnx_ml_integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                      const int64_t **values);
struct value *onnx_ml_matrix(struct onnx_import *im, int64_t rows, int64_t columns, const float *values);  /* copied */

#endif
