/* SPDX-License-Identifier: MIT */
/* What becomes of one or two bytes between quantizations by floats, as one polynomial (formula.c):
 *
 *      cast(round(p(x, y)) + zero),    p(x, y) = c + a * x + b * y + k * x * y,        bounded perhaps
 *
 * Sums, differences, products and bounds of decoded bytes are such: division, decoding and zero
 * points are numbers in it. Other forms of the same, in f32 (pairs.c) or in whole numbers
 * (requantize/byte_functions.c), are looked for among its neighbours and held against all 65,536
 * pairs. */
#ifndef PASSES_SIMPLIFY_FORMULA_H
#define PASSES_SIMPLIFY_FORMULA_H

#include "passes/pass.h"

enum { BYTES = 256 };

/* bytes, spread perhaps */
struct leaf { struct value *bytes; struct op *spread; };

struct polynomial {
        double one, x, y, xy;
        double low, high;               /* in which it is kept; infinite: not at all */
};

struct formula {
        struct polynomial p;
        struct leaf leaves[2];
        int leaf_count, cost, visited;
        enum element to;
        struct value *root;             /* what is rounded and, moved by `zero`, cast */
        double zero;
        bool shared;                    /* what others read, too, may be in it */
        unsigned char want[BYTES][BYTES];       /* by x and y: the byte, counted from the least */
};

/* That op, a cast to bytes, ends; with p, but without `want`. shared: what other operations read
 * as well is taken in where it is of two bytes, though it goes on being computed. */
bool formula_find(struct op *op, bool shared, struct formula *f);
/* want: what the graph's own operations make of each pair. False: for some it is no number. */
bool formula_find_bytes(struct formula *f);
/* how many a leaf has: 1 where there is no such leaf; and which is number i, from the least on */
int formula_byte_count(const struct leaf *l);
int formula_byte(const struct leaf *l, int i);
/* v rounded, moved and saturated, counted from the least of the type */
int formula_encoded(const struct formula *f, float v, float zero);
/* a leaf's bytes in another element, spread */
struct value *formula_leaf(struct builder *b, const struct formula *f, int i, enum element e);

#endif
