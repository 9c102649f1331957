/* SPDX-License-Identifier: MIT */
/* These numbers by chance are the same on every machine (Marsaglia, Xorshift RNGs, 2003). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

#define RANDOM_START UINT64_C(0x9e3779b97f4a7c15)         /* It is a state to begin with; any but 0
                                                           * will do. */

static inline uint64_t random_next(uint64_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

#endif
