/* SPDX-License-Identifier: MIT */
/* Files are read within bounds, and paths have parts. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"

/* Reads the bytes of a regular file ("-" is standard input, of any kind), at most `limit` of them,
 * which the caller frees. The error is EXIT_IO or, beyond the limit, EXIT_INVALID that names
 * --limit file_bytes. */
bool file_read(const char *path, int64_t limit, unsigned char **bytes, size_t *length,
               struct diag *diag);

/* Does the same by a path below a folder, no part of which may be a link. */
bool file_read_beneath(const char *folder, const char *path, int64_t limit, unsigned char **bytes,
                       size_t *length, struct diag *diag);
/* Opens a file for reading, by a path below a folder, no part of which may be a link; the path is
 * taken to pieces. Returns -1 with errno set. */
int file_open_beneath(const char *folder, char *path);

/* path_stem returns "model" for "dir/model.onnx", or "dir/model" with_folder; it returns "model"
 * where nothing is left. */
char *path_stem(struct arena *arena, const char *path, bool with_folder);
const char *path_base(const char *path);
/* Returns the folder that a path leads to a file in, "." for a name alone. */
const char *path_folder(struct arena *arena, const char *path);

#endif
