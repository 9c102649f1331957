/* SPDX-License-Identifier: MIT */
/* --batch does the commands in a file, a line each (batch.c); batch_list.c has the file's form. */
#ifndef COMPILER_BATCH_H
#define COMPILER_BATCH_H

#include "compiler/driver.h"

/* Does --batch of this command line. Returns false after an error, and where a line failed, whose
 * exit code is then the run's. */
bool batch(struct run *run, int argc, char **argv);

/* ---- batch_list.c ---- */

struct batch_word { const char *text; int column; };      /* Columns count bytes from 1 on. */
struct batch_line { int number; struct batch_word *words; int count; };
struct batch_list { const char *name; struct batch_line *lines; int count; };

/* Reads a list, and checks that the options of each line are some, behind these words in front of
 * them. Returns false after errors, each with its line and column. */
bool batch_list_read(struct run *run, const char *path, char **front, int front_count,
                     struct batch_list *list);
/* Returns the arguments of a line, argv[0] and the front included, with a NULL behind them. */
char **batch_arguments(struct arena *arena, const struct batch_line *line, char **front,
                       int front_count, int *argc);

#endif
