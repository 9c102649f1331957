/* SPDX-License-Identifier: MIT */
/* Eight bytes at a time, by a table for each of them (M. Kounavis and F. Berry, "A Systematic
 * Approach to Building High Performance Software-Based CRC Generators", 2005). */
#include "base/crc32c.h"

enum { SLICES = 8 };

/* tables[k][b] is the remainder of the byte b with k zero bytes behind it. */
static void make_tables(uint32_t tables[SLICES][256])
{
        for (uint32_t b = 0; b < 256; b++) {
                uint32_t remainder = b;
                for (int bit = 0; bit < 8; bit++)
                        remainder = remainder >> 1 ^ (remainder & 1 ? 0x82f63b78u : 0);
                tables[0][b] = remainder;
        }
        for (int k = 1; k < SLICES; k++)
                for (int b = 0; b < 256; b++) {
                        const uint32_t before = tables[k - 1][b];
                        tables[k][b] = before >> 8 ^ tables[0][before & 255];
                }
}

uint32_t crc32c(const void *data, size_t bytes)
{
        uint32_t tables[SLICES][256], crc = UINT32_MAX;
        const unsigned char *at = data;
        make_tables(tables);
        for (; bytes >= SLICES; bytes -= SLICES, at += SLICES) {
                uint32_t sum = 0;
                for (int k = 0; k < SLICES; k++) {
                        const uint32_t mixed = k < 4 ? at[k] ^ (crc >> 8 * k & 255) : at[k];
                        sum ^= tables[SLICES - 1 - k][mixed];
                }
                crc = sum;
        }
        for (; bytes; bytes--)
                crc = crc >> 8 ^ tables[0][(crc ^ *at++) & 255];
        return ~crc;
}
