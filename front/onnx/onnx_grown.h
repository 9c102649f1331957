/* SPDX-License-Identifier: MIT */
/* A Loop may carry a tensor whose extents change from one iteration to the next. Where only a run
 * knows how often it runs, the tensor lies at the beginning of one of the largest extents, and
 * those that change go with it:
 *
 *     t = Concat(t, x)        <8 x f32>   1 2 3 4 5 . . .       <i64>   5 */
#ifndef FRONT_ONNX_ONNX_GROWN_H
#define FRONT_ONNX_ONNX_GROWN_H

#include "front/onnx/onnx.h"

struct onnx_grown {
        const struct type *bound;       /* The largest extents; NULL: the tensor keeps its type. */
        unsigned differ;                /* Bit d is set where extent d changes; */
        int64_t more[RANK_MAX];         /* by so much at most in an iteration; -1: by any number. */
};

/* Finds bounds for a carried value that the body makes another type of: what it is after `most`
 * iterations (-1: that is not known) that add as much as the first one, or what is declared of the
 * node's output. Returns whether there are some. */
bool onnx_grown_bound(struct onnx_import *im, struct onnx_node *n, int output, int64_t most,
                      const struct type *from, const struct type *to, struct onnx_grown *g);
/* Writes what a tensor is carried as: itself within the bounds, and each extent that changes. A
 * run in which it is larger fails. Returns false after an error. */
bool onnx_grown_spread(struct onnx_import *im, struct onnx_node *n, struct value *v,
                       const struct onnx_grown *g, struct value **parts);
/* Returns the tensor that the parts are of, or NULL after an error. As an output of the node, where
 * `output` is not -1, it has that one's extents. */
struct value *onnx_grown_gather(struct onnx_import *im, struct onnx_node *n, int output,
                                const struct onnx_grown *g, struct value *const *parts);

#endif
