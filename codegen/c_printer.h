/* SPDX-License-Identifier: MIT */
/* This is the printer of C99, for compilers and machines of all kinds; docs/interface.md is its
 * contract. */
#ifndef CODEGEN_C_PRINTER_H
#define CODEGEN_C_PRINTER_H

#include "codegen/printer.h"

extern const struct printer c_printer;

/* Code in another language than C that is called as the C would be has the same header, and the
 * same weights beside it. This is what such code has to know of them. */
struct c_interface {
        uint64_t head[8];               /* The file of the weights begins with these words. */
        /* These constants lie there, each so many bytes from its start; others are in the code. */
        struct c_weight_place { const struct loop_buffer *buffer; size_t offset; } *weights;
        int weight_count;
        uint64_t state_mark;            /* A state of this build begins with this word. */
};
/* Returns an extent of a port as text, a number or a term over the names of extents, in the
 * arena. */
const char *c_extent_of_port(struct arena *arena, const struct loop_buffer *port, int dim);
/* Prints the header, which may be NULL, and the weights where they have a file of their own, in
 * which *interface is then described, in the arena. Returns false after an error. */
bool c_interface_print(FILE *header, const struct loop_program *p,
                       const struct print_options *options, struct arena *arena,
                       struct c_interface *interface, struct diag *diag);

#endif
