/* SPDX-License-Identifier: MIT */
/* Instructions of a machine as bits, by a table of fields: what codecs of machines share (instruction.c here and of codegen/unified).
 * A struct of the machine's has an int64_t for each field; of these an instruction has the fields of its form and of the forms that it
 * goes on from, in the table's order. No field crosses a multiple of 64 bits: one that would begins there. */
#ifndef CODEGEN_VTA_FIELDS_H
#define CODEGEN_VTA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_field {
        const char *name, *word;        /* as isa.def has it; in text */
        int form;                       /* an enum of the machine's */
        bool sign;
        size_t offset;                  /* in the machine's struct of an instruction */
        int bit, width;
};
struct code_layout {
        const struct code_field *fields;
        int count;
        const int *after;               /* of each form, the one that it goes on from; itself: none */
        size_t size;                    /* of the struct, in bytes */
};

/* Puts fields of known widths behind each other; the number of bits up to the end of each form is added to `ends`, of zeros. */
void code_place(struct code_field *fields, int count, const int *after, int *ends);
/* fields of `part` are among those of `form` */
bool code_form_has(const int *after, int form, int part);
/* the number that an instruction has there */
static inline int64_t *code_at(void *instruction, const struct code_field *f)
{
        return (int64_t *)(void *)((char *)instruction + f->offset);
}
/* The first field whose number does not fit; NULL: all do. */
const struct code_field *code_misfit(const struct code_layout *layout, const void *instruction, int form);
/* `bytes` bytes, little endian, a multiple of 4 */
void code_encode(const struct code_layout *layout, const void *instruction, int form, unsigned char *to, int bytes);
/* what a field has in such bytes */
int64_t code_number(const struct code_field *f, const unsigned char *from, int bytes);
/* False: bits are set that no field of the form has. Numbers of other fields are 0. */
bool code_decode(const struct code_layout *layout, const unsigned char *from, int bytes, int form, void *instruction);

#endif
