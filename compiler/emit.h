/* SPDX-License-Identifier: MIT */
/* What --emit writes: a function for each row of emit_formats.def. */
#ifndef COMPILER_EMIT_H
#define COMPILER_EMIT_H

#include <stdio.h>

#include "compiler/driver.h"

struct emit_files {
        FILE *out;
        FILE *beside[2];                /* what `files` of the row named, opened; or NULL */
        const char *paths[2];           /* of these */
        const char *stem;               /* of the output's name, without folder; "" for standard
                                         * output */
};

#define EMIT(id, word, suffix, stage, files, write)                                       \
        bool files(struct run *run, const char *stem, const char *beside[2]);             \
        bool write(struct run *run, const struct emit_files *files);
#include "compiler/emit_formats.def"

#endif
