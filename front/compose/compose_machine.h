/* SPDX-License-Identifier: MIT */
/* Linear scores of rows, and support-vector machines. Rows are <N x features x f32>; numbers of
 * models are arrays of floats, which are copied into constants. A function returns NULL after an
 * error. */
#ifndef FRONT_COMPOSE_COMPOSE_MACHINE_H
#define FRONT_COMPOSE_COMPOSE_MACHINE_H

#include "front/compose/compose.h"

/* Returns a constant <rows x columns x f32>, into which the values are copied. */
struct value *compose_matrix_of(struct compose *c, int64_t rows, int64_t columns,
                                const float *values);
/* Returns the rows of x times the transposed matrix of values, which has `outputs` rows of as many
 * columns as x has features; plus bias, unless that is NULL. */
struct value *compose_scores(struct compose *c, struct value *x, int64_t outputs,
                             const float *values, struct value *bias);

enum compose_kernel { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID };
struct compose_machine {
        int kernel;                     /* enum compose_kernel */
        float gamma, coef0, degree;     /* They are the kernel's parameters. */
        const float *vectors;           /* It has a row for each support vector. */
        const float *coefficients, *rho;
};
/* Returns the kernel function of each row of x and each of `count` vectors, <N x count>. */
struct value *compose_kernels(struct compose *c, const struct compose_machine *m, struct value *x,
                              int64_t count);

/* Each pair of classes, i < j, in the order (0, 1), (0, 2), .., (1, 2), .., has a score, which is
 * positive for i. Row j - 1 of the coefficients has those of the vectors of class i that speak for
 * it against j, row i those of class j against i.
 *
 *     vectors of     A   A   B   C   C      a column of the product's matrix for each pair:
 *     row 0         BA  BA  AB  AC  AC      AB: row 0 of A and of B
 *     row 1         CA  CA  CB  BC  BC      AC: row 1 of A, row 0 of C    BC: row 1 of B, C */
struct compose_pairs {
        int classes, count;             /* They are the numbers of classes and of pairs. */
        int64_t vectors;                /* It is the number of all vectors. */
        int64_t *first;                 /* The vectors of class i begin at first[i]; first[classes]
                                         * is their end. */
};
/* Returns the scores of all pairs, <N x count>; like has the kernel functions <N x vectors>. */
struct value *compose_pair_scores(struct compose *c, const struct compose_machine *m,
                                  const struct compose_pairs *p, struct value *like);
/* Returns how many pairs each class wins, as floats. In a pair i, j, i has 1 where it wins, else
 * j. */
struct value *compose_pair_votes(struct compose *c, const struct compose_pairs *p,
                                 struct value *scores);
/* Returns the probabilities of pairs, by Platt's sigmoid 1 / (1 + exp(a s + b)), kept away from 0
 * and 1. */
struct value *compose_pair_probabilities(struct compose *c, const struct compose_pairs *p,
                                         struct value *scores, const float *a, const float *b);
/* Returns probabilities of classes, <N x classes>, from those of pairs. */
struct value *compose_coupled(struct compose *c, const struct compose_pairs *pairs,
                              struct value *r);

#endif
