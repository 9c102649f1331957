/* SPDX-License-Identifier: MIT */
/* What the files of products by blocks of warps share: contract_warps.c, warps_copies.c, warps_results.c. */
#ifndef ENGINES_GRID_WARPS_H
#define ENGINES_GRID_WARPS_H

#include "ir/loop_grid.h"
#include "engines/grid/contract_warps.h"
#include "kernels/stage.h"

struct warps {
        struct stage s;                 /* first: its functions get this */
        struct warp_tile tile;
        int64_t groups, blocks, inner;  /* in a group: blocks of x; words of a block */
        int64_t outputs, positions;     /* of a group; of all images, one behind the other */
        int64_t images, of_image;       /* positions of one */
        int64_t panel_size, turns;      /* turns: of a window */
        struct loop_variable *sums;
        struct loop_buffer *xs, *ws, *out;        /* in shared memory */
        struct loop_buffer *added;      /* likewise, of what is added to the sums; or NULL */
        /* of the block: group, first position, first panel of the group; its part of the turns */
        struct loop_expr *group, *position, *panel, *part;
        struct loop_expr *number;       /* of the block in its cluster */
        struct loop_buffer *partial;    /* sums of all parts: [parts, groups, positions, outputs], whole tiles; of a cluster, or where
                                         * a block pools, those of its tile, [blocks side by side, parts, panels, positions, outputs] */
        struct emit_place kept;         /* where that has the results of an output that a lane pools */
};

/* ---- contract_warps.c ---- */

/* elements of a turn in shared memory, those of x, of a panel of w, of all panels */
int64_t warps_x_stage(const struct warp_tile *t);
int64_t warps_w_panel(const struct warp_tile *t);
int64_t warps_w_stage(const struct warp_tile *t);
/* where the stage of a turn is, of stages of so many elements */
struct loop_expr *warps_stage(struct warps *w, struct loop_expr *turn, int64_t size);
/* of a block; warp number w has row w % warps of positions, and panel w / warps */
int warps_count(const struct warps *w);
struct loop_expr *warps_row(struct warps *w, struct loop_expr *warp);
struct loop_expr *warps_panel(struct warps *w, struct loop_expr *warp);
/* of a warp's sums */
struct loop_tiles warps_shape(const struct warps *w);
static inline struct loop_expr *warps_less(struct warps *w, struct loop_expr *a, int64_t b)
{
        return emit_op(w->s.e, LOOP_LT, a, number(w->s.e, b));
}

/* What does not depend on the block stands in front of loops over blocks: values of the epilogue, which go into the last
 * of them. */
bool warps_move_values_in(struct loop_block *body);
/* Position p of all: along each dimension of its image; *image: which that is. */
void warps_split_position(struct warps *w, struct loop_expr *p, struct loop_expr **along, struct loop_expr **image);
/* memory that the block's warps share, allocated here */
struct loop_buffer *warps_shared(struct warps *w, const char *name, enum element element, int64_t extent);
struct loop_stmt *warps_add(struct warps *w, enum loop_stmt_kind kind, int code);
/* the product of a turn, by one warp; NULL: by all together */
struct loop_stmt *warps_add_product(struct warps *w, struct loop_expr *warp, struct loop_expr *turn);
/* the turn of the window that is number i of the block */
struct loop_expr *warps_turn(struct warps *w, struct loop_expr *i);

/* What is added to the results of op, or what else becomes of both, element by element: it lies in memory as they do. NULL: nothing. */
const struct value *warps_added(const struct op *op);
/* so many turns, each a group of copies */
void warps_copy_first(struct warps *w, int64_t count);

/* ---- contract_warp_groups.c: warps that multiply together ---- */

void groups_add_up(struct warps *w);
void groups_write_results(struct warps *w);

/* ---- warps_copies.c ---- */

/* what a warp copies of a turn of the window: of x, of w */
void warps_copy_x(struct warps *w, struct loop_expr *warp, struct loop_expr *turn);
void warps_copy_w(struct warps *w, struct loop_expr *warp, struct loop_expr *turn);
/* what the block adds to its sums */
void warps_copy_added(struct warps *w, struct loop_expr *warp);
/* all of w, outside of the warps' loops */
void warps_run_w(struct warps *w, struct loop_expr *turn);

/* ---- warps_results.c ---- */

/* output o of the group: its block of the result, and its place in that */
void warps_split_output(struct warps *w, struct loop_expr *o, struct loop_expr **block, struct loop_expr **in_block);
/* output o of the group at position p: what the fusion makes of `sum`, stored */
void warps_write_output(struct warps *w, struct loop_expr *o, struct loop_expr *p, struct loop_expr *sum);
/* Results of a warp's fragment number `part`, whose sums are at sums_at: `width` of them from `column` of the panel on, where such rows are
 * words side by side in memory: a lane has words, of some rows. False: they are not. */
bool warps_write_words(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part, int column, int width);
/* what becomes of the sums of a block: they leave their fragments, and lanes store what the fusion makes of them */
void warps_write_results(struct warps *w);
/* elements of w->partial; the block's sums into it; a phase that makes results of all parts */
int64_t warps_partial_size(const struct warps *w);
void warps_write_partial(struct warps *w);
void warps_join_parts(struct warps *w);
/* the same of a cluster: the block's sums into its memory; results of a block's share of the tile, which go to that memory where there are
 * whole rows, or blocks pool */
void warps_leave_part(struct warps *w);
void warps_join_share(struct warps *w);

/* ---- warps_whole.c: rows that blocks of a cluster have together ---- */

/* Are rows of the result a row of the tile each, one behind the other, in the type of the sums? */
bool warps_have_rows(const struct warps *w);
/* of a row that a warp has, in elements */
int64_t warps_row_length(const struct warp_tile *t);
/* the block's share of the rows of its tile, out of the cluster's memory */
void warps_write_rows(struct warps *w);

/* ---- warps_pool.c: positions that a block has together ---- */

/* what the fusion makes of the block's results over all positions of each image, stored */
void warps_write_pool(struct warps *w);

#endif
