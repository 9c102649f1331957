/* SPDX-License-Identifier: MIT */
/* Inside vectorize: vectorize.c chooses loops, reduce.c writes reductions,
 * transpose.c transposes; cost/code.c says what code costs. */
#ifndef PASSES_VECTORIZE_VECTORIZE_H
#define PASSES_VECTORIZE_VECTORIZE_H

#include "ir/loop/loop_vector.h"
#include "passes/pass.h"

struct vectorizing {
        struct arena *arena;            /* of the program */
        struct arena *scratch;          /* of what is only looked at */
        const struct target *target;
        struct loop_bounds *bounds;     /* of the kernel */
        const struct map *averages;     /* of the kernel: passes/vectorize/averages.h */
        int lanes;                      /* more than of f32: of loops that narrow_loop made */
        bool exact;
};

/* a loop from literal to literal by 1, iterations that may run together: how many, or 0 */
int64_t vectorize_trip(const struct loop_stmt *loop, int64_t *from);
/* the body of a loop for `lanes` iterations from base on, or one where lanes is 1; false where
 * there is no way, or the target has no instructions for it */
bool vectorize_body(const struct vectorizing *v, const struct loop_stmt *loop, int lanes,
                    struct loop_expr *base, struct loop_expr *mask,
                    const struct vector_substitution *substitutions, int count,
                    struct loop_block *out);
/* does the target have instructions for all vectors in it? */
bool vectorize_is_native(const struct vectorizing *v, struct loop_block *block);
void vectorize_append(struct loop_block *out, const struct loop_block *more);
/* an empty loop from literal to literal, appended to out; its variable is named as that of
 * `like` */
struct loop_stmt *vectorize_loop(const struct vectorizing *v, const struct loop_stmt *like,
                                 int64_t from, int64_t to, int64_t step, struct loop_block *out);

/* what is left of a loop, fewer iterations than lanes: under a mask, or one by one, whichever is
 * cheaper; NULL: neither can be. What stands for variables in vectors, and in single iterations. */
struct loop_block *vectorize_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                  int64_t from, int64_t count,
                                  const struct vector_substitution *vectors,
                                  const struct vector_substitution *scalars, int substitutions);

/* Where, in from + 1 .. to - 1, comparisons and extremes in the body change their answers,
 * ascending; how many, 0 when there are more (split.c). */
enum { VECTORIZE_BREAKS_MAX = 4 };
int vectorize_breaks(const struct loop_stmt *loop, int64_t from, int64_t to,
                     int64_t places[VECTORIZE_BREAKS_MAX]);

/* a set in the loop: v = v op e, op an addition or extreme, nothing else of the loop using v */
bool vectorize_accumulates(const struct loop_stmt *loop, const struct loop_stmt *set);
/* the loop as vector accumulators, or NULL (reduce.c) */
struct loop_block *vectorize_reduction(const struct vectorizing *v, const struct loop_stmt *loop);

/* the loop as several chains of scalar partial results, or NULL: it is short, or no reduction */
struct loop_block *vectorize_partial_results(const struct vectorizing *v,
                                             const struct loop_stmt *loop);

/* the nest from this loop inward in squares that are transposed in registers, or NULL
 * (transpose.c) */
struct loop_block *vectorize_transpose(const struct vectorizing *v, const struct loop_stmt *loop);
/* two loops, the elements of whose rows take turns where they are stored, woven in registers, or
 * NULL (the same file) */
struct loop_block *vectorize_turns(const struct vectorizing *v, const struct loop_stmt *loop);

/* The loop with arithmetic on narrow elements of the target where that gives the same (narrow.c);
 * vectorize_body widens what stays scalar of it. */
struct loop_stmt *narrow_loop(const struct vectorizing *v, const struct loop_stmt *loop);
/* lanes of the narrow element of that loop that has the most, but fewer than that; 0: none */
int narrow_lanes(const struct vectorizing *v, const struct loop_stmt *loop, int fewer);
/* what scalars compute in narrow types, in compute types */
void narrow_widen(struct arena *arena, struct loop_block *block);

/* the block in its best form; *changed: that is not the one it has (vectorize.c) */
struct loop_block *vectorize_best(const struct vectorizing *v, const struct loop_block *block,
                                  bool *changed);

#endif
