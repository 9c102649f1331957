/* SPDX-License-Identifier: MIT */
/* Decides which convolutions Winograd's algorithm may have, given how many bytes constants may grow
 * by. */
#ifndef PASSES_LAYOUT_WINOGRAD_H
#define PASSES_LAYOUT_WINOGRAD_H

#include "ir/tensor/winograd_tiles.h"
#include "passes/pass.h"

/* A choice is a convolution that could be computed in such tiles, with the cycles saved, the bytes
 * that its weights grow by, and the number of the operation. */
struct winograd_choice {
        struct op *op;
        int64_t tile[WINOGRAD_DIMS];
        int number;
        double gain, bytes;
        bool taken;
        bool exact;                     /* Its error has been measured, and is small enough. */
};

/* Takes the best choices for `room` bytes: each in turn that fits takes its operation, or improves
 * it. */
void winograd_afford(struct winograd_choice *choices, int count, double room);
/* Returns the bytes of all constants that are used. */
double winograd_constants(const struct module *m);

#endif
