/* SPDX-License-Identifier: MIT */
/* A block of warps that computes attention, as attention_warps.c writes it: what its files share. */
#ifndef KERNELS_ATTENTION_BLOCK_H
#define KERNELS_ATTENTION_BLOCK_H

#include "kernels/attention_warps.h"
#include "kernels/warps.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };      /* of scores [1, group, row, column] */
enum { SHARE_RANK = 4 };

struct block {
        struct emit *e;
        struct attention a;
        struct attention_tile t;
        const struct multiply *multiply;
        struct band band;
        int stages;                     /* turns of keys and values that are in shared memory at a time */
        struct access q, k, v;          /* [.., group, row, channel]; k and v: [group, column, channel] */
        struct loop_buffer *query, *key, *value, *result;
        struct loop_buffer *qs, *ks, *vs;         /* in shared memory */
        struct emit_place entry, sum;   /* of a tile's value; of a row's */
        struct loop_buffer *best, *factor, *parts, *part_sums;      /* of each warp's rows */
        struct loop_buffer *joined;     /* of each warp's rows, the sums of values: where warps share keys */
        struct loop_variable *acc, *tile;
        struct loop_expr *group, *first, *warp;   /* first: row of the block */
        struct loop_expr *number, *key_at;        /* of the turn; the warp's first column of it */
};

static inline int64_t columns_of(const struct block *b) { return b->a.scores->type->dims[COLUMN]; }
static inline int64_t rows_of(const struct block *b) { return b->a.scores->type->dims[ROW]; }
/* elements of a row of queries in shared memory: eight of them lie in banks of their own */
static inline int64_t query_row(const struct attention_tile *t) { return t->depth + t->group; }
static inline struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y)
{
        return emit_op(b->e, LOOP_LT, x, number(b->e, y));
}
static inline struct loop_stmt *add(struct block *b, enum loop_stmt_kind kind)
{
        return loop_append(b->e->arena, b->e->scope->block, kind);
}

/* attention_copies.c */

/* q, k, v of b, of the fusion's region; false: they do not lie so that words of 16 bytes can be copied */
bool attention_operands(struct block *b, const struct region *region);
/* Within a loop over warps, opens loops over all that has such extents (of which there are at most SHARE_RANK), shared by the lanes of the block:
 * those of neighbours in the last dimensions are neighbours. Returns what emit_end is to be called for. */
int attention_share(struct block *b, int rank, const int64_t *extents, struct loop_expr **index);
/* Copies by the lanes of a block, within a loop over its warps: the block's queries; keys, values of a turn. */
void attention_copy_queries(struct block *b);
void attention_copy_keys(struct block *b, struct loop_expr *turn);
void attention_copy_values(struct block *b, struct loop_expr *turn);

#endif
