/* SPDX-License-Identifier: MIT */
/* A block of warps that computes attention of few rows, as attention_row_warps.c writes it: what
 * its files share. */
#ifndef ENGINES_GRID_ATTENTION_ROW_BLOCK_H
#define ENGINES_GRID_ATTENTION_ROW_BLOCK_H

#include "engines/grid/attention_row_warps.h"
#include "engines/grid/warps.h"

enum {
        GROUP = 1,
        ROW = 2,
        COLUMN = 3,
        RANK = 4,
        ROWS_MOST = 8,
        PIECES_MOST = 4,
        WORD = COPY_BYTES / 4
};
/* Lanes that share a key; keys of a warp in an iteration; iterations whose keys have a lane
 * each; words of keys that a lane has at a time; channels of a row; of what lanes found of keys
 * in shared memory, elements from a lane of a key to the next, which are in banks of their own. */
enum {
        KEY_LANES = 8,
        ITERATION_KEYS = GRID_LANES / KEY_LANES,
        ITERATIONS_MOST = GRID_LANES / ITERATION_KEYS,
        WORDS_MOST = 16,
        CHANNELS_MOST = WORDS_MOST * KEY_LANES * WORD,
        DOTS = GRID_LANES + ITERATION_KEYS
};

static inline int64_t columns_of(const struct attention *a)
{
        return type_extent(a->scores->type, COLUMN);
}
static inline int64_t depth_of(const struct attention *a)
{
        return type_extent(op_operand(a->first, 0)->type, COLUMN);
}
static inline int64_t width_of(const struct attention *a)
{
        return type_extent(op_result(a->second)->type, COLUMN);
}
/* words that a lane has of a key */
static inline int64_t words_of(const struct attention *a)
{
        return depth_of(a) / (KEY_LANES * WORD);
}

/* some of the keys (or of their values), and where they lie */
struct piece { struct access at; struct loop_buffer *from; int64_t first, end; };
/* all of them, in order; where they are stored besides, or NULL */
struct cache { struct piece pieces[PIECES_MOST]; int count; struct loop_buffer *whole; };

struct block {
        struct emit *e;
        const struct attention *a;
        struct access q;
        struct cache keys, values;
        struct loop_buffer *query, *result;
        struct loop_buffer *vs;         /* values in shared memory, or NULL */
        struct loop_buffer *dots;       /* of the warp: what lanes find of keys */
        /* in shared memory, of each warp: scores and shares of its keys; its largest score; sums
         * of shares, of values; its factors for what warps have */
        struct loop_buffer *scores, *shares, *bests, *sums, *products, *factors;
        struct row_iterations iterations;
        int warps, parts;
        int64_t share;                  /* keys of a part, of which the last may have fewer */
        struct loop_buffer *partial;    /* of the cluster: [parts][part_of], or NULL */
        struct loop_expr *group, *row;
        struct loop_expr *part, *first; /* of all parts, the block's; its first key */
};

static inline int64_t lanes_of(const struct block *b) { return (int64_t)b->warps * GRID_LANES; }
static inline int64_t iteration_keys(const struct block *b)
{
        return (int64_t)b->warps * ITERATION_KEYS;
}
static inline struct loop_expr *load(struct block *b, struct loop_buffer *from,
                                     struct loop_expr *at)
{
        return loop_load(b->e->arena, from, at);
}
static inline struct loop_expr *less(struct block *b, struct loop_expr *x, int64_t y)
{
        return emit_op(b->e, LOOP_LT, x, number(b->e, y));
}
static inline struct loop_expr *behind(struct block *b, struct loop_expr *x, int64_t y)
{
        return emit_op(b->e, LOOP_LE, number(b->e, y), x);
}
static inline struct loop_stmt *add(struct block *b, enum loop_stmt_kind kind)
{
        return loop_append(b->e->arena, b->e->scope->block, kind);
}

