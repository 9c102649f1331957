/* SPDX-License-Identifier: MIT */
/* Elements in order, positions of those for which a condition holds, boxes that stay. */
#ifndef FRONT_COMPOSE_COMPOSE_SORT_H
#define FRONT_COMPOSE_COMPOSE_SORT_H

#include "front/compose/compose.h"

/* Returns the first `count` of the i64 indices along the axis that bring x into order. */
struct value *compose_argsort(struct compose *c, struct value *x, int axis, int64_t descending,
                              int64_t count);
/* Returns <count x i64>: the positions of the true ones of flags <n x bool>. Code that finds
 * another number of them at run time fails, by a slice that begins at -1. */
struct value *compose_positions(struct compose *c, struct value *flags, int64_t count);

/* Rows in order, equal ones (NaN equals NaN) side by side as they were. */
struct compose_groups {
        struct value *order;            /* <rows x i64>: their numbers in x */
        struct value *first;            /* <rows x bool>: the row is the first of equal ones */
};
/* Sorts the rows of x [rows, columns], of both at least one, by their first column, then by the
 * next ones. False after an error. */
bool compose_group_rows(struct compose *c, struct value *x, struct compose_groups *groups);

/* Rows that differ, `count` of them. */
struct compose_unique {
        struct value *rows;             /* <count x i64>: the number of each group's first row */
        struct value *group;            /* <rows x i64>: the group that a row belongs to */
        struct value *counts;           /* <count x i64>: how many rows a group has */
};
/* Lists the groups, sorted, or in the order of their first rows. Code that finds another number of
 * groups at run time fails, as compose_positions says. */
bool compose_list_groups(struct compose *c, const struct compose_groups *groups, int64_t count,
                         bool sorted, struct compose_unique *unique);

/* Boxes of a class in the order of their scores, without those that overlap a better one (non-max
 * suppression). */
struct compose_suppression {
        struct value *boxes;            /* f32 [batch, boxes, 4]: two corners, in any order */
        bool center;                    /* a center and extents instead */
        struct value *scores;           /* f32 [batch, classes, boxes] */
        struct value *most;             /* i64: how many boxes of a class stay, at most `room` */
        int64_t room;                   /* positive */
        struct value *threshold;        /* f32: which part of their union two boxes may share */
        struct value *low;              /* f32: scores must be greater; NULL: any number will do */
};
/* Returns <batch * classes * room x i64>: the boxes that stay, by falling score, then -1. */
struct value *compose_suppress(struct compose *c, const struct compose_suppression *s);
/* Returns rows [batch, class, box] of those of `taken` that flags mark, which are `count`. */
struct value *compose_suppressed_rows(struct compose *c, const struct compose_suppression *s,
                                      struct value *taken, struct value *flags, int64_t count);

#endif
