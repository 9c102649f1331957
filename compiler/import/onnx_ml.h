/* SPDX-License-Identifier: MIT */
/* What models of ai.onnx.ml have in common: rows of features, coefficients in attributes, labels, and what becomes of scores. */
#ifndef COMPILER_IMPORT_ONNX_ML_H
#define COMPILER_IMPORT_ONNX_ML_H

#include "compiler/import/onnx_arithmetic.h"

/* in the order of TreeEnsemble, opset 5 */
enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT };
bool onnx_ml_post(struct onnx_import *im, struct onnx_node *n, int *post);        /* the attribute post_transform */
struct value *onnx_post_transform(struct onnx_import *im, struct value *x, int post);
/* Scores <N x 2> of two classes that have one, <N x 1>: of the first -x where it is mirrored, else 1 - x. NULL after an error. */
struct value *onnx_ml_two(struct onnx_import *im, const struct onnx_node *n, struct value *x, int post, bool mirrored);

/* Labels of classes, which are integers: the attribute of that name; NULL after an error, also where another one has strings. */
const int64_t *onnx_ml_labels(struct onnx_import *im, struct onnx_node *n, const char *name, int *count);
/* that of the highest score in each row of x, the first of such */
struct value *onnx_ml_best(struct onnx_import *im, struct value *x, const int64_t *labels, int count);

/* input 0, of numbers, as it is where of f64, else as f32; NULL after an error */
struct value *onnx_ml_numbers(struct onnx_import *im, const struct onnx_node *n);
/* input 0 as rows <N x features> of f32: a vector is one row; NULL after an error */
struct value *onnx_ml_rows(struct onnx_import *im, const struct onnx_node *n);
/* An attribute of floats; absent: NULL and 0. false after an error: absent though required. */
bool onnx_ml_floats(struct onnx_import *im, struct onnx_node *n, const char *name, bool required, const float **values, int *count);
struct value *onnx_ml_matrix(struct onnx_import *im, int64_t rows, int64_t columns, const float *values);  /* copied */

#endif
