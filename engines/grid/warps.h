/* SPDX-License-Identifier: MIT */
/* The files of products by fragments of warps share this struct and these functions:
 * contract_warps.c, contract_warp_groups.c and warps_*.c. */
#ifndef ENGINES_GRID_WARPS_H
#define ENGINES_GRID_WARPS_H

#include "engines/grid/contract_warps.h"
#include "ir/loop/loop_grid.h"
#include "kernels/kernel_state.h"

struct warps {
        struct kernel_state s;          /* This is first, because its functions get a pointer to
                                         * it. */
        struct warp_tile tile;
        int64_t groups;                 /* The convolution has this many groups. */
        int64_t blocks;                 /* A group has this many blocks of channels of x. */
        int64_t inner;                  /* A block of channels has this many words of a multiply. */
        int64_t outputs;                /* A group has this many outputs. */
        int64_t positions;              /* All images together have this many positions, one image
                                         * after the other, or at most so many. */
        struct loop_expr *open;         /* A run gives this many positions; NULL: there are
                                         * `positions`. */
        int64_t images, of_image;       /* There are `images` images, of `of_image` positions
                                         * each; where a run gives one of both, at most so
                                         * many. */
        int64_t panel_size;             /* A panel of w has this many elements. */
        int64_t iterations;             /* This many iterations go over all channels and offsets of
                                         * the window. */
        const struct value *computed;   /* Weights are elements of this value, which the kernel
                                         * computes (warps_decoded.c); NULL: they lie in memory. */
        struct loop_variable *sums;     /* It holds the sums of each warp, in fragments. */
        struct loop_buffer *xs, *ws, *out;        /* In shared memory they hold the stages of x and
                                                   * of w, and the sums that leave the fragments. */
        struct loop_buffer *added;      /* Shared memory holds the residual here; NULL: it does
                                         * not. */
        /* The block has this group, begins at this position, and at this panel of the group. */
        struct loop_expr *group, *position, *panel;
        struct loop_expr *part;         /* The block does this part of the iterations. */
        struct loop_expr *number;       /* The block has this number in its cluster. */
        /* It holds the partial sums of all parts, [parts, groups, positions, outputs] in whole
         * tiles; for a cluster, or if a block pools, those of its tile, [blocks across, parts,
         * panels, positions, outputs]. */
        struct loop_buffer *partial;
        struct emit_place kept;         /* The results of an output that a lane pools lie at this
                                         * place of `partial`. */
};

/* ---- contract_warps.c ---- */

/* Return the elements of an iteration in shared memory: of x, of a panel of w, and of all
 * panels. */
int64_t warps_x_stage(const struct warp_tile *t);
int64_t warps_w_panel(const struct warp_tile *t);
int64_t warps_w_stage(const struct warp_tile *t);
/* Returns the first element of an iteration's stage, where stages have `size` elements. */
struct loop_expr *warps_stage(struct warps *w, struct loop_expr *iteration, int64_t size);
/* Return the warps of a block, the first position of a warp in the tile, and its panel: warp w has
 * row w % warps of positions, and panel w / warps. */
int warps_count(const struct warps *w);
struct loop_expr *warps_row(struct warps *w, struct loop_expr *warp);
struct loop_expr *warps_panel(struct warps *w, struct loop_expr *warp);
/* Returns the shape of a warp's sums. */
struct loop_tiles warps_shape(const struct warps *w);
static inline struct loop_expr *warps_less(struct warps *w, struct loop_expr *a, int64_t b)
{
        return emit_op(w->s.e, LOOP_LT, a, number(w->s.e, b));
}

/* May the last tile have fewer positions? Is p one of the positions? */
static inline bool warps_are_partial(const struct warps *w)
{
        return w->open || w->positions % w->tile.positions;
}
static inline struct loop_expr *warps_there(struct warps *w, struct loop_expr *p)
{
        return w->open ? emit_op(w->s.e, LOOP_LT, p, w->open) : warps_less(w, p, w->positions);
}

/* Moves values of the epilogue that were computed before the loops over blocks into the last of
 * these loops. Returns false where other statements stand there. */
bool warps_move_values_in(struct loop_block *body);
/* Splits position p of all images into its coordinates along each dimension of its image, and the
 * number of that image. */
void warps_split_position(struct warps *w, struct loop_expr *p, struct loop_expr **along,
                          struct loop_expr **image);
