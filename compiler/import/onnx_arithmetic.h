/* SPDX-License-Identifier: MIT */
/* Arithmetic in short, for operators that are formulas. */
#ifndef COMPILER_IMPORT_ONNX_ARITHMETIC_H
#define COMPILER_IMPORT_ONNX_ARITHMETIC_H

#include "compiler/import/onnx_helpers.h"

static inline struct value *add(struct onnx_import *im, struct value *x, struct value *y)
{
        return onnx_binary(im, OP_add, x, y);
}
static inline struct value *sub(struct onnx_import *im, struct value *x, struct value *y)
{
        return onnx_binary(im, OP_sub, x, y);
}
static inline struct value *mul(struct onnx_import *im, struct value *x, struct value *y)
{
        return onnx_binary(im, OP_mul, x, y);
}
static inline struct value *plus(struct onnx_import *im, struct value *x, double a)
{
        return onnx_with(im, OP_add, x, a);
}
static inline struct value *times(struct onnx_import *im, struct value *x, double a)
{
        return onnx_with(im, OP_mul, x, a);
}
static inline struct value *clamp(struct onnx_import *im, struct value *x, double low, double high)
{
        return onnx_with(im, OP_min, onnx_with(im, OP_max, x, low), high);
}

#endif
