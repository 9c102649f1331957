/* SPDX-License-Identifier: MIT */
/* Images have rows of red, green, blue, a byte each. Functions that can fail return NULL, or what
 * is wrong in words; image_free may be called after either. */
#ifndef SUPPORT_IMAGE_H
#define SUPPORT_IMAGE_H

#include <stddef.h>

#define IMAGE_MOST_PIXELS (1 << 26)     /* A file that says it has more pixels is not believed. */

struct image {
        int width, height;
        unsigned char *pixels;          /* There are 3 * width * height bytes. */
};

/* The image is black. */
const char *image_new(struct image *image, long width, long height);
void image_free(struct image *image);

/* Reads PPM (P6) or baseline JPEG, which is told by its first bytes. */
const char *image_read(struct image *image, const char *path);
/* Writes PPM if the name ends in .ppm, otherwise JPEG. */
const char *image_write(const struct image *image, const char *path);

/* Resamples the part of `from` that begins at left, top and is width x height large, which must lie
 * within it: linearly between the centres of pixels, and as a weighted mean of all that a new pixel
 * covers where it covers several. */
const char *image_resample(const struct image *from, int left, int top, int width, int height, struct image *to, int to_width,
                           int to_height);
/* Resamples all of `from` as large as fits into width x height, at the top left, with black beside
 * it; *scale is the number of new pixels for an old one. */
const char *image_fit(const struct image *from, struct image *to, int width, int height, float *scale);

/* Makes three planes of floats, (byte - mean) / deviation, as networks want them; the order is
 * "RGB" or "BGR". */
void image_planes(const struct image *image, const char *order, const float mean[3], const float deviation[3], float *planes);

/* Draws an outline of `thick` pixels, inwards; what lies outside of the image is cut off. */
void image_rectangle(struct image *image, float left, float top, float right, float bottom, int thick,
                     const unsigned char color[3]);

/* Decodes baseline and extended sequential JPEG, of 8 bits, with one or three components
 * (jpeg_decode.c). */
const char *jpeg_decode(const unsigned char *bytes, size_t count, struct image *image);
/* Encodes baseline JPEG, with all components at full size and a quality of 1 to 100
 * (jpeg_encode.c). The caller frees *bytes. */
const char *jpeg_encode(const struct image *image, int quality, unsigned char **bytes, size_t *count);

#endif
