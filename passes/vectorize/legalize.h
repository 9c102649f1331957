/* SPDX-License-Identifier: MIT */
/* Inside legalize, and what the printer needs of it. */
#ifndef PASSES_VECTORIZE_LEGALIZE_H
#define PASSES_VECTORIZE_LEGALIZE_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/capability.h"

/* Returns f of the library with vectors of that many lanes for its variables. The target must have
 * all of its operations, except in sides of choices: where a side lacks one, it is taken to be
 * rare, and done lane by lane, for the lanes that choose it. NULL: f branches or loops, or more of
 * it would have to be done lane by lane. */
struct loop_function *legalize_vectored(struct arena *arena, const struct target *t,
                                        struct loop_function *f, int lanes);

/* ---- legalize.c: rules that keep vectors ---- */

struct legalization {
        struct arena *arena;
        const struct target *target;
        const struct loop_bounds *bounds;         /* The function has these bounds; NULL: less is
                                                   * known of subscripts. */
};
/* Returns e, or an equal expression that the target has rows for, or for more of it; nothing is
 * changed in place. */
struct loop_expr *legalize_expr(const struct legalization *l, struct loop_expr *e);

/* ---- legalize_index.c ---- */

/* Returns a scalar subscript as a sum, with its constant last. */
struct loop_expr *legalize_sum(struct arena *arena, struct loop_expr *e);

/* ---- legalize_statements.c ---- */

/* Returns the number of statements that were replaced. */
int legalize_statements(struct arena *arena, const struct target *t, struct loop_function *f);

/* ---- legalize_lanes.c: the rest, lane by lane ---- */

/* Replaces f's body. Returns -1 after an error. */
int legalize_lanes(struct arena *arena, const struct target *t, struct loop_function *f,
                   struct diag *diag);
/* Has the target rows for all of e? */
bool legalize_is_native(struct arena *arena, const struct target *t, const struct loop_expr *e);
/* Does e choose lane by lane, and has the target rows for all of it but one side? Returns which
 * operand that is; else 0. */
int legalize_rare_side(struct arena *arena, const struct target *t, const struct loop_expr *e);

#endif
