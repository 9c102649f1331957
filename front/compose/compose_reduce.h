/* SPDX-License-Identifier: MIT */
/* This header has reductions along axes that only a run may know. */
#ifndef FRONT_COMPOSE_COMPOSE_REDUCE_H
#define FRONT_COMPOSE_COMPOSE_REDUCE_H

#include "front/compose/compose.h"

/* Returns axes <count x i64> that may count from the end, made positive. */
struct value *compose_axes_wrap(struct compose *c, struct value *axes, int rank);
/* Returns <rank x i64>, where entry axes[i] is values[i], and the others are preset. */
struct value *compose_axes_scatter(struct compose *c, struct value *axes, struct value *values,
                                   int rank, int64_t preset);

/* Returns the number by which elements are divided before they are squared: the largest magnitude
 * among them, but 1 where that is 0, infinite or NaN. */
struct value *compose_norm_scale(struct compose *c, struct value *largest);

enum compose_reduction_kind {
        REDUCE_OP_SUM,
        REDUCE_OP_MEAN,
        REDUCE_OP_MAX,
        REDUCE_OP_MIN,
        REDUCE_OP_PROD,
        REDUCE_OP_L1,                   /* It is the sum of magnitudes. */
        REDUCE_OP_L2,                   /* It is the root of the sum of squares. */
        REDUCE_OP_LOG_SUM,
        REDUCE_OP_LOG_SUM_EXP,
        REDUCE_OP_SUM_SQUARE
};
struct compose_reduction {
        int kind;
        int count;                      /* There are so many axes. */
        int64_t axes[RANK_MAX];         /* They are sorted. */
        struct value *stated;           /* These axes <count x i64>, which only a run knows, are
                                         * reduced instead; else it is NULL. */
        const struct type *result;      /* For stated axes, it is the result's shape. */
};
/* Returns the reduction, of x's element; the axes vanish or, of stated ones, are what the result's
 * shape says. f16 and bf16 are computed in f32; roots and logarithms of integers in f64. */
struct value *compose_reduce_as(struct compose *c, const struct compose_reduction *r,
                                struct value *x);

#endif
