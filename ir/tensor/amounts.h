/* SPDX-License-Identifier: MIT */
/* Amounts: integers that are known before a run, as numbers or as terms over the symbols whose
 * extents a run gives. Shapes that a graph computes by itself are such integers:
 *
 *      %0 = extent(%x) axis=0 : <i64>                  N
 *      %1 = mul(%0, 12) : <i64>                        N * 12
 *      %2 = concat(%1', 64, -1) axis=0 : <3 x i64>     N * 12, 64, -1
 *
 * An importer that needs a shape asks here, where constants alone would not do. */
#ifndef IR_TENSOR_AMOUNTS_H
#define IR_TENSOR_AMOUNTS_H

#include "ir/tensor/tensor.h"

enum { AMOUNTS_MAX = 64 };              /* A tensor of more elements is not looked at. */

/* term: the integer is the value of `dim`, which is no number; else it is `number`. unknown: only a
 * run knows it (value_amounts gives none such). */
struct amount { bool term; int64_t number; dim_t dim; bool unknown; };

/* Finds the elements of v, integers or truth values, in row-major order; *count of them, at most
 * AMOUNTS_MAX. Returns false where one of them is not known. */
bool value_amounts(struct module *m, const struct value *v, struct amount amounts[AMOUNTS_MAX],
                   int *count);

/* Notes that element `element` of v, an integer that only a run knows, is the value of d from here
 * on, because an operation `counted` has checked that. `from` may be a part of other values: the
 * element that moves there is noted. An importer forgets by known_count what a region counts. */
void value_amount_known(struct module *m, const struct value *from, dim_t d);

static inline struct amount amount_of(int64_t number)
{
        return (struct amount){ .number = number };
}
static inline struct amount amount_of_dim(dim_t d)
{
        return dim_is_static(d) ? amount_of(dim_extent(d))
                                : (struct amount){ .term = true, .dim = d };
}
/* Returns the amount as a dimension; DIM_NONE: it is a number below 0. */
static inline dim_t amount_dim(struct amount a) { return a.term ? a.dim : dim_of(a.number); }

#endif
