/* SPDX-License-Identifier: MIT */
/* These read a whole file into memory. Functions of this folder that can fail return NULL, or what
 * is wrong in words. */
#ifndef SUPPORT_FILE_H
#define SUPPORT_FILE_H

#include <stddef.h>

/* Reads all bytes of a file of at most `most`, which the caller frees; a zero stands behind
 * them. */
const char *file_read(const char *path, size_t most, unsigned char **bytes, size_t *count);

#endif
