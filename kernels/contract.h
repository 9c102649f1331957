/* SPDX-License-Identifier: MIT */
/* This is the scheduled lowering of convolve_packed: GEMM and convolution, driven by a multiply.
 *
 *                    V * m.outputs outputs of a panel
 *                  +--------+--------+
 *      positions   | sum    | sum    |     sum{p, j} += x[position p, word k] * w[word k, vector j]
 *      rows *      | {0,0}  | {0,1}  |
 *      columns     | sum    | sum    |     for every word of channels and window offset k, in the
 *                  | {1,0}  | {1,1}  |     order of w's memory: a panel is read from front to back
 *                  +--------+--------+
 *
 * The operands' multiply (ir/target/multiply.h) says how many channels a word has and how many
 * outputs it is multiplied for. A multiply with sums in vectors adds a word of one position to a
 * vector (contract_sums.c). A multiply with sums in hardware tiles adds `depth` words of
 * `positions` positions to a tile (contract_tiles.c); the sums leave the tile through memory that
 * stays in the first-level cache. Everything else is the same for all multiplies.
 *
 * The loops, from the outermost: tasks, images, outer spatial dimensions, groups, strips of rows,
 * panels, rows of tiles, tiles; then the loops of the sum; then the epilogue on each vector of the
 * tile, written by the element functions of the fusion. A dimension that the tile size does not
 * divide is split into tiles of two sizes that differ by one, so that no tile at the edge is slow.
 * The blocking is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (2008), applied to direct convolution as in Georganas et al., arXiv
 * 1808.05567. */
#ifndef KERNELS_CONTRACT_H
#define KERNELS_CONTRACT_H

#include "kernels/kernel_state.h"

/* Returns the multiply that computes a convolve_packed, with its sums in hardware tiles (`tiles`)
 * or in vectors; NULL where the target has none, or where the channels of the operands do not fill
 * such tiles. */
const struct multiply *contract_multiply(const struct op *op, const struct target *target,
                                         bool tiles);

/* Can the packed weights, which are laid out for the target's own vectors, be read in vectors of
 * this width? They can where a word is one channel, because neighbouring words are then
 * contiguous. */
bool contract_fits_width(const struct op *op, const struct target *width);

/* ---- hardware tiles, as far as a choice asks about them (contract_tiles.c) ---- */

/* A block has this many positions in this many tiles; `apart` is the distance, in positions, from a
 * row of the block to the next; 0: each row has tiles of its own. */
struct tile_block { int64_t positions, tiles, apart; };

/* tile_block_of returns the tiles for rows * columns positions. `pitch` is the distance from a row
 * to the next one in x, in positions; 0: it is not a whole number of them. tile_pitch computes
 * it. */
struct tile_block tile_block_of(const struct multiply *m, int64_t rows, int64_t columns,
                                int64_t pitch);
int64_t tile_pitch(int64_t row_step, int64_t step);
/* Can the tiles of positions be loaded alternately, because all blocks have one shape? Then two
 * registers are enough beside those of the sums. tile_block_fits: Are there registers for the
 * block? */
bool tile_block_takes_turns(const struct multiply *m, const struct tile_block *block, int vectors);
bool tile_block_fits(const struct multiply *m, const struct tile_block *block, int vectors);

/* ---- register tiles of vectors (contract_sums.c), also used by convolve_winograd ---- */

/* One loop of a sum, over window offsets, blocks, or words of channels. x_step and number_step are
 * what an iteration adds to the index in x and to the number of the word in the panel. total, where
 * not 0, is the extent over all iterations of the outermost loop together (the last block has fewer
 * channels). count, where not NULL, is the extent of the only loop, known at run time: at most
 * `extent`, and a multiple of COUNTED_CHANNELS unless it is the rest of `extent`; any: it may be
 * another number, too. */
enum { COUNTED_CHANNELS = 16 };
struct sum_loop {
        const char *name;
        int64_t extent, x_step, number_step, total;
        struct loop_expr *count;
        bool any;
        struct loop_expr *x_pitch;      /* x_step is as many times this; NULL: it is known. */
};

struct tile {
        struct kernel_state *s;
        struct loop_buffer *xs;
        int rows, columns, vectors;
        int64_t row_step, column_step;  /* From one position to the next are this many elements of
                                         * x. */
        int64_t width;                  /* A panel has this many elements of w for one word and
                                         * offset. */
        struct loop_variable *sums;     /* It holds the sums, [split * rows * columns][vectors]. */
        /* Sums of fewer bits, of the same extents, that are added to `sums` at intervals; NULL:
         * products are added to `sums` directly. */
        struct loop_variable *run;
        struct loop_expr *w_base, *prefetch_base;         /* Indices in w of the panel and of what
                                                           * is prefetched; NULL: nothing is. */
};

