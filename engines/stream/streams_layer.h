/* SPDX-License-Identifier: MIT */
/* What streams_find.c reads off a fusion, and streams.c writes as a stream; nobody else includes
 * this. */
#ifndef ENGINES_STREAM_STREAMS_LAYER_H
#define ENGINES_STREAM_STREAMS_LAYER_H

#include "ir/loop/stream.h"
#include "kernels/access.h"
#include "engines/stream/streams.h"

enum { STREAM_STEPS = 32 };             /* of an epilogue */

/* Blocks of weights: a constant of them, or of one that is all of them. */
struct blocks {
        const struct value *value;
        bool single;
        struct loop_buffer *buffer;     /* of the kernel, and of the machine's memory */
        struct loop_buffer *memory;
};

/* an operation of the epilogue on sums */
struct step {
        enum loop_opcode op;
        int64_t immediate;
        const struct value *added;      /* numbers, one for each output; or NULL */
        const struct value *shifts;     /* the same, of which all in a block are equal, as amounts
                                         * to shift by; or NULL */
        const struct op *joined;        /* products of each block by one of its own, which are
                                         * added; or NULL */
        struct access x;                /* what these are of */
        bool fixed;                     /* ... one element for all: x.value holds it */
        struct blocks weights;          /* ... and by what */
        struct loop_buffer *buffer, *element;     /* of x; of the element in the machine's memory */
};

struct layer {
        struct emit *e;
        const struct machine *m;
        const struct op *op;            /* the convolution */
        struct schedule_stream schedule;
        struct stream_work work;
        struct access x, y;
        struct blocks w;
        struct op *pad;                 /* around the result, or NULL */
        const struct op *pool;          /* reduce_window: of what the steps make; or NULL */
        struct step steps[STREAM_STEPS];
        int step_count, added_count;
        const char *refused;            /* why it is none for the machine; the operation, or NULL */
        const struct op *refused_at;
        struct loop_buffer *xs, *ys, *added[STREAM_STEPS];
        int64_t lanes_in, lanes_out, weight;     /* numbers of elements */
        /* of the tile that is written */
        struct loop_expr *output, *row, *column, *outputs, *rows, *columns, *x_rows, *x_columns;
        /* its sums lie in rows of so many; where there is a pool, they begin behind what lies
         * outside of the image */
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

/* Loops over tiles of the pool's results, and what they read: rows, row, plane_rows and so on. */
void stream_open_pooled(struct layer *l);
/* Sums outside of the image are less than any. */
void stream_clear_outside(struct layer *l);
/* Behind the products: the tile's sums are those of the pool from here on. */
void stream_pool(struct layer *l);
/* a loop over tiles (streams.c), and what is left of an extent behind `at` */
struct loop_expr *stream_loop_tiles(struct layer *l, const char *name, int64_t extent,
                                    int64_t size);
struct loop_expr *stream_left(struct layer *l, const char *name, int64_t extent,
                              struct loop_expr *at, int64_t most);
/* rows or columns of x that so many sums read */
struct loop_expr *stream_reads(struct layer *l, const char *name, int d, struct loop_expr *results);

/* ---- streams_find.c ---- */

/* The layer that ends in `result`; false: the machine cannot do all of it. */
bool stream_find(struct layer *l, const struct region *region, const struct op *op,
                 struct value *result, const struct target *target);
/* A bound that an immediate does not hold is compared with sums that are less by this much. */
int64_t stream_beyond(const struct layer *l, int64_t immediate);

#endif
