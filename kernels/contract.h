/* SPDX-License-Identifier: MIT */
/* The scheduled lowering of convolve_packed: GEMM and convolution, driven by a multiply.
 *
 *                    V * m.outputs outputs of a panel
 *                  +--------+--------+
 *      positions   | sum    | sum    |     sum{p, j} += x[position p, word k] * w[word k, vector j]
 *      rows *      | {0,0}  | {0,1}  |
 *      columns     | sum    | sum    |     for every word of channels and window offset k, in the
 *                  | {1,0}  | {1,1}  |     order of w's memory: a panel is read from front to back
 *                  +--------+--------+
 *
 * What a word is, of how many channels and for how many outputs, is what the multiply of the
 * operands says (ir/target/multiply.h): one that has sums in vectors adds a word of one position to
 * a vector (contract_sums.c); one that has them in hardware tiles adds `depth` words of `positions`
 * positions to a tile (contract_tiles.c), whose sums leave through memory that stays in the first
 * cache. Everything else is the same for all of them.
 *
 * The loops from outside: tasks, images, outer spatial dimensions, groups, strips of rows, panels,
 * rows of tiles, tiles; then the sums; then the epilogue on each vector of the tile, as the element
 * functions of the fusion say it. A dimension that tiles do not divide is cut into tiles of two
 * sizes that differ by one, so no edge is slow. The blocking is that of Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication" (2008), applied to direct convolution as in
 * Georganas et al., arXiv 1808.05567. */
#ifndef KERNELS_CONTRACT_H
#define KERNELS_CONTRACT_H

#include "kernels/kernel_state.h"

/* The multiply that a convolve_packed is computed by, with its sums in hardware tiles or in
 * vectors; NULL: the target has none, or the channels of the operands do not fill such tiles. */
const struct multiply *contract_multiply(const struct op *op, const struct target *target,
                                         bool tiles);

/* Do its packed weights, which are in vectors of the target's own, lie as vectors of this width
 * want them? Where a word is one channel, those of neighbours are one behind the other. */
bool contract_fits_width(const struct op *op, const struct target *width);

/* ---- hardware tiles, as far as a choice asks about them (contract_tiles.c) ---- */

/* A block of positions in tiles; apart: from a row to the next one among them, 0 where rows have
 * tiles of their own. */
struct tile_block { int64_t positions, tiles, apart; };

/* pitch: positions from a row to the next one in x; 0: no whole number of them */
struct tile_block tile_block_of(const struct multiply *m, int64_t rows, int64_t columns,
                                int64_t pitch);
int64_t tile_pitch(int64_t row_step, int64_t step);
/* Tiles of positions may be loaded in turn, where all have one shape: then two are enough beside
 * those of sums. */
bool tile_block_takes_turns(const struct multiply *m, const struct tile_block *block, int vectors);
bool tile_block_fits(const struct multiply *m, const struct tile_block *block, int vectors);

/* ---- register tiles of vectors (contract_sums.c): of convolve_winograd, too ---- */

/* One loop of a sum: window offsets, blocks or words of channels. number: of the word and offset in
 * the panel. total: where not 0, the extent in all iterations of the outermost loop together (a
 * last block with fewer channels). count: where not NULL, the extent of the only loop, at most
 * `extent`, and a multiple of COUNTED_CHANNELS unless it is what remains of that. */
enum { COUNTED_CHANNELS = 16 };
struct sum_loop {
        const char *name;
        int64_t extent, x_step, number_step, total;
        struct loop_expr *count;
};

struct tile {
        struct kernel_state *s;
        struct loop_buffer *xs;
        int rows, columns, vectors;
        int64_t row_step, column_step;  /* in x, from one position to the next */
        int64_t width;                  /* of a panel: elements of w for one word and offset */
        struct loop_variable *sums;     /* [split * rows * columns][vectors] */
        struct loop_variable *run;      /* the same, of words that products go to before they go to
                                         * the sums; NULL: they go there at once */
        struct loop_expr *w_base, *prefetch_base;         /* in w; NULL: nothing is fetched */
};

/* the sums, all zero */
void tile_open(struct tile *t);
/* Adds up one nest of loops, the innermost unrolled. x_at: its first position in x; first: its
 * number in the panel. */
void tile_add(const struct tile *t, const struct sum_loop *loops, int count, struct loop_expr *x_at,
              int64_t first);
/* joins the sums that the schedule splits */
void tile_join(const struct tile *t);
/* Says what is fetched while the tile number tile_number of a panel is added up: its share of panel
 * number `next`, from the front to the back of the panel. */
void tile_prefetch(struct tile *t, struct loop_expr *next, struct loop_expr *tile_number,
                   int64_t panel_size);

/* ---- between the files of the lowering ---- */

struct contract {
        struct kernel_state s;                 /* first: its functions get this */
        int64_t groups, blocks, inner;  /* in a group: blocks of x; words of a block */
        int64_t words;                  /* of channels that count */
        int word;                       /* channels of a word */
        int64_t outputs;                /* stored, of a group: with those that pad a block */
        int64_t line, panel_size;       /* outputs that tiles and blocks have whole numbers of;
                                         * elements of w in a panel */
        int width;                      /* outputs of a tile */
        /* numbers of outputs (a bias) that sums in vectors begin with, or NULL: zeros */
        struct loop_buffer *first;
        int64_t first_step;             /* in them, from a block of outputs to the next */
        /* of hardware tiles */
        int64_t depth;                  /* words of a row of a tile */
        bool merged;                    /* a row of a tile is all channels of a row of the window */
        bool alike;                     /* all blocks of sums have one shape */
        struct loop_buffer *sums;
        /* where the loops are; panels are those of a group; part: the line of the panel that the
         * tile begins with */
        struct loop_expr *group, *panel, *part;
        int live;                       /* outputs of the tile that there are */
};

/* channels that are known when it runs, in units of `count` */
struct loop_expr *contract_units(const struct contract *c, struct loop_expr *channels, int count);
/* where the tile's first position begins in block 0 of the group; the panel's number of all */
struct loop_expr *contract_x(struct contract *c);
struct loop_expr *contract_panel(struct contract *c);
/* the number of the panel whose weights are fetched while this one's are read */
struct loop_expr *contract_next(struct contract *c, struct loop_expr *panel);
/* Index of vector j of the tile at row, column of its positions; all but the lane. line: the tile's
 * first line of outputs in the group; NULL: tiles are whole panels. */
void contract_index(struct contract *c, struct loop_expr *line, int row, int column, int j,
                    struct loop_expr **index, struct loop_expr **first_lane);

/* Sums that are integers begin with what is added to them. */
void contract_sums_begin(struct contract *c);
/* what is added up, and what becomes of it, for a tile of rows * columns positions */
bool contract_sums(struct contract *c, int rows, int columns);
bool contract_tiles(struct contract *c, int rows, int columns);
/* Hardware tiles: is x as they want it, and have all sizes of blocks room? What stands in front of
 * the groups and behind them; the shape that tiles of a size have. */
bool contract_tiles_read(struct contract *c);
bool contract_tiles_fit(struct contract *c);
void contract_tiles_begin(struct contract *c);
void contract_tiles_end(struct contract *c);
void contract_tiles_enter(struct kernel_state *s, int rows, int columns);
/* words of a row of a tile, of `inner` in a block and as many of each offset in a row of the window
 * (1: rows of windows are not one in memory); 0: they fill none */
int64_t contract_depth(const struct multiply *m, int64_t inner, int64_t window, bool *merged);

#endif
