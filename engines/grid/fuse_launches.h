/* SPDX-License-Identifier: MIT */
/* Inside fuse_launches: two calls become one, of a kernel that does what both did.
 * fuse_launches.c: each block of the reader makes what the maker made; fuse_launches_rows.c: the
 * maker's clusters do what the reader does with their rows; fuse_launches_apart.c: some blocks
 * do one thing, some another. */
#ifndef ENGINES_GRID_FUSE_LAUNCHES_H
#define ENGINES_GRID_FUSE_LAUNCHES_H

#include "passes/pass.h"

struct launches;
/* the kernel of both, where the maker makes y and the reader reads it as x; NULL: there is none */
typedef struct loop_function *(*launches_join)(struct launches *a,
                                               const struct loop_function *maker,
                                               const struct loop_buffer *y,
                                               const struct loop_function *reader,
                                               const struct loop_buffer *x);

/* a kernel that makes it, one that reads it, and what both have become */
struct launches_pair {
        const struct loop_function *maker, *reader;
        launches_join join;
        struct loop_function *made;
};

struct launches {
        struct loop_program *p;
        const struct target *target;
        bool cold;
        struct launches_pair *pairs;
        int pair_count;
};

/* ---- fuse_launches.c ---- */

/* the only phase of a kernel that cannot fail; NULL: there are others, or it is of clusters */
const struct loop_stmt *launches_phase(const struct loop_function *f);
bool launches_is_warps(const struct loop_stmt *s);
/* which parameter it is */
int launches_argument(const struct loop_function *f, const struct loop_buffer *parameter);
/* What `how` makes of both, once for all calls. */
struct loop_function *launches_joined(struct launches *a, const struct loop_function *maker,
                                      const struct loop_buffer *y,
                                      const struct loop_function *reader,
                                      const struct loop_buffer *x, launches_join how);
/* f gets parameters of both but for `made` (NULL: that stays) and `read`, the maker's in front;
 * none is in place of another one: other blocks still read it. Where both come from, and what
 * they do. */
void launches_parameters(struct arena *arena, const struct loop_function *maker,
                         const struct loop_buffer *made, struct loop_function *f,
                         const struct loop_buffer *read);
void launches_describe(struct arena *arena, const struct loop_function *maker,
                       const struct loop_function *reader, struct loop_function *f);
/* the call behind `maker` that reads what it makes, until which nothing else happens to what it
 * reads; as argument number *at */
struct loop_stmt *launches_reader(const struct loop_stmt *maker, const struct loop_buffer *made,
                                  int *at);
/* the reader's call becomes one of f, without those arguments; made_at -1: with all of the
 * maker's */
void launches_call(struct launches *a, const struct loop_stmt *maker, int made_at,
                   struct loop_stmt *reader, int read_at, struct loop_function *f);
bool launches_has_offsets(const struct loop_stmt *call);
bool launches_has_views(const struct loop_program *p, const struct loop_buffer *b);
/* how often main names it, or a view of it */
int launches_uses(const struct loop_program *p, const struct loop_buffer *b);
void launches_drop(struct loop_program *p, const struct loop_buffer *b);

/* ---- fuse_launches_rows.c ---- */

/* Does the call's kernel do now what the one behind it did? Then that one's call does both. */
bool launches_rows(struct launches *a, const struct loop_stmt *maker);

/* ---- fuse_launches_apart.c ---- */

/* Does the call now do what another one did behind it, which is gone? */
bool launches_apart(struct launches *a, struct loop_stmt *earlier);

#endif
