/* SPDX-License-Identifier: MIT */
/* Inside fuse_launches: two calls become one, of a kernel that does what both did. In
 * fuse_launches.c each block of the reader computes what the maker computed; in
 * fuse_launches_rows.c the maker's clusters do the reader's work on their rows; in
 * fuse_launches_apart.c some blocks do the work of one kernel, some that of another. */
#ifndef ENGINES_GRID_FUSE_LAUNCHES_H
#define ENGINES_GRID_FUSE_LAUNCHES_H

#include "passes/pass.h"

struct launches;
/* Returns the kernel that does the work of both, where the maker writes y and the reader reads it
 * as x; NULL where there is none. */
typedef struct loop_function *(*launches_join)(struct launches *a,
                                               const struct loop_function *maker,
                                               const struct loop_buffer *y,
                                               const struct loop_function *reader,
                                               const struct loop_buffer *x);

/* `made` is what a maker and a reader became by `join`. */
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

/* launches_phase returns the only phase of a kernel that cannot fail; NULL where there are others,
 * or where it is a loop over clusters. */
const struct loop_stmt *launches_phase(const struct loop_function *f);
bool launches_is_warps(const struct loop_stmt *s);
/* Returns the number of the kernel's parameter. */
int launches_argument(const struct loop_function *f, const struct loop_buffer *parameter);
/* Returns what `how` makes of both kernels, and remembers it for all calls. */
struct loop_function *launches_joined(struct launches *a, const struct loop_function *maker,
                                      const struct loop_buffer *y,
                                      const struct loop_function *reader,
                                      const struct loop_buffer *x, launches_join how);
/* Gives f, a copy of a kernel, the scalars of `maker`, another copy, in front of its own. */
void launches_scalars(struct arena *arena, const struct loop_function *maker,
                      struct loop_function *f);
/* launches_parameters gives f the parameters of both kernels without `made` (NULL: that stays) and
 * `read`, the maker's first. No parameter is in place of another one, because other blocks still
 * read it. launches_describe sets the names and descriptions of what f comes from and does. */
void launches_parameters(struct arena *arena, const struct loop_function *maker,
                         const struct loop_buffer *made, struct loop_function *f,
                         const struct loop_buffer *read);
void launches_describe(struct arena *arena, const struct loop_function *maker,
                       const struct loop_function *reader, struct loop_function *f);
/* Returns the call after `maker` that reads what it makes, as argument number *at. No call in
 * between may write what the maker reads. */
struct loop_stmt *launches_reader(const struct loop_stmt *maker, const struct loop_buffer *made,
                                  int *at);
/* Replaces the reader's call by a call of f, without those two arguments; made_at -1: with all
 * arguments of the maker. */
void launches_call(struct launches *a, const struct loop_stmt *maker, int made_at,
                   struct loop_stmt *reader, int read_at, struct loop_function *f);
bool launches_has_offsets(const struct loop_stmt *call);
bool launches_has_views(const struct loop_program *p, const struct loop_buffer *b);
/* launches_uses counts how often main names a buffer, or a view of it. */
int launches_uses(const struct loop_program *p, const struct loop_buffer *b);
void launches_drop(struct loop_program *p, const struct loop_buffer *b);

/* ---- fuse_launches_rows.c ---- */

/* Does the kernel of `maker` now also do the work of the reader after it? Then one call has
 * replaced both. */
bool launches_rows(struct launches *a, const struct loop_stmt *maker);

/* ---- fuse_launches_apart.c ---- */

/* Does `earlier` now also do the work of a later call, which has been removed? */
bool launches_apart(struct launches *a, struct loop_stmt *earlier);

#endif
