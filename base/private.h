/* SPDX-License-Identifier: MIT */
/* Files that nobody but this user can have written, in a folder of which that holds as well: what
 * is read there may be run (compiler/cache.h). */
#ifndef BASE_PRIVATE_H
#define BASE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the folder where there is none (its parent is there). Returns NULL, or why it cannot be
 * used: in words, a constant text or strerror's. */
const char *private_folder(const char *path);

/* Maps a file into memory, to be read, from a multiple of 4096 bytes on; private_unmap gives it
 * back. Returns NULL where there is none, or it is a link, empty, or somebody else may have written
 * it. Whoever replaces the file meanwhile has to rename another one to it. */
const void *private_map(const char *path, size_t *length);
void private_unmap(const void *bytes, size_t length);

#endif
