/* SPDX-License-Identifier: MIT */
/* Normalizations are sums over axes and element-wise arithmetic, computed in the operand's wide
 * type (or the one that is stated) and rounded once at the end. */
#ifndef FRONT_COMPOSE_COMPOSE_NORM_H
#define FRONT_COMPOSE_COMPOSE_NORM_H

#include "front/compose/compose.h"

/* The result is x * scale / sqrt(variance + epsilon) + bias - mean * scale / sqrt(variance +
 * epsilon). Each parameter is <channels> or, where `each`, of x's shape without its batch. */
struct compose_batch_norm {
        struct value *scale, *bias, *mean, *variance;
        bool each;
        bool training;                  /* x is normalized by its own mean and variance, which mean
                                         * and variance follow by 1 - momentum. */
        float epsilon, momentum;
};
/* Returns x normalized; in training, running[] are set to the new mean and variance. */
struct value *compose_batch_norm(struct compose *c, struct value *x,
                                 const struct compose_batch_norm *b, struct value *running[2]);

/* The result is, over the dimensions from axis on, (x - mean) / sqrt(variance + epsilon), or x /
 * sqrt(mean square + epsilon) where it is not centered; then it is multiplied by scale and bias is
 * added, which broadcast to x from the right (where they are not NULL). */
struct compose_layer_norm {
        struct value *scale, *bias;
        int axis;
        bool centered;
        float epsilon;
        enum element computed;          /* The result is computed in this type. */
        enum element stash;             /* *mean and *inverse have this type. */
};
/* Returns x normalized. Unless mean and inverse are NULL, *mean is set to each row's mean <.. x 1>
 * (where it is centered), and *inverse to 1 / the root that the row is divided by. */
struct value *compose_layer_norm(struct compose *c, struct value *x,
                                 const struct compose_layer_norm *l, struct value **mean,
                                 struct value **inverse);

/* Normalizes each channel of each image of x [N, C, spatial]; scale and bias are <channels>. */
struct value *compose_instance_norm(struct compose *c, struct value *x, struct value *scale,
                                    struct value *bias, double epsilon);
/* This normalizes groups of channels of each image; scale and bias are <channels>, or <groups>. */
struct compose_group_norm {
        struct value *scale, *bias;
        int64_t groups;
        bool of_groups;                 /* scale and bias are <groups>. */
        float epsilon;
        enum element computed;          /* The result is computed in this type. */
};
struct value *compose_group_norm(struct compose *c, struct value *x,
                                 const struct compose_group_norm *g);
/* Returns (x - mean) / (standard deviation + 1e-9) over the axes. */
struct value *compose_mean_variance_norm(struct compose *c, struct value *x, const int64_t *axes,
                                         int count);
/* Returns x / its p-norm along the axis, where p is 1 or 2, or 0 where the norm is 0. */
struct value *compose_lp_norm(struct compose *c, struct value *x, int axis, int p);
/* Returns x / (bias + alpha / size * sum of squares over size neighbouring channels) ^ beta. */
struct value *compose_local_response_norm(struct compose *c, struct value *x, int64_t size,
                                          double alpha, double beta, double bias);

#endif
