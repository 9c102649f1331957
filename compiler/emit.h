/* SPDX-License-Identifier: MIT */
/* Each row of emit_formats.def has a function that writes what --emit asks for. */
#ifndef COMPILER_EMIT_H
#define COMPILER_EMIT_H

#include <stdio.h>

#include "compiler/driver.h"

struct emit_files {
        FILE *out;
        FILE *beside[2];                /* They are what `files` of the row named, opened; or
                                         * NULL. */
        const char *paths[2];           /* They are the paths of these files. */
        const char *stem;               /* It is the stem of the output's name, without folder; it
                                         * is "" for standard output. */
};

/* Adds to the program what --selftest has in generated code: constants, an input by chance and what
 * the interpreter makes of it (selftest.c). Returns false after an error. */
struct print_selftest;
bool selftest_add(struct run *run, struct print_selftest *test);

#define EMIT(id, word, suffix, stage, files, write)                                       \
        bool files(struct run *run, const char *stem, const char *beside[2]);             \
        bool write(struct run *run, const struct emit_files *files);
#include "compiler/emit_formats.def"

#endif
