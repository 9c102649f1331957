/* SPDX-License-Identifier: MIT */
/* These operations move elements: parts, pads, several tensors as one, blocks of pixels as
 * channels, elements put where indices say. */
#ifndef FRONT_COMPOSE_COMPOSE_MOVE_H
#define FRONT_COMPOSE_COMPOSE_MOVE_H

#include "front/compose/compose.h"

/* These join several tensors of one element type along an axis of theirs, or along a new one (then
 * all are of one type); count > 0. */
struct value *compose_concat(struct compose *c, struct value *const *items, int count, int axis);
struct value *compose_stack(struct compose *c, struct value *const *items, int count, int axis);
/* Returns the number of the first item whose type is not that of item 0, or count where there is
 * none. */
int compose_first_unlike(struct value *const *items, int count);

/* A slice takes elements along some axes as in Python: negative positions count from the end, and
 * what lies outside is left out. */
struct compose_slice {
        int count;                      /* So many axes are cut. */
        int axes[RANK_MAX];             /* Each axis stands here once. */
        int64_t starts[RANK_MAX], ends[RANK_MAX]; /* There is one of each for each axis; the end is
                                                   * left out. */
        int64_t steps[RANK_MAX];        /* They are not 0; negative ones go backward, from starts to
                                         * ends. */
        /* Where start_by_term[i], the slice begins at the term since[i] over extents that a run
         * gives; where end_by_term[i], it ends at the term until[i]. */
        bool start_by_term[RANK_MAX], end_by_term[RANK_MAX];
        dim_t since[RANK_MAX], until[RANK_MAX];
};
struct value *compose_slice(struct compose *c, struct value *x, const struct compose_slice *s);
/* Are all extents of that slice's result terms? Else only a run knows how far its steps reach. */
bool compose_slice_is_placed(struct compose *c, const struct type *x,
                             const struct compose_slice *s);
/* Returns x from the last element along the axis to the first. */
struct value *compose_reverse(struct compose *c, struct value *x, int axis);

/* A slice by `count` begins, ends and strides (numbers[0], [1], [2]); bit i of a mask is of entry
 * i. Where begin_mask, or end_mask, is set, elements are taken from, or to, the end of the
 * dimension; the entry of ellipsis_mask stands for all dimensions that others leave; that of
 * new_axis_mask is a new dimension of extent 1; that of shrink_axis_mask is one index, whose
 * dimension vanishes. offset: ends count from begins (compose_strided.c). */
struct compose_strided {
        int count;
        int64_t numbers[3][RANK_MAX];
        int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
        bool offset;
};
struct value *compose_strided_slice(struct compose *c, struct value *x,
                                    const struct compose_strided *o);

/* This is what lies outside of a padded tensor, in the order of the operation pad. */
enum compose_pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };
/* Returns x with low[d] (i64) elements in front of each dimension, which become those of `to`; a
 * negative number crops. The scalar `value` is that of PAD_CONSTANT. */
/* Returns x with each extent that a run gives at its bound, filled up behind its end with the
 * scalar; x itself where all its extents are numbers. */
struct value *compose_at_bound(struct compose *c, struct value *x, struct value *fill);
struct value *compose_pad(struct compose *c, struct value *x, struct value *value,
                          struct value *low, int mode, const struct type *to);

/* These make channels of x [N, C, rows, columns] into blocks of b x b pixels, and back. Channels
 * count the pixels of a block first; where last, the pixels of a block are neighbouring
 * channels. */
struct value *compose_depth_to_space(struct compose *c, struct value *x, int64_t b, bool last);
struct value *compose_space_to_depth(struct compose *c, struct value *x, int64_t b);
/* Returns x, where of each sample along dimension `batch` (0 or 1) the first lengths[sample] (i64)
 * elements along the other of these two dimensions are in reverse order; the rest stays. */
struct value *compose_reverse_sequence(struct compose *c, struct value *x, struct value *lengths,
                                       int batch);

/* Returns x at the indices `at`, which count along the axis and have x's extents elsewhere. */
struct value *compose_gather_elements(struct compose *c, struct value *x, struct value *at,
                                      int axis);
/* Returns x with updates put at indices along the axis, or (axis -1) at tuples of indices, which
 * lie in the last dimension of indices. kind is SCATTER_REPLACE, or 1 + the reducer that combines
 * both. */
enum { SCATTER_REPLACE = 0 };
struct value *compose_scatter(struct compose *c, struct value *x, struct value *indices,
                              struct value *updates, int64_t axis, int64_t kind);
/* Returns a cache x with an update along the axis, from begin[sample] (i64; NULL stands for 0) on;
 * where circular, it goes on at the cache's start. */
struct value *compose_cache_update(struct compose *c, struct value *x, struct value *update,
                                   struct value *begin, int axis, bool circular);

#endif
