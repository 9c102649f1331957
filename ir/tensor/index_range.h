/* SPDX-License-Identifier: MIT */
/* Index ranges: what the operations that compute an index say about its least and its largest
 * value, where extents may be those of a run.
 *
 *      extent(x)                    H                 of x <H x f32>, H in [1, 512]
 *      sub(%1, 1)                   H - 1
 *      max(%0, 0)                   0 ..              of any number
 *      min(%3, %2)                  0 .. H - 1
 *      gather(%x, %4)               reads inside of x in every run, so it needs no check
 *
 * An answer holds for every input, NaN among them, and for every value of the extents: intervals
 * over the operations, with an upper bound that may be an extent plus a number. */
#ifndef IR_TENSOR_INDEX_RANGE_H
#define IR_TENSOR_INDEX_RANGE_H

#include "ir/tensor/tensor.h"

/* Is each element of v, which holds integers, in every run at least 0 and less than the extent?
 * False: nobody knows. */
bool index_is_within(const struct module *m, const struct value *v, dim_t extent);
/* Is this op a gather all of whose indices are so, counted from the front? It cannot fail then. */
bool index_gather_is_within(const struct module *m, const struct op *op);

#endif
