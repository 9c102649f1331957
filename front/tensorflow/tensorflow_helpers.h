/* SPDX-License-Identifier: MIT */
/* The importers of operators (tensorflow_op_*.c) share these helpers. All return false, or NULL,
 * after one error. */
#ifndef FRONT_TENSORFLOW_TENSORFLOW_HELPERS_H
#define FRONT_TENSORFLOW_TENSORFLOW_HELPERS_H

#include "front/compose/compose_window.h"
#include "front/tensorflow/tensorflow.h"

/* Each row's importer has a prototype. */
#define TF_OP(name, in_min, in_max, outputs, importer, variant)                                    \
        bool importer(struct tf_import *im, struct tf_node *n);
#include "front/tensorflow/tensorflow_ops.def"

static inline int tf_variant(const struct tf_node *n) { return n->row->variant; }
/* Returns operand i, or NULL where it is absent. */
static inline struct value *tf_input(const struct tf_node *n, int i)
{
        return i < n->input_count ? n->inputs[i].value : NULL;
}
/* Returns output i, which the node makes now. */
struct tf_tensor *tf_make(struct tf_import *im, struct tf_node *n, int i);
/* Makes v what output i is. Returns false where v is NULL, for which an error was reported. */
bool tf_output(struct tf_import *im, struct tf_node *n, int i, struct value *v);
/* Reads the integers of operand i, which is constant, of rank 0 or 1; a run that would give them is
 * not supported. */
bool tf_ints(struct tf_import *im, const struct tf_node *n, int i, int64_t *ints, int room,
             int *count);
/* Reads the one integer of operand i. */
bool tf_one_int(struct tf_import *im, const struct tf_node *n, int i, int64_t *number);
/* Checks that an axis, which may count from the end, is one of `rank`, and returns it, or -1. */
int tf_axis(struct tf_import *im, int64_t axis, int rank);
/* Reads the axes of operand i, sorted, each once. */
bool tf_axes(struct tf_import *im, const struct tf_node *n, int i, int rank, int64_t *axes,
             int *count);
/* Checks that operand i has the rank. */
bool tf_want_rank(struct tf_import *im, const struct tf_node *n, int i, int rank);
/* Checks that operand i is of floats. */
bool tf_want_floats(struct tf_import *im, const struct tf_node *n, int i);

/* Makes [N, .., C] to [N, C, ..], or back. */
static inline struct value *tf_to_front(struct tf_import *im, struct value *x)
{
        return compose_move_channels(im->c, x, true);
}
static inline struct value *tf_to_back(struct tf_import *im, struct value *x)
{
        return compose_move_channels(im->c, x, false);
}
/* Is dimension 1 that of channels (data_format)? Returns -1 after an error. */
int tf_channels_first(struct tf_import *im, const struct tf_node *n, int rank);
/* Returns the image of operand i with its channels in front; *first: it had them there. */
struct value *tf_image(struct tf_import *im, const struct tf_node *n, int i, int rank,
                       bool *first);
/* Moves the channels of a result back, unless they were in front. */
struct value *tf_as_image(struct tf_import *im, struct value *y, bool first);
/* Reads an attribute of a number for each dimension of an image as those of its spatial ones;
 * those of the batch and of channels must be 1. */
bool tf_spatial(struct tf_import *im, const struct tf_node *n, const char *name, bool first,
                int rank, int64_t *numbers);
/* Sets the window: padding, strides, dilations. */
bool tf_window(struct tf_import *im, const struct tf_node *n, bool first, int rank,
               struct compose_window *w);
/* Returns a constant with its dimensions in another order. */
struct value *tf_permuted(struct tf_import *im, struct value *w, const int64_t *perm);

#endif
