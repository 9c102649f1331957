/* SPDX-License-Identifier: MIT */
/* The files of the layout pass share this. */
#ifndef PASSES_LAYOUT_LAYOUT_H
#define PASSES_LAYOUT_LAYOUT_H

#include "passes/layout/multiplies.h"
#include "passes/pass.h"
#include "passes/remark.h"

/* <N x C x S..> has one of these layouts: <N x C/16 x S.. x 16>, <N x 1 x S.. x C>, or the shape as
 * it is (layout_choose.c). */
enum layout_kind { LAYOUT_BLOCKS, LAYOUT_LAST, LAYOUT_PLAIN, LAYOUT_KIND_COUNT };

/* A form holds the other forms of a value, besides its own shape. It is the value's scratch. */
struct form {
        enum layout_kind kind;
        struct form *joined;            /* The next form leads towards the one that stands for the
                                         * region; NULL: this is that one, and holds what
                                         * follows. */
        double cost[LAYOUT_KIND_COUNT]; /* Each kind is predicted to cost this many cycles. */
        double blocked_cost;            /* Any kind but the plain one costs this many cycles in
                                         * addition. */
        /* Would the value be made, or read, in that form, if the region were of this kind? */
        bool blocked[LAYOUT_KIND_COUNT], logical[LAYOUT_KIND_COUNT];
        bool stays;                     /* The convolution that makes the value is computed in its
                                         * own shape. */
        struct value *blocks;           /* The blocks are <N x C x S..> in blocks, as <N x C/16 x
                                         * S.. x 16> for instance. */
        struct value *rows;             /* The rows are of a dot's result: <B.. x M.. x N..> as <1 x
                                         * B x M x N>. */
        int batch, free;                /* B and M have this many dimensions. */
};

struct layout {
        struct module *m;
        struct pass_context *context;
        struct builder b;               /* The builder stands in front of the operation that is
                                         * looked at. */
        int64_t block;                  /* A block has this many channels: the floats of a cache
                                         * line, or of a longer vector; where contractions read
                                         * bf16, the channels of a hardware tile's row. */
        bool in_rows;                   /* A block is a row of a hardware tile. */
        bool open;                      /* Kernels multiply as many rows as a run gives, */
        bool positions;                 /* and go over as many positions. */
        struct arena *arena;
        struct value **formed;          /* The scratch of these values is set. */
        int formed_count;
        struct op **replaced;           /* These operations have been built anew on other forms. */
        int replaced_count;
        enum remark_reason why;         /* The operation that is looked at stays as it is for this
                                         * reason, set by the function that decides so. */
        bool failed;
};

static inline bool layout_refuse(struct layout *l, enum remark_reason why)
{
        l->why = why;
        return false;
}

static inline int64_t layout_blocks(int64_t extent, int64_t block)
{
        return divide_up(extent, block);
}
static inline struct value *blocks_of(const struct value *v)
{
        return v->scratch ? ((const struct form *)v->scratch)->blocks : NULL;
}
static inline enum layout_kind layout_kind_of(const struct value *v)
{
        return v->scratch ? ((const struct form *)v->scratch)->kind : LAYOUT_BLOCKS;
}
static inline bool is_plain(const struct value *v) { return layout_kind_of(v) == LAYOUT_PLAIN; }
/* Are all channels of v one block? Where v is plain, this is about the blocks that a contraction
 * makes or wants in its place. */
static inline bool is_last(const struct layout *l, const struct value *v)
{
        return layout_kind_of(v) == LAYOUT_LAST ||
               (is_plain(v) && type_extent(v->type, 1) < l->block);
}
/* Returns the number of channels in a block of [N, C, ..]. */
static inline int64_t layout_lanes(const struct layout *l, const struct type *t, bool last)
{
        return last ? type_extent(t, 1) : l->block;
}
static inline struct value *rows_of(const struct value *v)
{
        return v->scratch ? ((const struct form *)v->scratch)->rows : NULL;
}

/* ---- pack.c ---- */

/* Builds transpose(reshape(pad(x, zeros behind it, up to the extents `padded`), dims), perm), as
 * operations, or for a constant at once. Each dimension of x becomes one or several consecutive
 * ones of dims. */
