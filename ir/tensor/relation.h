/* SPDX-License-Identifier: MIT */
/* Relations: which elements of an operand an element of an operation's result needs. Each operation
 * has its relation in a column of ops.def; all code that follows elements through operations
 * (fusion, streaming, layouts, addresses, loops) asks here.
 *
 * A relation says for each dimension of the operand which indices of that are needed, given the
 * result's index:
 *
 *   operation                            result's index    operand's
 *
 *   transpose(x, perm=[1, 0])            i, j              x: j, i
 *   slice(x, [0, 3], [1, 2])             i, j              x: i, j * 2 + 3
 *   broadcast(x <1 x 8>, dims=[0, 2])    i, j, k           x: first, k
 *   reduce(x, [1])                       i                 x: i, all
 *   convolve(x, w), strides=[2],         n, m, i           x: n, all, i * 2 - 1 + {0, 1, 2}
 *       pads=[1, 1], window of 3                           w: m, all, all
 *   gather(x, t, axis=0)                 i, j              x: by t[i], j
 *                                                          t: i
 *
 * It is exact but for `all`, `some` and the windows of operations that move elements (neighbours),
 * which may name more elements than are needed. Indices outside the operand are no elements: in a
 * window they do not count, in a pad a value stands for them, and in a concat another operand has
 * them. */
#ifndef IR_TENSOR_RELATION_H
#define IR_TENSOR_RELATION_H

#include "ir/tensor/tensor.h"

enum along_kind {
        ALONG_FIRST,    /* Index 0 is needed, for every element. */
        ALONG_ALL,      /* All indices are needed, for every element. */
        ALONG_AFFINE,                   /* The needed indices are (i * scale + low + k * dilation) /
                                         * spread for all k < window where that is whole, with i the
                                         * index in `from`. */
        ALONG_TABLE,                    /* Operand 1 says which, for i and the dimensions behind
                                         * `from` that it has; from < 0: it has none. */
        ALONG_SOME                      /* The indices are known at run time, or have no such form;
                                         * they depend on the index in `from`, and maybe on
                                         * others. */
};

/* An along describes one dimension of an operand; from is a dimension of the result. */
struct along { enum along_kind kind; int from; int64_t scale, low, window, dilation, spread; };

/* in_order: the operand's elements are those of the result in row-major order (reshape), and
 * `along` is not set. */
struct relation { bool in_order; struct along along[RANK_MAX]; };

/* Returns false if nothing is known: op has regions, or reduces along axes that are known only at
 * run time. */
bool relation_of(const struct op *op, int operand, struct relation *r);

/* ---- what is often asked ---- */

/* Is the index the result's index in dimension d, unchanged? */
static inline bool along_is(const struct along *a, int d)
{
        return a->kind == ALONG_AFFINE && a->from == d && a->scale == 1 && a->low == 0 &&
               a->window == 1 && a->spread == 1;
}
/* Returns the dimension of the operand that is dimension d of the result, index for index and with
 * the same extent; -1: there is none. */
int relation_source(const struct op *op, int operand, int d);
static inline bool relation_keeps(const struct op *op, int operand, int d)
{
        return relation_source(op, operand, d) == d;
}
/* Returns a bit for each dimension of the result on whose index it depends which elements are
 * needed. */
unsigned relation_depends(const struct op *op, int operand);
/* Is no element needed for more than one element of the result? */
bool relation_reads_once(const struct op *op, int operand);
/* Is each element of the result one of operand 0, at an index that is affine in each dimension,
 * with no dimension used twice? *r: the relation. */
bool relation_moves(const struct op *op, struct relation *r);
/* Does op put a constant, or zeros, around all of its operand? lows[]: how many elements in front,
 * in each dimension. */
bool relation_surrounds(const struct op *op, int64_t lows[RANK_MAX]);
bool relation_surrounds_zeros(const struct op *op, int64_t lows[RANK_MAX]);

#endif
