/* SPDX-License-Identifier: MIT */
/* Work that takes long says on standard error how far it has come. On a terminal it is one line,
 * written anew in place, never wider than the terminal, and gone at the end:
 *
 *     tune: 7 of 24 moves, 3 kept, 0.941 of the time, 2 min 10 s left
 *
 * Elsewhere the same is a plain line every ten seconds. What is done in less than a second says
 * nothing; -q says nothing at all. A timer draws (SIGALRM), so that a worker needs only to say what
 * has changed; diag_error and those beside it get the line out of their way. There is one at a
 * time. */
#ifndef COMPILER_PROGRESS_H
#define COMPILER_PROGRESS_H

#include <stdint.h>

#include "base/diag.h"

void progress_begin(const char *what, const struct diag *diag);
/* Says that so much is done of a total; the text says it in words, without how long the rest will
 * take: that is computed from what was done so far, or told by progress_left. */
void progress_step(int64_t done, int64_t total, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void progress_left(double seconds);
void progress_end(void);

#endif
