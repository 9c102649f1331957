/* SPDX-License-Identifier: MIT */
/* Makes a table of all that becomes of bytes element by element (tables.c). */
#ifndef PASSES_SIMPLIFY_TABLES_H
#define PASSES_SIMPLIFY_TABLES_H

#include "passes/pass.h"

enum { MAPPING_OPS = 40 };

/* A mapping is the operations that make bytes of bytes, with floats between. */
struct mapping {
        struct op *ops[MAPPING_OPS];    /* The operations come in order, operands first; the last
                                         * one is the cast. */
        int count;
        struct value *source;           /* All of them read these bytes in the end. */
        int cost;                       /* All operations cost this much, in simple ones. */
        bool function;                  /* One of them is a function of the library. */
};

/* Finds the mapping that ends in op, a cast of floats to bytes, and begins with one tensor of
 * bytes. Returns false if op is made of something else. */
bool mapping_find(struct mapping *m, struct op *op);
/* Computes the mapping of all bytes (<256 x ..>), in the order in which they are stored: a signed
 * byte is at the index that its bits are without a sign. The operations themselves fold it. NULL:
 * that would take more than the budget. */
struct value *mapping_table(struct builder *b, const struct mapping *m,
                            struct pass_context *context);

#endif
