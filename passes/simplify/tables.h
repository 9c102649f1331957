/* SPDX-License-Identifier: MIT */
/* What becomes of bytes element by element: all of it in a table (tables.c). */
#ifndef PASSES_SIMPLIFY_TABLES_H
#define PASSES_SIMPLIFY_TABLES_H

#include "passes/pass.h"

enum { MAPPING_OPS = 40 };

/* The operations that make bytes of bytes, in floats between. */
struct mapping {
        struct op *ops[MAPPING_OPS];    /* in order: operands before; the last one is the cast */
        int count;
        struct value *source;           /* the bytes that all of them read, in the end */
        int cost;                       /* in simple operations */
        bool function;                  /* one of the library's is among them */
};

/* those that end in op, a cast of floats to bytes, of one tensor of bytes; false: it is made of
 * something else */
bool mapping_find(struct mapping *m, struct op *op);
/* What they make of all bytes (<256 x ..>), as stored: a byte with a sign is at the index that
 * it has without one. Folded by the operations themselves; NULL: out of budget. */
struct value *mapping_table(struct builder *b, const struct mapping *m,
                            struct pass_context *context);

#endif
