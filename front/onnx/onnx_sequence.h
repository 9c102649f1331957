/* SPDX-License-Identifier: MIT */
/* How many items a sequence has, and whether an optional has a value, is known while the graph is
 * imported. So they are lists of values here, and the module has nothing of them:
 *
 *     s = SplitToSequence(x)          s: three slices of x         %0, %1, %2
 *     t = SequenceInsert(s, y, 1)     t: a list of four            %0, %y, %1, %2
 *     z = ConcatFromSequence(t)       concat                       %0, %y, %1, %2
 *
 * What only a run could tell is not supported: a position to insert at or to erase, parts of
 * run-time sizes. The position of the item that is taken may be a run-time value where all items
 * are of one type: the item is then gathered from all of them. */
#ifndef FRONT_ONNX_ONNX_SEQUENCE_H
#define FRONT_ONNX_ONNX_SEQUENCE_H

#include "front/onnx/onnx.h"

/* This is an array of items that sequences share, each the first `count` of them. */
struct onnx_room {
        int used;                       /* Some sequence has each of so many items. */
        int size;                       /* There is room for so many items. */
        struct value *items[];          /* There are `size` items. */
};

/* A map of an input is a list of two: its keys and its values, <entries>. */
struct onnx_sequence {
        struct value value;             /* It is the first field, so that a pointer to a value of
                                         * type sequence is a pointer to the sequence. */
        bool is_map;
        int count;                      /* There are so many items. */
        struct onnx_room *room;         /* It is NULL in an optional without a value. */
};

/* Returns the first `count` items of the room as a sequence of that type. */
struct onnx_sequence *onnx_sequence_share(struct onnx_import *im, const struct type *type,
                                          struct onnx_room *room, int count);
/* Returns a room with copies of `count` items, and as many free places. The copies are charged
 * against the limits, for the time that they take. Returns NULL after an error. */
struct onnx_room *onnx_room_new(struct onnx_import *im, struct value *const *items, int count);

#endif
