/* SPDX-License-Identifier: MIT */
/* Derivatives by a reverse sweep. For values y of a region, gradient_build builds operations that
 * compute, for each value x of a list, how a loss that depends on the y's changes with each element
 * of x, given how it changes with each element of them (the seeds):
 *
 *      %1 = mul(%x, %w)                          %3 = broadcast(1.0) dims=[]           d%1
 *      %2 = reduce(%1, [0])            adds      %4 = mul(%3, %x)                      d%w
 *                                      for the seed 1.0 of %2
 *
 * The sweep goes from the last operation to the front. At each operation whose result has a
 * derivative, the operation's adjoint, a column of ir/tensor/ops.def, adds to those of its
 * operands: for an element-wise operation the products with the partial derivatives of its row
 * (partial.c), for others what the functions adjoint_NAME of this folder build. All of it is
 * ordinary Tensor IR, so it is interpreted, folded, fused and scheduled as any other, and has
 * derivatives itself.
 *
 * Rules at points without a derivative:
 *   - max and min of equal operands: a constant gets and gives nothing (so that of ReLU at 0 is 0);
 *     otherwise each operand gets half.
 *   - The largest of an axis (reduce) is shared by equal elements; that of a window is its first.
 *     What a softmax subtracts is constant.
 *   - abs at 0: 0. pow(0, y) by y: 0 for y >= 0.
 *   - Rounding, comparisons, integers, positions (argsort, arg_window): 0.
 *   - Of several updates of a scatter that replace one element, the last one has the derivative. */
#ifndef IR_ADJOINT_ADJOINT_H
#define IR_ADJOINT_ADJOINT_H

#include "ir/tensor/tensor.h"

/* These operations cannot be differentiated, for the reasons that the sweep found. */
struct adjoint_obstacle { const struct op *op; const char *why; };

struct sweep {
        struct builder *b;              /* Derivatives are built here, with the location of the
                                         * operation at hand. */
        struct map *cells;              /* The derivative of each value that depends on the x's. */
        struct arena *arena;            /* Cells and lists lie here. */
        bool replaces;                  /* A loop whose iterations are to be kept may take the place
                                         * of the loop that there was; else it is computed twice. */
        struct adjoint_obstacle *obstacles;
        int obstacle_count;
};

/* Builds the derivatives: made[i] has the type of xs[i], and is zero where no y depends on it. The
 * x's count as independent of each other: an operation that computes one is not gone through. b
 * stands behind the y's in their region. Returns false after a type error, or with obstacles, which
 * s lists; s needs b, arena and replaces alone. */
struct gradient {
        struct value *const *ys, *const *seeds;
        int y_count;
        struct value *const *xs;
        int x_count;
        struct value **made;
};
bool gradient_build(struct sweep *s, const struct gradient *g);
/* Does y depend on x by floats alone, so that it has a derivative? */
bool gradient_reaches(struct arena *arena, const struct value *y, struct value *x);
/* Has an operation of this kind derivatives, where its operands allow it? */
bool opcode_has_adjoint(enum opcode code);

/* ---- what adjoints ask and say ---- */

/* Does the value depend on an x by floats, so that its derivative is wanted? */
bool sweep_wants(const struct sweep *s, const struct value *v);
/* Returns the derivative by v as far as it has been added up; NULL: it is zero. */
struct value *sweep_of(const struct sweep *s, const struct value *v);
/* Adds d, of v's type, to the derivative by v. Returns false where d is NULL. */
bool sweep_flow(struct sweep *s, struct value *v, struct value *d);
/* Says why op has no derivative. Returns true: the sweep goes on, to find all of them. */
bool sweep_refuse(struct sweep *s, const struct op *op, const char *why);
/* Returns zeros of a type. */
struct value *sweep_zeros(const struct sweep *s, const struct type *t);

/* Is op the largest element that a softmax subtracts, which no result depends on (shift.c)? */
bool adjoint_is_shift(const struct op *op);

/* ---- builders that several adjoints use ---- */

/* Returns element i - low of x where x has one, else zero, in the shape of `type`; low: <rank x
 * i64>, constant or not. */
struct value *adjoint_placed(struct builder *b, struct value *x, struct value *low,
                             const struct type *type);
struct value *adjoint_placed_at(struct builder *b, struct value *x, const int64_t *low,
                                const struct type *type);
/* Returns x with `step` - 1 zeros behind each index along the axis. */
struct value *adjoint_spread_out(struct builder *b, struct value *x, int axis, int64_t step);
/* Returns x with each index along the axis `step` times. */
struct value *adjoint_repeated(struct builder *b, struct value *x, int axis, int64_t step);
/* Returns x with the order along the axis reversed; its extent is static. */
struct value *adjoint_reversed(struct builder *b, struct value *x, int axis);
/* Returns x, whose dimensions are those of `to` without those in the mask, spread over them. */
struct value *adjoint_spread_over(struct builder *b, struct value *x, const struct type *to,
                                  uint32_t mask);

/* Builds the derivative by v of the element-wise operation op along operand i, times d. */
struct value *adjoint_partial(struct builder *b, const struct op *op, int i, struct value *d);

#endif
