/* SPDX-License-Identifier: MIT */
/* Several pieces of memory that one iteration touches, and the same pieces of others. */
#ifndef PASSES_VECTORIZE_INDEPENDENCE_PIECES_H
#define PASSES_VECTORIZE_INDEPENDENCE_PIECES_H

#include <stdbool.h>
#include <stdint.h>

enum { PIECES_MAX = 96 };

/* Pieces from low to high - 1, in bytes. */
struct pieces {
        int64_t low[PIECES_MAX], high[PIECES_MAX];
        int count;                      /* -1: there are more than these, or others. */
};

void pieces_add(struct pieces *p, int64_t low, int64_t high);
/* Adds those of iterations 1 .. trip - 1, each `step` > 0 further than the one before. Returns
 * whether it is sure that no iteration touches a byte that another one does. Pieces that touch
 * become one. */
bool pieces_repeat(struct pieces *p, int64_t step, int64_t trip);

#endif
