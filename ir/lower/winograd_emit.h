/* SPDX-License-Identifier: MIT */
/* Writes the transforms of Winograd's algorithm (ir/tensor/winograd_tiles.h) in Loop IR. */
#ifndef IR_LOWER_WINOGRAD_EMIT_H
#define IR_LOWER_WINOGRAD_EMIT_H

#include "ir/lower/lower.h"
#include "ir/tensor/winograd_tiles.h"

/* The struct describes a transform of a square of values, scalars or vectors, by line `down` along
 * columns, then by `across` along rows: load(context, row, column) returns those that are needed,
 * each once, column by column; store(context, row, column, value) gets the first results of the
 * first rows, row by row, and returns whether to go on. */
struct winograd_values {
        const struct winograd_line *down, *across;
        int rows, columns;              /* This many results are needed in each direction. */
        struct loop_expr *(*load)(void *context, int row, int column);
        bool (*store)(void *context, int row, int column, struct loop_expr *value);
        void *context;
        bool fused;
};
bool winograd_emit(struct emit *e, const struct winograd_values *values);

#endif
