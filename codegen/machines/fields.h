/* SPDX-License-Identifier: MIT */
/* Instructions as bits, by a table of fields. A machine's struct of an instruction has an int64_t
 * for each field, in the table's order, the first of them the opcode; of these an instruction has
 * the fields of its form and of the forms that it goes on from. No field crosses a multiple of 64
 * bits: one that would begins there. */
#ifndef CODEGEN_MACHINES_FIELDS_H
#define CODEGEN_MACHINES_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_field {
        const char *name, *word;        /* as isa.def has it; in text, "": part of the instruction's
                                         * name, or nothing */
        int form;                       /* an enum of the machine's */
        bool sign;
        int width;                      /* in bits; 0: as many as count the elements of a memory */
        int counts, more;               /* that memory, +1; from 0, or (1) one more than that */
        bool address;                   /* bytes in text; here elements of what is moved */
        const char *const *names;       /* of its numbers, in text; NULL: they have none */
        int name_count;
        int where;                      /* the number of a field of one bit, +1, which says whether
                                         * its word is there */
        int bit;                        /* where it lies, once it is placed */
};

/* Puts fields of known widths behind each other; the number of bits up to the end of each form is
 * added to `ends`, of zeros. */
void code_place(struct code_field *fields, int count, const int *after, int *ends);
/* fields of `part` are among those of `form` */
bool code_form_has(const int *after, int form, int part);
/* what a field has in bytes, little endian */
int64_t code_number(const struct code_field *f, const unsigned char *from, int bytes);
/* the number that bytes are, little endian */
uint64_t code_word(const unsigned char *bytes, int count);

#endif
