/* SPDX-License-Identifier: MIT */
#include "jpeg.h"

const unsigned char jpeg_zigzag[64] = {
        0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48,
        41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22,
        15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

/* ---- bits ---- */

static int next_bit(struct decoder *d)
{
        if (!d->bits_left) {
                /* A marker ends the stream. */
                if (d->end - d->at < 2 || (d->at[0] == 0xff && d->at[1] != 0)) {
                        d->ended = 1;
                        return 0;
                }
                d->byte = *d->at++;
                d->at += d->byte == 0xff;
                d->bits_left = 8;
        }
        return d->byte >> --d->bits_left & 1;
}

/* Reads a number of that many bits; those that begin with 0 are negative. */
static int next_number(struct decoder *d, int bits)
{
        int n = 0;
        for (int i = 0; i < bits; i++)
                n = 2 * n + next_bit(d);
        return bits && n < 1 << (bits - 1) ? n - (1 << bits) + 1 : n;
}

static int next_symbol(struct decoder *d, const struct huffman *h)
{
        int code = 0;
        for (int length = 1; length <= 16; length++) {
                code = 2 * code + next_bit(d);
                if (code - h->first[length] < h->count[length])
                        return h->symbols[h->offset[length] + code - h->first[length]];
        }
        return -1;
}

/* ---- blocks ---- */

/* Computes the inverse cosine transform of eight numbers, `step` apart. */
static void transform(float cosine[8][8], const float *from, float *to, int step)
{
        for (int x = 0; x < 8; x++) {
                float sum = 0;
                for (int u = 0; u < 8; u++)
                        sum += from[u * step] * cosine[x][u];
                to[x * step] = sum;
        }
}

static const char *decode_block(struct decoder *d, struct component *c, unsigned char *samples)
{
        const float *steps = d->steps[c->table];
        float a[64] = { 0 }, b[64];
        int size = next_symbol(d, &d->codes[0][c->dc_table]);
        if (size < 0 || size > 15)
                return d->ended ? "it ends early" : "a code that the file does not define";
        c->dc += next_number(d, size);
        if (c->dc > 1 << 15 || c->dc < -(1 << 15))
                return "a coefficient is too large";
        a[0] = (float)c->dc * steps[0];
        for (int k = 1; k < 64; k++) {
                int symbol = next_symbol(d, &d->codes[1][c->ac_table]);
                if (symbol < 0)
                        return d->ended ? "it ends early" : "a code that the file does not define";
                if (symbol == 0)
                        break;
                k += symbol >> 4;
                if (k > 63)
                        return "a block has more than 64 coefficients";
                a[jpeg_zigzag[k]] = (float)next_number(d, symbol & 15) * steps[k];
        }
        if (d->ended)
                return "it ends early";
        for (int i = 0; i < 8; i++)
                transform(d->cosine, a + i, b + i, 8);
        for (int i = 0; i < 8; i++)
                transform(d->cosine, b + 8 * i, a + 8 * i, 1);
        for (int i = 0; i < 64; i++) {
                float v = a[i] + 128.5f;
                samples[(i >> 3) * c->stride + (i & 7)] = v < 0 ? 0 : v > 255 ? 255 : (unsigned char)v;
        }
        return NULL;
}

const char *jpeg_scan(struct decoder *d, struct component **scanned, int count)
{
        struct component *only = count == 1 ? scanned[0] : NULL;
        int across = only ? (only->width + 7) / 8 : d->units_across, down = only ? (only->height + 7) / 8 : d->units_down;
        d->bits_left = d->ended = 0;
        for (int i = 0; i < count; i++)
                scanned[i]->dc = 0;
        for (int unit = 0; unit < across * down; unit++) {
                if (d->restart && unit && unit % d->restart == 0) {
                        if (d->end - d->at < 2 || d->at[0] != 0xff || (d->at[1] & 0xf8) != 0xd0)
                                return "a restart marker is missing";
                        d->at += 2;
                        d->bits_left = 0;
                        for (int i = 0; i < count; i++)
                                scanned[i]->dc = 0;
                }
                for (int i = 0; i < count; i++) {
                        struct component *c = scanned[i];
                        int h = only ? 1 : c->across, v = only ? 1 : c->down;
                        for (int k = 0; k < h * v; k++) {
                                int x = unit % across * h + k % h, y = unit / across * v + k / h;
                                const char *error = decode_block(d, c, c->samples + (size_t)8 * y * c->stride + 8 * x);
                                if (error)
                                        return error;
                        }
                }
        }
        return NULL;
}
