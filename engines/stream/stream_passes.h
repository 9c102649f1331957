/* SPDX-License-Identifier: MIT */
/* What the passes on streams share. */
#ifndef PASSES_STREAM_PASSES_H
#define PASSES_STREAM_PASSES_H

#include "ir/loop/stream_flat.h"
#include "passes/pass.h"

/* ---- place.c ---- */

/* Each alloc gets its places, up to `contexts` where it is executed several times; the number
 * that got more than one. -1 after an EXIT_UNSUPPORTED error: it does not fit. */
int stream_place(struct arena *arena, struct loop_function *f, int contexts, struct diag *diag);
bool stream_is_placed(const struct loop_function *f);

/* ---- waits.c ---- */

/* Awaits in a flat stream of a machine that has no tokens; how many. */
int stream_await(struct arena *arena, struct loop_function *f);

/* ---- resident.c ---- */

/* Whole activations that only one stream of a machine that activates writes and reads stay in
 * its memory; they and what else is in that memory get their places. How many; -1 after an
 * EXIT_UNSUPPORTED error: a layer by itself does not fit. */
int stream_reside(struct loop_program *p, struct diag *diag);

#endif
