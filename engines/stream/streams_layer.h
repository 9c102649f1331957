/* SPDX-License-Identifier: MIT */
/* A layer is what streams_find.c reads from a fusion and streams.c writes as a stream; only the
 * files of streams include this. */
#ifndef ENGINES_STREAM_STREAMS_LAYER_H
#define ENGINES_STREAM_STREAMS_LAYER_H

#include "ir/loop/stream.h"
#include "kernels/access.h"
#include "engines/stream/streams.h"

enum { STREAM_STEPS = 32 };             /* An epilogue has at most this many steps. */

/* The weights are a constant of blocks, or a broadcast of one block that stands for all. */
struct blocks {
        const struct value *value;
        bool single;
        struct loop_buffer *buffer;     /* The kernel has the buffer, the machine the memory. */
        struct loop_buffer *memory;
};

/* A step is an operation of the epilogue on sums. */
struct step {
        enum loop_opcode op;
        int64_t immediate;
        const struct value *added;      /* These numbers are added, one for each output; NULL:
                                         * none. */
        const struct value *shifts;     /* Sums are shifted by these amounts, one for each output,
                                         * all equal in a block; NULL: by none. */
        const struct op *joined;        /* Products of each block by one of its own are added; NULL:
                                         * none. */
        struct access x;                /* These products have this operand. */
        bool fixed;                     /* The operand is one element for all positions, which
                                         * x.value holds. */
        struct blocks weights;          /* These products have these weights. */
        struct loop_buffer *buffer, *element;     /* `buffer` holds x, `element` the element in the
                                                   * machine's memory. */
};

struct layer {
        struct emit *e;
        const struct machine *m;
        const struct op *op;            /* This is the convolution. */
        struct schedule_stream schedule;
        struct stream_work work;
        struct access x, y;
        struct blocks w;
        struct op *pad;                 /* This pad surrounds the result; NULL: none does. */
        const struct op *pool;          /* This reduce_window reads what the steps compute; or
                                         * NULL. */
        struct step steps[STREAM_STEPS];
        int step_count, added_count;
        const char *refused;            /* This says why the machine cannot compute the layer, and
                                         * which operation prevents it; or NULL. */
        const struct op *refused_at;
        struct loop_buffer *xs, *ys, *added[STREAM_STEPS];
        int64_t lanes_in, lanes_out, weight;     /* They count numbers of elements. */
        /* The tile that is written has this position and these extents. */
        struct loop_expr *output, *row, *column, *outputs, *rows, *columns, *x_rows, *x_columns;
        /* The sums lie in rows of this many; where there is a pool, the image begins after what
         * lies outside of it. */
        struct loop_expr *plane_rows, *plane_columns, *top, *left;
        struct loop_expr *pooled_row, *pooled_column, *pooled_rows, *pooled_columns;
        struct loop_buffer *sums, *inputs, *weights, *constants;
};

/* ---- shorthands ---- */

static inline struct loop_expr *number(struct layer *l, int64_t value)
{
        return emit_int(l->e, value);
}
static inline struct loop_expr *plus(struct layer *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_ADD, a, b);
}
static inline struct loop_expr *minus(struct layer *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_SUB, a, b);
}
static inline struct loop_expr *product(struct layer *l, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(l->e, LOOP_MUL, a, b);
}
static inline struct loop_expr *times(struct layer *l, struct loop_expr *a, int64_t b)
{
        return emit_op_int(l->e, LOOP_MUL, a, b);
}
static inline struct loop_block *here(struct layer *l) { return l->e->scope->block; }
static inline struct loop_expr *loop(struct layer *l, const char *name, struct loop_expr *end)
{
        return emit_for(l->e, name, number(l, 0), end);
}
static inline struct loop_buffer *memory(struct layer *l, const char *name, int which,
                                         int64_t elements)
{
        return loop_memory_alloc(l->e->arena, here(l), emit_name(l->e, name), l->m, which,
                                 elements);
}
static inline struct loop_place place(struct loop_buffer *b, struct loop_expr *at)
{
        return (struct loop_place){ b, at };
}
static inline void close_loops(struct layer *l, int count)
{
        while (count--)
                emit_end(l->e);
}

/* ---- streams_pool.c: the largest sums of windows ---- */

/* Opens loops over tiles of the pool's results, and sets what they read: rows, row, plane_rows and
 * so on. */
void stream_open_pooled(struct layer *l);
/* Sets sums outside of the image to less than any inside. */
void stream_clear_outside(struct layer *l);
/* Writes the pool after the products; from here on the tile's sums are those of the pool. */
void stream_pool(struct layer *l);
/* stream_loop_tiles opens a loop over tiles (streams.c); stream_left returns what is left of an
 * extent after `at`. */
struct loop_expr *stream_loop_tiles(struct layer *l, const char *name, int64_t extent,
                                    int64_t size);
struct loop_expr *stream_left(struct layer *l, const char *name, int64_t extent,
                              struct loop_expr *at, int64_t most);
/* Returns the rows (d 0) or columns (d 1) of x that `results` rows or columns of results read. */
struct loop_expr *stream_reads(struct layer *l, const char *name, int d, struct loop_expr *results);

/* ---- streams_find.c ---- */

/* Finds the layer that ends in `result`. Returns false where the machine cannot compute all of
 * it. */
bool stream_find(struct layer *l, const struct region *region, const struct op *op,
                 struct value *result, const struct target *target);
/* Returns by how much sums are reduced before they are compared with a bound that does not fit into
 * an immediate. */
int64_t stream_beyond(const struct layer *l, int64_t immediate);

#endif
