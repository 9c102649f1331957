/* SPDX-License-Identifier: MIT */
/* Images: rows of red, green, blue, a byte each. Functions that can fail return NULL, or what is wrong in words; image_free is
 * right after either. */
#ifndef SUPPORT_IMAGE_H
#define SUPPORT_IMAGE_H

#include <stddef.h>

#define IMAGE_MOST_PIXELS (1 << 26)     /* what says it is larger is not believed */

struct image {
        int width, height;
        unsigned char *pixels;          /* 3 * width * height bytes */
};

const char *image_new(struct image *image, long width, long height);            /* black */
void image_free(struct image *image);

/* PPM (P6) or baseline JPEG, by its first bytes */
const char *image_read(struct image *image, const char *path);
/* PPM if the name ends in .ppm, otherwise JPEG */
const char *image_write(const struct image *image, const char *path);

/* The part of `from` that begins at left, top and is width x height large, which must lie within it, resampled: linear between the
 * centres of pixels, and a weighted mean of all that a new pixel covers where it covers several. */
const char *image_resample(const struct image *from, int left, int top, int width, int height, struct image *to, int to_width,
                           int to_height);
/* All of `from` as large as fits into width x height, at the top left, black beside it; *scale: new pixels for an old one. */
const char *image_fit(const struct image *from, struct image *to, int width, int height, float *scale);

/* Three planes of floats, (byte - mean) / deviation, as networks want them; order: "RGB" or "BGR". */
void image_planes(const struct image *image, const char *order, const float mean[3], const float deviation[3], float *planes);

/* An outline of `thick` pixels, inwards; what lies outside of the image is cut off. */
void image_rectangle(struct image *image, float left, float top, float right, float bottom, int thick,
                     const unsigned char color[3]);

/* jpeg_decode.c: baseline and extended sequential, 8 bits, one or three components */
const char *jpeg_decode(const unsigned char *bytes, size_t count, struct image *image);
/* jpeg_encode.c: baseline, all components at full size; quality 1 to 100. The caller frees *bytes. */
const char *jpeg_encode(const struct image *image, int quality, unsigned char **bytes, size_t *count);

#endif
