/* SPDX-License-Identifier: MIT */
/* libdnncc_image decodes images for generated code whose model has an ImageDecoder. It stands on
 * libjpeg, libpng, libtiff, libwebp and openjpeg. A program may have a dnncc_image_decode of its
 * own instead: for one format, say, or by the decoder of a camera. */
#ifndef DNNCC_IMAGE_H
#define DNNCC_IMAGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes the file of `length` bytes, JPEG, PNG, TIFF, WebP, JPEG 2000, BMP or PNM, as its first
 * bytes say, into rows x columns pixels of bytes. pixels: 0 gray, 1 red green blue, 2 blue green
 * red. Returns 0, or -1 where the file is damaged, of another kind, or an image of other extents,
 * which is found out before memory is taken for pixels. What the image holds then is not known. The
 * library allocates memory; it may be called by several threads at a time. */
int dnncc_image_decode(const unsigned char *bytes, size_t length, int pixels, unsigned char *image,
                       int rows, int columns);

#ifdef __cplusplus
}
#endif
#endif
