/* SPDX-License-Identifier: MIT */
/* What the files of the JPEG reader share: jpeg_decode.c reads segments, jpeg_scan.c the bits of blocks. The writer
 * needs their order. */
#ifndef SUPPORT_JPEG_H
#define SUPPORT_JPEG_H

#include "image.h"

struct huffman {                        /* codes of one length follow each other, as do their symbols */
        int known, first[17], count[17], offset[17];
        unsigned char symbols[256];
};

struct component {
        int id, across, down;           /* how many blocks of it a unit (MCU) has in each direction */
        int table, dc_table, ac_table;  /* of quantization, of codes */
        int width, height, stride;      /* in samples; stride: those of whole units */
        int dc, scanned;                /* the last block's first coefficient */
        unsigned char *samples;
};

struct decoder {
        const unsigned char *at, *end;
        int byte, bits_left, ended;     /* of the stream of bits; ended: more was asked for than there is */
        float steps[4][64];             /* of quantization; 0: not defined */
        struct huffman codes[2][4];     /* dc, ac */
        struct component components[3];
        float cosine[8][8];             /* of the transform: [x][u] */
        int width, height, count, most_across, most_down, units_across, units_down, restart, rgb;
};

/* where in a block its coefficients are, in the order in which the file has them */
extern const unsigned char jpeg_zigzag[64];

/* Bits up to the next marker that is no restart, the blocks of `count` components. A scan of one component has only the blocks that are
 * needed, not whole units. */
const char *jpeg_scan(struct decoder *d, struct component **scanned, int count);

#endif
