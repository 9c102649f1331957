/* SPDX-License-Identifier: MIT */
#include "codegen/machines/fields.h"

enum { WORD = 64 };

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

uint64_t code_word(const unsigned char *bytes, int count)
{
        uint64_t number = 0;
        for (int k = count; k-- > 0;)
                number = number << 8 | bytes[k];
        return number;
}

int64_t code_number(const struct code_field *f, const unsigned char *from, int bytes)
{
        const int first = f->bit / WORD * 8, count = bytes - first < 8 ? bytes - first : 8;
        const uint64_t bits = code_word(from + first, count) >> f->bit % WORD &
                              ((UINT64_C(1) << f->width) - 1);
        const bool negative = f->sign && bits >> (f->width - 1);
        return (int64_t)bits - (negative ? INT64_C(1) << f->width : 0);
}
