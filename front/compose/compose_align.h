/* SPDX-License-Identifier: MIT */
/* Two sequences are aligned: by the cheapest path through a matrix of costs, or where tokens of one
 * go on as the other does. */
#ifndef FRONT_COMPOSE_COMPOSE_ALIGN_H
#define FRONT_COMPOSE_COMPOSE_ALIGN_H

#include "front/compose/compose.h"

/* ---- dynamic time warping ---- */

/* A path through costs f32 [rows, columns], of at least one element, goes from the first element to
 * the last by steps to the next row, the next column, or both. */
struct compose_path {
        struct value *points;           /* They are i64 [2, rows + columns - 1], the rows and the
                                         * columns of the path's elements, which are the last of
                                         * these; others are -1. */
        struct value *flags;            /* It is <rows + columns - 1 x bool>: the point is one of
                                         * the path. */
};
/* Finds the path whose elements have the least sum. Among equal sums, found from the end on, a step
 * along a row is preferred to both others. Returns false after an error. */
bool compose_warp(struct compose *c, struct value *costs, struct compose_path *path);

/* ---- tokens ---- */

/* Returns <places x bool>: the prediction's first tokens that are those of the source from
 * `start` (a number known here) on, and the one behind them, if any. Both are i64, in one
 * dimension; the prediction has at most one token more than the source from there on. */
struct value *compose_bifurcation(struct compose *c, struct value *source, struct value *prediction,
                                  int64_t start);
/* Looks for the last `size` tokens in the source, size from `least` to `most`: returns the scalar
 * i64 position behind them where they are there once. Where they are there several times, a larger
 * size is tried; where they are not there, or no size is left, it is -1. */
struct value *compose_suffix(struct compose *c, struct value *source, struct value *tokens,
                             int64_t least, int64_t most);

#endif