/* Allocates shared memory of the block. */
struct loop_buffer *warps_shared(struct warps *w, const char *name, enum element element,
                                 int64_t extent);
struct loop_stmt *warps_add(struct warps *w, enum loop_stmt_kind kind, int code);
/* Appends the MMA of an iteration by one warp; warp NULL: by all warps, as warp-group MMA. */
struct loop_stmt *warps_add_product(struct warps *w, struct loop_expr *warp,
                                    struct loop_expr *iteration);
/* Returns the number among all iterations of iteration i of the block. */
struct loop_expr *warps_iteration(struct warps *w, struct loop_expr *i);

/* Returns the residual: a value of the results' shape in memory that the epilogue reads element by
 * element; NULL where there is none. */
const struct value *warps_added(const struct op *op);
/* Makes the tile one without whole rows: only the blocks of its parts are a cluster, if they can
 * be. */
void warp_tile_apart(struct warp_tile *t, const struct target *target);
/* Returns the words of a block of channels, including those of a row of the window where these
 * count as channels. */
int64_t warps_inner_words(const struct op *op);
/* Starts the copies of the first `count` iterations, a batch for each. */
void warps_copy_first(struct warps *w, int64_t count);

/* ---- contract_warp_groups.c: warp-group MMA ---- */

void groups_add_up(struct warps *w);
void groups_write_results(struct warps *w);

/* ---- warps_copies.c ---- */

/* Write a warp's copies for an iteration: of x, and of w. */
void warps_copy_x(struct warps *w, struct loop_expr *warp, struct loop_expr *iteration);
void warps_copy_w(struct warps *w, struct loop_expr *warp, struct loop_expr *iteration);
/* Writes a warp's copies of the residual. */
void warps_copy_added(struct warps *w, struct loop_expr *warp);
/* Writes bulk copies of an iteration's weights, outside of the loops over warps. */
void warps_run_w(struct warps *w, struct loop_expr *iteration);

/* ---- warps_decoded.c ---- */

/* Splits word number `word` of an output into an index of dimensions 1 and on of v, the decoded
 * weights; the last one is that of the word's first channel. */
void warps_split_word(struct warps *w, const struct type *v, struct loop_expr *word,
                      struct loop_expr **index);

/* ---- warps_results.c ---- */

/* Splits output o of the group into its block of channels of the result, and its place in that. */
void warps_split_output(struct warps *w, struct loop_expr *o, struct loop_expr **block,
                        struct loop_expr **in_block);
/* Computes the epilogue of `sum`, of output o of the group at position p, and stores the result. */
void warps_write_output(struct warps *w, struct loop_expr *o, struct loop_expr *p,
                        struct loop_expr *sum);
/* Stores results of a warp's fragment number `part`, whose sums are at sums_at, in vector accesses:
 * `width` outputs from `column` of the panel on; a lane has several neighbours. Returns false where
 * such rows are not contiguous in memory. */
bool warps_write_words(struct warps *w, struct loop_expr *warp, struct loop_expr *sums_at, int part,
                       int column, int width);
/* Brings the sums of a block out of their fragments; lanes compute the epilogue and store the
 * results. */
void warps_write_results(struct warps *w);
/* Split-K goes through memory: warps_partial_size returns the elements of w->partial;
 * warps_write_partial stores the block's sums there; warps_join_parts writes a phase that adds them
 * up and computes the epilogue. */
int64_t warps_partial_size(const struct warps *w);
void warps_write_partial(struct warps *w);
void warps_join_parts(struct warps *w);
/* Split-K in a cluster: the block's sums go to distributed shared memory; each block then adds up
 * its share of the tile and computes the epilogue. The results go back to that memory if the
 * cluster has whole rows, or its blocks pool. */
void warps_leave_part(struct warps *w);
void warps_join_share(struct warps *w);

/* ---- warps_row_clusters.c: whole rows of a cluster ---- */

/* Is each row of the result a row of the tile, contiguous and in the element of the sums? */
bool warps_have_rows(const struct warps *w);
/* Returns the elements that a warp has room for in a row. */
int64_t warps_row_length(const struct warp_tile *t);
/* Writes the block's share of the rows of its tile, out of distributed shared memory. */
void warps_write_rows(struct warps *w);

/* ---- warps_pool.c: reductions over all positions of an image ---- */

/* Reduces the block's results over all positions of each image, applies the fusion's operations to
 * that, and stores it. */
void warps_write_pool(struct warps *w);

#endif
