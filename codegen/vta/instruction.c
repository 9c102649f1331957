/* SPDX-License-Identifier: MIT */
/* Instructions and micro-ops as bytes. */
#include "codegen/vta/vta.h"

static const enum vta_form forms[VTA_OPCODES] = {
#define OPCODE(id, name, form) VTA_FORM_##form,
#include "codegen/vta/isa.def"
};
const int vta_form_after[VTA_FORMS] = {
#define FORM(id, after) VTA_FORM_##after,
#include "codegen/vta/isa.def"
};

enum vta_form vta_form_of(int64_t opcode) { return forms[opcode]; }

static struct code_layout layout_of(const struct vta *v)
{
        return (struct code_layout){ v->fields, VTA_FIELDS, vta_form_after,
                                     sizeof(struct vta_instruction) };
}

const struct code_field *vta_misfit(const struct vta *v, const struct vta_instruction *i,
                                    enum vta_form form)
{
        const struct code_layout layout = layout_of(v);
        return code_misfit(&layout, i, (int)form);
}

/* ---- bytes ---- */

uint64_t vta_number(const unsigned char *bytes, int count)
{
        uint64_t number = 0;
        for (int k = count; k-- > 0;)
                number = number << 8 | bytes[k];
        return number;
}

void vta_encode(const struct vta *v, const struct vta_instruction *i, unsigned char bytes[VTA_BYTES])
{
        const struct code_layout layout = layout_of(v);
        code_encode(&layout, i, (int)forms[i->opcode], bytes, VTA_BYTES);
}

const char *vta_decode(const struct vta *v, const unsigned char bytes[VTA_BYTES], struct vta_instruction *i)
{
        const struct code_layout layout = layout_of(v);
        int64_t opcode = code_number(&v->fields[VTA_FIELD_opcode], bytes, VTA_BYTES);
        const char *why = NULL;
        if (opcode >= VTA_OPCODES)
                why = "there is no such opcode";
        else if (!code_decode(&layout, bytes, VTA_BYTES, (int)forms[opcode], i))
                why = "bits are set that are no field's";
        else if (forms[opcode] == VTA_FORM_MOVE && i->memory >= VTA_MEMORIES)
                why = "there is no such memory";
        else if (forms[opcode] == VTA_FORM_COMBINE && i->operation >= VTA_OPERATIONS)
                why = "there is no such operation";
        if (why)
                *i = (struct vta_instruction){ 0 };
        return why;
}

uint32_t vta_encode_micro_op(const struct vta *v, const struct vta_instruction *i)
{
        const struct code_layout layout = layout_of(v);
        unsigned char bytes[VTA_MICRO_OP_BYTES];
        code_encode(&layout, i, VTA_FORM_MICRO_OP, bytes, VTA_MICRO_OP_BYTES);
        return (uint32_t)vta_number(bytes, VTA_MICRO_OP_BYTES);
}

bool vta_decode_micro_op(const struct vta *v, uint32_t word, struct vta_instruction *i)
{
        const struct code_layout layout = layout_of(v);
        unsigned char bytes[VTA_MICRO_OP_BYTES];
        for (int k = 0; k < VTA_MICRO_OP_BYTES; k++)
                bytes[k] = (unsigned char)(word >> 8 * k);
        return code_decode(&layout, bytes, VTA_MICRO_OP_BYTES, VTA_FORM_MICRO_OP, i);
}
