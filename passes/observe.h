/* SPDX-License-Identifier: MIT */
/* Looks at a state of compilation (observe.c), and compares what two of them compute
 * (pass_check.c). */
#ifndef PASSES_OBSERVE_H
#define PASSES_OBSERVE_H

#include "passes/manager.h"

/* Prints the state on standard error. */
void state_show(const struct pipeline_state *state, const char *when, const char *pass);
/* Writes DIR/03-cse.dnn, with its large constants in DIR/03-cse.dnn.bin. */
bool state_dump(const struct pipeline_state *state, const char *dir, int number, const char *name,
                struct diag *diag);
int state_size(const struct pipeline_state *state);       /* Returns the number of operations, or of
                                                           * kernels. */

/* A snapshot keeps a state's text, as it was before a pass. */
struct snapshot { struct arena *arena; const char *file, *blob_file; struct text text, blob; };
/* Takes a snapshot, as STEM.dnn or STEM.loops. */
void snapshot_take(struct snapshot *s, const struct pipeline_state *state, const char *stem);
bool snapshot_write(const struct snapshot *s, const char *dir, struct diag *diag);
void snapshot_free(struct snapshot *s);

/* --check: one check serves a run of the pipeline. */
struct check;
struct check *check_begin(const struct pipeline_state *state,
                          const struct pipeline_options *options, struct pass_context *context);
void check_before(struct check *c, const struct pipeline_state *state, const struct pass *pass);
/* Compares the results. Returns false after a difference, which has been reported. */
bool check_after(struct check *c, const struct pipeline_state *state, const struct pass *pass);
/* Writes the state before the pass, and says how to reproduce the error. */
void check_reproduce(struct check *c, const struct pass *pass);
void check_end(struct check *c);

#endif
