/* SPDX-License-Identifier: MIT */
#include "codegen/vta/fields.h"

#include <string.h>

enum { WORD = 64, BYTES_MOST = 64 };

void code_place(struct code_field *fields, int count, const int *after, int *ends)
{
        for (int k = 0; k < count; k++) {
                struct code_field *f = &fields[k];
                int *at = &ends[f->form];
                if (!*at && after[f->form] != f->form)
                        *at = ends[after[f->form]];
                if (f->width && *at / WORD != (*at + f->width - 1) / WORD)
                        *at += WORD - *at % WORD;
                f->bit = *at;
                *at += f->width;
        }
}

bool code_form_has(const int *after, int form, int part)
{
        while (form != part && after[form] != form)
                form = after[form];
        return form == part;
}

static int64_t number_of(const void *instruction, const struct code_field *f)
{
        return *(const int64_t *)(const void *)((const char *)instruction + f->offset);
}

const struct code_field *code_misfit(const struct code_layout *layout, const void *instruction,
                                     int form)
{
        for (int k = 0; k < layout->count; k++) {
                const struct code_field *f = &layout->fields[k];
                const int64_t number = number_of(instruction, f),
                              most = (INT64_C(1) << (f->width - f->sign)) - 1;
                if (code_form_has(layout->after, form, f->form) &&
                    (number > most || number < (f->sign ? -most - 1 : 0)))
                        return f;
        }
        return NULL;
}

void code_encode(const struct code_layout *layout, const void *instruction, int form,
                 unsigned char *to, int bytes)
{
        uint64_t words[BYTES_MOST / 8] = { 0 };
        for (int k = 0; k < layout->count; k++) {
                const struct code_field *f = &layout->fields[k];
                if (code_form_has(layout->after, form, f->form))
                        words[f->bit / WORD] |= ((uint64_t)number_of(instruction, f) &
                                                 ((UINT64_C(1) << f->width) - 1))
                                                << f->bit % WORD;
        }
        for (int k = 0; k < bytes; k++)
                to[k] = (unsigned char)(words[k / 8] >> 8 * (k % 8));
}

int64_t code_number(const struct code_field *f, const unsigned char *from, int bytes)
{
        uint64_t word = 0;
        for (int first = f->bit / WORD * 8, k = first + 8 < bytes ? first + 8 : bytes; k-- > first;)
                word = word << 8 | from[k];
        const uint64_t bits = word >> f->bit % WORD & ((UINT64_C(1) << f->width) - 1);
        const bool negative = f->sign && bits >> (f->width - 1);
        return (int64_t)bits - (negative ? INT64_C(1) << f->width : 0);
}

bool code_decode(const struct code_layout *layout, const unsigned char *from, int bytes, int form,
                 void *instruction)
{
        unsigned char again[BYTES_MOST];
        memset(instruction, 0, layout->size);
        for (int k = 0; k < layout->count; k++)
                if (code_form_has(layout->after, form, layout->fields[k].form))
                        *code_at(instruction, &layout->fields[k]) =
                                code_number(&layout->fields[k], from, bytes);
        code_encode(layout, instruction, form, again, bytes);
        return !memcmp(again, from, (size_t)bytes);
}
