/* SPDX-License-Identifier: MIT */
/* The scheduled lowerings of contractions share this: where a contraction reads and stores through
 * the moves around it, the tiles of its positions, tasks, the epilogue on a vector of sums, and the
 * halo.
 *
 * A lowering is a row of an engine (engines/): it prepares a kernel state and writes its rows of
 * tiles; kernel_state.c and kernel_tiles.c write the loops around them. */
#ifndef KERNELS_KERNEL_STATE_H
#define KERNELS_KERNEL_STATE_H

#include "ir/lower/lower_emit.h"
#include "kernels/access.h"
#include "kernels/kernels.h"
#include "kernels/tiling.h"

struct spatial {
        int64_t extent;                 /* The result has this many positions. */
        struct loop_expr *open;         /* A run gives them, `extent` at most; NULL: it does not. */
        int64_t window;
        int64_t x_step, x_window;       /* From one position, and one offset of the window, to the
                                         * next are this many elements of x. */
        int64_t y_step;                 /* From one position to the next are this many elements of
                                         * the result's buffer. */
        dim_t x_pitch, y_pitch;         /* The steps are as many times these terms; 0: they are
                                         * known. */
};

/* A kernel state describes one contraction of a kernel, from the operands that it reads to the
 * result that is stored. */
struct kernel_state {
        struct emit *e;
        struct arena *arena;
        struct schedule_registers schedule;     /* It is zero, but for what state_begin presets,
                                                 * where the schedule is one of a grid. */
        const struct schedule_grid *grid;       /* These are the schedule's words for a grid; NULL:
                                                 * the schedule is one of registers. */
        const struct target *target;    /* The target has the vector width that the schedule asks
                                         * for. */
        int lanes;                      /* A vector has this many f32 lanes. */
        bool has_fma;
        const struct multiply *multiply;          /* This multiply adds up the sums; until the
                                                   * lowering chooses, it is that of floats. */
        const struct op *op;            /* This is the contraction. */
        const struct value *sums;       /* The sums equal this value: the contraction's result, or
                                         * result + initial value. */
        const struct region *region;
        struct value *result;           /* This is the kernel's result in the index space of op,
                                         * before the moves at the end. */
        struct access x, y;
        struct op *pad;
        /* This pad surrounds what the contraction reads with zeros that no memory holds (x is
         * indexed as if it had them); NULL: there is none. */
        struct op *border;
        /* This reduction is stored in place of the result: for convolve_winograd over windows, for
         * blocks of warps over all positions; NULL: there is none. */
        struct op *pool;
        /* Where a reduction over positions is fused, y stores this: its result, or element-wise
         * operations on that; otherwise NULL. */
        struct value *pool_result;
        struct loop_buffer *xs, *ws, *ys;
        bool between;                   /* ys lies between two contractions of one kernel, and is
                                         * not the kernel's result. */
        struct prologue *prologue;      /* Computes or gathers x in strips, which xs then holds; or
                                         * NULL. */
        bool one_row;                   /* `write` writes one row of tiles of one row each. */
        /* The strip has these tiles of each row only; NULL: all. */
        struct loop_expr *first_tile, *end_tile;
        struct loop_buffer *strip;      /* The prologue's memory, which other states of the kernel
                                         * use before and after; NULL: it has its own. */
        /* Rows of x lie in a circular buffer, `slot` elements each: row k of x is row slot_first +
         * k of the buffer's value, and x.stride says nothing of rows. NULL: they do not. Without a
         * prologue, windows of the row that is written begin at row_start, and from a row of the
         * window to the next are row_window elements, before the buffer wraps. */
        const struct emit_circular *slots;
        int64_t slot, slot_first, row_window;
        struct loop_expr *row_start;
        /* [spatial[0].window], where each row of the window begins, for windows of few rows; NULL:
         * they follow from row_start. */
        struct loop_expr **row_starts;
        bool decoded;                   /* The strips hold words as the multiply decodes them: an
                                         * element of xs is a word, and steps count these. */
        int rank;                       /* x and y have this rank. */
        int spatial_count;
        struct spatial spatial[RANK_MAX];
        struct loop_expr *open;         /* This is `open` of the last spatial dimension. */
        bool few_rests;                 /* Then what is left behind whole tiles goes through tiles
                                         * of powers of two: less code where this takes little time,
                                         * or small tiles are about as fast as large ones. */
        struct loop_expr *open_tiles;   /* Where it is the only one, these are its tiles of
                                         * column.size positions, the last of which may be less. */
        struct tiling row, column;         /* These are the tiles of the last two spatial
                                            * dimensions. */
        int64_t panels;                 /* panel_tasks share this many panels. */
        /* A panel has panel_width outputs; the last panel, which may be narrower, has last_width,
         * or as many as the others if that is 0. */
        int64_t panel_width, last_width;
        /* Writes all tiles of panels first..end in the rows of tiles from..to. A kernel with one
         * spatial dimension has one tile per row. */
        bool (*write)(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                      struct loop_expr *first, struct loop_expr *end);
        bool all_rows;                  /* `write` ignores from and to. */
        /* It is called before the loop over the tiles of a row that have one size; or NULL. */
        void (*enter)(struct kernel_state *s, int rows, int columns);
        /* Writes the kernel with its own loops over tasks and images, instead of `write`; or
         * NULL. */
        bool (*write_all)(struct kernel_state *s);
        /* Element 0 of x and of the result lies at these places; then follow the variables of the
         * loops. */
        struct loop_expr *x_start, *y_start;
        struct loop_expr *task, *image, *position[RANK_MAX];
        struct loop_expr *group;        /* In convolve_packed, `write` writes only this group of
                                         * channels; NULL: all groups. */
        /* `write` sums over these channels only; x_start is then the index of first_channel. NULL:
         * all channels. */
        struct loop_expr *first_channel, *channels;
        bool adds;                      /* Sums start from what has been stored where the result
                                         * goes. */
        struct loop_expr *tile_number;  /* The tile has this number among those that this call of
                                         * `write` writes. */
};

