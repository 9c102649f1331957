/* SPDX-License-Identifier: MIT */
/* Outputs appear all at once or not at all. */
#ifndef COMPILER_FILES_H
#define COMPILER_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/memory.h"

/* Outputs are written to temporary files beside their destination and renamed together by
 * outputs_commit, in the order they were opened. Until then what was there stays; where one cannot
 * be renamed, those of the others that are new are removed again. outputs_discard removes the
 * temporary ones; so does the end of the process, whatever ends it (process.h). A destination that
 * is a link, a folder, a device or one of the inputs is refused. */
struct outputs;
struct outputs *outputs_new(struct arena *arena);
/* After this, commit leaves files alone, time stamps and all, whose bytes are those that were there
 * before. */
void outputs_if_changed(struct outputs *outputs);
/* Says that this file is never to be overwritten. */
void outputs_protect(struct outputs *outputs, const char *input_path);
/* Opens an output; returns NULL after an EXIT_IO error. */
FILE *outputs_open(struct outputs *outputs, const char *path, struct diag *diag);
bool outputs_commit(struct outputs *outputs, struct diag *diag);
void outputs_discard(struct outputs *outputs);

#endif
