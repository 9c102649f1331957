/* SPDX-License-Identifier: MIT */
/* Engines: the kinds of machines that compute. An engine is one row, which stands in engines/NAME/:
 *
 *      scalar      one element after the other: plain C, small cores
 *      vector      vectors of elements, and register tiles of them
 *      tile        the same, and products in hardware tiles (base: vector)
 *      grid        launches of blocks of warps: GPUs
 *      stream      streams of instructions for a machine beside the processor (ir/target/machine.h)
 *      commands    text of commands for a machine that runs whole networks
 *
 * A target names its engine (ir/target/target.h), or has that of its base. Passes and lowerings
 * ask the row what they may count on, and call its functions; none of them asks which machine it
 * is. Lowerings are the engine's and its bases'; facts and functions are its own, and what a
 * function that is NULL means stands beside it. */
#ifndef IR_ENGINE_H
#define IR_ENGINE_H

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

/* Which layout values of the pass `layout` get. */
enum engine_layout {
        LAYOUT_OF_LEAST_COST,           /* planes, blocks of channels, or all channels last: what
                                         * costs least */
        LAYOUT_IN_BLOCKS,               /* blocks of channels, whatever it costs: the machine has no
                                         * other */
        LAYOUT_CHANNELS_LAST            /* all channels last where a value can be so, else blocks */
};

/* A window of a convolution whose few channels take in some of the window
 * (passes/layout/products.c): an image of `inputs` elements, gathered in `copies`, becomes
 * `positions` of sums over `channels` at `taps` places for `outputs`. */
struct window_products { int64_t positions, outputs, taps, channels; double inputs; int copies; };

struct engine {
        const char *name, *doc;
        const struct engine *base;      /* writes what this one has no lowering for; NULL for scalar
                                         * / */
        bool (*fits)(const struct target *target);        /* Does the target have what the engine
                                                           * needs? */

        /* what passes count on */
        bool vectors;                   /* kernels hold vectors: loops over neighbours in memory are
                                         * vectorized */
        bool blocks;                    /* contractions are computed in blocks of channels, weights
                                         * packed for a multiply */
        bool float_schedules;           /* contractions of floats follow schedules */
        bool hardware_tiles;            /* Loop IR's statements on tiles (ir/loop/loop_tiles.h) are
                                         * the target's own */
        bool launches;                  /* a kernel is a launch of many lanes on a device, and the
                                         * launch itself takes time */
        bool reads_borders;             /* a scheduled contraction reads zeros around its operand:
                                         * no pad is stored for it */
        bool joins_products;            /* contractions of one operand, side by side, become one */
        bool canonical_depthwise;       /* depthwise convolutions of floats stay canonical nests */
        enum engine_layout layout;

        /* lowerings of contractions that follow schedules, best first (kernels/kernels.h), up to
         * a row that reads nothing; then the base's */
        const struct lowering *lowerings;
        /* The schedule of any operation, in *s; false: it has none. NULL: its lowering's choose. */
        bool (*schedule)(const struct op *op, const struct schedule_machine *machine,
                         struct arena *arena, struct schedule *s);
        /* A kernel around a scheduled contraction. NULL: the kernel states of its lowerings
         * (kernels/kernel_state.h). */
        bool (*kernel)(struct emit *e, const struct kernel_request *request, struct op *contraction,
                       struct loop_buffer *buffer);
        /* A kernel of two products and rows between them (kernels/attention.h), and the schedule
         * of its second product; false: there is none. NULL: blocks of rows by the kernel states
         * of both products. */
        bool (*attention)(struct emit *e, const struct kernel_request *request,
                          const struct attention *a, struct loop_buffer *buffer);
        bool (*attention_schedule)(const struct attention *a, const struct target *target,
                                   struct arena *arena, struct schedule *s);
        /* Can a kernel that makes the contraction's results reduce them over all positions of an
         * image, too? NULL: no. */
        bool (*pools)(const struct op *contraction, const struct op *reduce);
        /* Should an attention kernel of so many blocks also store `bytes` of keys and values?
         * NULL: no. */
        bool (*stores_caches)(const struct target *target, int64_t blocks, double bytes);
        /* Vectors of outputs of a panel of weights for m; 0: what other engines take. NULL: 0. */
        int64_t (*panel)(const struct target *target, const struct multiply *m,
                         const struct schedule_product *product);
        /* The multiply for a product whose best one in the target's list is m; it has to take at
         * most `percent` of another one's time. NULL: m. */
        const struct multiply *(*multiply)(const struct target *target, const struct multiply *m,
                                           const struct schedule_product *product, int64_t percent);
        /* The predicted time of products over windows whose channels take in some of the window,
         * in any one unit. NULL: no window is taken in. */
        double (*window_cost)(const struct target *target, const struct multiply *m,
                              const struct window_products *w);
        /* Do `bytes` of constants come from memory in each run, rather than from a cache? NULL:
         * no. */
        bool (*cold)(const struct target *target, double bytes);
};

extern const struct engine engine_scalar, engine_vector, engine_tile, engine_grid, engine_stream,
        engine_commands;

#endif
