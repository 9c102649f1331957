/* SPDX-License-Identifier: MIT */
/* When memory is in use: what the statements of main touch, and the storages of the workspace.
 *
 * Statements of main are numbered in the order of the text, nested ones too. A storage is one
 * buffer with all its views; each of its bytes is in use from the first statement that touches it
 * to the last. So the parts of a concat that are not written yet, and those of a split that nobody
 * reads any more, are free for others:
 *
 *      bytes |   +-----------+        two spans of one storage: where it lies is one decision, when its bytes are in use
 *            |   |     b     |        are two
 *            |   +---+-------+---+
 *            |       |     a     |
 *            +-------------------- statements
 *
 * What a loop touches is in use through the whole loop, unless every iteration writes it before it
 * reads it: all touches are inside one block of the loop's body, and each byte's first one,
 * directly in this block, writes it. */
#ifndef PASSES_MEMORY_LIFETIMES_H
#define PASSES_MEMORY_LIFETIMES_H

#include "passes/remark.h"

/* A block of main; the statements of a loop's body are those between from and to, the loop itself
 * the first of them. */
struct block_scope { struct block_scope *parent; bool loops; int from, to, depth; };

struct touch {
        struct loop_buffer *root;       /* of any space; bytes start..end of it */
        int64_t start, end;
        bool read, written, fills;      /* fills: all of these bytes are written, and not read
                                         * before */
        int time;                       /* number of the statement */
        struct block_scope *scope;
};
/* Every touch in main, in order of time, what a statement reads before what it writes. Returns how
 * many statements there are. */
int touches_walk(struct arena *arena, const struct loop_program *p,
                 void (*visit)(const struct touch *t, void *context), void *context);
/* those of a block, nested ones too; NULL: none */
int statements_count(const struct loop_block *block);
/* what argument i of a call touches, as a statement */
struct touch touch_argument(const struct loop_stmt *call, int i, int time);

struct span { int64_t start, end; int first, last; };

struct storage {
        struct loop_buffer *buffer;     /* a root */
        int64_t bytes;                  /* what it takes */
        double traffic;                 /* the sum of all touches */
        int first, last;                /* of all spans; first < 0: nothing touches it */
        struct span *spans;             /* none where `into` is set: they are that one's */
        int span_count;
        bool carried;                   /* the last touch is in a loop: the next iteration may touch
                                         * it again */
        struct storage *into;           /* lies in another one's memory, from byte `at` on */
        int64_t at;
        struct touch *touches;
        int touch_count;
};

struct lifetimes {
        struct arena *arena;
        struct storage *storages;       /* by number of their buffer */
        int count, statements;
};

/* The first number from k on that is not done; next[] leads there, next[i] = i where nothing is
 * done. */
int skip_done(int *next, int k);

/* Of all workspace buffers, which get the numbers of their storages. */
struct lifetimes lifetimes_find(struct arena *arena, struct loop_program *p);
/* Of a planned program, as it was planned: shared where its results lie on operands. */
struct lifetimes lifetimes_planned(struct arena *arena, struct loop_program *p);
/* the same, saying why (or, shares false, nothing but that); remarks: or NULL */
void lifetimes_share_saying(struct lifetimes *l, struct loop_program *p, bool shares,
                            struct remarks *remarks);
/* bytes in use by each statement, 0..statements-1; *peak: the first of the largest, or 0 */
int64_t *lifetimes_live(const struct lifetimes *l, int *peak);
/* bytes that the statement that touches most cannot do without, in whatever order */
int64_t lifetimes_largest(struct lifetimes *l, const struct loop_program *p);

#endif
