/* SPDX-License-Identifier: MIT */
/* Vectors from scalars: statements for one value of a loop variable become statements for `lanes`
 * consecutive ones.
 *
 *     store %y[%i * 30 + %j] = max(%x[%i * 30 + %j] + %b[%i], 0.0)
 *
 * with lane %j, 16 lanes, base %v and mask %m becomes
 *
 *     store %y[%i * 30 + %v] = max(%x<16>[%i * 30 + %v, %m] + splat<16>(%b[%i]), 0.0) mask %m
 *
 * Values that do not depend on the lane stay scalar. Subscripts that are affine in it become
 * contiguous loads and stores, or gathers; loops inside stay loops, and conditions that depend on
 * the lane become selects and masks. Every lane computes what the scalar code does, in its order,
 * so results are equal to the bit. */
#ifndef IR_LOOP_LOOP_VECTOR_H
#define IR_LOOP_LOOP_VECTOR_H

#include "ir/loop/loop.h"
#include "ir/loop/loop_bounds.h"

/* The value stands for a variable of the scalar code: it is a vector, or a scalar that is the same
 * in every lane. A variable that the scalar code sets must be replaced by a variable or a tile
 * entry. */
struct vector_substitution { const struct loop_variable *variable; struct loop_expr *value; };

/* An inner loop that lanes leave at different iterations has at most this many iterations. */
enum { VECTOR_JOINED_MAX = 128 };

struct vector_request {
        struct arena *arena;
        const struct loop_variable *lane;
        struct loop_expr *base;         /* The index is the lane variable's value in lane 0. It
                                         * should be small, as it is written in many places. */
        int lanes;                      /* 1: it makes a copy for lane variable = base. */
        struct loop_expr *mask;         /* These lanes are active (the mask is small, too); NULL:
                                         * all. */
        int active;                     /* No lane from this one on is active; 0: that is not
                                         * known. */
        const struct vector_substitution *substitutions;
        int substitution_count;
        struct loop_bounds *bounds;     /* New variables are added to these bounds of the kernel;
                                         * NULL: less is known of subscripts. */
        bool open;                      /* Buffers may have fewer elements than their extents say:
                                         * as many as a run gives. */
        const struct map *constants;    /* These parameters, by their addresses, have as many as
                                         * their extents say even so; NULL: none do. */
        bool scatters;                  /* Stores that are not contiguous may scatter. */
};

/* Appends to `out`; the scalar code stays as it is, and shares no expression with the result.
 * Variables declared in it get twins of the same name: call loop_function_rename when the function
 * is complete. Returns false when it cannot be done: `out` may then hold a part. */
bool vector_block(const struct vector_request *request, const struct loop_block *body,
                  struct loop_block *out);

/* Returns a mask of the lanes below count, an index expression, as ramp<16>(0, 1) <
 * splat<16>(i32(count)). */
struct loop_expr *vector_mask(struct arena *arena, int lanes, struct loop_expr *count);

/* rows[0 .. count - 1] are vectors of as many lanes, a power of two; it replaces them by the
 * columns of that square, in lets appended to out. (With more lanes, elements of the rows take
 * turns: one of each row, then the next of each.) */
void vector_transpose(struct arena *arena, struct loop_expr **rows, int count,
                      struct loop_block *out);

/* Returns a deep copy. */
struct loop_expr *loop_expr_copy(struct arena *arena, const struct loop_expr *e);
/* Gives variables and stack buffers of f that share a name names of their own: j, j2, j3. */
void loop_function_rename(struct arena *arena, struct loop_function *f);

#endif
