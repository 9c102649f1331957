/* SPDX-License-Identifier: MIT */
/* A block of warps computes attention as attention_warps.c writes it; its files share this struct
 * and these functions. */
#ifndef ENGINES_GRID_ATTENTION_BLOCK_H
#define ENGINES_GRID_ATTENTION_BLOCK_H

#include "engines/grid/attention_warps.h"
#include "engines/grid/warps.h"

enum { GROUP = 1, ROW = 2, COLUMN = 3, RANK = 4 };      /* The scores have these dimensions: [1,
                                                         * group, row, column]. */
enum { SHARE_RANK = 4 };

struct block {
        struct emit *e;
        struct attention a;
        struct attention_tile t;
        const struct multiply *multiply;
        struct band band;
        int stages;                     /* Shared memory holds the keys and values of this many
                                         * iterations at a time. */
        struct access q, k, v;          /* The operands lie here: q is [.., group, row, channel], k
                                         * and v are [group, column, channel]. */
        bool by_elements;               /* Products are of matrices (dot), whose elements lanes
                                         * compute and store in shared memory, in place of
                                         * copies. */
        /* A run gives this many rows and columns, at most as many as the tile counts on; NULL:
         * their number is constant. */
        struct loop_expr *open_rows, *open_columns;
        struct loop_buffer *query, *key, *value, *result;
        struct loop_buffer *qs, *ks, *vs;         /* These hold queries, keys and values in shared
                                                   * memory. */
        struct emit_place entry, sum;   /* The fusion's expressions read an entry of a tile and a
                                         * row's sum at these places. */
        /* For each row of each warp, these hold the largest score so far, the factor that rescales
         * sums, and what each of the row's lanes has found of both. */
        struct loop_buffer *best, *factor, *parts, *part_sums;
        struct loop_buffer *joined;     /* It holds the products of shares and values for each row
                                         * of each warp, where warps share the keys; or NULL. */
        struct loop_variable *acc, *tile;
        struct loop_variable *shares;   /* Warp groups multiply these by the values; other warps
                                         * multiply `tile`. */
        struct loop_expr *image;        /* The scores have this index of their first dimension. */
        struct loop_expr *group, *first, *warp;   /* The variables are the group, the block's first
                                                   * row, and the warp. */
        struct loop_expr *number, *key_at;        /* The iteration has this number, and the warp
                                                   * begins at this column of it. */
};

/* Return the columns and rows of scores, or at most so many. */
static inline int64_t columns_of(const struct block *b)
{
        return dim_bound(op_module(b->a.first), b->a.scores->type->dims[COLUMN]);
}
static inline int64_t rows_of(const struct block *b)
{
        return dim_bound(op_module(b->a.first), b->a.scores->type->dims[ROW]);
}
/* May the last block have fewer rows, and the last iteration fewer columns? */
static inline bool some_rows(const struct block *b)
{
        return b->open_rows || rows_of(b) % b->t.rows;
}
static inline bool some_columns(const struct block *b)
{
        return b->open_columns || columns_of(b) % attention_tile_keys(&b->t);
}
/* Returns the elements of a row of queries in shared memory. The padding puts eight rows into
 * different banks. */
static inline int64_t query_row(const struct attention_tile *t) { return t->depth + t->group; }
/* Returns the elements of a row of sums in shared memory. The padding puts the lanes of a fragment
 * into different banks. */
static inline int64_t joined_row(const struct attention_tile *t)
{
        return round_up(t->width, 2 * TILE_OWN_LANES) + TILE_OWN_LANES;
}
static inline int rows_of_warp(const struct block *b) { return b->t.rows / b->t.warps; }
/* Returns the warp's first row, among the rows of all warps. */
static inline struct loop_expr *first_of_warp(struct block *b)
{
        return times(b->e, b->warp, rows_of_warp(b));
}
/* Returns which row of the block a row of all warps is. */
static inline struct loop_expr *in_block(struct block *b, struct loop_expr *at)
{
        return b->t.parts > 1 ? emit_op_int(b->e, LOOP_REM, at, b->t.rows) : at;
}
/* Is there one iteration only? Then nothing is known of earlier scores, and the values may arrive
 * while scores are computed. */
