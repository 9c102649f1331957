/* SPDX-License-Identifier: MIT */
/* What the files of the layout pass share. */
#ifndef PASSES_LAYOUT_LAYOUT_H
#define PASSES_LAYOUT_LAYOUT_H

#include "passes/layout/multiplies.h"
#include "passes/pass.h"
#include "passes/remark.h"

/* What <N x C x S..> may be: <N x C/16 x S.. x 16>, <N x 1 x S.. x C>, or what it is
 * (layout_choose.c). */
enum layout_kind { LAYOUT_BLOCKS, LAYOUT_LAST, LAYOUT_PLAIN, LAYOUT_KIND_COUNT };

/* How a value is there besides its own shape; its scratch. */
struct form {
        enum layout_kind kind;
        struct form *joined;            /* of the same region; NULL: this one stands for it, and
                                         * has */
        double cost[LAYOUT_KIND_COUNT]; /* what its kinds are predicted to cost, cycles */
        double blocked_cost;            /* what any but the plain one costs beside that */
        /* how it would be there, were the region of this kind */
        bool blocked[LAYOUT_KIND_COUNT], logical[LAYOUT_KIND_COUNT];
        bool stays;                     /* the convolution that makes it is done in its own shape */
        struct value *blocks;           /* <N x C x S..> as <N x C/16 x S.. x 16>, or so */
        struct value *rows;             /* a dot's <B.. x M.. x N..> as <1 x B x M x N>, */
        int batch, free;                /* so many dimensions are B and M */
};

struct layout {
        struct module *m;
        struct pass_context *context;
        struct builder b;               /* before the operation that is looked at */
        int64_t block;                  /* channels: floats of a cache line, or of a longer vector;
                                         * a row of a hardware tile where contractions read bf16 */
        bool in_rows;                   /* of such tiles */
        struct arena *arena;
        struct value **formed;          /* values whose scratch is set */
        int formed_count;
        struct op **replaced;           /* operations that have been built anew on other forms */
        int replaced_count;
        enum remark_reason why;         /* the operation that is looked at stays as it is; set by
                                         * who decides */
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
/* All channels of v are one block; where v is plain, the blocks are those that a contraction
 * makes or wants in its place. */
static inline bool is_last(const struct layout *l, const struct value *v)
{
        return layout_kind_of(v) == LAYOUT_LAST ||
               (is_plain(v) && type_extent(v->type, 1) < l->block);
}
/* channels of a block of [N, C, ..] */
static inline int64_t layout_lanes(const struct layout *l, const struct type *t, bool last)
{
        return last ? type_extent(t, 1) : l->block;
}
static inline struct value *rows_of(const struct value *v)
{
        return v->scratch ? ((const struct form *)v->scratch)->rows : NULL;
}

/* ---- pack.c ---- */

/* transpose(reshape(pad(x, zeros behind it, up to the extents padded), dims), perm): operations, or
 * a constant at once. Each dimension of x becomes one or several consecutive ones of dims. */
struct value *layout_pack(struct builder *b, struct value *x, const dim_t *padded, int rank,
                          const dim_t *dims, const int64_t *perm);
struct value *layout_reshape(struct builder *b, struct value *x, int rank, const dim_t *dims);
struct value *layout_transpose(struct builder *b, struct value *x, const int64_t *perm);
struct value *layout_slice(struct builder *b, struct value *x, const int64_t *starts,
                           const int64_t *steps, const dim_t *dims);
/* from 0 in steps of 1 */
struct value *layout_slice_to(struct builder *b, struct value *x, const dim_t *dims);
/* Constant panels w of a convolve_packed, for m of a warp group, in the order in which it reads
 * lines, which its attributes say from here on; else w as it is. */
struct value *layout_crossed(struct layout *l, struct value *w, const struct multiply *m,
                             struct attr *attrs);
/* dimension `at` of x as blocks, the lanes becoming the last dimension */
struct value *layout_split(struct builder *b, struct value *x, int at, int64_t block);
/* the type of the blocked form of [N, C, ...] */
const struct type *layout_type(struct module *m, const struct type *t, int64_t block);
/* pads of convolutions, zeros (or crops where negative), on the dimensions of x from `first` on:
 * count low, count high */
struct value *layout_halo(struct builder *b, struct value *x, int first, const int64_t *pads,
                          int count);
/* the logical value of type t back from its blocked form */
struct value *layout_unblock(struct builder *b, struct value *blocked, const struct type *t);

/* ---- joined_products.c ---- */

/* products of the same rows by several constants become one, where their results are heads */
void layout_join_products(struct layout *l, struct region *region);

/* ---- layout.c ---- */

/* v's form, to be filled in */
struct form *layout_form(struct layout *l, struct value *v);
/* v's blocked form, made where v is when it has none */
struct value *layout_blocked(struct layout *l, struct value *v);
/* v in blocks of 16 or (last) one block, whatever its form is */
struct value *layout_blocked_as(struct layout *l, struct value *v, bool last);

/* What takes an operation to another form; false: it cannot, or need not be, done so, for the
 * reason l->why. Each fills in the form of its result. */

/* ---- layout_integers.c ---- */

/* contractions of integers become such of floats, where these are exact */
void layout_whole(struct layout *l, struct region *region);
/* v, or the constant that it is where it only decodes integer constants */
struct value *layout_decoded(struct layout *l, struct value *v);
/* weights of f32 as they are stored, where the target multiplies f32 by such: constants of fewer
 * bits that w widens; else w */
struct value *layout_stored(const struct layout *l, struct value *w);
/* the multiply of a contraction of 8-bit integers by constant ones, or NULL */
const struct multiply *layout_bytes(const struct layout *l, const struct op *op);
/* channels, up to whole rows of its tiles, or whole words */
int64_t layout_row_of(const struct multiply *m, int64_t channels);

/* ---- products.c ---- */

/* for targets with a machine: sums of windows, products of matrices and convolutions of few
 * channels become convolutions that it can run */
void layout_products(struct layout *l, struct region *region);

/* ---- layout_windows.c ---- */

/* windows of several dimensions become windows along one after the other, where that is cheaper */
void layout_windows(struct layout *l, struct region *region);

/* ---- layout_choose.c ---- */

/* says of every value in the region, and those inside, which blocks are best for it */
void layout_choose(struct layout *l, struct region *region);
/* the convolution is done in its own shape */
bool layout_stays(const struct op *convolve);

/* ---- convolve.c ---- */

bool layout_convolve(struct layout *l, struct op *op);
bool layout_is_depthwise(const struct op *convolve);
/* sums of a depthwise one are exact in lanes of floats, where they are of bytes */
bool layout_lanes_sum(const struct layout *l, const struct op *depthwise);
/* every output sums what lies under its own window */
bool layout_is_direct(const struct op *convolve);
/* or its outputs are of few phases, which are direct convolutions each */
bool layout_has_phases(const struct op *convolve);

/* ---- dot.c: dot, and what follows it element by element ---- */

bool layout_dot(struct layout *l, struct op *op);
bool layout_rows(struct layout *l, struct op *op);

/* ---- blocks.c ---- */

bool layout_dot_blocks(struct layout *l, struct op *op);

/* ---- layout_moves.c: operations that keep channels apart, on blocks ---- */

bool layout_transparent(struct layout *l, struct op *op);
/* What op, a reshape, is with its channels in another order, or NULL: reshape(transpose(reshape(x)
 * as [N, a, b, S..]) as [N, b, a, S..]). */
struct value *layout_shuffled(const struct op *op);

#endif
