/* SPDX-License-Identifier: MIT */
/* What a compilation came to: the budgets and --stats (report.c), --report as JSON (report_json.c)
 * and as a page for a browser (report_page.c), which shows the same JSON; what stays in floats
 * (report_floats.c). What the JSON holds is in docs/interface.md. */
#ifndef COMPILER_REPORT_H
#define COMPILER_REPORT_H

#include <stdio.h>

#include "compiler/driver.h"
#include "ir/loop/nodes.h"
#include "passes/memory/plan.h"

/* The kernel calls of main in the order of its text, those under control flow included, each
 * once. */
struct calls {
        struct arena *arena;
        const struct loop_stmt **items;
        int count;
        double flops, again;
};
struct calls report_calls(struct run *run);

/* of what is stored: one element of a splat */
int64_t report_buffer_bytes(const struct loop_buffer *b);
int64_t report_constant_bytes(const struct loop_program *p);
int report_kernel_count(const struct loop_program *p);
struct plan_facts report_memory(struct run *run);

/* Roughly, of a core; and all that its parameters hold. */
double report_call_cycles(const struct run *run, const struct loop_stmt *call);
int64_t report_call_bytes(const struct loop_stmt *call);

/* What --bench measured: of all runs, and with each kernel call timed. */
struct harness_times;
struct report_bench { double seconds; const struct harness_times *whole, *each; };

int64_t report_ram(const struct loop_program *p);        /* bytes of the workspace and all
                                                          * regions */
bool report_budgets(struct run *run);                     /* --max-ram, --max-consts */
void report_stats(struct run *run);                       /* sizes, for --stats */
void report_json(struct run *run, FILE *out);             /* --report=FILE.json */
void report_page(struct run *run, FILE *out);             /* --report=FILE.html */
bool report_is_page(const struct run *run);               /* which of the two */
bool report_read_against(struct run *run);                /* --report-against, into run->against */

/* For targets with a machine, and nothing for others (report_machine.c): a member of the report,
 * lines of --stats, and whether the machine has anything to do; false after an error. */
void report_machine_json(struct run *run, FILE *out);
void report_machine_stats(struct run *run);
bool report_machine_has_work(struct run *run);
/* Of each call that is no launch why it is none, of a launch NULL; and nodes of the model,
 * without those that are computed while compiling: what brings values to a launch and away is no
 * part of a node that has other kernels (report_reasons.c). */
struct placement { const char **why; struct node_shares nodes; };
struct placement report_placement(struct run *run, const struct calls *calls);
bool report_is_launch(const struct loop_stmt *call);
bool report_multiplies_bytes(const struct op *contraction);
/* below 0: it is no stream, or nobody knows */
double report_machine_cycles(const struct loop_function *kernel);

/* What passes did, kept for the report: one before the first (pass NULL), then one for each. */
struct report_state {
        const struct pass *pass;
        int rewrites, size;             /* size: operations, or kernels */
        bool loops;                     /* Loop IR */
        struct text text;               /* of the IR, large constants left out; for the page only */
};
/* A layer of quantized numbers that is computed in floats. */
struct report_float { const char *location, *operation, *why; };
/* one that the pass quantize leaves so; runner: the struct run; why: lives as long */
void report_keep_float(void *runner, const struct op *op, const char *why);
/* looks for those of the state, or whether those found before are there (report_floats.c) */
void report_find_floats(struct run *run, const struct pipeline_state *state);

/* what passes said (remarks.c): the members of a list */
void remarks_json(const struct run *run, FILE *out);

/* for pipeline_options.observe; runner: the struct run */
void report_observe(void *runner, const struct pipeline_state *state, const struct pass *pass,
                    int rewrites);
void report_forget(struct run *run, int kept);            /* all states but the first */

/* the tables as text: --help-passes, --help-ops, --limit help */
void report_passes(void);
void report_operations(void);
void report_limits(void);

#endif
