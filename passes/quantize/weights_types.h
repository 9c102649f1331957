/* SPDX-License-Identifier: MIT */
/* What --quantize-weights may ask for (weights_types.def). */
#ifndef PASSES_QUANTIZE_WEIGHTS_TYPES_H
#define PASSES_QUANTIZE_WEIGHTS_TYPES_H

#include "ir/tensor/block_weights.h"

enum { BLOCK_MOST = 1 << 16 };          /* at least BLOCK_LEAST */

struct weights_type {
        const char *name;
        enum element element;
        int bits;
        bool zeros;                     /* with zero points; else symmetric */
        int64_t block;                  /* numbers of an output that share a step, unless more is
                                         * said; 0: all of them */
        const char *doc;
};
extern const struct weights_type weights_types[];

/* they are for store_weights, without blocks; else for quantize_products */
static inline bool weights_are_floats(const struct weights_type *t)
{
        return element_is_float(t->element) || element_code(t->element);
}
/* NULL: nothing is called that */
const struct weights_type *weights_type_find(const char *name, size_t length);
void weights_types_help(void);          /* on standard output */

#endif
