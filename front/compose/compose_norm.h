/* SPDX-License-Identifier: MIT */
/* Normalizations. All are sums over axes and element-wise arithmetic, computed in the operand's
 * wide type (or the one that is stated) and rounded once at the end. */
#ifndef FRONT_COMPOSE_COMPOSE_NORM_H
#define FRONT_COMPOSE_COMPOSE_NORM_H

#include "front/compose/compose.h"

/* x * scale / sqrt(variance + epsilon) + bias - mean * scale / ..; each parameter is <channels>,
 * or, where `each`, of x's shape without its batch */
struct compose_batch_norm {
        struct value *scale, *bias, *mean, *variance;
        bool each;
        bool training;                  /* by the mean and variance of x itself, which mean and
                                         * variance follow by 1 - momentum */
        float epsilon, momentum;
};
/* In training, running[] are set to the new mean and variance. */
struct value *compose_batch_norm(struct compose *c, struct value *x,
                                 const struct compose_batch_norm *b, struct value *running[2]);

/* Over the dimensions from axis on: (x - mean) / sqrt(variance + epsilon), or x / sqrt(mean
 * square + epsilon) where it is not centered; then * scale + bias, which broadcast to x from the
 * right (NULL: none). */
struct compose_layer_norm {
        struct value *scale, *bias;
        int axis;
        bool centered;
        float epsilon;
        enum element computed;          /* the type that the result is computed in */
        enum element stash;             /* the type of *mean and *inverse */
};
/* *mean and *inverse, unless NULL: for each row, <.. x 1>, its mean (where it is centered), and
 * 1 / the root that it is divided by */
struct value *compose_layer_norm(struct compose *c, struct value *x,
                                 const struct compose_layer_norm *l, struct value **mean,
                                 struct value **inverse);

/* Normalizes each channel of each image of x [N, C, spatial]; scale and bias are <channels>. */
struct value *compose_instance_norm(struct compose *c, struct value *x, struct value *scale,
                                    struct value *bias, double epsilon);
/* Normalizes groups of channels of each image; scale and bias are <channels>, or <groups>. */
struct compose_group_norm {
        struct value *scale, *bias;
        int64_t groups;
        bool of_groups;                 /* scale and bias are <groups> */
        float epsilon;
        enum element computed;          /* the type that the result is computed in */
};
struct value *compose_group_norm(struct compose *c, struct value *x,
                                 const struct compose_group_norm *g);
/* (x - mean) / (standard deviation + 1e-9) over axes */
struct value *compose_mean_variance_norm(struct compose *c, struct value *x, const int64_t *axes,
                                         int count);
/* Returns x / its p-norm along the axis, where p is 1 or 2; 0 where the norm is 0. */
struct value *compose_lp_norm(struct compose *c, struct value *x, int axis, int p);
/* Returns x / (bias + alpha / size * sum of squares over size neighbouring channels) ^ beta. */
struct value *compose_local_response_norm(struct compose *c, struct value *x, int64_t size,
                                          double alpha, double beta, double bias);

#endif
