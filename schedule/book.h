/* SPDX-License-Identifier: MIT */
/* A book is a file of schedules: --tune writes it, --schedule=FILE reads it, and anyone may edit
 * it.
 *
 *      dnncc-schedule 1
 *      ; where it was measured, and anything else after a semicolon
 *      convolve_packed <1 x 4 x 58 x 58 x 16 x f32> <2 x 4 x 3 x 3 x 16 x 2 x 16 x f32> channels=64
 *      outputs=64: columns=14 vectors=2
 *
 * A line is an operation (its name, its operands' types, its attributes), a colon, and the schedule
 * that every operation like it gets. */
#ifndef SCHEDULE_BOOK_H
#define SCHEDULE_BOOK_H

#include "base/diag.h"
#include "ir/target/schedule.h"
#include "ir/tensor/tensor.h"

#define SCHEDULE_BOOK_HEAD "dnncc-schedule 1\n"

struct schedule_book;
/* Reads the text of a file, which is as hostile as any input. Returns NULL after one EXIT_INVALID
 * error that names the line. */
struct schedule_book *schedule_book_read(struct arena *arena, const char *text, size_t length,
                                         struct diag *diag);
/* Returns the schedule for operations like op, or NULL. */
const struct schedule *schedule_book_find(const struct schedule_book *book, const struct module *m,
                                          const struct op *op);
/* Has the file lines, none of which matched an operation that was looked up so far? */
bool schedule_book_is_idle(const struct schedule_book *book);
/* Returns the text before the colon, in `arena`. */
const char *schedule_book_key(struct arena *arena, const struct module *m, const struct op *op);

#endif
