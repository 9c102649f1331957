/* SPDX-License-Identifier: MIT */
/* Instructions as bytes. */
#include <string.h>

#include "codegen/unified/unified.h"

const char *const unified_unit_names[UNIFIED_STAGES] = {
#define UNIT(id, name) name,
#include "codegen/unified/isa.def"
};
const char *const unified_opcode_names[UNIFIED_OPCODES] = {
#define OPCODE(id, name, form, unit) name,
#include "codegen/unified/isa.def"
};
static const enum unified_form forms[UNIFIED_OPCODES] = {
#define OPCODE(id, name, form, unit) UNIFIED_FORM_##form,
#include "codegen/unified/isa.def"
};
static const enum unified_unit units[UNIFIED_OPCODES] = {
#define OPCODE(id, name, form, unit) UNIFIED_STAGE_##unit,
#include "codegen/unified/isa.def"
};

enum { WORD = 64 };

/* bits that count up to depth - 1 */
static int bits_of(int64_t depth)
{
        int bits = 0;
        while ((INT64_C(1) << bits) < depth)
                bits++;
        return bits;
}

/* ---- fields ---- */

const struct unified_field *unified_fields(void)
{
        static struct unified_field fields[UNIFIED_FIELDS];
        if (fields[0].width)
                return fields;
        const struct unified_field rows[UNIFIED_FIELDS] = {
#define INDEX(M) bits_of(unified_depth(UNIFIED_##M))
#define FIELD(form, id, word, width, sign) { #id, word, UNIFIED_FORM_##form, sign, offsetof(struct unified_instruction, id), 0, width },
#include "codegen/unified/isa.def"
        };
        int end[UNIFIED_FORMS];
        for (int k = 0; k < UNIFIED_FORMS; k++)
                end[k] = rows[0].width;         /* behind the opcode */
        memcpy(fields, rows, sizeof rows);
        for (int k = 1; k < UNIFIED_FIELDS; k++) {
                int *at = &end[fields[k].form];
                if (*at / WORD != (*at + fields[k].width - 1) / WORD)
                        *at += WORD - *at % WORD;
                fields[k].bit = *at;
                *at += fields[k].width;
        }
        return fields;
}

enum unified_form unified_form_of(int64_t opcode) { return forms[opcode]; }

enum unified_unit unified_unit_of(const struct unified_instruction *i)
{
        return i->opcode == UNIFIED_SYNC_CODE ? (enum unified_unit)i->unit : units[i->opcode];
}

const struct unified_field *unified_misfit(struct unified_instruction i)
{
        const struct unified_field *fields = unified_fields();
        for (int k = 0; k < UNIFIED_FIELDS; k++) {
                const struct unified_field *f = &fields[k];
                const int64_t most = (INT64_C(1) << (f->width - f->sign)) - 1, number = *unified_at(&i, f);
                if (unified_has(i.opcode, f) && (number > most || number < (f->sign ? -most - 1 : 0)))
                        return f;
        }
        return NULL;
}

/* ---- bytes ---- */

void unified_encode(struct unified_instruction i, unsigned char bytes[UNIFIED_BYTES])
{
        const struct unified_field *fields = unified_fields();
        uint64_t words[UNIFIED_WORDS] = { 0 };
        for (int k = 0; k < UNIFIED_FIELDS; k++) {
                const struct unified_field *f = &fields[k];
                if (unified_has(i.opcode, f))
                        words[f->bit / WORD] |= ((uint64_t)*unified_at(&i, f) & ((UINT64_C(1) << f->width) - 1)) << f->bit % WORD;
        }
        for (int k = 0; k < UNIFIED_BYTES; k++)
                bytes[k] = (unsigned char)(words[k / 8] >> 8 * (k % 8));
}

bool unified_decode(const unsigned char bytes[UNIFIED_BYTES], struct unified_instruction *i)
{
        const struct unified_field *fields = unified_fields();
        unsigned char again[UNIFIED_BYTES];
        *i = (struct unified_instruction){ .opcode = bytes[0] & ((1 << fields[0].width) - 1) };
        if (i->opcode >= UNIFIED_OPCODES) {
                i->opcode = 0;
                return false;
        }
        for (int k = 1; k < UNIFIED_FIELDS; k++) {
                const struct unified_field *f = &fields[k];
                if (!unified_has(i->opcode, f))
                        continue;
                const uint64_t bits = vta_number(bytes + f->bit / WORD * 8, 8) >> f->bit % WORD & ((UINT64_C(1) << f->width) - 1);
                *unified_at(i, f) = (int64_t)bits - (f->sign && bits >> (f->width - 1) ? INT64_C(1) << f->width : 0);
        }
        unified_encode(*i, again);
        if (!memcmp(again, bytes, UNIFIED_BYTES))
                return true;
        *i = (struct unified_instruction){ 0 };
        return false;
}
