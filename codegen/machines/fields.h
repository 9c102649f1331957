/* SPDX-License-Identifier: MIT */
/* A table of fields describes instructions as bits. A machine's struct of an instruction has an
 * int64_t for each field, in the table's order, the first of them the opcode; an instruction has
 * the fields of its form and of the forms that its form continues. No field crosses a multiple of
 * 64 bits: one that would cross it begins there. */
#ifndef CODEGEN_MACHINES_FIELDS_H
#define CODEGEN_MACHINES_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_field {
        /* The field has this name in isa.def, and this word in text; "": it is part of the
         * instruction's name, or not printed. */
        const char *name, *word;
        int form;                       /* This is a value of the machine's enum of forms. */
        bool sign;
        int width;                      /* The field has this many bits; 0: as many as can count the
                                         * elements of a memory. */
        int counts, more;               /* That memory, +1; `more` 1: the field counts up to one
                                         * more than the last index. */
        bool size;                      /* The number is 1 or more. */
        bool address;                   /* In text the number is an address in bytes; in the
                                         * instruction it counts elements of what is moved. */
        const char *const *names;       /* Its numbers have these names in text; NULL: they have
                                         * none. */
        int name_count;
        int where;                      /* The field of one bit with this number, +1, says whether
                                         * this field's word is printed. */
        int bit;                        /* The field's first bit, once the fields are placed. */
};

/* Places fields of known widths one after the other, and adds the number of bits up to the end of
 * each form to `ends`, which begins as zeros. */
void code_place(struct code_field *fields, int count, const int *after, int *ends);
/* Does `form` contain the fields of `part`? */
bool code_form_has(const int *after, int form, int part);
/* Returns the number that a field has in `bytes` bytes, little endian. */
int64_t code_number(const struct code_field *f, const unsigned char *from, int bytes);
/* Returns the number that `count` bytes are, little endian. */
uint64_t code_word(const unsigned char *bytes, int count);

#endif
