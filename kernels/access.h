/* SPDX-License-Identifier: MIT */
/* Where the elements of a value lie: an offset and a stride for each of its dimensions, in elements
 * of a buffer. Moves (slice, transpose, reshape, pad) change those and nothing else. */
#ifndef KERNELS_ACCESS_H
#define KERNELS_ACCESS_H

#include "ir/tensor/tensor.h"

struct access {
        struct value *value;            /* whose buffer it is */
        int64_t offset;
        int64_t stride[RANK_MAX];
};

/* How v is read through the moves of `region` (NULL: none): access->value is computed outside
 * it. */
bool access_read(const struct region *region, struct value *v, struct access *access);
/* The same, pads looked through that have nothing in front of the first element: who reads knows
 * where what is there ends. */
bool access_read_inside(const struct region *region, struct value *v, struct access *access);
/* Strides of a value of a type, seen under other dims; false: one would need two. */
bool access_reshape(const struct type *from, int rank, const dim_t *dims, int64_t *stride);
/* How v is stored so that the moves of `region` from it to `result` are done: access->value is
 * result. *pad: the pad on the way, whose other elements are to be filled, or NULL; the first value
 * from `result` on that no move makes is v. */
bool access_store(const struct region *region, struct value *result, struct value **v,
                  struct access *access, struct op **pad);

#endif