/* ---- contract.c: convolve_packed in register tiles of vectors, or in hardware tiles ---- */

struct kernel_state *contract_prepare(const struct kernel_state *common);

/* ---- prologue.c: x, computed or gathered once for a strip of positions ---- */

/* Finds the prologue: the operations of the fusion that compute what the contraction reads (or
 * schedule.pack asks to gather it). Returns false where x cannot be computed so. */
bool prologue_find(struct kernel_state *s);
bool prologue_has_halo(const struct prologue *p);
/* Return the value that is computed, and where words of it come from; NULL: elements are
 * computed. */
struct value *prologue_value(const struct prologue *p);
struct access *prologue_access(struct prologue *p);
/* Returns the bytes of a strip of one row of positions of a contraction. */
int64_t prologue_bytes(const struct op *contraction, const struct target *target);
/* Sets the steps of the spatial dimensions in the prologue's memory. */
void prologue_spatial(struct kernel_state *s);
/* Allocates the memory for `blocks` blocks of x, once the tiles are known. */
void prologue_memory(struct kernel_state *s, int64_t blocks);
/* Returns how many tiles of a row the strip has at a time, which s->first_tile and s->end_tile then
 * bound; 0: all. */
int64_t prologue_part(const struct kernel_state *s);
/* Writes what the (rows of) tiles from..to read of x, from block first_block on; afterwards
 * s->x_start points to it. */
bool prologue_write(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                    struct loop_expr *first_block);

/* Writes a kernel of two products with operations on rows between them (attention_kernel.c). */
bool attention_kernel(struct emit *e, const struct kernel_request *request,
                      struct loop_buffer *buffer);
/* Writes a kernel of several contractions (strips_kernel.c). */
bool strips_kernel(struct emit *e, const struct kernel_request *request,
                   struct loop_buffer *buffer);

/* ---- kernel_state.c ---- */

/* Writes a whole kernel of one contraction. Returns false where it cannot be written so. */
bool state_kernel(struct emit *e, const struct kernel_request *request, struct op *op,
                  struct loop_buffer *buffer);
/* Has v an element that is stored in vectors of as many lanes as f32's? An epilogue makes floats of
 * the sums, or small integers where it quantizes them. */
bool state_can_store(const struct value *v);
/* Fills in what the kernel states of all lowerings begin with: the fields up to rank, and the
 * schedule. Returns false where the contraction cannot be scheduled. */
bool state_begin(struct kernel_state *s, struct emit *e, const struct region *region,
                 const struct op *op);
/* Sets the vector width and, with it, the multiply of floats. */
void state_set_width(struct kernel_state *s, const struct target *target);
/* Fills the halo that the pad at the end puts around the result: task number `task` of `tasks`
 * fills its share of dimension `shared`. Any partition is correct, because nothing else is ever
 * stored there; the part next to what the task stores is in its own cache. */
void state_halo(struct kernel_state *s, struct loop_expr *task, int tasks, int shared);
/* Stores `value` to `count` elements of a buffer, in vectors of `lanes`, which must divide count,
 * or one by one. */
void state_fill(struct kernel_state *s, struct loop_buffer *buffer, struct loop_expr *at,
                struct loop_expr *count, int lanes, union scalar value);
/* state_spatial sets the spatial dimensions as the loops see them; the window begins at dimension
 * `window` of w. state_tiling then splits the last two into tiles. */
void state_spatial(struct kernel_state *s, int window);
void state_tiling(struct kernel_state *s);
/* Opens the loop over strips of the rows of tiles from..to, which become those of one strip.
 * Returns false where there is one strip only. */
bool state_open_strips(struct kernel_state *s, struct loop_expr **from, struct loop_expr **to);
/* Writes all tiles in the rows of tiles from..to: `tile` writes one of rows * columns positions, at
 * s->position. Where a run gives the positions, what is left behind the last whole tile goes
 * through smaller tiles. */
bool state_each_tile(struct kernel_state *s, struct loop_expr *from, struct loop_expr *to,
                     bool (*tile)(struct kernel_state *s, int rows, int columns));
/* Returns index * step, or index * step * pitch where a run gives the pitch. */
struct loop_expr *state_times(struct kernel_state *s, struct loop_expr *index, int64_t step,
                              dim_t pitch);
