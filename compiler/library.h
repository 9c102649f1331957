/* SPDX-License-Identifier: MIT */
/* What the libraries share that hold the compiler, for programs (jit_library.c, cost_library.c).
 *
 * The compiler is not made for several threads, so one model is compiled at a time. Where memory
 * runs out the compiler ends the process: here it leaves library_open. */
#ifndef COMPILER_LIBRARY_H
#define COMPILER_LIBRARY_H

#include "compiler/driver.h"

struct dnncc_error;                     /* It is declared in the headers of the libraries. */

/* A model that a program hands over: a file, or bytes, whose path is "-"; with options up to a
 * NULL, or NULL. */
struct library_model {
        const char *path;
        const void *bytes;
        size_t length;
        const char *const *options;
};

/* Words of the command line that a library adds, lists up to a NULL: in front of the caller's, and
 * those that hold unless the caller says others ("--target=native"). */
struct library_words { const char *const *first, *const *preset; };

/* Compiles the model, then calls finish(run, context), while no other thread compiles. Returns
 * false after an error, which *error says: the run is closed then, else library_close has to
 * follow. */
bool library_open(struct run *run, const struct library_model *model,
                  const struct library_words *words,
                  bool (*finish)(struct run *run, void *context), void *context,
                  struct dnncc_error *error);
/* Calls free_more(context), which may be NULL, and closes the run, while no other thread
 * compiles. */
void library_close(struct run *run, void (*free_more)(void *context), void *context);
/* Says an error; error may be NULL. */
void library_say(struct dnncc_error *error, enum exit_code code, const char *text);

#endif
