/* SPDX-License-Identifier: MIT */
/* Finds where the weights of a layer lie, output by output, and reads constants of one number for
 * each output or channel. */
#ifndef PASSES_QUANTIZE_LAYER_WEIGHTS_H
#define PASSES_QUANTIZE_LAYER_WEIGHTS_H

#include "ir/tensor/tensor.h"

struct weight_places {
        int along;                      /* This dimension of w holds the outputs; -1: there is none,
                                         * and w is that of one output. */
        int64_t outputs, depth, inner;
};

struct weight_places weight_places_of(const struct op *op);
/* Returns the place of the k-th weight of output o, with features counted as in moments.h. */
static inline int64_t weight_place(const struct weight_places *w, int64_t o, int64_t k)
{
        return (k / w->inner * w->outputs + o) * w->inner + k % w->inner;
}
/* Returns the output that element i belongs to. */
static inline int64_t weight_output(const struct weight_places *w, int64_t i)
{
        return i / w->inner % w->outputs;
}
/* Returns the dimension of op's result that holds the outputs. */
int layer_outputs(const struct op *op);

bool is_constant_of_floats(const struct value *v);
bool constant_is_finite(const struct constant *c);        /* Are all its floats finite? */
/* Returns a copy of the numbers of a constant of floats. */
float *constant_numbers(struct arena *arena, const struct constant *c);
/* Returns one number for each of `count` channels along dimension `along`, from a constant spread
 * over a value; NULL: v is no such constant. */
float *numbers_along(struct arena *arena, struct builder *b, struct value *v, int along,
                     int64_t count);
/* Builds such a constant, of type `to`; the numbers are copied. */
struct value *spread_along(struct builder *b, const struct type *to, int along, int64_t count,
                           const float *numbers, const char *name);

#endif