/* Returns index times the stride of dimension d of x. */
struct loop_expr *state_x_along(struct kernel_state *s, struct loop_expr *index, int d);
/* Returns where element 0 of an access lies. */
struct loop_expr *access_start(struct emit *e, const struct access *access);
/* Writes a row of tiles whose positions a run gives: positions `at` to `end`, of which the first
 * tile has number `before`. */
bool state_open_row(struct kernel_state *s, int rows, struct loop_expr *at, struct loop_expr *end,
                    struct loop_expr *before,
                    bool (*tile)(struct kernel_state *s, int rows, int columns));
/* Returns the index in x where the image begins. */
struct loop_expr *state_x_image(struct kernel_state *s);
/* Returns the index in x, in channel 0, where the window of the tile's first position begins. */
struct loop_expr *state_x(struct kernel_state *s);
/* Returns where tile number `tile` of a tiling begins. */
struct loop_expr *state_tile_start(struct kernel_state *s, const struct tiling *tiling,
                                   struct loop_expr *tile);
/* Computes the index of a position in a tile, in block 0, without the lane. */
void state_index(struct kernel_state *s, int row, int column, struct loop_expr **index);
/* state_sums declares rows * columns vectors of zeros; state_set assigns one of them; state_add
 * adds a * b to one of them, rounded once where the target can. */
struct loop_variable *state_sums(struct kernel_state *s, int rows, int columns);
void state_set(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *value);
/* Lets integer sums start from what is added to them, instead of zero: returns the buffer, which
 * has one number per output (a bias); NULL: they start from zero. */
struct loop_buffer *state_first(struct kernel_state *s);
/* Declares vectors of the same extents for partial sums. */
struct loop_variable *state_run(struct kernel_state *s, int rows, int columns);
/* Returns the library function of the kernel's multiply; NULL: it is sum + x * w. */
struct loop_function *state_product(const struct kernel_state *s);
/* Loads one word, or `lanes` successive words, of the multiply from index `at` on; where a word is
 * one element, elements are loaded as they are. */
struct loop_expr *state_words(const struct kernel_state *s, struct loop_buffer *from,
                              struct loop_expr *at, enum element word, int lanes);
/* Loads words of an operand likewise, and decodes them. */
struct loop_expr *state_decoded(const struct kernel_state *s, const struct multiply_operand *o,
                                struct loop_buffer *from, struct loop_expr *at, int lanes);
void state_add(struct kernel_state *s, struct loop_variable *sums, int row, int column,
               struct loop_expr *a, struct loop_expr *b);
/* Loads a named vector at index `at` + `add` of a buffer; `live` of its lanes exist. */
struct loop_expr *state_load(struct kernel_state *s, const char *name, struct loop_buffer *b,
                             struct loop_expr *at, int64_t add, int live);
/* Does the same, converted to another element. */
struct loop_expr *state_load_as(struct kernel_state *s, enum element e, const char *name,
                                struct loop_buffer *b, struct loop_expr *at, int64_t add, int live);
/* Splits the last dimension, of extent `depth`, into native vectors: `write` writes rows * columns
 * positions of part->live lanes from lane part->first on. */
struct lane_part {
        struct loop_expr *first;
        int live;
        struct loop_expr *left;         /* So many lanes exist from the first one on, which a run
                                         * tells; NULL: `live` do. */
};
bool state_vectors(struct kernel_state *s, int64_t depth, struct lane_part *part, int rows,
                   int columns, bool (*write)(struct kernel_state *s, int rows, int columns));
/* Computes share number k of n of `extent`: *from .. *to. */
void state_share(struct emit *e, struct loop_expr *k, int n, int64_t extent,
                 struct loop_expr **from, struct loop_expr **to);
/* Does the same for an extent that a run may give. */
void state_share_of(struct emit *e, struct loop_expr *k, int n, struct loop_expr *extent,
                    struct loop_expr **from, struct loop_expr **to);
/* The fusion computes this vector of elements of `value` at `index` (without the lane): part.live
 * of them, from lane part.first of the last dimension on. `sum` stands for the contraction's
 * elements; NULL: the value does not depend on them. */
struct state_vector { struct value *value; struct loop_expr **index, *sum; struct lane_part part; };
/* Stores such a vector; `at` is the index of lane 0 of the last dimension. */
bool state_write_vector(struct kernel_state *s, const struct state_vector *v,
                        struct loop_buffer *to, struct loop_expr *at);
/* Returns the index where lane 0 of the result at `index` is stored. */
struct loop_expr *state_y(struct kernel_state *s, struct loop_expr *const *index);
/* Applies the epilogue to `sum`, a vector of the contraction's elements at `index` (without the
 * lane), and stores the result. The vector begins at first_lane of the last dimension; `live` of
 * its lanes exist. */
bool state_store(struct kernel_state *s, struct loop_expr *sum, struct loop_expr **index,
                 struct loop_expr *first_lane, int live);

/* Names words of four bytes that several of the statements from *first on load as vectors: C
 * compilers may not know that the result's stores leave them as they are. */
void state_name_loads(struct kernel_state *s, struct loop_stmt **first);

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
