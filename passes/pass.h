/* SPDX-License-Identifier: MIT */
/* Passes: one file each, listed in passes.def; the manager runs a list of them, verifies, dumps,
 * counts. */
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
struct sampler;
struct stream_memo;

struct limits {                         /* --limit NAME=N; limits.def */
#define LIMIT(name, preset, doc) int64_t name;
#include "passes/limits.def"
};
extern const struct limits limits_preset;

struct pass_context {
        struct diag *diag;
        const struct target *target;
        int shifted;                    /* outputs that have one shift where --requantize=shift
                                         * makes them; 0: 16 */
        const struct target *least;     /* of several that the module is for; NULL: target */
        const struct loop_library *library;
        struct limits limits;
        struct lower_options lower;
        const struct stream_memo *memo; /* tiles of streams that were looked for
                                         * (engines/stream/stream_memo.h) */
        bool all_on_machine;            /* what the target's machine can do it does, even where the
                                         * processor is faster */
        int64_t fold_steps;             /* spent so far, of limits.fold_total_steps */
        int64_t fold_bytes;             /* of limits.fold_total_bytes */
        int threads;                    /* that generated code may use; 1: no threading code at
                                         * all */
        bool narrow_sums;               /* shift_scales: sums that others are added to have 16 bits
                                         * / */
        enum element precision;         /* that contractions read: E_F32 (0 too), E_BF16, E_F16 or
                                         * E_TF32 */
        bool memory;                    /* the goal is little memory rather than speed */
        int64_t max_ram;                /* rows are passed on until the workspace and all regions
                                         * take no more bytes; -1: they are not */
        const char *obstacle;           /* to passing on more rows, where max_ram was not reached: a
                                         * part of a sentence; or NULL */
        struct loop_region *regions;    /* beside the workspace */
        int region_count;
        bool exact;                     /* only class E rewrites */
        bool direct;                    /* convolutions as they are, not by Winograd's algorithm */
        bool unblocked;                 /* tensors stay in the model's layouts */
        bool assume_finite;             /* class D allowed */
        const char *rule;               /* simplify: by this rule alone; NULL: by all */
        struct text *notes;             /* --stats: what a pass did in particular, "name count,
                                         * ..."; or NULL */
        struct remarks *remarks;        /* --remarks (passes/remark.h); or NULL */
        const struct schedule_book *book;         /* schedules given by the user; or NULL */
        const struct quantize_policy *quantize;   /* --quantize (passes/quantize/quantize.h); or
                                                   * NULL */
        const struct sampler *sampler;  /* samples to look at (passes/calibrate/sampler.h); or NULL
                                         * / */
};

enum pass_level { LEVEL_TENSOR, LEVEL_LOWER, LEVEL_LOOP };
/* exact to the bit; rounding changes; approximates */
enum pass_class { CLASS_E = 'E', CLASS_R = 'R', CLASS_A = 'A' };

struct pass {
        const char *name, *doc;
        enum pass_level level;
        enum pass_class class;
        /* number of rewrites, -1 after an error */
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

/* Evaluates a pure operation on constants through its canonical lowering; the builder's fold hook
 * (context: struct pass_context *) and the fold pass. NULL: not worth it, too big, or out of
 * budget; never an error. */
struct value *fold_op(struct builder *b, struct op *op, void *context);
/* The constant x * s, s a constant of type <extent of x's dimension `along`> spread over the
 * others; NULL: out of budget, or it would be larger than what it replaces. */
struct value *fold_scaled(struct builder *b, struct value *x, struct value *s, int along,
                          struct pass_context *context);

#endif
