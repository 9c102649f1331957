/* SPDX-License-Identifier: MIT */
/* The files of the JPEG reader share this: jpeg_decode.c reads segments, jpeg_scan.c the bits of
 * blocks. The writer needs their order. */
#ifndef SUPPORT_JPEG_H
#define SUPPORT_JPEG_H

#include "image.h"

struct huffman {                        /* Codes of one length follow each other, as do their
                                         * symbols. */
        int known, first[17], count[17], offset[17];
        unsigned char symbols[256];
};

struct component {
        int id, across, down;           /* A unit (MCU) has so many blocks of it in each
                                         * direction. */
        int table, dc_table, ac_table;  /* They are the tables of quantization, and of codes. */
        int width, height, stride;      /* They are in samples; the stride is that of whole
                                         * units. */
        int dc, scanned;                /* dc is the last block's first coefficient. */
        unsigned char *samples;
};

struct decoder {
        const unsigned char *at, *end;
        int byte, bits_left, ended;     /* The stream of bits is here; ended says that more was
                                         * asked for than there is. */
        float steps[4][64];             /* They are the quantization steps; 0 is not defined. */
        struct huffman codes[2][4];     /* They are the codes of first coefficients (dc), then of
                                         * the others (ac). */
        struct component components[3];
        float cosine[8][8];             /* They are the cosines of the transform, [x][u]. */
        int width, height, count, most_across, most_down, units_across, units_down, restart, rgb;
};

/* The table says where in a block its coefficients are, in the order in which the file has them. */
extern const unsigned char jpeg_zigzag[64];

/* Reads bits up to the next marker that is no restart, which are the blocks of `count` components.
 * A scan of one component has only the blocks that are needed, not whole units. */
const char *jpeg_scan(struct decoder *d, struct component **scanned, int count);

#endif
