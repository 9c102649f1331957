/* The cost models of contractions in f32 and in bf16 (narrow.c), before there are layouts and
 * schedules: predicted cycles of one core. */
#ifndef COST_NARROW_H
#define COST_NARROW_H

#include "ir/target.h"
#include "ir/tensor.h"

/* channels below which those of a row of the window make one step */
enum { NARROW_FEW = 16 };

/* channels of a row of the window, where they are few: side by side in pairs */
int64_t narrow_line(const struct type *w);
/* in f32, with blocks of so many channels */
double narrow_f32_cost(const struct op *op, const struct target *target, int64_t block);
/* the same by Winograd's algorithm, in tiles of tile x tile results; 0: it cannot be. *growth: of
 * its weights, in bytes */
double narrow_winograd_cost(const struct op *op, int tile, const struct target *target,
                            double *growth);
/* operands in bf16: in hardware tiles; by words in registers */
double narrow_tiles_cost(const struct op *op, const struct target *target,
                         const struct multiply *m);
double narrow_words_cost(const struct op *op, const struct target *target,
                         const struct multiply *m);
/* products in f32, weights stored in bf16 */
double narrow_weights_cost(const struct op *op, const struct target *target);

#endif
