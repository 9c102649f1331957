/* SPDX-License-Identifier: MIT */
/* Files: bounded reading, and the parts of paths. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"

/* The bytes of a regular file ("-": standard input, any kind), at most `limit` of them; free()
 * them. EXIT_IO or, beyond the limit, EXIT_INVALID that names --limit file_bytes. */
bool file_read(const char *path, int64_t limit, unsigned char **bytes, size_t *length,
               struct diag *diag);

/* A file for reading, by a path below a folder, no part of which may be a link; the path is
 * taken to pieces. -1 with errno set. */
int file_open_beneath(const char *folder, char *path);

/* "dir/model.onnx" -> "model"; with_folder: "dir/model"; "model" when nothing is left */
char *path_stem(struct arena *arena, const char *path, bool with_folder);
const char *path_base(const char *path);

#endif
