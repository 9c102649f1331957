/* SPDX-License-Identifier: MIT */
/* Instructions and micro-ops as bytes. */
#include <string.h>

#include "codegen/vta/vta.h"

static const enum vta_form forms[VTA_OPCODES] = {
#define OPCODE(id, name, form) VTA_FORM_##form,
#include "codegen/vta/isa.def"
};
const enum vta_form vta_form_after[VTA_FORMS] = {
#define FORM(id, after) VTA_FORM_##after,
#include "codegen/vta/isa.def"
};

enum vta_form vta_form_of(int64_t opcode) { return forms[opcode]; }

bool vta_form_has(enum vta_form form, enum vta_form part)
{
        while (form != part && vta_form_after[form] != form)
                form = vta_form_after[form];
        return form == part;
}

static int64_t number_of(const struct vta_instruction *i, const struct vta_field *f)
{
        return *(const int64_t *)(const void *)((const char *)i + f->offset);
}

const struct vta_field *vta_misfit(const struct vta *v, const struct vta_instruction *i, enum vta_form form)
{
        for (int n = 0; n < VTA_FIELDS; n++) {
                const struct vta_field *f = &v->fields[n];
                int64_t number = number_of(i, f), most = (INT64_C(1) << (f->width - f->sign)) - 1;
                if (vta_form_has(form, f->form) && (number > most || number < (f->sign ? -most - 1 : 0)))
                        return f;
        }
        return NULL;
}

/* ---- bits ---- */

struct words { uint64_t word[2]; };

/* no field crosses the middle */
static void put(struct words *w, const struct vta_field *f, int64_t number)
{
        w->word[f->bit / 64] |= ((uint64_t)number & ((UINT64_C(1) << f->width) - 1)) << f->bit % 64;
}

static int64_t get(const struct words *w, const struct vta_field *f)
{
        uint64_t bits = w->word[f->bit / 64] >> f->bit % 64 & ((UINT64_C(1) << f->width) - 1);
        bool negative = f->sign && bits >> (f->width - 1);
        return (int64_t)bits - (negative ? INT64_C(1) << f->width : 0);
}

static struct words encode(const struct vta *v, const struct vta_instruction *i, enum vta_form form)
{
        struct words w = { { 0 } };
        for (int n = 0; n < VTA_FIELDS; n++)
                if (vta_form_has(form, v->fields[n].form))
                        put(&w, &v->fields[n], number_of(i, &v->fields[n]));
        return w;
}

/* false: bits are set that no field has */
static bool decode(const struct vta *v, const struct words *w, enum vta_form form, struct vta_instruction *i)
{
        *i = (struct vta_instruction){ 0 };
        for (int n = 0; n < VTA_FIELDS; n++)
                if (vta_form_has(form, v->fields[n].form))
                        *vta_at(i, &v->fields[n]) = get(w, &v->fields[n]);
        struct words known = encode(v, i, form);
        return !memcmp(&known, w, sizeof known);
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
        struct words w = encode(v, i, forms[i->opcode]);
        for (int k = 0; k < VTA_BYTES; k++)
                bytes[k] = (unsigned char)(w.word[k / 8] >> 8 * (k % 8));
}

const char *vta_decode(const struct vta *v, const unsigned char bytes[VTA_BYTES], struct vta_instruction *i)
{
        struct words w = { { vta_number(bytes, 8), vta_number(bytes + 8, 8) } };
        int64_t opcode = get(&w, &v->fields[VTA_FIELD_opcode]);
        const char *why = NULL;
        if (opcode >= VTA_OPCODES)
                why = "there is no such opcode";
        else if (!decode(v, &w, forms[opcode], i))
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
        return (uint32_t)encode(v, i, VTA_FORM_MICRO_OP).word[0];
}

bool vta_decode_micro_op(const struct vta *v, uint32_t word, struct vta_instruction *i)
{
        return decode(v, &(struct words){ { word } }, VTA_FORM_MICRO_OP, i);
}
