/* SPDX-License-Identifier: MIT */
/* Traces of runs (--profile=FILE) are written by runtime/trace.c, in the user's program or in that
 * of --bench. */
#ifndef COMPILER_TRACE_H
#define COMPILER_TRACE_H

#include "codegen/printer.h"
#include "compiler/harness.h"

/* The program writes this file in the harness's folder. */
#define TRACE_WRITTEN "trace.json"

bool trace_wanted(const struct options *o);                /* Returns whether a FILE was given. */
bool trace_is_possible(struct run *run);                   /* Returns false after an error, where it
                                                            * is not possible with these options. */
/* Sets trace, kernels and kernel_count of the options, for a planned program. */
void trace_table(struct run *run, struct print_options *options);

/* For --bench, these register its temporary files, write what is compiled beside the program, and
 * copy the trace that it wrote to an output. They return false after an error. */
void trace_expect(const struct harness *h);
bool trace_write_sources(const struct harness *h);
bool trace_copy(const struct harness *h, FILE *out);

#endif
