/* SPDX-License-Identifier: MIT */
/* Inside legalize, and what the printer asks of it. */
#ifndef PASSES_VECTORIZE_LEGALIZE_H
#define PASSES_VECTORIZE_LEGALIZE_H

#include "ir/loop/loop_bounds.h"
#include "ir/loop/capability.h"

/* f of the library with vectors of that many lanes for its variables, all of whose operations the
 * target has, but for sides of choices: what they lack is taken to be rare, and done for the lanes
 * that choose it, one by one. NULL: f branches or loops, or more of it would have to be done lane
 * by lane. */
struct loop_function *legalize_vectored(struct arena *arena, const struct target *t,
                                        struct loop_function *f, int lanes);

/* ---- legalize.c: rules that keep vectors ---- */

struct legalization {
        struct arena *arena;
        const struct target *target;
        const struct loop_bounds *bounds;         /* of the function; NULL: less is known of
                                                   * subscripts */
};
/* e, or its equal that the target has rows for, or has more of; nothing is changed in place */
struct loop_expr *legalize_expr(const struct legalization *l, struct loop_expr *e);

/* ---- legalize_index.c ---- */

/* a scalar subscript as a sum, its constant last */
struct loop_expr *legalize_sum(struct arena *arena, struct loop_expr *e);

/* ---- legalize_statements.c ---- */

/* number of statements that were replaced */
int legalize_statements(struct arena *arena, const struct target *t, struct loop_function *f);

/* ---- legalize_lanes.c: the rest, lane by lane ---- */

/* Replaces f's body; -1 after an error. */
int legalize_lanes(struct arena *arena, const struct target *t, struct loop_function *f,
                   struct diag *diag);
/* does the target have rows for all of e? */
bool legalize_is_native(struct arena *arena, const struct target *t, const struct loop_expr *e);
/* e chooses lane by lane, and the target has rows for all of it but one side: which operand that
 * is; else 0 */
int legalize_rare_side(struct arena *arena, const struct target *t, const struct loop_expr *e);

#endif
