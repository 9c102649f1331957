/* SPDX-License-Identifier: MIT */
/* The loss of --loss. */
#ifndef COMPILER_LOSS_H
#define COMPILER_LOSS_H

#include "compiler/driver.h"

struct training_loss {
        struct value *value;            /* One number, a float. */
        const char *name;
        int output;                     /* It is this output of the function; -1: it is none. */
};
/* Finds the loss of f, or adds it, with labels as one more input of f. Returns false after an
 * error. */
bool loss_find(struct run *run, struct function *f, struct training_loss *loss);

#endif
