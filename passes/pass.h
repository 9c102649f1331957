/* SPDX-License-Identifier: MIT */
/* Passes: one file each, listed in passes.def. The manager runs a list of them, verifies, dumps,
 * and counts rewrites. */
#ifndef PASSES_PASS_H
#define PASSES_PASS_H

#include "ir/interp/interp.h"
#include "ir/loop/loop.h"
#include "ir/lower/lower.h"
#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

struct remarks;
struct schedule_book;
struct quantize_policy;
struct port_layouts;
struct sampler;
struct stream_memo;

struct limits {                         /* --limit NAME=N sets one of these; limits.def lists
                                         * them. */
#define LIMIT(name, preset, doc) int64_t name;
#include "passes/limits.def"
};
extern const struct limits limits_preset;

/* What strip_percent may be: where memory counts a little, and where it counts most. */
enum { STRIP_PERCENT_LEAST = 1, STRIP_PERCENT_MOST = 3 };

struct pass_context {
        struct diag *diag;
        const struct target *target;
        int shifted;                    /* --requantize=shift gives each group of this many outputs
                                         * one shift; 0: 16. */
        bool names_floats;              /* --requantize=integer was asked for: what stays in floats
                                         * is named. */
        const struct target *least;     /* The module is for several targets, and this one is the
                                         * smallest; NULL: target. */
        const struct loop_library *library;
        struct limits limits;
        struct lower_options lower;
        const struct stream_memo *memo; /* The memo holds tiles of streams that were looked for
                                         * (engines/stream/stream_memo.h). */
        bool all_on_machine;            /* The target's machine does all that it can do, even where
                                         * the processor is faster. */
        struct map *followed;           /* Channels that these contractions read were followed in
                                         * vain in this round of simplify; or NULL. */
        int64_t fold_steps;             /* Folding has taken this many steps so far, of
                                         * limits.fold_total_steps. */
        int64_t fold_bytes;             /* Folding has taken this many bytes so far, of
                                         * limits.fold_total_bytes. */
        int threads;                    /* Generated code may use this many threads; 1: it has no
                                         * threading code at all. */
        int64_t step;                   /* A run stops after about so much work, in products; 0: it
                                         * does not. */
        bool narrow_sums;               /* shift_scales keeps sums that others are added to in 16
                                         * bits. */
        enum element precision;         /* Contractions read this element type: E_F32 (0, too),
                                         * E_BF16, E_F16 or E_TF32. */
        bool whole_rows;                /* What passes on rows passes on whole ones, not patches. */
        bool one_by_one;                /* The pass stream says that rows are now computed by
                                         * canonical nests, where whole tensors had schedules. */
        bool memory;                    /* The goal is little memory rather than speed. */
        bool compact;                   /* The goal is little code rather than speed. */
        int64_t max_ram;                /* Rows are passed from kernel to kernel until the workspace
                                         * and all regions take no more bytes than this; -1: they
                                         * are not. */
        int strip_percent;              /* Strips gather parts of rows, where kernels take so many
                                         * percent longer then at most; 0: they gather whole
                                         * rows. */
        double again;                   /* Kernels that pass rows on compute so many operations
                                         * again, or one by one instead of in register tiles. */
        const char *obstacle;           /* Where max_ram was not reached, it says what keeps more
                                         * rows from being passed on, as a part of a sentence; else
                                         * it is NULL. */
        struct loop_region *regions;    /* These regions stand beside the workspace. */
        int region_count;
        bool exact;                     /* Only rewrites of class E are done. */
        bool direct;                    /* Convolutions stay as they are, without Winograd's
                                         * algorithm and Fourier transforms. */
        bool unblocked;                 /* Tensors stay in the model's layouts. */
        bool assume_finite;             /* Rewrites of class D are allowed. */
        const char *rule;               /* simplify applies this rule alone; NULL: all rules. */
        struct text *notes;             /* --stats: what a pass did in particular, as "name count,
                                         * ..."; or NULL. */
        struct remarks *remarks;        /* --remarks (passes/remark.h), or NULL. */
        const struct schedule_book *book;         /* The user has given these schedules, or NULL. */
        const struct quantize_policy *quantize;   /* --quantize gives this
                                                   * (passes/quantize/quantize.h), or NULL. */
        struct port_layouts *port_layouts;        /* --port gives these
                                                   * (passes/layout/port_layouts.h), or NULL. */
        const struct sampler *sampler;  /* A pass may look at these samples
                                         * (passes/calibrate/sampler.h); or NULL. */
};

enum pass_level { LEVEL_TENSOR, LEVEL_LOWER, LEVEL_LOOP };
/* E is exact to the bit, R changes how results are rounded, A approximates. */
enum pass_class { CLASS_E = 'E', CLASS_R = 'R', CLASS_A = 'A' };

struct pass {
        const char *name, *doc;
        enum pass_level level;
        enum pass_class class;
        /* Both functions return the number of rewrites, or -1 after an error. */
        int (*run_tensor)(struct function *f, struct pass_context *context);
        int (*run_loop)(struct loop_program *p, struct pass_context *context);
};
#define PASS_TENSOR(name) int pass_##name(struct function *f, struct pass_context *context);
#define PASS_LOOP(name)   int pass_##name(struct loop_program *p, struct pass_context *context);
#define PASS_LOWER(name)
#define PASS(name, level, class, doc) PASS_##level(name)
#include "passes/passes.def"
#undef PASS_TENSOR
#undef PASS_LOOP
#undef PASS_LOWER
extern const struct pass passes[];
extern const int pass_count;
const struct pass *pass_find(const char *name);

/* Removes kernels and buffers that no main reaches, and lets views refer to buffers (prune.c).
 * Returns how many these were. */
int prune_unreached(struct loop_program *p);
/* Evaluates a pure operation on constants through its canonical lowering. It is the builder's fold
 * hook (context: struct pass_context *), and serves the fold pass. NULL: the constant is not worth
 * it, is too large, or would take more than the budget; that is never an error. */
struct value *fold_op(struct builder *b, struct op *op, void *context);
/* Makes what op makes of splats one, where a run gives its extents: that is known only once there
 * are readers. Returns whether it did. */
bool fold_open_splats(struct op *op, struct pass_context *context);
/* Where an operation that is not element-wise reads a splat whose extents a run gives, makes the
 * splat a broadcast of one number: such an operation's kernel reads buffers. */
void fold_spread_splats(struct region *region);
/* Returns the constant x * s, where s is a constant of type <extent of x's dimension `along`>,
 * spread over the others; NULL: it would take more than the budget, or be larger than what it
 * replaces. */
struct value *fold_scaled(struct builder *b, struct value *x, struct value *s, int along,
                          struct pass_context *context);

#endif
