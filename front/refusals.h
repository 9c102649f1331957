/* SPDX-License-Identifier: MIT */
/* The list of what a model has that is not supported: one error for each line, each line once. Of a
 * long list the last lines are counted. */
#ifndef FRONT_REFUSALS_H
#define FRONT_REFUSALS_H

#include "base/diag.h"
#include "base/text.h"
#include "base/memory.h"

struct refusals {
        struct arena *arena;
        struct diag *diag;
        struct map *lines;              /* It has those that were said. */
        int count;
};

struct refusals refusals_begin(struct arena *arena, struct diag *diag);
/* Adds a line, in exit code 4. Returns false. */
bool refusals_add(struct refusals *r, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Says how many lines were left out. */
void refusals_end(const struct refusals *r);

#endif
