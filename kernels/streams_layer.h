/* SPDX-License-Identifier: MIT */
/* What streams_find.c reads off a fusion, and streams.c writes as a stream; nobody else includes this. */
#ifndef KERNELS_STREAMS_LAYER_H
#define KERNELS_STREAMS_LAYER_H

#include "ir/stream.h"
#include "kernels/access.h"
#include "kernels/streams.h"

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
        const struct value *shifts;     /* the same, of which all in a block are equal, as amounts to shift by; or NULL */
        const struct op *joined;        /* products of each block by one of its own, which are added; or NULL */
        struct access x;                /* what these are of */
        bool fixed;                     /* ... one element for all: x.value holds it */
        struct blocks weights;          /* ... and by what */
        struct loop_buffer *buffer, *element;     /* of x; of the element in the machine's memory */
};

struct layer {
        struct emit *e;
        const struct machine *m;
        const struct op *op;            /* the convolution */
        struct schedule schedule;
        struct stream_work work;
        struct access x, y;
        struct blocks w;
        struct op *pad;                 /* around the result, or NULL */
        struct step steps[STREAM_STEPS];
        int step_count, added_count;
        struct loop_buffer *xs, *ys, *added[STREAM_STEPS];
        int64_t lanes_in, lanes_out, weight;     /* numbers of elements */
        /* of the tile that is written */
        struct loop_expr *output, *row, *column, *outputs, *rows, *columns, *x_rows, *x_columns;
        struct loop_buffer *sums, *inputs, *weights, *constants;
};

/* The layer that ends in `result`; false: the machine cannot do all of it. */
bool stream_find(struct layer *l, const struct region *region, const struct op *op, struct value *result, const struct target *target);
/* A bound that an immediate does not hold is compared with sums that are less by this much. */
int64_t stream_beyond(const struct layer *l, int64_t immediate);

#endif
