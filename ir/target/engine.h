/* SPDX-License-Identifier: MIT */
/* Engines: the kinds of machines that compute. An engine is one row, which stands in engines/NAME/:
 *
 *      scalar      one element after the other: plain C
 *      words       words of a few bytes in general registers: small cores (base: scalar)
 *      vector      vectors of elements, and register tiles of them
 *      tile        the same, and products in hardware tiles (base: vector)
 *      grid        launches of blocks of warps: GPUs
 *      stream      streams of instructions for a machine beside the processor (ir/target/machine.h)
 *      commands    text of commands for a machine that runs whole networks
 *
 * A target names its engine (ir/target/target.h), or has that of its base. Passes and lowerings ask
 * the row what they may count on, and call its functions; none of them asks which kind of machine
 * it is. An engine has its bases' lowerings, too; facts and functions are its own, and a comment
 * says what it means that a function is NULL. */
#ifndef IR_TARGET_ENGINE_H
#define IR_TARGET_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct attention;
struct emit;
struct kernel_request;
struct loop_buffer;
struct lowering;
struct multiply;
struct op;
struct schedule;
struct schedule_machine;
struct schedule_product;
struct target;

/* The pass `layout` gives values this layout. */
enum engine_layout {
        LAYOUT_OF_LEAST_COST,           /* Values have planes, blocks of channels, or all channels
                                         * last, whichever costs least. */
        LAYOUT_IN_BLOCKS,               /* Values have blocks of channels, whatever that costs: the
                                         * machine has no other layout. */
        LAYOUT_CHANNELS_LAST            /* Values have all channels last where that is possible,
                                         * else blocks. */
};

/* The struct describes a convolution whose few channels include some of the window
 * (passes/layout/products.c): an image of `inputs` elements, gathered in `copies`, becomes
 * `positions` of sums over `channels` at `taps` offsets for `outputs`. */
struct window_products { int64_t positions, outputs, taps, channels; double inputs; int copies; };

struct engine {
        const char *name, *doc;
        const struct engine *base;      /* The lowerings of this engine are used where the engine
                                         * itself has none; NULL: canonical nests and loop passes
                                         * are used. */
        bool (*fits)(const struct target *target);        /* Returns whether the target has what
                                                           * the engine needs. */

        /* Passes count on these facts: */
        bool vectors;                   /* Kernels hold vectors: loops over neighbours in memory are
                                         * vectorized. */
        bool blocks;                    /* Contractions are computed in blocks of channels, with
                                         * weights packed for a multiply. */
        bool single_sums;               /* Such a block has sums in general registers, each of its
                                         * own. */
        bool float_schedules;           /* Contractions of floats follow schedules. */
        bool hardware_tiles;            /* Loop IR's statements on tiles (ir/loop/loop_tiles.h) are
                                         * the target's own. */
        bool fixed;                     /* Code is for one entry, whose extents are numbers, and
                                         * keeps no state from one run to the next. */
        bool open_tiles;                /* Products in tiles may have as many rows as a run gives;
                                         * elsewhere such products are in vectors. */
        bool launches;                  /* A kernel is a launch of many lanes on a device, and the
                                         * launch itself takes time. */
        bool reads_borders;             /* A scheduled contraction reads zeros around its operand,
                                         * so no pad is stored for it. */
        bool joins_products;            /* Contractions of one operand, side by side, become one. */
        bool canonical_depthwise;       /* Depthwise convolutions of floats stay canonical nests. */
        enum engine_layout layout;

        /* These are the lowerings of contractions that follow schedules, best first
         * (kernels/kernels.h), up to a row that reads nothing; the base's follow. */
        const struct lowering *lowerings;
        /* Finds the schedule of any operation, *s. Returns false if it has none. NULL: its
         * lowerings choose it. */
        bool (*schedule)(const struct op *op, const struct schedule_machine *machine,
                         struct arena *arena, struct schedule *s);
        /* Writes a kernel around a scheduled contraction. NULL: the kernel states of its lowerings
         * do (kernels/kernel_state.h). */
        bool (*kernel)(struct emit *e, const struct kernel_request *request, struct op *contraction,
                       struct loop_buffer *buffer);
        /* These functions write a kernel of two products with rows between them
         * (kernels/attention.h), and find the schedule of its second product; they return false if
         * there is none. NULL: blocks of rows are computed by the kernel states of both
         * products. */
        bool (*attention)(struct emit *e, const struct kernel_request *request,
                          const struct attention *a, struct loop_buffer *buffer);
        bool (*attention_schedule)(const struct attention *a, const struct target *target,
                                   struct arena *arena, struct schedule *s);
        /* Can a kernel that makes the contraction's results also reduce them over all positions of
         * an image? NULL: it cannot. */
        bool (*pools)(const struct op *contraction, const struct op *reduce);
        /* Returns the value whose elements are the weights of a packed contraction, if its kernel
         * can compute them, rather than read them from memory, from what they are decoded from;
         * else NULL. NULL: it never can. */
        const struct value *(*decoded)(const struct op *contraction, const struct target *target);
        /* Should an attention kernel of this many blocks also store `bytes` of keys and values?
         * NULL: it should not. */
        bool (*stores_caches)(const struct target *target, int64_t blocks, double bytes);
        /* Returns the vectors of outputs in a panel of weights for m; 0: as many as on other
         * engines. NULL: it is 0. */
        int64_t (*panel)(const struct target *target, const struct multiply *m,
                         const struct schedule_product *product);
        /* Returns the multiply for a product whose best one in the target's list is m; another one
         * must take at most `percent` of m's time. NULL: it is m. */
        const struct multiply *(*multiply)(const struct target *target, const struct multiply *m,
                                           const struct schedule_product *product, int64_t percent);
        /* Returns the predicted time, in any one unit, of products over windows whose channels
         * include some of the window. NULL: channels never do. */
        double (*window_cost)(const struct target *target, const struct multiply *m,
                              const struct window_products *w);
        /* Do `bytes` of constants come from memory in each run, rather than from a cache? NULL:
         * they do not. */
        bool (*cold)(const struct target *target, double bytes);
};

extern const struct engine engine_scalar, engine_words, engine_vector, engine_tile, engine_grid,
        engine_stream, engine_commands;

#endif
