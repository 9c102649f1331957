/* SPDX-License-Identifier: MIT */
/* Traces of runs (--profile=FILE): runtime/trace.c writes them, in the user's program or in that of
 * --bench. */
#ifndef COMPILER_TRACE_H
#define COMPILER_TRACE_H

#include "codegen/printer.h"
#include "compiler/harness.h"

/* a file in the harness's folder: what the program writes */
#define TRACE_WRITTEN "trace.json"

bool trace_wanted(const struct options *o);                /* a FILE was given */
bool trace_is_possible(struct run *run);                   /* false after an error: not with these
                                                            * options */
/* trace, kernels and kernel_count of the options, for a planned program */
void trace_table(struct run *run, struct print_options *options);

/* Of --bench: its temporary files; what is compiled beside the program; the trace that it wrote,
 * for an output. False after an error. */
void trace_expect(const struct harness *h);
bool trace_write_sources(const struct harness *h);
bool trace_copy(const struct harness *h, FILE *out);

#endif
