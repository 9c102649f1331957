/* SPDX-License-Identifier: MIT */
/* The pass manager: runs a list of passes over a module, then over the program that `lower` makes
 * of it. */
#ifndef PASSES_MANAGER_H
#define PASSES_MANAGER_H

#include "passes/pass.h"

/* The state says where a compilation stands: at the tensor level program is NULL. Each of the two
 * lives in the arena it came with. */
struct pipeline_state {
        struct module *module;
        struct loop_program *program;
        struct arena *program_arena;
};

/* A call runs this part of the pipeline. Under --max-ram COMMON runs once, then each try on a copy
 * of the module. For several targets SHARED runs once, for the best of them, then OF_TARGET on a
 * copy of the module for each. */
enum pipeline_part {
        PIPELINE_WHOLE,
        PIPELINE_TENSOR,                /* Tensor passes only. */
        PIPELINE_COMMON,                /* Passes up to the first one that depends on the budget
                                         * (passes.def). */
        PIPELINE_SHARED,                /* Passes up to the first one that is for one target
                                         * (passes.def). */
        PIPELINE_OF_TARGET              /* Passes from that one on. */
};

struct pipeline_options {
        const char *passes;             /* The list is separated by commas; NULL: the default of
                                         * `level`. */
        int level;                      /* The level is that of -O0 .. -O3. */
        const char *print_after, *print_before;         /* This is the name of a pass, "all", or
                                                         * NULL; the IR is printed on standard
                                                         * error. */
        const char *dump_dir;           /* Numbered files go to this folder after every pass; NULL:
                                         * none are written. */
        const struct target *
                /* The target for passes up to the last one that changes the model (quantize and its
                 * kind, or shift_scales; for all passes where none of these is in the list), so
                 * that one calibration, or one choice of weights, serves all targets; NULL: they
                 * are for the same target as the others. */
                neutral;
        bool verify;
        bool check;                     /* Results on random inputs are compared before and after
                                         * each pass. */
        bool time, stats;               /* Reports go to standard error. */
        enum pipeline_part part;
        bool resumed;                   /* Another part has run before, so that the numbers of dumps
                                         * go on. */
        const char *label;              /* The target's name, for names of files and reports; NULL:
                                         * there is one target. */
        /* These callbacks serve --check where the interpreter would take too long, and may both be
         * NULL. nearest_target returns the target that this processor can run code for and that is
         * nearest to t. run_compiled runs a planned program, legal for t, as compiled C, with
         * these values of its extents, of which the run tells the counted ones. It returns NULL, or
         * why the program could not be run; *code: how the run ended. */
        const struct target *(*nearest_target)(const struct target *t);
        const char *(*run_compiled)(void *runner, struct loop_program *p, const struct target *t,
                                    int64_t *extents, const void *const *inputs,
                                    void *const *outputs, int *code);
        /* observe is called with the state before the first pass (pass NULL) and after each. It may
         * be NULL. */
        void (*observe)(void *runner, const struct pipeline_state *state, const struct pass *pass,
                        int rewrites);
        /* begin is called before a pass runs, with the pass's number in the list and the length of
         * the list. It may be NULL. */
        void (*begin)(void *runner, const struct pass *pass, int number, int count);
        void *runner;
};

/* Runs the passes that the module or program has not been through yet (passes_done). Returns false
 * after one error. */
bool pipeline_run(struct pipeline_state *state, const struct pipeline_options *options,
                  struct pass_context *context);
/* Has the state been through no pass that COMMON ends before? */
bool pipeline_is_common(const struct pipeline_state *state);

/* A history says what a module or program has been through, and so which passes may follow
 * (order.c; the rules are in passes.def). */
struct history { enum pass_level level; uint64_t passed; };
struct history history_of(const struct pipeline_state *state);
void history_add(struct history *h, const struct pass *pass);
/* Returns NULL if the pass may run; else why not. *after: the pass that it cannot follow, or
 * NULL. */
const char *history_objection(const struct history *h, const struct pass *pass, const char **after);
/* Returns the default list of -O0 .. -O3. */
const char *pipeline_passes(int level);
/* Returns the passes before those that ask what tensors hold (passes/calibrate/calibration.h). */
const char *pipeline_calibrated(void);
/* Returns the passes of a list that --emit=onnx runs; NULL is no list. */
const char *pipeline_model(struct arena *arena, const char *list);
/* Returns a list with the passes of another put in, each at the first place where all passes behind
 * it may follow it. */
const char *passes_with(struct arena *arena, const char *list, const char *more);
/* Takes the first name off a comma-separated list. Returns NULL if no pass has that name. */
const struct pass *pass_next(const char **list);

#endif
