/* The pass manager: runs a list of passes over a module, then over the program that `lower` makes of it. */
#ifndef PASSES_MANAGER_H
#define PASSES_MANAGER_H

#include "passes/pass.h"

struct pipeline_options {
        const char *passes;             /* comma list; NULL: the default of `level` */
        int level;                      /* -O0 .. -O3 */
        const char *print_after, *print_before;         /* a pass, "all", or NULL; to standard error */
        const char *dump_dir;           /* numbered files after every pass; NULL: none */
        bool verify;
        bool check;                     /* compare before and after each pass on random inputs */
        bool time, stats;               /* reports to standard error */
        bool stop_before_lower;         /* --emit=ir: tensor passes only */
};

/* Where a compilation stands: at the tensor level program is NULL. Each lives in the arena it came with. */
struct pipeline_state {
        struct module *module;
        struct loop_program *program;
        struct arena *program_arena;
};

/* Runs the passes that the module or program has not been through yet (passes_done). False after one error. */
bool pipeline_run(struct pipeline_state *state, const struct pipeline_options *options, struct pass_context *context);

/* --check (check.c): what the module or program computes on one set of random inputs, by the interpreter. */
struct check_result;
struct check_result *check_run(const struct pipeline_state *state, struct pass_context *context, const char **skipped);
/* true when equal: bit for bit if exact, else within the tolerance stated in check.c. *what: where they differ first */
bool check_equal(const struct check_result *a, const struct check_result *b, bool exact, char **what);
void check_free(struct check_result *result);

#endif
