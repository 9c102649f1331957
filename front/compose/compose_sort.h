/* SPDX-License-Identifier: MIT */
/* This header has sorting, positions of elements for which a condition holds, and non-max
 * suppression of boxes. */
#ifndef FRONT_COMPOSE_COMPOSE_SORT_H
#define FRONT_COMPOSE_COMPOSE_SORT_H

#include "front/compose/compose.h"

/* Returns the first `count` of the i64 indices along the axis that bring x into order. */
struct value *compose_argsort(struct compose *c, struct value *x, int axis, int64_t descending,
                              int64_t count);
/* Does the same where the extents may be those of a run. */
struct value *compose_argsort_part(struct compose *c, struct value *x, int axis,
                                   int64_t descending, dim_t count);
/* Returns x of one dimension or more. Code that finds the scalar `fits` false at run time fails, by
 * a slice that begins at -1. */
struct value *compose_checked(struct compose *c, struct value *x, struct value *fits);
/* Returns <count x i64>: the positions of the true ones of flags <n x bool>. Code that finds
 * another number of them at run time fails, by a slice that begins at -1. */
struct value *compose_positions(struct compose *c, struct value *flags, int64_t count);

/* Returns, as i32, the position of the last of the keys that is not above x, or 0 where all are.
 * The constant keys <count> are in order; x is looked up by bisection. */
struct value *compose_last_not_above(struct compose *c, struct value *x, struct value *keys);

/* Rows are in order, and equal ones (NaN equals NaN) lie side by side in the order in which they
 * were. */
struct compose_groups {
        struct value *order;            /* These <rows x i64> are their numbers in x. */
        struct value *first;            /* It is <rows x bool>: the row is the first of equal
                                         * ones. */
};
/* Sorts the rows of x [rows, columns], at least one of each, by their first column, then by the
 * next ones. Returns false after an error. */
bool compose_group_rows(struct compose *c, struct value *x, struct compose_groups *groups);

/* There are `count` rows that differ. */
struct compose_unique {
        struct value *rows;             /* These <count x i64> are the number of each group's first
                                         * row. */
        struct value *group;            /* These <rows x i64> are the group that a row belongs
                                         * to. */
        struct value *counts;           /* These <count x i64> say how many rows a group has. */
};
/* Lists the groups, sorted, or in the order of their first rows. Code that finds another number of
 * groups at run time fails, as compose_positions says. */
bool compose_list_groups(struct compose *c, const struct compose_groups *groups, int64_t count,
                         bool sorted, struct compose_unique *unique);
/* Does the same where only a run knows `count`, an i64: rows and counts are as many as there are
 * rows, of which the first `count` are those of groups. */
bool compose_list_all_groups(struct compose *c, const struct compose_groups *groups,
                             struct value *count, bool sorted, struct compose_unique *unique);

/* Non-max suppression takes boxes of a class in the order of their scores, without those that
 * overlap a better one. */
struct compose_suppression {
        struct value *boxes;            /* They are f32 [batch, boxes, 4], two corners in any
                                         * order. */
        bool center;                    /* Boxes are a center and extents instead. */
        struct value *scores;           /* They are f32 [batch, classes, boxes]. */
        struct value *most;             /* It is an i64: so many boxes of a class stay, at most
                                         * `room`. */
        int64_t room;                   /* It is positive. */
        struct value *threshold;        /* It is an f32: two boxes may share this part of their
                                         * union. */
        struct value *low;              /* It is an f32: scores must be greater; where it is NULL
                                         * any score will do. */
};
/* Returns <batch * classes * room x i64>: the boxes that stay, by falling score, then -1. */
struct value *compose_suppress(struct compose *c, const struct compose_suppression *s);
/* Returns rows [batch, class, box] of those of `taken` that stand at these positions. */
struct value *compose_suppressed_rows(struct compose *c, const struct compose_suppression *s,
                                      struct value *taken, struct value *at);

#endif
