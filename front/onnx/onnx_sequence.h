/* SPDX-License-Identifier: MIT */
/* How many items a sequence has, and whether an optional has a value, is mostly known while the
 * graph is imported. So they are lists of values here, and the module has nothing of them:
 *
 *     s = SplitToSequence(x)          s: three slices of x         %0, %1, %2
 *     t = SequenceInsert(s, y, 1)     t: a list of four            %0, %y, %1, %2
 *     z = ConcatFromSequence(t)       concat                       %0, %y, %1, %2
 *
 * Where only a run knows that, a sequence has a stack instead (onnx_stack.h). */
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
        struct onnx_room *room;         /* It is NULL in an optional without a value, and in what
                                         * has a stack. */
        const struct onnx_stack *stack; /* It is NULL where the items are known; they are not where
                                         * it is there. */
};

/* These are items of which only a run knows how many they are, or of which shapes. */
struct onnx_stack {
        struct value *rows;             /* <room x extents or their bounds>: each item lies at the
                                         * beginning of its row. */
        struct value *shapes;           /* <room x rank x i64>: the extents of each item, -1 behind
                                         * its last; NULL where all items have those of rows. */
        struct value *count;            /* <i64>: so many items are there, at most `room`. */
        struct value *present;          /* <bool>: an optional sequence has a value; NULL for other
                                         * values. */
        unsigned differ;                /* Bit d is set where items differ in extent d. */
        bool ranks;                     /* They differ in rank, too. */
        bool held;                      /* The room does not grow, as of what a loop carries; */
        int grown;                      /* and so many items came since the iteration began. */
};

/* Has the sequence or optional a stack? */
static inline const struct onnx_stack *onnx_stack_of(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR ? NULL : ((const struct onnx_sequence *)v)->stack;
}

/* Returns the first `count` items of the room as a sequence of that type. */
struct onnx_sequence *onnx_sequence_share(struct onnx_import *im, const struct type *type,
                                          struct onnx_room *room, int count);
/* Returns a room with copies of `count` items, and as many free places. The copies are charged
 * against the limits, for the time that they take. Returns NULL after an error. */
struct onnx_room *onnx_room_new(struct onnx_import *im, struct value *const *items, int count);

#endif
