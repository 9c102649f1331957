/* SPDX-License-Identifier: MIT */
/* Moments: what layers multiply on the samples (--calibrate), as far as rounding and scaling of
 * their weights has to know. A layer is a convolution or a product by a matrix, in floats or
 * integers of up to 32 bits; each of its outputs is a sum over `depth` features,
 *
 *      y[o] = sum over k < depth of w[o][k] * x[k]         k counts w's elements of an output, in
 *                                                          their order (channel, then window)
 *
 * and a row is the x of one place of the result: what a window sees, zeros around included; for a
 * product a row of its first operand. Outputs of group g, outputs / groups one after the other, see
 * rows of their own.
 *
 *      struct moments_run *r = moments_begin(context, ops, count, true);       ; before they change
 *      for (i ..)      m = r ? moments_of(r, i) : NULL                         ; in this order
 *      moments_end(r);
 *
 * The change d of an output's weights, w - w', changes the output in the mean square by d^T H d,
 * with H = products / rows, which rounding (GPTQ, AdaRound) makes small. */
#ifndef PASSES_CALIBRATE_MOMENTS_H
#define PASSES_CALIBRATE_MOMENTS_H

#include "passes/pass.h"

struct moments {
        int64_t groups, depth;
        int64_t rows;                   /* This many rows were counted, in each group. */
        /* The sums are over rows, [groups * depth]. */
        const double *sums, *magnitudes, *squares;        /* The sums are of x, |x| and x^2. */
        const float *largest;           /* No |x| is larger than this. */
        /* [groups][depth][depth]: sums over rows of x[i] * x[j], symmetric. NULL: they were not
         * asked for, or do not fit into --limit moment_bytes. */
        const float *products;
};

/* Can op's moments be computed: are its shapes known, and has it one weight for each output and
 * feature (its second operand, constant or not)? */
bool moments_possible(const struct op *op);
/* Begins the moments of all these operations, with or without products; they are in the module's
 * first function, which has not been through `layout`. It uses number and scratch of values and
 * operations, and the function may change from then on. With products, where there are more rows
 * than --limit moment_rows times the depth, only some of them are counted, taken evenly, and the
 * same each time. NULL: context has no sampler, or there was an error, which context->diag then
 * has. */
struct moments_run *moments_begin(struct pass_context *context, struct op *const *ops, int count,
                                  bool products);
/* Returns the moments of number i. It is called for each i once, and from 0 up, since they are
 * computed as many at a time as --limit moment_bytes allows. They are valid until the next call.
 * NULL: there was an error. */
const struct moments *moments_of(struct moments_run *r, int i);
void moments_end(struct moments_run *r);                  /* r may be NULL. */

#endif
