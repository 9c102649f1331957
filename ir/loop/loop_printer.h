/* SPDX-License-Identifier: MIT */
/* This header is the inside of the printer of Loop IR: loop_print_expr.c,
 * loop_print.c, loop_print_program.c. */
#ifndef IR_LOOP_LOOP_PRINTER_H
#define IR_LOOP_LOOP_PRINTER_H

#include "ir/loop/loop_parser.h"

struct loop_printer {
        struct text *out;
        struct arena *numbers;          /* text_number makes the arena when it needs one. */
        struct loop_type fallback;      /* The reader has the same fallback. */
        const struct machine *machine;  /* The stream that is printed is for this machine. */
        const struct loop_program *program;       /* This program is printed; NULL: a function
                                                   * is. */
        const struct loop_entry *entry; /* The main of this entry is printed with its name; NULL:
                                         * none is. */
        size_t file_offset;             /* The next constant has this offset in the file beside the
                                         * text. */
};

void print_type(struct loop_printer *p, struct loop_type type);
void print_number(struct loop_printer *p, enum element e, union scalar value);
/* known: the reader knows the type needed where e stands. */
void print_expression(struct loop_printer *p, const struct loop_expr *e, bool known);
/* Prints " in [1, 512]" behind a parameter that has bounds. */
void print_bounds(struct loop_printer *p, const struct loop_variable *v);
void print_function(struct loop_printer *p, const struct loop_function *f);

#endif
