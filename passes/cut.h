/* SPDX-License-Identifier: MIT */
/* Cuts kernels, so that they can stop and go on (ir/loop/loop_record.h). */
#ifndef PASSES_CUT_H
#define PASSES_CUT_H

#include "ir/loop/loop.h"

struct cut {
        int words;                      /* The kernel takes so many words of the record; 0: it
                                         * stays as it is. */
        double most;                    /* This is the largest work between two places where it can
                                         * stop, in products. */
};

/* Cuts the kernel **at of the program's list where parts of it are more work than `goal`; it then
 * has one more parameter, the record's words, and loops that are functions of their own stand
 * before it. *at goes on being where the kernel stands. */
struct cut cut_kernel(struct loop_program *p, struct loop_function ***at, double goal);

#endif
