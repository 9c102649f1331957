/* SPDX-License-Identifier: MIT */
/* The pass manager: runs a list of passes over a module, then over the program that `lower` makes
 * of it. */
#ifndef PASSES_MANAGER_H
#define PASSES_MANAGER_H

#include "passes/pass.h"

/* Where a compilation stands: at the tensor level program is NULL. Each lives in the arena it came
 * with. */
struct pipeline_state {
        struct module *module;
        struct loop_program *program;
        struct arena *program_arena;
};

/* Under --max-ram: COMMON once, then each try on a copy of the module. Code for several targets:
 * SHARED once, for the best of them, then OF_TARGET on a copy of the module for each. */
enum pipeline_part {
        PIPELINE_WHOLE,
        PIPELINE_TENSOR,                /* tensor passes only */
        PIPELINE_COMMON,                /* up to the first pass that is of one budget
                                         * (passes.def) */
        PIPELINE_SHARED,                /* up to the first pass that is of one target
                                         * (passes.def) */
        PIPELINE_OF_TARGET              /* from there on */
};

struct pipeline_options {
        const char *passes;             /* comma list; NULL: the default of `level` */
        int level;                      /* -O0 .. -O3 */
        const char *print_after, *print_before;         /* a pass, "all", or NULL; to standard error
                                                         * / */
        const char *dump_dir;           /* numbered files after every pass; NULL: none */
        const struct target *
                neutral;                /* that the passes up to the last of quantize and its kind,
                                         * or shift_scales (all, where none is among them), are for,
                                         * so that one calibration, or one choice of weights, serves
                                         * all targets; NULL: as the others */
        bool verify;
        bool check;                     /* compare before and after each pass on random inputs */
        bool time, stats;               /* reports to standard error */
        enum pipeline_part part;
        bool resumed;                   /* another part was before this one: dumps are numbered
                                         * on */
        const char *label;              /* the target's name, in names of files and reports; NULL:
                                         * there is one only */
        /* For --check of what takes the interpreter too long: the target that this processor can
         * run code for and that is nearest to another; and what runs a planned program, legal for
         * it, as compiled C. NULL, or why it could not be run; *code: what the run ended with. Both
         * may be NULL. */
        const struct target *(*nearest_target)(const struct target *t);
        const char *(*run_compiled)(void *runner, struct loop_program *p, const struct target *t,
                                    const void *const *inputs, void *const *outputs, int *code);
        /* Told of the state before the first pass (pass NULL) and after each. May be NULL. */
        void (*observe)(void *runner, const struct pipeline_state *state, const struct pass *pass,
                        int rewrites);
        /* Told before a pass runs, and that it is number so of so many of this list. May be
         * NULL. */
        void (*begin)(void *runner, const struct pass *pass, int number, int count);
        void *runner;
};

/* Runs the passes that the module or program has not been through yet (passes_done). False after
 * one error. */
bool pipeline_run(struct pipeline_state *state, const struct pipeline_options *options,
                  struct pass_context *context);
/* Has it been through no pass that COMMON ends before? */
bool pipeline_is_common(const struct pipeline_state *state);

/* What a module or program has been through: which passes may follow (order.c; the rules are in
 * passes.def). */
struct history { enum pass_level level; uint64_t passed; };
struct history history_of(const struct pipeline_state *state);
void history_add(struct history *h, const struct pass *pass);
/* NULL: it may run. Else why not; *after: the pass that it cannot follow, or NULL */
const char *history_objection(const struct history *h, const struct pass *pass, const char **after);
/* the default list of -O0 .. -O3 */
const char *pipeline_passes(int level);
/* the passes before those that ask what tensors hold (passes/calibrate/calibration.h) */
const char *pipeline_calibrated(void);
/* what --emit=onnx runs of a list; of NULL: of none */
const char *pipeline_model(struct arena *arena, const char *list);
/* a list with the passes of another in it, each at the first place where all that stands behind it
 * may follow it */
const char *passes_with(struct arena *arena, const char *list, const char *more);
/* takes the first name off a comma list; NULL: no pass is called that */
const struct pass *pass_next(const char **list);

#endif
