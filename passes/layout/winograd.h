/* SPDX-License-Identifier: MIT */
/* Decides which convolutions Winograd's algorithm may have, given how many bytes constants may grow
 * by. */
#ifndef PASSES_LAYOUT_WINOGRAD_H
#define PASSES_LAYOUT_WINOGRAD_H

#include "passes/pass.h"

/* A choice is a convolution that could be computed in such tiles, with the cycles saved, the bytes
 * that its weights grow by, and the number of the operation. */
struct winograd_choice { struct op *op; int tile, number; double gain, bytes; };

/* Takes the best choices for `room` bytes: each in turn that fits takes its operation, or improves
 * it. Choices that are not taken have tile = 0 afterwards. */
void winograd_afford(struct winograd_choice *choices, int count, double room);
/* Returns the bytes of all constants that are used. */
double winograd_constants(const struct module *m);

#endif