struct value *layout_pack(struct builder *b, struct value *x, const dim_t *padded, int rank,
                          const dim_t *dims, const int64_t *perm);
struct value *layout_reshape(struct builder *b, struct value *x, int rank, const dim_t *dims);
struct value *layout_transpose(struct builder *b, struct value *x, const int64_t *perm);
struct value *layout_slice(struct builder *b, struct value *x, const int64_t *starts,
                           const int64_t *steps, const dim_t *dims);
/* Builds a slice from 0 on, in steps of 1. */
struct value *layout_slice_to(struct builder *b, struct value *x, const dim_t *dims);
/* Returns constant panels w of a convolve_packed in the order in which m, where it is of a warp
 * group, reads swizzle lines, and says so in the attributes; else returns w as it is. */
struct value *layout_crossed(struct layout *l, struct value *w, const struct multiply *m,
                             struct attr *attrs);
/* Splits dimension `at` of x into blocks, whose lanes become the last dimension. */
struct value *layout_split(struct builder *b, struct value *x, int at, int64_t block);
/* Returns the type of the blocked form of [N, C, ...]. */
const struct type *layout_type(struct module *m, const struct type *t, int64_t block);
/* Puts a convolution's pads, zeros (or crops where negative), on the dimensions of x from `first`
 * on; `pads` are `count` numbers in front of these, then `count` behind. */
struct value *layout_halo(struct builder *b, struct value *x, int first, const int64_t *pads,
                          int count);
/* Returns the logical value of type t, built from its blocked form. */
struct value *layout_unblock(struct builder *b, struct value *blocked, const struct type *t);

/* ---- shared_tables.c ---- */

/* Notes that w are the panels of a constant matrix b, the weights of op (a dot), in words of
 * `group` channels. */
void layout_note_table(struct layout *l, const struct op *op, const struct value *b,
                       struct value *w, int group);
/* Lets gathers of rows of noted constants read the panels, in all functions of the module, where
 * nothing else reads the constant: there is one copy then. Returns how many gathers these were. */
int layout_share_tables(struct layout *l);

/* ---- joined_products.c ---- */

/* Joins products of the same rows by several constants into one, where their results are heads. */
void layout_join_products(struct layout *l, struct region *region);

/* ---- joined_outputs.c ---- */

/* Joins contractions of the same operand by several constants into one, where that is predicted to
 * be faster. Returns how often. */
int layout_join_outputs(struct layout *l, struct region *region);

/* ---- layout.c ---- */

/* Returns v's form, to be filled in. */
struct form *layout_form(struct layout *l, struct value *v);
/* Returns v's blocked form, and builds it where v is made if there is none. */
struct value *layout_blocked(struct layout *l, struct value *v);
/* Returns v in blocks of 16 or, `last`, in one block, whatever its form is. */
struct value *layout_blocked_as(struct layout *l, struct value *v, bool last);

/* These functions build an operation in another form, and fill in the form of its result. They
 * return false if that cannot or need not be, for the reason l->why. */

/* ---- layout_integers.c ---- */

/* Makes contractions of integers contractions of floats, where these are exact. */
void layout_whole(struct layout *l, struct region *region);
/* Is v converted to integers? Then it has whole numbers, which sums of products make exactly, and
 * other algorithms would round. */
bool layout_becomes_whole(const struct value *v);
/* Returns the constant that v is, where it only decodes integer constants; else v. */
struct value *layout_decoded(struct layout *l, struct value *v);
/* Returns weights of f32 as they are stored, where the target multiplies f32 by such elements: the
 * constants of fewer bits that w widens; else w. */
struct value *layout_stored(const struct layout *l, struct value *w);
/* Returns the multiply for a contraction of 8-bit integers by constant ones, or NULL. */
const struct multiply *layout_bytes(const struct layout *l, const struct op *op);
/* Rounds channels up to whole rows of m's tiles, or to whole words. */
int64_t layout_row_of(const struct multiply *m, int64_t channels);

/* ---- products.c ---- */

/* For targets with a machine: makes sums of windows, products of matrices and convolutions of few
 * channels convolutions that the machine can run. */
void layout_products(struct layout *l, struct region *region);

/* ---- layout_windows.c ---- */

/* Makes a window of several dimensions one window after the other, of one dimension each, where
 * that is cheaper. */
