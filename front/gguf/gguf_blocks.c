/* SPDX-License-Identifier: MIT */
#include "front/gguf/gguf_blocks.h"

#include <string.h>

enum { SMALL = 32, SIGN = 128, K_SUB_BLOCKS = 8 };

struct gguf_blocks_kind gguf_blocks_kind(const struct gguf_type *type)
{
        switch (type->id) {
        case GGUF_TYPE_Q4_0: return (struct gguf_blocks_kind){ SMALL, 4, 8, false, false };
        case GGUF_TYPE_Q4_1: return (struct gguf_blocks_kind){ SMALL, 4, 0, false, true };
        case GGUF_TYPE_Q5_0: return (struct gguf_blocks_kind){ SMALL, 5, 16, false, false };
        case GGUF_TYPE_Q5_1: return (struct gguf_blocks_kind){ SMALL, 5, 0, false, true };
        case GGUF_TYPE_Q4_K: return (struct gguf_blocks_kind){ SMALL, 4, 0, true, true };
        case GGUF_TYPE_Q5_K: return (struct gguf_blocks_kind){ SMALL, 5, 0, true, true };
        case GGUF_TYPE_Q6_K: return (struct gguf_blocks_kind){ 16, 6, 32, true, false };
        default: return (struct gguf_blocks_kind){ SMALL, 8, SIGN, false, false };
        }
}

static uint16_t u16_at(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }

/* Number k of 32 is in byte k % 16; fifth bits lie in 4 bytes. */
static void take_small(const unsigned char *low, const unsigned char *high, unsigned char *numbers)
{
        for (int k = 0; k < SMALL; k++) {
                numbers[k] = low[k % 16] >> (k / 16 * 4) & 15;
                if (high)
                        numbers[k] |= (unsigned char)((high[k / 8] >> k % 8 & 1) << 4);
        }
}

/* Eight scales and eight minima of 6 bits lie in 12 bytes. Of each, the first four have their upper
 * two bits taken by the last four. */
static void take_scales(const unsigned char *p, struct gguf_block *b)
{
        for (int i = 0; i < K_SUB_BLOCKS; i++) {
                const int j = i % 4;
                b->scales[i] = i < 4 ? p[i] & 63 : (p[8 + j] & 15) | p[j] >> 6 << 4;
                b->minima[i] = i < 4 ? p[4 + i] & 63 : p[8 + j] >> 4 | p[4 + j] >> 6 << 4;
        }
}

/* Of 64 numbers the first 32 are the low bits of 32 bytes. Bit r of byte k is the fifth bit of
 * number k of sub-block r. */
static void take_k(const unsigned char *low, const unsigned char *high, unsigned char *numbers)
{
        for (int k = 0; k < GGUF_NUMBERS; k++) {
                const int sub_block = k / 32;
                numbers[k] = low[sub_block / 2 * 32 + k % 32] >> (sub_block % 2 * 4) & 15;
                if (high)
                        numbers[k] |= (unsigned char)((high[k % 32] >> sub_block & 1) << 4);
        }
}

/* Halves of 128 numbers have 64 bytes of lower 4 bits and 32 bytes of upper 2. */
static void take_q6(const unsigned char *low, const unsigned char *high, unsigned char *numbers)
{
        for (int k = 0; k < GGUF_NUMBERS; k++) {
                const int half = k / 128, i = k % 128;
                const int l = low[half * 64 + i % 64] >> (i / 64 * 4) & 15,
                          h = high[half * 32 + i % 32] >> (i / 32 * 2) & 3;
                numbers[k] = (unsigned char)(l | h << 4);
        }
}

void gguf_block_take_apart(const struct gguf_type *type, const unsigned char *p,
                           struct gguf_block *b)
{
        b->d = u16_at(p);
        b->m = 0;
        switch (type->id) {
        case GGUF_TYPE_Q4_0: take_small(p + 2, NULL, b->numbers); break;
        case GGUF_TYPE_Q5_0: take_small(p + 6, p + 2, b->numbers); break;
        case GGUF_TYPE_Q4_1: take_small(p + 4, NULL, b->numbers); break;
        case GGUF_TYPE_Q5_1: take_small(p + 8, p + 4, b->numbers); break;
        case GGUF_TYPE_Q4_K: take_k(p + 16, NULL, b->numbers); break;
        case GGUF_TYPE_Q5_K: take_k(p + 48, p + 16, b->numbers); break;
        case GGUF_TYPE_Q6_K:
                take_q6(p, p + 128, b->numbers);
                for (int i = 0; i < GGUF_SUB_BLOCKS; i++)
                        b->scales[i] = p[192 + i] < SIGN ? p[192 + i] : p[192 + i] - 2 * SIGN;
                b->d = u16_at(p + 208);
                return;
        default:
                for (int k = 0; k < SMALL; k++)
                        b->numbers[k] = p[2 + k] ^ SIGN;
                break;
        }
        if (gguf_blocks_kind(type).nested)
                take_scales(p + 4, b);
        else
                b->scales[0] = b->minima[0] = 1;
        if (gguf_blocks_kind(type).minima)
                b->m = u16_at(p + 2);
        if (gguf_blocks_kind(type).minima && !gguf_blocks_kind(type).nested)
                b->m ^= 0x8000; /* Q4_1 and Q5_1 add m. */
}
