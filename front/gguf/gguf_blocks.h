/* SPDX-License-Identifier: MIT */
/* Blocks of numbers in few bits are taken apart:
 *
 *      weight = scale * (number - center) - minimum
 *
 * Sub-blocks of so many numbers share a scale and a minimum, which are whole numbers of few bits
 * times an f16 of the block: scale = d * scales[s], minimum = m * minima[s]. Where a block is one
 * sub-block its scale is d. */
#ifndef FRONT_GGUF_GGUF_BLOCKS_H
#define FRONT_GGUF_GGUF_BLOCKS_H

#include "front/gguf/gguf_file.h"

enum { GGUF_NUMBERS = 256, GGUF_SUB_BLOCKS = 16 };

struct gguf_blocks_kind {
        int sub_block, bits, center;
        bool nested;                    /* Sub-blocks have scales of their own. */
        bool minima;
};
struct gguf_block {
        unsigned char numbers[GGUF_NUMBERS];
        int scales[GGUF_SUB_BLOCKS], minima[GGUF_SUB_BLOCKS];
        uint16_t d, m;                  /* These are bits of f16. */
};
/* Returns what blocks of the type are, whose form is GGUF_BLOCKS. */
struct gguf_blocks_kind gguf_blocks_kind(const struct gguf_type *type);
void gguf_block_take_apart(const struct gguf_type *type, const unsigned char *bytes,
                           struct gguf_block *block);

#endif
