/* SPDX-License-Identifier: MIT */
/* A piece of a farm may be a process of its own: what it writes to standard output and standard
 * error is kept with its exit code, as the piece's result. */
#ifndef COMPILER_CAPTURED_H
#define COMPILER_CAPTURED_H

#include <stdbool.h>

#include "base/text.h"

struct captured {
        int code;                       /* EXIT_INTERNAL where a signal ended it. */
        double seconds;
        const char *out, *errors;       /* They are within the result. */
        size_t out_length, errors_length;
};

/* Runs body(context) in a child, whose result is its exit code, with an empty standard input; adds
 * what became of it to *result. Returns false where a signal asked this process to stop. */
bool captured_run(int (*body)(void *context), void *context, struct text *result);
/* Reads that; NULL, which stands for a piece that was given up, and what is no result, have
 * EXIT_INTERNAL and an error. */
struct captured captured_read(const char *result, size_t length);

#endif
