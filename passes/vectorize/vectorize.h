/* SPDX-License-Identifier: MIT */
/* Inside vectorize: vectorize.c chooses loops, reduce.c writes reductions, transpose.c transposes;
 * cost/code.c predicts what code costs. */
#ifndef PASSES_VECTORIZE_VECTORIZE_H
#define PASSES_VECTORIZE_VECTORIZE_H

#include "ir/loop/loop_vector.h"
#include "passes/pass.h"

struct vectorizing {
        struct arena *arena;            /* Code of the program lives here. */
        struct arena *scratch;          /* Code that is only compared lives here. */
        const struct target *target;
        const struct loop_function *kernel;
        struct loop_bounds *bounds;     /* The bounds hold for the whole kernel. */
        const struct map *averages;     /* passes/vectorize/averages.h finds them in the
                                         * kernel. */
        int lanes;                      /* A vector has this many lanes: those of f32, or
                                         * more in loops that narrow_loop made. */
        int active;                     /* No lane of a mask from this one on is active; 0: that is
                                         * not known. */
        bool exact;
        bool open;                      /* A run gives extents of buffers, which may have fewer
                                         * elements than these say. */
        struct map *constants;          /* It has the kernel's parameters that are constants in all
                                         * calls, where `open` is set. */
};

/* Returns the number of iterations of a loop from literal to literal by 1, whose iterations may run
 * together; else 0. */
int64_t vectorize_trip(const struct loop_stmt *loop, int64_t *from);
/* Writes the body of a loop for `lanes` iterations from base on, or for one where lanes is 1.
 * Returns false where that cannot be, or where the target lacks instructions for it. */
bool vectorize_body(const struct vectorizing *v, const struct loop_stmt *loop, int lanes,
                    struct loop_expr *base, struct loop_expr *mask,
                    const struct vector_substitution *substitutions, int count,
                    struct loop_block *out);
/* Has the target instructions for all vectors in the block? */
bool vectorize_is_native(const struct vectorizing *v, struct loop_block *block);
void vectorize_append(struct loop_block *out, const struct loop_block *more);
/* Returns the block of less predicted cost, a where both cost the same; NULL is no block. */
struct loop_block *vectorize_cheaper(const struct vectorizing *v, struct loop_block *a,
                                     struct loop_block *b);
/* Appends a mask of the first `count` lanes to out, and returns a use of it. */
struct loop_expr *vectorize_mask(const struct vectorizing *v, struct loop_expr *count,
                                 struct loop_block *out);
/* Appends an empty loop from literal to literal to out; its variable is named as that of `like`. */
struct loop_stmt *vectorize_loop(const struct vectorizing *v, const struct loop_stmt *like,
                                 int64_t from, int64_t to, int64_t step, struct loop_block *out);

/* Writes what is left of a loop, fewer iterations than lanes: under a mask, or one by one,
 * whichever is cheaper. Returns NULL if neither is possible. vectors, scalars: what stands for
 * variables in vectors, and in single iterations. */
struct loop_block *vectorize_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                  int64_t from, int64_t count,
                                  const struct vector_substitution *vectors,
                                  const struct vector_substitution *scalars, int substitutions);

/* Finds where, in from + 1 .. to - 1, comparisons and extremes in the body change their answers,
 * ascending. Returns their number, 0 when there are more (split.c). */
enum { VECTORIZE_BREAKS_MAX = 4 };
int vectorize_breaks(const struct loop_stmt *loop, int64_t from, int64_t to,
                     int64_t places[VECTORIZE_BREAKS_MAX]);

/* Is it a set in the loop, v = v op e, with op an addition or extreme, and does nothing else in the
 * loop use v? */
bool vectorize_accumulates(const struct loop_stmt *loop, const struct loop_stmt *set);
/* Returns the loop with vector accumulators, or NULL (reduce.c). */
struct loop_block *vectorize_reduction(const struct vectorizing *v, const struct loop_stmt *loop);

/* Returns the loop with several scalar partial results; NULL: it is short, or no reduction. */
struct loop_block *vectorize_partial_results(const struct vectorizing *v,
                                             const struct loop_stmt *loop);

/* ---- loops to an extent that a run gives (open_loops.c) ---- */

/* Does the loop go from 0, by 1, to an extent that a run gives? */
bool vectorize_is_open(const struct vectorizing *v, const struct loop_stmt *loop);
/* Is e made of extents that a run gives, and numbers, alone? */
bool vectorize_is_extent(const struct vectorizing *v, struct loop_expr *e);
/* Returns extent / step * step, a form that cost/code.c knows. */
struct loop_expr *vectorize_whole(const struct vectorizing *v, const struct loop_expr *extent,
                                  int64_t step);
/* Does what vectorize_loop does, with bounds that are no literals. */
struct loop_stmt *vectorize_open_loop(const struct vectorizing *v, const struct loop_stmt *like,
                                      struct loop_expr *from, struct loop_expr *to, int64_t step,
                                      struct loop_block *out);
/* Does what vectorize_rest does, for the iterations of an open loop behind its whole vectors. */
struct loop_block *vectorize_open_rest(const struct vectorizing *v, const struct loop_stmt *loop,
                                       const struct vector_substitution *vectors,
                                       const struct vector_substitution *scalars, int count);
/* Returns the open loop in vectors; NULL: it is not open, or its iterations depend on each
 * other. */
struct loop_block *vectorize_open_map(const struct vectorizing *v, const struct loop_stmt *loop);
/* Returns the open loop as one for what comparisons of its variable say is inside, and others
 * before and behind it; NULL: it has none (open_ranges.c). */
struct loop_block *vectorize_open_ranges(const struct vectorizing *v, const struct loop_stmt *loop);
/* Returns an open loop over rows of sums, several rows at a time; NULL: it is none, or that would
 * cost more. */
struct loop_block *vectorize_open_rows(const struct vectorizing *v, const struct loop_stmt *loop);

/* Returns the nest from this loop inward in squares that are transposed in registers, or NULL
 * (transpose.c). */
struct loop_block *vectorize_transpose(const struct vectorizing *v, const struct loop_stmt *loop);
/* Returns two loops, the elements of whose rows take turns where they are stored, interleaved in
 * registers, or NULL (transpose.c). */
struct loop_block *vectorize_turns(const struct vectorizing *v, const struct loop_stmt *loop);

/* Returns the loop with arithmetic on narrow elements of the target where that gives the same
 * numbers (narrow.c); vectorize_body widens what stays scalar in it. */
struct loop_stmt *narrow_loop(const struct vectorizing *v, const struct loop_stmt *loop);
/* Returns the lanes of the narrow element of that loop that has the most lanes, but fewer than
 * `fewer`; 0: there is none. */
int narrow_lanes(const struct vectorizing *v, const struct loop_stmt *loop, int fewer);
/* Rewrites what scalars compute in narrow types to compute types. */
void narrow_widen(struct arena *arena, struct loop_block *block);

/* Returns the block in its best form; *changed: that is another one (vectorize.c). */
struct loop_block *vectorize_best(const struct vectorizing *v, const struct loop_block *block,
                                  bool *changed);

#endif
