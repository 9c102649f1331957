/* SPDX-License-Identifier: MIT */
/* What the scheduled lowerings of contractions share: where a contraction reads and stores through
 * the moves around it, its positions cut into tiles, tasks, the epilogue on a vector of sums, the
 * halo.
 *
 * A lowering is a row of an engine (engines/): it prepares a kernel state and writes its rows;
 * kernel_state.c writes what is around them. */
#ifndef KERNELS_KERNEL_STATE_H
#define KERNELS_KERNEL_STATE_H

#include "ir/lower/lower_emit.h"
#include "kernels/access.h"
#include "kernels/kernels.h"
#include "kernels/tiling.h"

struct spatial {
        int64_t extent;                 /* positions of the result */
        int64_t window;
        int64_t x_step, x_window;       /* in x, from one position, one offset of the window, to the
                                         * next */
        int64_t y_step;                 /* where the result is stored */
};

/* One contraction of a kernel, from what it reads to what is stored. */
struct kernel_state {
        struct emit *e;
        struct arena *arena;
        struct schedule_registers schedule;     /* preset where the schedule is one of a grid */
        const struct schedule_grid *grid;       /* the words of such a one; NULL: it is of registers
                                                 * / */
        const struct target *target;    /* of the width that the schedule asks for */
        int lanes;                      /* of its vectors */
        bool has_fma;
        const struct multiply *multiply;          /* that adds up its sums; before a lowering says
                                                   * another, that of floats */
        const struct op *op;            /* the contraction */
        const struct value *sums;       /* what its sums are: its result, or that and what they
                                         * begin with */
        const struct region *region;
        struct value *result;           /* in the index space of op: before the moves at the end */
        struct access x, y;
        struct op *pad;
        struct op *border;              /* around what the contraction reads: zeros where x has no
                                         * position (x is where these would lie); or NULL */
        struct op *pool;                /* of convolve_winograd: windows of the result that are
                                         * stored in its place; by blocks of warps: a reduction over
                                         * its positions; or NULL */
        struct value *pool_result;      /* of such a reduction: what is made of that, which is what
                                         * y stores; or NULL */
        struct loop_buffer *xs, *ws, *ys;
        bool between;                   /* ys lies between two contractions of one kernel: it is not
                                         * the kernel's result */
        struct prologue *prologue;      /* computes or gathers x in strips (xs is such memory), or
                                         * NULL */
        int rank;                       /* of x and y */
        int spatial_count;
        struct spatial spatial[RANK_MAX];
        struct tiling row, column;         /* of the last two spatial dimensions */
        int64_t panels;                 /* what panel_tasks share */
        int64_t panel_width, last_width;          /* of a panel, and of the last one, which may be
                                                   * narrower; 0: all are equal */
        /* all of the panels first..end at the rows of tiles from..to; a kernel of one spatial
         * dimension has rows of one tile */
        bool (*write)(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                      struct loop_expr *first, struct loop_expr *end);
        bool all_rows;                  /* write does not look at from and to */
        /* called where tiles of a size begin, in front of the loop over those of a row; or NULL */
        void (*enter)(struct kernel_state *s, int rows, int columns);
        bool (*write_all)(struct kernel_state *s); /* instead, with loops over tasks and images of
                                                    * its own; or NULL */
        /* where element 0 of x and of the result is, and where the loops are */
        struct loop_expr *x_start, *y_start;
        struct loop_expr *task, *image, *position[RANK_MAX];
        struct loop_expr *group;        /* of convolve_packed: the only group of channels that write
                                         * is for; NULL: all groups */
        struct loop_expr *first_channel, *channels;       /* the only channels that write sums over:
                                                           * x_start is where first_channel is;
                                                           * NULL: all channels */
        bool adds;                      /* sums go on from what lies where they are stored */
        struct loop_expr *tile_number;  /* among those that this call of write is for */
};

/* ---- contract.c: convolve_packed in register tiles of vectors, or in hardware tiles ---- */

struct kernel_state *contract_prepare(const struct kernel_state *common);

/* ---- prologue.c: x, computed or gathered once for a strip of the positions ---- */

/* What is read is computed by the fusion around the contraction (or schedule.pack says to gather
 * it). False: it cannot be. */
bool prologue_find(struct kernel_state *s);
bool prologue_has_halo(const struct prologue *p);
/* where its memory has the positions along the spatial dimensions */
void prologue_spatial(struct kernel_state *s);
/* the memory, for `blocks` of x, once positions are cut */
void prologue_memory(struct kernel_state *s, int64_t blocks);
/* what the tiles (rows of them) from..to read of blocks first_block.. of x; from here on, x is
 * there */
bool prologue_write(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                    struct loop_expr *first_block);

/* a kernel of two products and rows between them: attention_kernel.c */
bool attention_kernel(struct emit *e, const struct kernel_request *request,
                      struct loop_buffer *buffer);
/* a kernel of several contractions: strips_kernel.c */
bool strips_kernel(struct emit *e, const struct kernel_request *request,
                   struct loop_buffer *buffer);

/* ---- kernel_state.c ---- */

/* A whole kernel, of one contraction. False: it cannot be written so. */
bool state_kernel(struct emit *e, const struct kernel_request *request, struct op *op,
                  struct loop_buffer *buffer);