void layout_windows(struct layout *l, struct region *region);

/* ---- layout_spectra.c ---- */

/* Makes products for each frequency of convolutions whose windows are long enough. */
void layout_spectra(struct layout *l, struct region *region);

/* ---- layout_filters.c ---- */

/* Makes neighbouring positions outputs of convolutions that have few, and long windows. */
void layout_filters(struct layout *l, struct region *region);

/* ---- layout_choose.c ---- */

/* Decides for every value in the region, and in those inside, which layout is best for it. */
void layout_choose(struct layout *l, struct region *region);
/* Is the convolution computed in its own shape? */
bool layout_stays(const struct op *convolve);

/* ---- convolve.c ---- */

bool layout_convolve(struct layout *l, struct op *op);
bool layout_is_depthwise(const struct op *convolve);
/* Are the sums of a depthwise convolution of bytes exact in lanes of floats? */
bool layout_lanes_sum(const struct layout *l, const struct op *depthwise);
/* Does every output sum what lies under its own window? */
bool layout_is_direct(const struct op *convolve);
/* Is it direct, or are its outputs of few phases, each of which is a direct convolution? */
bool layout_has_phases(const struct op *convolve);

/* ---- layout_volumes.c ---- */

/* Is each plane of the volumes an image of its own? */
bool layout_is_of_images(const struct layout *l, const struct op *convolve);
/* Returns x in blocks, [N, blocks, D, H, W, block], as [N * D, blocks, H, W, block]. */
struct value *layout_as_images(struct layout *l, struct value *x);
/* Returns weights [M, C, 1, 3, 3] as [M, C, 3, 3]. */
struct value *layout_window_of_image(struct layout *l, struct value *w);
/* Puts the convolution's pads around such images. */
struct value *layout_halo_of_images(struct layout *l, struct value *x, const struct op *convolve);
/* Returns images in blocks as volumes of the logical type t in blocks. */
struct value *layout_from_images(struct layout *l, struct value *y, const struct type *t);

/* ---- groups.c ---- */

enum { LAYOUT_MERGED_MAX = 8 };         /* So many groups become one at most. */

/* Is each group a block of x, and one of the result? */
bool layout_has_own_blocks(const struct layout *l, const struct op *convolve);
/* Returns how many groups become one where channels and outputs of so many groups are whole blocks,
 * or where these are all groups; 0: there is no such number up to `most`. */
int64_t layout_merged_groups(const struct layout *l, int64_t groups, int64_t channels,
                             int64_t outputs, int64_t most);
/* Makes the weights of `merged` groups those of one. */
struct value *layout_merge_groups(struct builder *b, struct value *w, int64_t groups,
                                  int64_t merged);
/* Repeats each channel `times` times. */
struct value *layout_repeat_channels(struct builder *b, struct value *x, int64_t times);
/* Returns [N, C, S..] as [N, groups, S.., channels of a group]. */
struct value *layout_groups(struct layout *l, struct value *x, int64_t groups);
/* Returns blocks that have the outputs of a group each in the blocks that y, of the logical form,
 * is wanted in. */
struct value *layout_from_groups(struct layout *l, struct value *blocks, const struct value *y);

/* ---- dot.c: dot, and what follows it element by element ---- */

bool layout_dot(struct layout *l, struct op *op);
bool layout_rows(struct layout *l, struct op *op);

/* ---- blocks.c ---- */

bool layout_dot_blocks(struct layout *l, struct op *op);
/* Makes a product by numbers that are decoded in front of it a dot_blocks of floats, or returns
 * false: it is none, or the target has no multiply for it. */
bool layout_block_product(struct layout *l, struct op *op);

/* ---- layout_moves.c: operations that keep channels apart, on blocks ---- */

bool layout_transparent(struct layout *l, struct op *op);
/* Is op over all dimensions but the channels', as the moments of a normalization are? Its operand
 * may have any form. */
bool layout_reduces_to_channels(const struct op *op);
/* Returns the value that op, a reshape, has with its channels in another order, or NULL. Such an op
 * is reshape(transpose(reshape(x) as [N, a, b, S..]) as [N, b, a, S..]). */
struct value *layout_shuffled(const struct op *op);

#endif
