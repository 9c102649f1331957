/* SPDX-License-Identifier: MIT */
/* Where the weights of a layer lie, output by output; constants of one number for each output or
 * channel. */
#ifndef PASSES_QUANTIZE_LAYER_WEIGHTS_H
#define PASSES_QUANTIZE_LAYER_WEIGHTS_H

#include "ir/tensor/tensor.h"

struct weight_places {
        int along;                      /* the dimension of w that is an output's; -1: none, there
                                         * is one output as it were */
        int64_t outputs, depth, inner;
};

struct weight_places weight_places_of(const struct op *op);
/* of output o the k-th number, as moments.h counts features */
static inline int64_t weight_place(const struct weight_places *w, int64_t o, int64_t k)
{
        return (k / w->inner * w->outputs + o) * w->inner + k % w->inner;
}
/* the output of element i */
static inline int64_t weight_output(const struct weight_places *w, int64_t i)
{
        return i / w->inner % w->outputs;
}
/* the dimension of its result that outputs are */
int layer_outputs(const struct op *op);

bool is_constant_of_floats(const struct value *v);
bool constant_is_finite(const struct constant *c);        /* all its floats */
/* its numbers, of a constant of floats: a copy */
float *constant_numbers(struct arena *arena, const struct constant *c);
/* One number for each of `count` channels along dimension `along`, from a constant spread over a
 * value; NULL: it is no such. */
float *numbers_along(struct arena *arena, struct builder *b, struct value *v, int along,
                     int64_t count);
/* such a constant: v's type; the numbers are copied */
struct value *spread_along(struct builder *b, const struct type *to, int along, int64_t count,
                           const float *numbers, const char *name);

#endif
