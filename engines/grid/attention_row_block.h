/* SPDX-License-Identifier: MIT */
/* A block of warps computes attention of few rows as attention_row_warps.c writes it; its files
 * share this struct and these functions. */
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
/* KEY_LANES lanes share a key. A warp has ITERATION_KEYS keys in an iteration, and at most
 * ITERATIONS_MOST iterations whose keys have a lane each. A lane holds at most WORDS_MOST words of
 * keys at a time, so a row has at most CHANNELS_MOST channels. The partial scores of the lanes of a
 * key are DOTS elements apart in shared memory, in different banks. */
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
/* Returns the words of a key that a lane has. */
static inline int64_t words_of(const struct attention *a)
{
        return depth_of(a) / (KEY_LANES * WORD);
}

/* A piece is a range of keys (or of their values), and says where they lie. */
struct piece { struct access at; struct loop_buffer *from; int64_t first, end; };
/* A cache lists all pieces in order, and names the buffer where it is also stored as a whole, or
 * NULL. */
struct cache { struct piece pieces[PIECES_MOST]; int count; struct loop_buffer *whole; };

struct block {
        struct emit *e;
        const struct attention *a;
        struct access q;
        struct cache keys, values;
        struct loop_buffer *query, *result;
        struct loop_buffer *vs;         /* Shared memory holds the values here; NULL: it does
                                         * not. */
        struct loop_buffer *dots;       /* The lanes of a warp find these partial scores. */
        /* For each warp, shared memory holds the scores and shares of its keys, its largest score,
         * the sums of its shares and of its values, and the factors that rescale the sums of each
         * warp. */
        struct loop_buffer *scores, *shares, *bests, *sums, *products, *factors;
        struct row_iterations iterations;
        int warps, parts;
        int64_t share;                  /* A part has this many keys; the last part may have
                                         * fewer. */
        struct loop_buffer *partial;    /* This is the cluster's distributed shared memory,
                                         * [parts][part_of], or NULL. */
        struct loop_expr *group, *row;
        struct loop_expr *part, *first; /* The block has part number `part`, which begins at key
                                         * `first`. */
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

/* Returns the index of channel 0 of row `row` (or of column `row` of the scores). */
static inline struct loop_expr *row_at(struct block *b, const struct access *x,
                                       struct loop_expr *row)
{
        struct emit *e = b->e;
        return plus(e, number(e, x->offset),
                    plus(e, times(e, b->group, x->stride[GROUP]), times(e, row, x->stride[ROW])));
}

/* Returns the number of a lane among all lanes of the block. */
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

/* Returns the number, among the block's keys, of key number `at` of an iteration. */
static inline struct loop_expr *own_at(struct block *b, struct loop_expr *iteration,
                                       struct loop_expr *at)
{
        return plus(b->e, times(b->e, iteration, iteration_keys(b)), at);
}

static inline struct loop_expr *key_of(struct block *b, struct loop_expr *own)
{
        return b->parts > 1 ? emit_let(b->e, "key", plus(b->e, b->first, own)) : own;
}

/* A lane holds these words of keys for some iterations: [iteration][word][element]. */
struct lane_keys {
        struct loop_buffer *words;
        struct loop_expr *first, *channel;        /* `first` is the first iteration, `channel` the
                                                   * lane's first channel of a word. */
        struct loop_expr *at;                     /* It says which of an iteration's keys the lane
                                                   * has. */
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

/* Iterations from..to read piece `of`. all: they read all of the piece. */
struct span { const struct piece *of; int64_t from, to; bool all; };
enum { SPANS_MOST = 3 * PIECES_MOST };

/* ---- attention_row_cache.c ---- */

/* Finds the keys or values v of the region. Returns false where they are no cache that can be read
 * here. */
bool row_find_cache(struct block *b, const struct kernel_request *request, struct value *v,
                    struct cache *c);
/* Can every piece be copied in words of 16 bytes? */
bool row_are_words(const struct cache *c, int64_t depth);
/* Lists the iterations by piece, where an iteration has `each` units and a key `unit` units. Where
 * the keys of an iteration are not constant (`known` false), every piece gets all iterations.
 * Returns the number of spans, at most SPANS_MOST. */
int row_spans(const struct cache *c, int64_t each, int64_t unit, int64_t iterations, bool known,
              struct span *spans);
/* Opens conditions under which the block's key number `own` belongs to the piece of the span.
 * Returns how many scopes were opened. */
int row_open_key(struct block *b, const struct span *s, struct loop_expr *own,
                 struct loop_expr *key);
/* Returns a cache of one piece that describes the keys or values in memory `in`, stored
 * contiguously from the block's first key on (`own`), or for all groups. */
struct cache row_as_whole(struct block *b, struct loop_buffer *in, int64_t depth, bool own);
/* Returns the index of channel 0 of column `key` of a piece. */
struct loop_expr *row_column_at(struct block *b, const struct piece *p, struct loop_expr *key);
/* row_load_keys loads the lane's words of keys; row_store_keys stores them to the buffer that holds
 * the whole cache, where a later kernel reads it. */
void row_load_keys(struct block *b, const struct lane_keys *k);
void row_store_keys(struct block *b, const struct lane_keys *k);
/* row_copy_values copies values into shared memory; row_store_values stores them to the buffer that
 * holds the whole cache. */
void row_copy_values(struct block *b, struct loop_expr *thread);
void row_store_values(struct block *b, struct loop_expr *warp);

#endif
