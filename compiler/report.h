/* SPDX-License-Identifier: MIT */
/* A compilation is reported by the budgets and --stats (report.c), by --report as JSON
 * (report_json.c) and as a page for a browser (report_page.c), which shows the same JSON, and by
 * what stays in floats (report_floats.c). docs/interface.md says what the JSON holds. */
#ifndef COMPILER_REPORT_H
#define COMPILER_REPORT_H

#include <stdio.h>

#include "compiler/harness.h"
#include "ir/loop/nodes.h"
#include "passes/memory/plan.h"

/* These are the kernel calls of main in the order of its text, those under control flow included,
 * each once. */
struct calls {
        struct arena *arena;
        const struct loop_stmt **items;
        double *times;                  /* A run executes the call this often, where main's loops
                                         * say so. */
        int count;
        double flops, again;            /* They are those of a run. */
        int first;                      /* Of all calls of the program the first one has this
                                         * number. */
};
struct calls report_calls(struct run *run);               /* Of all entries. */
struct calls report_entry_calls(struct run *run, int entry);

/* These count what is stored, which is one element of a splat. */
int64_t report_buffer_bytes(const struct loop_buffer *b);
int64_t report_constant_bytes(const struct loop_program *p);
int report_kernel_count(const struct loop_program *p);
struct plan_facts report_memory(struct run *run);          /* Of the entry at `at`. */
/* Returns the number of the entry whose workspace is the largest. */
int report_largest_entry(const struct loop_program *p);

/* The first returns the predicted cycles of a core, roughly; the second one the bytes of all that
 * its parameters hold. */
double report_call_cycles(const struct run *run, const struct loop_stmt *call);
int64_t report_call_bytes(const struct loop_stmt *call);
/* What a call computes, with which schedule, and what it is predicted to cost: operations, cycles
 * of a core, bytes of its parameters. */
struct call_cost {
        const char *computes, *schedule;
        double flops, cycles;
        int64_t read, constants, written;
};
void report_call_cost(struct run *run, const struct loop_stmt *call, struct call_cost *cost);

/* --bench measured these of an entry, where it is known: all runs, and runs with each kernel call
 * timed. */
struct report_bench { double seconds; struct harness_times whole, each; bool known; };

int64_t report_ram(const struct loop_program *p);        /* Returns the bytes of the workspace and
                                                          * all regions. */
/* Returns the instructions that all calls of the program are predicted to execute; -1: they are not
 * counted. */
double report_instructions(struct run *run);
bool report_budgets(struct run *run);                     /* Checks all budgets. */
bool report_footprint(struct run *run);                   /* Checks --max-stack and --max-flash
                                                           * (report_footprint.c). */
void report_stats(struct run *run);                       /* Prints sizes, for --stats. */
void report_json(struct run *run, FILE *out);             /* Writes --report=FILE.json. */
void report_page(struct run *run, FILE *out);             /* Writes --report=FILE.html. */
void report_call_json(struct run *run, FILE *out, const struct loop_stmt *call, int number,
                      int entry);         /* Writes the call of this number, of the entry. */
bool report_is_page(const struct run *run);               /* Returns which of the two is asked
                                                           * for. */
bool report_read_against(struct run *run);                /* Reads --report-against into
                                                           * run->against. */

/* For targets with a machine, these write a member of the report and lines of --stats, and check
 * that the machine has anything to do; they do nothing for others (report_machine.c). The last one
 * returns false after an error. */
void report_machine_json(struct run *run, FILE *out);
void report_machine_stats(struct run *run);
bool report_machine_has_work(struct run *run);
/* A placement says of each call that is no launch why it is none, and has NULL for a launch. It
 * counts nodes of the model, without those that are computed while compiling: what brings values to
 * a launch and away is no part of a node that has other kernels (report_reasons.c). */
struct placement { const char **why; struct node_shares nodes; };
struct placement report_placement(struct run *run, const struct calls *calls);
bool report_is_launch(const struct loop_stmt *call);
bool report_multiplies_bytes(const struct op *contraction);
/* Returns the cycles of a stream, or a number below 0 where the kernel is none, or they are not
 * known. */
double report_machine_cycles(const struct loop_function *kernel);

/* The report keeps what passes did: one state is before the first (pass NULL), then there is one
 * for each. */
struct report_state {
        const struct pass *pass;
        int rewrites, size;             /* The size counts operations, or kernels. */
        bool loops;                     /* The state is Loop IR. */
        struct text text;               /* It is the IR's text, with large constants left out; only
                                         * the page has it. */
};
/* This is a layer of quantized numbers that is computed in floats. */
struct report_float { const char *location, *operation, *why; };
/* Keeps a layer that the pass quantize leaves in floats; runner is the struct run; `why` lives as
 * long. */
void report_keep_float(void *runner, const struct op *op, const char *why);
/* Looks for those of the state, or checks whether those found before are there
 * (report_floats.c). */
void report_find_floats(struct run *run, const struct pipeline_state *state);

/* Writes what passes said (remarks.c), as the members of a list. */
void remarks_json(const struct run *run, FILE *out);

/* Keeps a state after each pass (pipeline_options.observe); runner is the struct run. */
void report_observe(void *runner, const struct pipeline_state *state, const struct pass *pass,
                    int rewrites);
void report_forget(struct run *run, int kept);            /* Forgets all states but the first
                                                           * ones. */

/* These print the tables as text: --help-passes, --help-ops, --limit help. */
void report_passes(void);
void report_operations(void);
void report_limits(void);

#endif
