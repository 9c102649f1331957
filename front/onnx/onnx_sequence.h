/* SPDX-License-Identifier: MIT */
/* Sequences and optionals. How many items a sequence has, and whether an optional has a value, is known while the graph is
 * imported; so they are lists of values here, and nothing of them is left in the module:
 *
 *     s = SplitToSequence(x)          s: three slices of x         %0, %1, %2
 *     t = SequenceInsert(s, y, 1)     t: a list of four            %0, %y, %1, %2
 *     z = ConcatFromSequence(t)       concat                       %0, %y, %1, %2
 *
 * What only a run could tell is not supported: a position to insert at or to erase, parts of run-time sizes. Which item is
 * taken may be a run-time value where all are of one type: then it is a gather from all of them. */
#ifndef FRONT_ONNX_ONNX_SEQUENCE_H
#define FRONT_ONNX_ONNX_SEQUENCE_H

#include "front/onnx/onnx.h"

/* Room for items that lists share, as far as they are the same from the first one on: `used` of them are somebody's. */
struct onnx_room { int used, size; struct value *items[]; };

struct onnx_sequence {
        struct value value;             /* first: values of such a type are lists */
        int count;
        struct onnx_room *room;
};

/* the first `count` items of the room as a sequence of that type */
struct onnx_sequence *onnx_sequence_share(struct onnx_import *im, const struct type *type,
                                          struct onnx_room *room, int count);
/* A room with `count` items that are copied, and as many free places; they are charged, for the time that this takes. */
struct onnx_room *onnx_room_new(struct onnx_import *im, struct value *const *items, int count);

#endif
