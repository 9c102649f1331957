/* SPDX-License-Identifier: MIT */
/* Images that are decoded: what their pixels are, and how large they may be. */
#ifndef IR_TENSOR_PIXELS_H
#define IR_TENSOR_PIXELS_H

enum { IMAGE_EXTENT_MAX = 1 << 15 };    /* An image has at most so many rows, and columns. */
enum pixels {
#define PIXELS(name, channels, doc) PIXELS_##name,
#include "ir/tensor/pixels.def"
        PIXELS_COUNT
};
struct pixels_info {
        const char *name;
        int channels;
};
extern const struct pixels_info pixels_info[PIXELS_COUNT];        /* It lies in ops.c. */

#endif
