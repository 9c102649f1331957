/* SPDX-License-Identifier: MIT */
/* A formula is what a graph computes from one or two bytes between quantizations by floats, as one
 * polynomial (formula.c):
 *
 *      cast(round(p(x, y)) + zero),    p(x, y) = c + a * x + b * y + k * x * y,    perhaps bounded
 *
 * or by rescales in fixed-point arithmetic, which are numbers in p as well.
 *
 * Sums, differences, products and bounds of decoded bytes are such polynomials, and division,
 * decoding and zero points are numbers in them. Cheaper forms, in f32 (pairs.c) or in whole numbers
 * (requantize/byte_functions.c), are looked for among their neighbours and compared with all 65,536
 * pairs. */
#ifndef PASSES_SIMPLIFY_FORMULA_H
#define PASSES_SIMPLIFY_FORMULA_H

#include "passes/pass.h"
#include "passes/simplify/fixed.h"

enum { BYTES = 256 };

/* A leaf is bytes, perhaps spread by a broadcast. */
struct leaf { struct value *bytes; struct op *spread; };

struct polynomial {
        double one, x, y, xy;
        double low, high;               /* The polynomial has these bounds; infinite: it has
                                         * none. */
};

struct formula {
        struct polynomial p;
        struct leaf leaves[2];
        int leaf_count, cost, visited;
        enum element to;
        struct value *root;             /* This value is rounded, moved by `zero`, and cast. */
        double zero;
        bool is_fixed;                  /* The last operation is this rescale in place of that. */
        struct fixed fixed;
        bool shared;                    /* The formula may contain values that others read, too. */
        unsigned char want[BYTES][BYTES];       /* The table has the byte for each x and y, counted
                                                 * from the least of the type. */
};

/* Finds the formula that ends in op, a cast or rescale to bytes; it has p, but not yet `want`.
 * shared: values that other operations read as well become part of a formula of two bytes,
 * though they go on being computed. */
bool formula_find(struct op *op, bool shared, struct formula *f);
/* Fills in `want`: what the graph's own operations compute for each pair. Returns false if some
 * result is no number. */
bool formula_find_bytes(struct formula *f);
/* formula_byte_count returns how many bytes a leaf can have (1: there is no such leaf),
 * formula_byte the i-th of them, from the least on. */
int formula_byte_count(const struct leaf *l);
int formula_byte(const struct leaf *l, int i);
/* Returns v rounded, moved by zero and saturated, counted from the least of the type. */
int formula_encoded(const struct formula *f, float v, float zero);
/* Builds a leaf's bytes converted to another element type, and spread. */
struct value *formula_leaf(struct builder *b, const struct formula *f, int i, enum element e);

#endif
