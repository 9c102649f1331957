/* SPDX-License-Identifier: MIT */
/* The passes on streams share this. */
#ifndef ENGINES_STREAM_STREAM_PASSES_H
#define ENGINES_STREAM_STREAM_PASSES_H

#include "ir/loop/stream_flat.h"
#include "passes/pass.h"

/* ---- stream_place.c ---- */

/* Gives each alloc its places, up to `contexts` where it is executed several times. Returns the
 * number of allocs that got more than one; -1 after an EXIT_UNSUPPORTED error: it does not fit. */
int stream_place(struct arena *arena, struct loop_function *f, int contexts, struct diag *diag);
bool stream_is_placed(const struct loop_function *f);

/* ---- waits.c ---- */

/* Adds awaits to a flat stream of a machine that has no tokens; returns how many. */
int stream_await(struct arena *arena, struct loop_function *f);

/* ---- resident.c ---- */

/* Keeps whole activations that only one stream of a machine that activates writes and reads in its
 * memory; these, and all else in that memory, get their places. Returns how many; -1 after an
 * EXIT_UNSUPPORTED error: a layer by itself does not fit. */
int stream_reside(struct loop_program *p, struct diag *diag);

#endif
