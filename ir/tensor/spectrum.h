/* SPDX-License-Identifier: MIT */
/* Operations `spectrum`: their plans, and building them. */
#ifndef IR_TENSOR_SPECTRUM_H
#define IR_TENSOR_SPECTRUM_H

#include "ir/tensor/ops.h"
#include "ir/tensor/spectrum_plan.h"

enum { SPECTRUM_AXES_MAX = 2 };

/* Returns the dimension of the parts, in x and in the result. */
int spectrum_parts(const struct op *op);
/* Returns the plan of op along axes[number]. */
struct spectrum_plan spectrum_plan_of(const struct op *op, int number);

struct spectrum_request {
        int axes[SPECTRUM_AXES_MAX], count;
        bool inverse, half;
        int parts;                      /* This dimension of x is its parts; -1: the last one. */
        int64_t length;                 /* Along the last axis, where it is an inverse of a half; 0
                                         * otherwise. */
};
/* Builds the transform of x, f32 or f64, with its table. Returns NULL after an error. */
struct value *build_spectrum(struct builder *b, struct value *x,
                             const struct spectrum_request *request);

#endif
