/* SPDX-License-Identifier: MIT */
/* The types that --quantize-weights may ask for (weights_types.def). */
#ifndef PASSES_QUANTIZE_WEIGHTS_TYPES_H
#define PASSES_QUANTIZE_WEIGHTS_TYPES_H

#include "ir/tensor/block_weights.h"

enum { BLOCK_MOST = 1 << 16 };          /* A block has from BLOCK_LEAST up to this many numbers. */

struct weights_type {
        const char *name;
        enum element element;
        int bits;
        bool zeros;                     /* The type has zero points; else it is symmetric. */
        int64_t block;                  /* This many numbers of an output share a step, unless the
                                         * option says more; 0: all do. */
        const char *doc;
};
extern const struct weights_type weights_types[];

/* Are they floats, which are for store_weights, and have no blocks? Else they are for
 * quantize_products. */
static inline bool weights_are_floats(const struct weights_type *t)
{
        return element_is_float(t->element) || element_code(t->element);
}
/* Returns the type of that name, or NULL. */
const struct weights_type *weights_type_find(const char *name, size_t length);
void weights_types_help(void);          /* Prints the types on standard output. */

#endif
