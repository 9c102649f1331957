/* SPDX-License-Identifier: MIT */
/* Looking at a state of compilation (observe.c), and comparing what two of them compute
 * (pass_check.c). */
#ifndef PASSES_OBSERVE_H
#define PASSES_OBSERVE_H

#include "passes/manager.h"

/* on standard error */
void state_show(const struct pipeline_state *state, const char *when, const char *pass);
/* DIR/03-cse.dnn, its big constants in DIR/03-cse.dnn.bin */
bool state_dump(const struct pipeline_state *state, const char *dir, int number, const char *name,
                struct diag *diag);
int state_size(const struct pipeline_state *state);       /* operations, or kernels */

/* A state's text, kept: what the state was before a pass. */
struct snapshot { struct arena *arena; const char *file, *blob_file; struct text text, blob; };
/* STEM.dnn, or .loops */
void snapshot_take(struct snapshot *s, const struct pipeline_state *state, const char *stem);
bool snapshot_write(const struct snapshot *s, const char *dir, struct diag *diag);
void snapshot_free(struct snapshot *s);

/* --check: one over a run of the pipeline. */
struct check;
struct check *check_begin(const struct pipeline_state *state,
                          const struct pipeline_options *options, struct pass_context *context);
void check_before(struct check *c, const struct pipeline_state *state, const struct pass *pass);
/* false: reported */
bool check_after(struct check *c, const struct pipeline_state *state, const struct pass *pass);
/* writes the state before the pass, and says how to come by the error again */
void check_reproduce(struct check *c, const struct pass *pass);
void check_end(struct check *c);

#endif
