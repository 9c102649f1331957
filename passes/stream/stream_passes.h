/* SPDX-License-Identifier: MIT */
/* What the passes on streams share. */
#ifndef PASSES_STREAM_PASSES_H
#define PASSES_STREAM_PASSES_H

#include "ir/stream_flat.h"
#include "passes/pass.h"

/* ---- place.c ---- */

/* Each alloc gets its places, up to `contexts` where it is executed several times; the number that got more than one. -1 after an
 * EXIT_UNSUPPORTED error: it does not fit. */
int stream_place(struct arena *arena, struct loop_function *f, int contexts, struct diag *diag);
bool stream_is_placed(const struct loop_function *f);

#endif