/* What the states of all lowerings begin with: fields up to rank, the schedule. False where no
 * contraction can be scheduled so. */
bool state_begin(struct kernel_state *s, struct emit *e, const struct region *region,
                 const struct op *op);
/* its vectors, and the multiply of floats, from here on */
void state_set_width(struct kernel_state *s, const struct target *target);
/* Fills what the pad at the end puts around the result: task number `task` of so many its share of
 * dimension `shared`. Any share is right, as nothing else is ever stored there; the one that lies
 * around what the task stores is in its own cache. */
void state_halo(struct kernel_state *s, struct loop_expr *task, int tasks, int shared);
/* `value` in count elements of a buffer, by vectors of `lanes` that divide count, or one by one */
void state_fill(struct kernel_state *s, struct loop_buffer *buffer, struct loop_expr *at,
                struct loop_expr *count, int lanes, union scalar value);
/* spatial dimensions, as the loops see them: windows begin at dimension `window` of w; then the
 * cuts */
void state_spatial(struct kernel_state *s, int window);
void state_tiling(struct kernel_state *s);
/* Opens the loop over the strips of the rows of tiles from..to, which become those of one strip.
 * False: all are one. */
bool state_open_strips(struct kernel_state *s, struct loop_expr **from, struct loop_expr **to);
/* All tiles at the rows of tiles from..to: `tile` writes one of rows * columns positions, from
 * s->position on. */
bool state_each_tile(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                     bool (*tile)(struct kernel_state *s, int rows, int columns));
/* where the window of the tile's first position begins, in channel 0 of x */
struct loop_expr *state_x(struct kernel_state *s);
/* where tile number `tile` of a cut begins */
struct loop_expr *state_tile_start(struct kernel_state *s, const struct tiling *tiling,
                                   struct loop_expr *tile);
/* index of the position in a tile, block 0; all but the lane */
void state_index(struct kernel_state *s, int row, int column, struct loop_expr **index);
/* rows * columns vectors, all zero; one of them becomes value; one of them += a * b, rounded once
 * where the target can */
struct loop_variable *state_sums(struct kernel_state *s, int rows, int columns);
void state_set(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *value);
/* the same vectors, of words of a run of products */
struct loop_variable *state_run(struct kernel_state *s, int rows, int columns);
/* the function of the kernel's multiply; NULL: sum + x * w */
struct loop_function *state_product(const struct kernel_state *s);
/* words of the multiply that follow each other from index `at` on, `lanes` or one; where it
 * takes one element at a time, elements as such */
struct loop_expr *state_words(const struct kernel_state *s, struct loop_buffer *from,
                              struct loop_expr *at, enum element word, int lanes);
void state_add(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *a, struct loop_expr *b);
/* A vector at `at` + add of a buffer, under a name; of its lanes, `live`. */
struct loop_expr *state_load(struct kernel_state *s, const char *name, struct loop_buffer *b,
                             struct loop_expr *at, int64_t add, int live);
/* the same, as another element */
struct loop_expr *state_load_as(struct kernel_state *s, enum element e, const char *name,
                                struct loop_buffer *b, struct loop_expr *at, int64_t add, int live);
/* The last dimension, of extent depth, in native vectors: `write` writes rows * columns positions
 * of part->live lanes from part->first on. */
struct lane_part { struct loop_expr *first; int live; };
bool state_vectors(struct kernel_state *s, int64_t depth, struct lane_part *part, int rows,
                   int columns, bool (*write)(struct kernel_state *s, int rows, int columns));
/* share number k of n of `extent`: from, to */
void state_share(struct emit *e, struct loop_expr *k, int n, int64_t extent,
                 struct loop_expr **from, struct loop_expr **to);
/* A vector of the elements of `value` at index (all but the lane), which the fusion computes:
 * part->live of them, from lane part->first of the last dimension on. sum: what stands for the
 * contraction's elements, or NULL: it does not depend on them. */
struct state_vector { struct value *value; struct loop_expr **index, *sum; struct lane_part part; };
/* stored, lane 0 of the last dimension at `at` */
bool state_write_vector(struct kernel_state *s, const struct state_vector *v,
                        struct loop_buffer *to, struct loop_expr *at);
/* where lane 0 of the result at index is stored */
struct loop_expr *state_y(struct kernel_state *s, struct loop_expr *const *index);
/* What the fusion makes of `sum`, a vector of the contraction's elements at index (all but the
 * lane), stored. It begins at first_lane of the last dimension; live: how many of its lanes there
 * are. */
bool state_store(struct kernel_state *s, struct loop_expr *sum, struct loop_expr **index,
                 struct loop_expr *first_lane, int live);

/* ---- shorthands ---- */

static inline struct loop_expr *number(struct emit *e, int64_t value) { return emit_int(e, value); }

static inline struct loop_expr *plus(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(e, LOOP_ADD, a, b);
}

static inline struct loop_expr *times(struct emit *e, struct loop_expr *a, int64_t b)
{
        return emit_op_int(e, LOOP_MUL, a, b);
}

static inline struct loop_expr *minus(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(e, LOOP_SUB, a, b);
}

static inline struct loop_expr *minimum(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(e, LOOP_MIN, a, b);
}

static inline struct loop_expr *maximum(struct emit *e, struct loop_expr *a, struct loop_expr *b)
{
        return emit_op(e, LOOP_MAX, a, b);
}

#endif
