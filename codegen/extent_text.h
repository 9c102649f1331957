/* SPDX-License-Identifier: MIT */
/* How descriptions of ports say what an extent of a run is. */
#ifndef CODEGEN_EXTENT_TEXT_H
#define CODEGEN_EXTENT_TEXT_H

#include "ir/loop/loop.h"

/* Returns an extent as text in the arena: a number, or a term over run's parameters,
 * "2 * (n + 1)". */
char *extent_text(struct arena *arena, const struct loop_expr *extent);

#endif
