/* SPDX-License-Identifier: MIT */
/* A block of warps that computes attention, as attention_warps.c writes it: what its files
 * share. */
#ifndef ENGINES_GRID_ATTENTION_BLOCK_H
#define ENGINES_GRID_ATTENTION_BLOCK_H

#include "engines/grid/attention_warps.h"
#include "engines/grid/warps.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };      /* of scores [1, group, row, column] */
enum { SHARE_RANK = 4 };

struct block {
        struct emit *e;
        struct attention a;
        struct attention_tile t;
        const struct multiply *multiply;
        struct band band;
        int stages;                     /* iterations of keys and values that are in shared memory
                                         * at a time */
        struct access q, k, v;          /* [.., group, row, channel]; k and v: [group, column,
                                         * channel] */
        struct loop_buffer *query, *key, *value, *result;
        struct loop_buffer *qs, *ks, *vs;         /* in shared memory */
        struct emit_place entry, sum;   /* of a tile's value; of a row's */
        struct loop_buffer *best, *factor, *parts, *part_sums;      /* of each warp's rows */
        struct loop_buffer *joined;     /* of each warp's rows, the sums of values: where warps
                                         * share keys */
        struct loop_variable *acc, *tile;
        struct loop_variable *shares;   /* of warp groups: what they multiply by values; else it is
                                         * tile that they multiply */
        struct loop_expr *group, *first, *warp;   /* first: row of the block */
        struct loop_expr *number, *key_at;        /* of the iteration; the warp's first column of it
                                                   * / */
};

static inline int64_t columns_of(const struct block *b)
{
        return type_extent(b->a.scores->type, COLUMN);
}
static inline int64_t rows_of(const struct block *b) { return type_extent(b->a.scores->type, ROW); }
/* elements of a row of queries in shared memory: eight of them lie in banks of their own */
static inline int64_t query_row(const struct attention_tile *t) { return t->depth + t->group; }
/* elements of a row of sums in shared memory: lanes of a fragment have banks of their own */
static inline int64_t joined_row(const struct attention_tile *t)
{
        return round_up(t->width, 2 * TILE_OWN_LANES) + TILE_OWN_LANES;
}
static inline int rows_of_warp(const struct block *b) { return b->t.rows / b->t.warps; }
/* of all warps' rows, the warp's first one */
static inline struct loop_expr *first_of_warp(struct block *b)
{
        return times(b->e, b->warp, rows_of_warp(b));
}
/* the row of the block that one of these is */
static inline struct loop_expr *in_block(struct block *b, struct loop_expr *at)
{
        return b->t.parts > 1 ? emit_op_int(b->e, LOOP_REM, at, b->t.rows) : at;
}
/* There is one iteration: nothing is known of rows before it, and its values may come while
 * scores are made. */
static inline bool is_alone(const struct block *b) { return b->t.iterations == 1; }
static inline void begin_warps(struct block *b)
{
        b->warp = emit_grid(b->e, "warp", FOR_GPU_WARP, attention_tile_warps(&b->t));
}
static inline struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y)
{
        return emit_op(b->e, LOOP_LT, x, number(b->e, y));
}
static inline struct loop_stmt *add(struct block *b, enum loop_stmt_kind kind)
{
        return loop_append(b->e->arena, b->e->scope->block, kind);
}

static inline void wait_for_all(struct block *b)
{
        add(b, STMT_COMMIT);
        add(b, STMT_WAIT);
}
/* a statement on the sums of a warp, or of all */
static inline struct loop_stmt *on_tile(struct block *b, enum loop_stmt_kind kind,
                                        struct loop_variable *sums, struct loop_buffer *buffer,
                                        struct loop_expr *at)
{
        struct loop_stmt *s = add(b, kind);
        s->variable = sums;
        s->buffer = buffer;
        s->a = at;
        s->tiles = (struct loop_tiles){ .positions = sums->rows,
                                        .vectors = sums->columns,
                                        .rows = b->t.fragment };
        return s;
}

/* attention_warps.c */

/* sums += what the caller says by the block of keys in w that b->number says */
struct loop_stmt *attention_multiply(struct block *b, struct loop_variable *sums,
                                     struct loop_buffer *x, struct loop_expr *at,
                                     struct loop_buffer *w, int depth);
/* sums of all warps, zeros */
struct loop_variable *attention_new_tile(struct block *b, const char *name, int outputs);

/* attention_warp_groups.c: attention by warp groups */

/* NULL: the target has none for it */
const struct multiply *attention_group_multiply(const struct attention *a,
                                                const struct target *target);
bool attention_group_of(const struct attention *a, const struct target *target,
                        const struct schedule_grid *s, struct attention_tile *t);
int64_t attention_group_shared(const struct attention_tile *t);
/* all iterations; from < to */
void attention_group_iterations(struct block *b, struct loop_expr *from, struct loop_expr *to);

/* attention_lanes.c: within a loop over warps, but for results */

/* what is known of rows that have seen no key */
void attention_begin_rows(struct block *b);
/* scores of b->tile as the fusion has them, and a lane's largest one of each row; shares in
 * their place; then what is known of rows, and what their sums so far are brought to the largest
 * score by */
void attention_scores(struct block *b);
void attention_shares(struct block *b);
void attention_rows(struct block *b);
/* b->tile's to b->shares */
void attention_give_shares(struct block *b);
/* A warp that shares keys, all of which have been multiplied, brings its sums to the largest
 * score of all, and leaves them to the others. */
void attention_leave_part(struct block *b);
/* what the fusion makes of sums, stored */
void attention_results(struct block *b);

/* attention_copies.c */

/* q, k, v of b, of the fusion's region; false: they do not lie so that words of 16 bytes can be
 * copied */
bool attention_operands(struct block *b, const struct region *region);
/* Within a loop over warps, opens loops over all that has such extents (of which there are at
 * most SHARE_RANK), shared by the lanes of the block: those of neighbours in the last dimensions
 * are neighbours. Returns what emit_end is to be called for. */
int attention_share(struct block *b, int rank, const int64_t *extents, struct loop_expr **index);
/* Copies by the lanes of a block, within a loop over its warps: the block's queries; keys,
 * values of an iteration. Where warp groups multiply, all of them lie in lines
 * (ir/loop/loop_tiles.h), those of the first channels in front. */
void attention_copy_queries(struct block *b);
void attention_copy_keys(struct block *b, struct loop_expr *iteration);
void attention_copy_values(struct block *b, struct loop_expr *iteration);

#endif