/* Declares the sums and sets them to zero. */
void tile_open(struct tile *t);
/* Adds up one nest of loops, the innermost unrolled. x_at is the index of its first position in x,
 * and `first` the number of its first word in the panel. */
void tile_add(const struct tile *t, const struct sum_loop *loops, int count, struct loop_expr *x_at,
              int64_t first);
/* Returns the schedule of a tile where a run gives the number of positions, so that tiles of
 * several sizes follow each other. The sums of a smaller tile are split among channels, if that
 * hides their latency and registers have room for them. An iteration of the innermost loop has as
 * few channels as take much longer than the loop itself: less code. */
struct schedule_registers tile_schedule(const struct tile *t);
/* Adds up the sums that the schedule's `split` keeps apart. */
void tile_join(const struct tile *t);
/* Sets what is prefetched while tile number tile_number of a panel is added up: its share of panel
 * number `next`, from the front to the back of that panel. */
void tile_prefetch(struct tile *t, struct loop_expr *next, struct loop_expr *tile_number,
                   int64_t panel_size);

/* ---- between the files of the lowering ---- */

struct contract {
        struct kernel_state s;                 /* This is first, because functions of the kernel
                                                * state get a pointer to it. */
        int64_t groups, blocks, inner;  /* In a group, x has `blocks` blocks of `inner` words
                                         * each. */
        int64_t words;                  /* This many words of channels are not padding. */
        int word;                       /* A word has this many channels. */
        int64_t outputs;                /* A group stores this many outputs, including those that
                                         * pad a block. */
        int64_t line, panel_size;       /* Tiles and blocks have multiples of `line` outputs;
                                         * panel_size counts elements of w in a panel. */
        int width;                      /* A tile has this many outputs. */
        /* Sums in vectors start from this buffer, which has one number per output (a bias); NULL:
         * they start from zero. */
        struct loop_buffer *first;
        int64_t first_step;             /* From a block of outputs to the next are this many
                                         * elements of `first`. */
        /* The following members are for hardware tiles only. */
        int64_t depth;                  /* A row of a tile has this many words. */
        bool merged;                    /* A row of a tile holds all channels of a row of the
                                         * window. */
        bool alike;                     /* All blocks of sums have one shape. */
        struct loop_buffer *sums;
        /* The loops are at this group, at this panel of the group, and at this line of the panel,
         * with which the tile begins. */
        struct loop_expr *group, *panel, *part;
        int live;                       /* This many outputs of the tile exist. */
};

/* Converts a number of channels that is known at run time to units of `count`, rounded up. */
struct loop_expr *contract_units(const struct contract *c, struct loop_expr *channels, int count);
/* contract_x returns the index in x of the tile's first position, in block 0 of the group;
 * contract_panel returns the panel's number among those of all groups. */
struct loop_expr *contract_x(struct contract *c);
struct loop_expr *contract_panel(struct contract *c);
/* Returns the number of the panel whose weights are prefetched while this panel's are read. */
struct loop_expr *contract_next(struct contract *c, struct loop_expr *panel);
/* Computes the index of vector j of the tile at (row, column) of its positions, without the lane.
 * `line` is the tile's first line of outputs in the group; NULL: tiles are whole panels. */
void contract_index(struct contract *c, struct loop_expr *line, int row, int column, int j,
                    struct loop_expr **index, struct loop_expr **first_lane);

/* Finds what integer sums start from (state_first). */
void contract_sums_begin(struct contract *c);
/* Write the sums and the epilogue of a tile of rows * columns positions. */
bool contract_sums(struct contract *c, int rows, int columns);
bool contract_tiles(struct contract *c, int rows, int columns);
/* These functions are for hardware tiles. _read: Has x the layout that they need? _fit: Do all
 * sizes of blocks have enough tiles? _begin and _end write what stands before and after the groups;
 * _enter sets the shape of the tiles for a size of blocks. */
bool contract_tiles_read(struct contract *c);
bool contract_tiles_fit(struct contract *c);
void contract_tiles_begin(struct contract *c);
void contract_tiles_end(struct contract *c);
void contract_tiles_enter(struct kernel_state *s, int rows, int columns);
/* Returns the words of a row of a tile, where a block has `inner` words and a row of the window
 * `window` offsets (1: offsets are not contiguous in memory); 0: they do not fill a row. *merged: a
 * row holds all offsets of a window's row. */
int64_t contract_depth(const struct multiply *m, int64_t inner, int64_t window, bool *merged);

#endif
