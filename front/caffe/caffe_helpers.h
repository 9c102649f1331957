/* SPDX-License-Identifier: MIT */
/* Importers share this: weights, axes, inputs, results. */
#ifndef FRONT_CAFFE_CAFFE_HELPERS_H
#define FRONT_CAFFE_CAFFE_HELPERS_H

#include "front/caffe/caffe.h"

static inline int caffe_variant(const struct caffe_layer *n) { return n->row->variant; }

/* Sets top i, and returns whether there is a value. */
static inline bool caffe_output(struct caffe_layer *n, int i, struct value *v)
{
        n->tops[i] = v;
        return v != NULL;
}
/* Does so for the one top. */
static inline bool caffe_top(struct caffe_layer *n, struct value *v)
{
        return caffe_output(n, 0, v);
}

/* Returns the dimension that the number means, from the end where it is negative, or -1 after an
 * error. */
int caffe_axis(struct caffe_import *im, int64_t axis, int rank);

/* Reads the weights of the layer, of which it has as many. */
bool caffe_weights(struct caffe_import *im, struct caffe_layer *n, int count);
/* Returns one of them, which has these extents or, in front of them, others of 1. */
struct value *caffe_weight(struct caffe_import *im, struct caffe_layer *n, int i, int rank,
                           const int64_t *extents);

/* Adds an input of the function, whose shape --input may state; a rank of -1: nothing else does. */
struct value *caffe_add_input(struct caffe_import *im, const char *name, int rank,
                              const int64_t *extents);
/* Returns the extents that a shape has as numbers, or -1 after an error. */
int caffe_extents(struct caffe_import *im, const Caffe__BlobShape *shape, int64_t *extents);

/* The importers of the table (caffe_op_*.c) return false after an error. */
#define CAFFE_LAYER(type, parameter, bottoms_min, bottoms_max, tops_max, importer, variant)        \
        bool importer(struct caffe_import *im, struct caffe_layer *n);
#include "front/caffe/caffe_layers.def"

#endif