static inline struct loop_expr *float_number(struct block *b, double value)
{
        return loop_literal(b->e->arena, LOOP_TYPE(E_F32), (union scalar){ .f = value });
}

/* where channel 0 of row (or column of scores) `row` is */
static inline struct loop_expr *row_at(struct block *b, const struct access *x,
                                       struct loop_expr *row)
{
        struct emit *e = b->e;
        return plus(e, number(e, x->offset),
                    plus(e, times(e, b->group, x->stride[GROUP]), times(e, row, x->stride[ROW])));
}

/* the number of a lane among all of the block */
static inline struct loop_expr *thread(struct block *b, struct loop_expr *warp,
                                       struct loop_expr *lane)
{
        return emit_let(b->e, "thread", plus(b->e, times(b->e, warp, GRID_LANES), lane));
}

static inline void end_scopes(struct block *b, int scopes)
{
        while (scopes-- > 0)
                emit_end(b->e);
}

/* a key of the block: in that iteration, number `at` of the iteration */
static inline struct loop_expr *own_at(struct block *b, struct loop_expr *iteration,
                                       struct loop_expr *at)
{
        return plus(b->e, times(b->e, iteration, iteration_keys(b)), at);
}

static inline struct loop_expr *key_of(struct block *b, struct loop_expr *own)
{
        return b->parts > 1 ? emit_let(b->e, "key", plus(b->e, b->first, own)) : own;
}

/* A lane's words of keys, of some iterations: iteration, word, element. */
struct lane_keys {
        struct loop_buffer *words;
        struct loop_expr *first, *channel;        /* the first iteration; the lane's first channel
                                                   * of a word */
        struct loop_expr *at;                     /* of keys of an iteration, which it has */
};

static inline int64_t word_at(struct block *b, int64_t iteration, int64_t word)
{
        return (iteration * words_of(b->a) + word) * WORD;
}

static inline struct loop_expr *channel_at(struct block *b, const struct lane_keys *k, int64_t word,
                                           int element)
{
        return plus(b->e, k->channel, number(b->e, word * KEY_LANES * WORD + element));
}

/* Iterations from..to, in each of which so many of something, keys or words of them, come side
 * by side; all: they are all of the piece. */
struct span { const struct piece *of; int64_t from, to; bool all; };
enum { SPANS_MOST = 3 * PIECES_MOST };

/* attention_row_cache.c */

/* keys or values v of the region; false: it is no cache that can be read so */
bool row_find_cache(struct block *b, const struct kernel_request *request, struct value *v,
                    struct cache *c);
/* Do copies' words lie where they may? */
bool row_are_words(const struct cache *c, int64_t depth);
/* All iterations, piece by piece, of `each` an iteration, of which a key has `unit`. Where it is
 * not known which an iteration has, as it is for the program as a whole: all iterations for each
 * piece. At most SPANS_MOST, whose number is returned. */
int row_spans(const struct cache *c, int64_t each, int64_t unit, int64_t iterations, bool known,
              struct span *spans);
/* opens what is for keys of the piece that the block has: number `own` of its own; says how many
 * scopes these are */
int row_open_key(struct block *b, const struct span *s, struct loop_expr *own,
                 struct loop_expr *key);
/* all of the keys or values as one piece of that memory, where they lie side by side from the
 * block's first one on, or, own false, of all groups */
struct cache row_as_whole(struct block *b, struct loop_buffer *in, int64_t depth, bool own);
/* where channel 0 of column `key` is, which is one of the piece's */
struct loop_expr *row_column_at(struct block *b, const struct piece *p, struct loop_expr *key);
/* the lane's words of keys; and, for who reads the whole cache later, where they are stored
 * besides */
void row_load_keys(struct block *b, const struct lane_keys *k);
void row_store_keys(struct block *b, const struct lane_keys *k);
/* values into shared memory; likewise stored besides */
void row_copy_values(struct block *b, struct loop_expr *thread);
void row_store_values(struct block *b, struct loop_expr *warp);

#endif
