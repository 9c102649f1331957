/* SPDX-License-Identifier: MIT */
/* The importers of operators (tflite_op_*.c) share these helpers: operands and results, fused
 * activations, quantized tensors. All return false, or NULL, after one error. */
#ifndef FRONT_TFLITE_TFLITE_HELPERS_H
#define FRONT_TFLITE_TFLITE_HELPERS_H

#include "front/compose/compose_fixed.h"
#include "front/compose/compose_window.h"
#include "front/tflite/tflite.h"

/* Each row's importer has a prototype. */
#define TFLITE_OP(code, name, in_min, in_max, out_max, options, importer, variant)                 \
        bool importer(struct tflite_import *im, struct tflite_node *n);
#include "front/tflite/tflite_ops.def"

/* ---- operands and results (tflite_helpers.c) ---- */

/* Returns operand i, or NULL where it is absent. */
static inline struct tflite_tensor *tflite_tensor(const struct tflite_node *n, int i)
{
        return i < n->input_count ? n->inputs[i] : NULL;
}
static inline struct value *tflite_input(const struct tflite_node *n, int i)
{
        const struct tflite_tensor *t = tflite_tensor(n, i);
        return t ? t->value : NULL;
}
/* Returns the struct of the node's options. */
#define TFLITE_OPTIONS(n, kind) ((const struct tflite_##kind *)(n)->options)

/* Makes v what output i is, whose element type the file states. Returns false where v is NULL, for
 * which an error was reported. */
bool tflite_output(struct tflite_import *im, struct tflite_node *n, int i, struct value *v);
/* Reads the integers of operand i, which is constant, of rank 0 or 1; a run that would give them is
 * not supported. */
bool tflite_ints(struct tflite_import *im, const struct tflite_node *n, int i, int64_t *ints,
                 int room, int *count);
/* Checks that an axis, which may count from the end, is one of `rank`, and returns it, or -1. */
int tflite_axis(struct tflite_import *im, int64_t axis, int rank);
/* Lists the node as not supported for the element type of operand i. */
bool tflite_no_element(struct tflite_import *im, const struct tflite_node *n, int i);
/* Checks that operands 0 to count - 1 have one element type. */
bool tflite_same_element(struct tflite_import *im, const struct tflite_node *n, int count);
/* Makes the names of NHWC, and the dimensions in front: [N, .., C] to [N, C, ..], or back. */
static inline struct value *tflite_to_front(struct tflite_import *im, struct value *x)
{
        return compose_move_channels(im->c, x, true);
}
static inline struct value *tflite_to_back(struct tflite_import *im, struct value *x)
{
        return compose_move_channels(im->c, x, false);
}
/* Calls the row's importer. Where it is element by element and reads images that have their
 * channels moved behind, it gets them as they were before, and what it makes is moved. */
bool tflite_import_row(struct tflite_import *im, struct tflite_node *n);
/* Checks that operand i has the rank. */
bool tflite_want_rank(struct tflite_import *im, const struct tflite_node *n, int i, int rank);
/* Sets the window's auto_pad from a number of the enum Padding, and strides and dilations of two
 * dimensions, rows first. */
bool tflite_window(struct tflite_import *im, struct compose_window *w, int64_t padding,
                   int64_t stride_h, int64_t stride_w, int64_t dilation_h, int64_t dilation_w);

/* ---- state ---- */

/* State begins as zeros: a number is kept as its bits against those of `first`, the constant that
 * it begins with, and that is what makes it a number again. */
struct value *tflite_against(struct tflite_import *im, struct value *v, struct value *first);
/* Makes the variable an input of the function, unless it has a value already. */
bool tflite_begin_variable(struct tflite_import *im, struct tflite_variable *v);
/* Makes variables that the function assigns and does not read state: other functions read them. */
bool tflite_keep_assigned(struct tflite_import *im);
/* Begins another function: its variables have neither been read nor assigned. */
void tflite_forget_values(struct tflite_import *im);

/* ---- fused activations ---- */

enum { FUSED_NONE, FUSED_RELU, FUSED_RELU_N1_TO_1, FUSED_RELU6, FUSED_TANH, FUSED_SIGN_BIT };
/* Returns the activation of floats. */
struct value *tflite_activated(struct tflite_import *im, struct value *y, int64_t fused);
/* Finds the range of a quantized tensor's numbers to which the activation confines them. */
bool tflite_range(struct tflite_import *im, const struct tflite_tensor *t, int64_t fused,
                  int64_t *low, int64_t *high);

/* ---- quantized tensors ---- */

static inline enum element tflite_element_of(const struct tflite_tensor *t)
{
        return t->type->element;
}
/* Is t of integers that stand for reals? */
static inline bool tflite_is_quantized(const struct tflite_tensor *t)
{
        return t->type && element_is_integer(t->type->element) && t->q.count > 0;
}
static inline bool tflite_is_float(const struct tflite_tensor *t)
{
        return t->type && element_is_float(t->type->element);
}
/* Finds the one scale and zero point of a quantized tensor; what is an error of the node. */
bool tflite_affine(struct tflite_import *im, const struct tflite_tensor *t, float *scale,
                   int64_t *zero);
/* Returns x - zero of a quantized operand, as i32. */
struct value *tflite_centered(struct tflite_import *im, const struct tflite_tensor *t);
/* Returns a constant of numbers that stand for reals as floats; one that is floats already as it
 * is. */
struct value *tflite_real(struct tflite_import *im, struct tflite_tensor *t);
/* Finds the multipliers of sums of products by w: input scale times weight scale, one or one for
 * each of `outputs`, over output scale. */
bool tflite_multipliers(struct tflite_import *im, const struct tflite_tensor *x,
                        const struct tflite_tensor *w, const struct tflite_tensor *y,
                        int64_t outputs, struct compose_multipliers *m);
/* Returns the constant with its dimensions in the order perm. */
struct value *tflite_permuted(struct tflite_import *im, struct value *w, const int64_t *perm);

#endif
