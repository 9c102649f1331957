/* SPDX-License-Identifier: MIT */
/* Files: bounded reading, and outputs that appear all at once or not at all. */
#ifndef COMPILER_FILES_H
#define COMPILER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/memory.h"

/* The bytes of a regular file ("-": standard input, any kind), at most `limit` of them; free()
 * them. EXIT_IO or, beyond the limit, EXIT_INVALID that names --limit file_bytes. */
bool file_read(const char *path, int64_t limit, unsigned char **bytes, size_t *length,
               struct diag *diag);

/* A file for reading, by a path below a folder, no part of which may be a link; the path is taken to pieces. -1 with errno set. */
int file_open_beneath(const char *folder, char *path);

/* Outputs are written to temporary files beside their destination and renamed together by
 * outputs_commit, in the order they were opened. Until then what was there stays. outputs_discard
 * removes the temporary ones; so does the end of the process, whatever ends it (process.h). A
 * destination that is a link, a folder, a device or one of the inputs is refused. */
struct outputs;
struct outputs *outputs_new(struct arena *arena);
/* commit leaves files alone, time stamps and all, whose bytes are those that were there before */
void outputs_if_changed(struct outputs *outputs);
/* never to be overwritten */
void outputs_protect(struct outputs *outputs, const char *input_path);
FILE *outputs_open(struct outputs *outputs, const char *path, struct diag *diag);       /* NULL after an EXIT_IO error */
bool outputs_commit(struct outputs *outputs, struct diag *diag);
void outputs_discard(struct outputs *outputs);

/* "dir/model.onnx" -> "model"; with_folder: "dir/model"; "model" when nothing is left */
char *path_stem(struct arena *arena, const char *path, bool with_folder);
const char *path_base(const char *path);

#endif