static inline bool is_alone(const struct block *b) { return b->t.iterations == 1; }
static inline void begin_warps(struct block *b)
{
        b->warp = emit_grid(b->e, "warp", FOR_GPU_WARP, attention_tile_warps(&b->t));
}
static inline struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y)
{
        return emit_op(b->e, LOOP_LT, x, number(b->e, y));
}
/* Is it a row, a column, of the scores? */
static inline struct loop_expr *is_row(struct block *b, struct loop_expr *row)
{
        return b->open_rows ? emit_op(b->e, LOOP_LT, row, b->open_rows) : less(b, row, rows_of(b));
}
static inline struct loop_expr *is_column(struct block *b, struct loop_expr *column)
{
        return b->open_columns ? emit_op(b->e, LOOP_LT, column, b->open_columns)
                               : less(b, column, columns_of(b));
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
/* Appends a statement on a tile of sums in fragments, of one warp or of all. */
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

/* ---- attention_warps.c ---- */

/* Appends sums += x * w, where w is the block of keys (or values) of iteration b->number, `depth`
 * channels deep. */
struct loop_stmt *attention_multiply(struct block *b, struct loop_variable *sums,
                                     struct loop_buffer *x, struct loop_expr *at,
                                     struct loop_buffer *w, int depth);
/* Declares sums of all warps, which begin as zeros. */
struct loop_variable *attention_new_tile(struct block *b, const char *name, int outputs);

/* ---- attention_warp_groups.c: attention by warp groups ---- */

/* Returns the warp-group multiply for this attention, or NULL where the target has none. */
const struct multiply *attention_group_multiply(const struct attention *a,
                                                const struct target *target);
bool attention_group_of(const struct attention *a, const struct target *target,
                        const struct schedule_grid *s, struct attention_tile *t);
int64_t attention_group_shared(const struct attention_tile *t);
/* Writes iterations from..to; from < to. */
void attention_group_iterations(struct block *b, struct loop_expr *from, struct loop_expr *to);

/* ---- attention_lanes.c: all but attention_results are called within a loop over warps ---- */

/* Stores that no key has been seen yet: the lowest score and zero sums. */
void attention_begin_rows(struct block *b);
/* attention_scores applies the fusion's operations to the scores in b->tile and finds each lane's
 * largest score of each row. attention_shares replaces the scores by shares. attention_rows then
 * updates the largest score and the sum of each row, and computes the factor that rescales its
 * earlier sums. */
void attention_scores(struct block *b);
void attention_shares(struct block *b);
void attention_rows(struct block *b);
/* Copies the shares from b->tile to b->shares. */
void attention_give_shares(struct block *b);
/* Where warps share keys, this rescales the warp's sums to the largest score of all warps after its
 * last iteration, and stores them for the others. */
void attention_leave_part(struct block *b);
/* Applies the epilogue to the sums and stores the results. */
void attention_results(struct block *b);

/* ---- attention_copies.c ---- */

/* Finds where the queries, keys and values lie. Returns false where they cannot be copied in words
 * of 16 bytes. */
bool attention_operands(struct block *b, const struct region *region);
/* Allocates an array in the registers of a lane (attention_lanes.c). */
struct loop_buffer *attention_values(struct block *b, const char *name, enum element element,
                                     int64_t count);
/* Within a loop over warps, opens loops over an index space of `rank` extents (at most SHARE_RANK),
 * shared by the lanes of the block: neighbouring lanes get neighbours in the last dimensions.
 * Returns how many scopes the caller must end with emit_end. */
int attention_share(struct block *b, int rank, const int64_t *extents, struct loop_expr **index);
/* Within a loop over warps, copy the block's queries, and the keys or values of an iteration, into
 * shared memory. For warp groups they are stored in swizzle lines (ir/loop/loop_tiles.h), the lines
 * of the first channels first. */
void attention_copy_queries(struct block *b);
void attention_copy_keys(struct block *b, struct loop_expr *iteration);
void attention_copy_values(struct block *b, struct loop_expr *iteration);

#endif
