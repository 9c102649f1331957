/* SPDX-License-Identifier: MIT */
/* When memory is in use: what the statements of main touch, and the storages of the workspace.
 *
 * Statements of main are numbered in the order of the text, nested ones too. A storage is one
 * buffer with all its views; each of its bytes is in use from the first statement that touches it
 * to the last. So the parts of a concat that are not written yet, and those of a split that no
 * statement reads any more, are free for others:
 *
 *     bytes |   +-----------+           two spans of one storage: they have one place,
 *           |   |     b     |           but their bytes are in use at different times
 *           |   +---+-------+---+
 *           |       |     a     |
 *           +-------------------- statements
 *
 * What a loop touches is in use through the whole loop, unless every iteration writes it before it
 * reads it: all touches are inside one block of the loop's body, and each byte's first one,
 * directly in this block, writes it; or one statement alone touches it, as its scratch. */
#ifndef PASSES_MEMORY_LIFETIMES_H
#define PASSES_MEMORY_LIFETIMES_H

#include "passes/remark.h"

/* A block_scope is a block of main. If it is a loop's body, its statements are those between from
 * and to, and the loop is the first of them. */
struct block_scope { struct block_scope *parent; bool loops; int from, to, depth; };

struct touch {
        struct loop_buffer *root;       /* The root is of any space; the touch has its bytes
                                         * start..end. */
        int64_t start, end;
        bool read, written, fills;      /* fills: all of these bytes are written, and not read
                                         * before. */
        int time;                       /* The touching statement has this number. */
        struct block_scope *scope;
};
/* Visits every touch in main, in order of time; what a statement reads comes before what it writes.
 * Returns the number of statements. */
int touches_walk(struct arena *arena, const struct loop_program *p,
                 void (*visit)(const struct touch *t, void *context), void *context);
/* Returns the number of statements of a block, nested ones too; NULL has none. */
int statements_count(const struct loop_block *block);
/* Returns what argument i of a call touches, as a statement. */
struct touch touch_argument(const struct loop_stmt *call, int i, int time);

struct span { int64_t start, end; int first, last; };

struct storage {
        struct loop_buffer *buffer;     /* The buffer is a root, a view of no other buffer. */
        int64_t bytes;                  /* The storage takes this many bytes. */
        double traffic;                 /* The bytes of all touches, added up. */
        int first, last;                /* All spans lie between the first and the last statement;
                                         * first < 0: nothing touches the storage. */
        struct span *spans;             /* The storage has none where `into` is set: they have
                                         * become spans of that one. */
        int span_count;
        bool carried;                   /* The last touch is in a loop whose next iteration may
                                         * touch it again. */
        struct storage *into;           /* The storage lies in the memory of this one, from byte
                                         * `at` on; NULL: in its own. */
        int64_t at;
        struct touch *touches;
        int touch_count;
};

struct lifetimes {
        struct arena *arena;
        struct storage *storages;       /* The storages are numbered by their buffers. */
        int count, statements;
};

/* Returns the first number from k on that is not done. next[] leads there; next[i] = i where i is
 * not done. */
int skip_done(int *next, int k);

/* Finds the lifetimes of all workspace buffers, which get the numbers of their storages. */
struct lifetimes lifetimes_find(struct arena *arena, struct loop_program *p);
/* Finds those of a planned program, as it was planned: a result shares memory where it lies on an
 * operand. */
struct lifetimes lifetimes_planned(struct arena *arena, struct loop_program *p);
/* Lets results lie on operands, and says why they do or not; with shares false it only says so.
 * remarks may be NULL. */
void lifetimes_share_saying(struct lifetimes *l, struct loop_program *p, bool shares,
                            struct remarks *remarks);
/* Returns the bytes in use by each statement, 0..statements-1; *peak: the first statement with the
 * most bytes, or 0. */
int64_t *lifetimes_live(const struct lifetimes *l, int *peak);
/* Returns the bytes that the statement which touches most needs in any order. */
int64_t lifetimes_largest(struct lifetimes *l, const struct loop_program *p);

#endif
