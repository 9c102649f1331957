/* SPDX-License-Identifier: MIT */
/* Makes kernels resumable: they can stop and go on (ir/loop/loop_record.h). */
#ifndef PASSES_SUSPEND_H
#define PASSES_SUSPEND_H

#include "ir/loop/loop.h"

struct suspension {
        int words;                      /* The kernel takes so many words of the record; 0: it
                                         * cannot stop, and stays as it is. */
        double most;                    /* This is the largest work between two places where it can
                                         * stop, in products. */
};

/* Lets the kernel **at of the program's list stop where parts of it are more work than `goal`; it
 * then has one more parameter, the record's words, and loops that are functions of their own stand
 * before it. *at goes on being where the kernel stands. */
struct suspension suspend_kernel(struct loop_program *p, struct loop_function ***at, double goal);

#endif
