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

static const int form_after[UNIFIED_FORMS] = {
#define FORM(id) UNIFIED_FORM_HEAD,
#include "codegen/unified/isa.def"
};

/* bits that count up to depth - 1 */
static int bits_of(int64_t depth)
{
        int bits = 0;
        while ((INT64_C(1) << bits) < depth)
                bits++;
        return bits;
}

/* ---- fields ---- */

const struct code_field *unified_fields(void)
{
        static struct code_field fields[UNIFIED_FIELDS];
        if (fields[0].width)
                return fields;
        const struct code_field rows[UNIFIED_FIELDS] = {
#define INDEX(M) bits_of(unified_depth(UNIFIED_##M))
#define FIELD(form, id, word, width, sign) { #id, word, UNIFIED_FORM_##form, sign, offsetof(struct unified_instruction, id), 0, width },
#include "codegen/unified/isa.def"
        };
        int ends[UNIFIED_FORMS] = { 0 };
        memcpy(fields, rows, sizeof rows);
        code_place(fields, UNIFIED_FIELDS, form_after, ends);
        return fields;
}

enum unified_form unified_form_of(int64_t opcode) { return forms[opcode]; }

enum unified_unit unified_unit_of(const struct unified_instruction *i)
{
        return i->opcode == UNIFIED_SYNC_CODE ? (enum unified_unit)i->unit : units[i->opcode];
}

static struct code_layout layout(void)
{
        return (struct code_layout){ unified_fields(), UNIFIED_FIELDS, form_after,
                                     sizeof(struct unified_instruction) };
}

const struct code_field *unified_misfit(struct unified_instruction i)
{
        const struct code_layout all = layout();
        return code_misfit(&all, &i, (int)forms[i.opcode]);
}

void unified_encode(struct unified_instruction i, unsigned char bytes[UNIFIED_BYTES])
{
        const struct code_layout all = layout();
        code_encode(&all, &i, (int)forms[i.opcode], bytes, UNIFIED_BYTES);
}

bool unified_decode(const unsigned char bytes[UNIFIED_BYTES], struct unified_instruction *i)
{
        const struct code_layout all = layout();
        const int64_t opcode = code_number(&all.fields[UNIFIED_FIELD_opcode], bytes, UNIFIED_BYTES);
        if (opcode < UNIFIED_OPCODES &&
            code_decode(&all, bytes, UNIFIED_BYTES, (int)forms[opcode], i))
                return true;
        *i = (struct unified_instruction){ 0 };
        return false;
}
