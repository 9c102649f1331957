/* SPDX-License-Identifier: MIT */
/* The importers of ai.onnx.ml share these: rows of features, coefficients in attributes, labels of
 * classes, and the functions that are applied to scores. */
#ifndef FRONT_ONNX_ONNX_ML_H
#define FRONT_ONNX_ONNX_ML_H

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_machine.h"

/* ---- scores ---- */

/* This function is applied to scores; the order is that of TreeEnsemble in opset 5. */
enum post_transform { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT };
/* Reads the attribute post_transform. */
bool onnx_ml_post(struct onnx_import *im, struct onnx_node *n, int *post);
struct value *onnx_post_transform(struct onnx_import *im, struct value *x, int post);
/* Returns scores <N x 2> of two classes, made from the second one's scores x <N x 1>. The first
 * class has -x where `mirrored`, else 1 - x. Returns NULL after an error. */
struct value *onnx_ml_two(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                          int post, bool mirrored);

/* ---- labels ---- */

struct ml_labels {
        int count;                      /* There are so many classes. */
        const int64_t *numbers;         /* There are count of them; where it is NULL labels are
                                         * texts. */
        const ProtobufCBinaryData *texts;         /* There are count of them, or it is NULL. */
};
/* Reads integer labels from the attribute `name`, or string labels from classlabels_strings. */
bool onnx_ml_labels(struct onnx_import *im, struct onnx_node *n, const char *name,
                    struct ml_labels *labels);
/* Both define output 0, the label of each row: onnx_ml_best that of the class with the highest
 * score (the first of equal ones), onnx_ml_label that of the class that `index` says. They return
 * false after an error. */
bool onnx_ml_best(struct onnx_import *im, struct onnx_node *n, struct value *scores,
                  const struct ml_labels *labels);
bool onnx_ml_label(struct onnx_import *im, struct onnx_node *n, struct value *index,
                   const struct ml_labels *labels);

/* ---- features and coefficients ---- */

/* Returns input 0 as f64 where it is f64, else as f32, or NULL after an error. */
struct value *onnx_ml_numbers(struct onnx_import *im, const struct onnx_node *n);
/* Returns input 0 as rows <N x features> of f32, or NULL after an error; a vector is one row. */
struct value *onnx_ml_rows(struct onnx_import *im, const struct onnx_node *n);
/* Reads an attribute of floats. An absent one gives NULL and 0, and is an error where it is
 * required. */
bool onnx_ml_floats(struct onnx_import *im, struct onnx_node *n, const char *name, bool required,
                    const float **values, int *count);
/* Reads a required attribute of *count integers. Where *count is -1, any number is taken, and
 * *count is set to it. */
bool onnx_ml_integers(struct onnx_import *im, struct onnx_node *n, const char *name, int64_t *count,
                      const int64_t **values);

#endif
