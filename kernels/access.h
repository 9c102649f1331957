/* SPDX-License-Identifier: MIT */
/* The elements of a value lie in a buffer at an offset, and a stride for each of its dimensions,
 * both in elements of a buffer, and both maybe of terms whose values a run gives. Moves (slice,
 * transpose, reshape, pad) change offset and strides only. */
#ifndef KERNELS_ACCESS_H
#define KERNELS_ACCESS_H

#include "ir/tensor/tensor.h"

struct access {
        struct value *value;            /* The access is to this value's buffer. */
        int64_t offset;
        dim_t shift;                    /* A run adds this term to the offset. */
        int64_t stride[RANK_MAX];
        dim_t pitch[RANK_MAX];          /* The stride is as many times this term, whose value a run
                                         * gives; 0: the stride is known. */
};

/* Is the stride of dimension d known? */
static inline bool access_is_known(const struct access *access, int d)
{
        return dim_is(access->pitch[d], 0);
}

/* Finds how v is read through the moves of `region` (NULL: there are none). access->value is then
 * computed outside the region. */
bool access_read(const struct region *region, struct value *v, struct access *access);
/* Does the same, and also looks through pads that put nothing before the first element: the caller
 * knows where the elements of the value end. */
bool access_read_inside(const struct region *region, struct value *v, struct access *access);
/* Computes the strides of a value of type `from` when it is seen with other dims; returns false
 * where one dimension would need two strides. */
bool access_reshape(const struct type *from, int rank, const dim_t *dims, int64_t *stride);
/* Finds how v is stored so that the moves of `region` from v to `result` are done by the store;
 * access->value is `result`. v is the first value, going backwards from `result`, that no move
 * makes. *pad is the pad among these moves, whose other elements the caller must fill, or NULL. */
bool access_store(const struct region *region, struct value *result, struct value **v,
                  struct access *access, struct op **pad);

#endif
