/* SPDX-License-Identifier: MIT */
/* Inside absorb: two calls become one, of a kernel that does what both did. absorb.c: each block of the reader makes what the maker made;
 * absorb_rows.c: the maker's clusters do what the reader does with their rows; absorb_beside.c: some blocks do one thing, some another. */
#ifndef ENGINES_GRID_ABSORB_H
#define ENGINES_GRID_ABSORB_H

#include "passes/pass.h"

struct absorbing;
/* the kernel of both, where the maker makes y and the reader reads it as x; NULL: there is none */
typedef struct loop_function *(*absorb_join)(struct absorbing *a, const struct loop_function *maker, const struct loop_buffer *y, const struct loop_function *reader,
                                             const struct loop_buffer *x);

/* a kernel that makes it, one that reads it, and what both have become */
struct absorb_pair { const struct loop_function *maker, *reader; absorb_join join; struct loop_function *made; };

struct absorbing {
        struct loop_program *p;
        const struct target *target;
        bool cold;
        struct absorb_pair *pairs;
        int pair_count;
};

/* ---- absorb.c ---- */

/* the only phase of a kernel that cannot fail; NULL: there are others, or it is of clusters */
const struct loop_stmt *absorb_phase(const struct loop_function *f);
bool absorb_is_warps(const struct loop_stmt *s);
/* which parameter it is */
int absorb_argument(const struct loop_function *f, const struct loop_buffer *parameter);
/* What `how` makes of both, once for all calls. */
struct loop_function *absorb_joined(struct absorbing *a, const struct loop_function *maker, const struct loop_buffer *y, const struct loop_function *reader,
                                    const struct loop_buffer *x, absorb_join how);
/* f gets parameters of both but for `made` (NULL: that stays) and `read`, the maker's in front; none is in place of another one: other
 * blocks still read it. Where both come from, and what they do. */
void absorb_parameters(struct arena *arena, const struct loop_function *maker, const struct loop_buffer *made, struct loop_function *f, const struct loop_buffer *read);
void absorb_describe(struct arena *arena, const struct loop_function *maker, const struct loop_function *reader, struct loop_function *f);
/* the call behind `maker` that reads what it makes, until which nothing else happens to what it reads; as argument number *at */
struct loop_stmt *absorb_reader(const struct loop_stmt *maker, const struct loop_buffer *made, int *at);
/* the reader's call becomes one of f, without those arguments; made_at -1: with all of the maker's */
void absorb_call(struct absorbing *a, const struct loop_stmt *maker, int made_at, struct loop_stmt *reader, int read_at, struct loop_function *f);
bool absorb_has_offsets(const struct loop_stmt *call);
bool absorb_has_views(const struct loop_program *p, const struct loop_buffer *b);
/* how often main names it, or a view of it */
int absorb_uses(const struct loop_program *p, const struct loop_buffer *b);
void absorb_drop(struct loop_program *p, const struct loop_buffer *b);

/* ---- absorb_rows.c ---- */

/* Does the call's kernel do now what the one behind it did? Then that one's call does both. */
bool absorb_rows(struct absorbing *a, const struct loop_stmt *maker);

/* ---- absorb_beside.c ---- */

/* Does the call now do what another one did behind it, which is gone? */
bool absorb_beside(struct absorbing *a, struct loop_stmt *earlier);

#endif
