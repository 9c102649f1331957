/* SPDX-License-Identifier: MIT */
/* Which convolutions Winograd's algorithm may have, with the bytes that constants may grow by. */
#ifndef PASSES_LAYOUT_WINOGRAD_H
#define PASSES_LAYOUT_WINOGRAD_H

#include "passes/pass.h"

/* One that could be tiled so, what that saves, and by how many bytes its weights grow. number: of
 * the operation. */
struct winograd_choice { struct op *op; int tile, number; double gain, bytes; };

/* The best for so many bytes: each in turn that fits takes its operation, or improves it. What does
 * not is left with tile = 0. */
void winograd_afford(struct winograd_choice *choices, int count, double room);
/* bytes of all constants that are used */
double winograd_constants(const struct module *m);

#endif
