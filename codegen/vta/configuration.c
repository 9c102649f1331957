/* SPDX-License-Identifier: MIT */
/* Sizes of a machine, and what follows: depths, and where fields lie. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"
#include "codegen/vta/vta.h"

const char *const vta_stage_names[VTA_STAGES] = {
#define STAGE(id, name) name,
#include "codegen/vta/isa.def"
};
const char *const vta_memory_names[VTA_MEMORIES] = {
#define MEMORY(id, name, stage, of) name,
#include "codegen/vta/isa.def"
};
const char *const vta_opcode_names[VTA_OPCODES] = {
#define OPCODE(id, name, form) name,
#include "codegen/vta/isa.def"
};
const char *const vta_operation_names[VTA_OPERATIONS] = {
#define OPERATION(id, name) name,
#include "codegen/vta/isa.def"
};

enum { LOG_MOST = 30, MICRO_OP_BITS = 32, INSTRUCTION_BITS = 128 };

/* of a power of two */
static int log2_of(int64_t n)
{
        int log = 0;
        while (n > 1)
                n >>= 1, log++;
        return log;
}

/* ---- fields ---- */

static void name_fields(struct vta *v)
{
        const struct code_field fields[VTA_FIELDS] = {
#define INDEX(M) log2_of(v->depth[VTA_##M])
#define COUNT(M) (INDEX(M) + 1)
#define FIELD(form, id, word, width, sign) { #id, word, VTA_FORM_##form, sign, offsetof(struct vta_instruction, id), 0, width },
#include "codegen/vta/isa.def"
        };
        memcpy(v->fields, fields, sizeof fields);
}

/* rows of a form stand together, and behind those of the form that it goes on from */
static bool place_fields(struct vta *v)
{
        int ends[VTA_FORMS] = { 0 };
        bool fits = true;
        code_place(v->fields, VTA_FIELDS, vta_form_after, ends);
        for (int k = 0; k < VTA_FORMS; k++)
                fits &= ends[k] <= (k == VTA_FORM_MICRO_OP ? MICRO_OP_BITS : INSTRUCTION_BITS);
        return fits;
}

const char *vta_begin(struct vta *v, const struct machine *machine)
{
        *v = (struct vta){ .machine = *machine };
        for (int k = 0; k < MACHINE_MEMORIES; k++) {
                const struct machine_memory *m = &machine->memories[k];
                if (m->bytes < 2 * machine_element_bytes(m))
                        return "a memory holds less than two elements";
                v->depth[k] = machine_depth(m);
                v->bytes[k] = machine_element_bytes(m);
                if (v->depth[k] > 65536 || v->bytes[k] > 65536)
                        return "a memory is larger than an instruction can address";
        }
        v->depth[VTA_ACC8] = v->depth[VTA_ACC];
        v->bytes[VTA_ACC8] = v->bytes[VTA_OUT];
        if (v->depth[VTA_OUT] < v->depth[VTA_ACC])
                return "OUT has fewer elements than ACC";
        name_fields(v);
        return place_fields(v) ? NULL : "the fields of an instruction do not fit into 128 bits, or those of a micro-op not into 32";
}

/* ---- sizes by name ---- */

/* elements follow from batch and blocks */
static void set_elements(struct machine *m)
{
        struct machine_memory *k = m->memories;
        k[VTA_INP].rows = k[VTA_ACC].rows = k[VTA_OUT].rows = m->batch;
        k[VTA_WGT].rows = k[VTA_ACC].columns = k[VTA_OUT].columns = m->block_out;
        k[VTA_INP].columns = k[VTA_WGT].columns = m->block_in;
}

static bool set_size(struct machine *m, const char *name, size_t length, int64_t value)
{
        struct { const char *name; int *first, *second; } numbers[] = {
                { "batch", &m->batch, NULL }, { "block_in", &m->block_in, NULL }, { "block_out", &m->block_out, NULL },
                { "block", &m->block_in, &m->block_out } };
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
                if (strlen(numbers[k].name) == length && !strncmp(numbers[k].name, name, length)) {
                        *numbers[k].first = (int)value;
                        if (numbers[k].second)
                                *numbers[k].second = (int)value;
                        return true;
                }
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (strlen(m->memories[k].name) == length && !strncmp(m->memories[k].name, name, length)) {
                        m->memories[k].bytes = value;
                        return true;
                }
        return false;
}

static bool read_sizes(struct machine *m, const char *sizes, struct arena *arena, struct diag *diag)
{
        for (const char *p = sizes; *p;) {
                size_t length = strcspn(p, ","), name = strcspn(p, "=,");
                uint64_t value = 0;
                bool number = p[name] == '=' && size_parse(arena_printf(arena, "%.*s", (int)(length - name - 1), p + name + 1), &value);
                if (!number || !value || value > UINT64_C(1) << LOG_MOST || (value & (value - 1))) {
                        diag_error(diag, EXIT_USAGE, "sizes of the machine are NAME=N,.. with powers of two, such as inp=16K,block=32, not '%s'",
                                   text_argument_part(arena, p, length));
                        return false;
                }
                if (!set_size(m, p, name, (int64_t)value)) {
                        struct suggest known = suggest_new(arena, p, name);
                        static const char *const numbers[] = { "batch", "block", "block_in", "block_out" };
                        for (int k = 0; k < 4; k++)
                                suggest_add(&known, numbers[k]);
                        for (int k = 0; k < MACHINE_MEMORIES; k++)
                                suggest_add(&known, m->memories[k].name);
                        diag_error(diag, EXIT_USAGE, "the machine has no size called '%s'%s", text_argument_part(arena, p, name),
                                   suggest_text(&known, true));
                        return false;
                }
                p += length + (p[length] == ',');
        }
        set_elements(m);
        return true;
}

bool vta_begin_sizes(struct vta *v, const char *sizes, struct diag *diag)
{
        struct arena *arena = arena_new();
        struct machine machine = machine_vta;
        bool fine = read_sizes(&machine, sizes, arena, diag);
        const char *why = fine ? vta_begin(v, &machine) : NULL;
        if (why)
                diag_error(diag, EXIT_USAGE, "no machine has such sizes, %s: %s", text_argument(arena, sizes), why);
        arena_free(arena);
        return fine && !why;
}

const struct machine *vta_machine_sized(struct arena *arena, const char *sizes, struct diag *diag)
{
        struct vta v;
        if (!vta_begin_sizes(&v, sizes, diag))
                return NULL;
        struct machine *m = arena_copy(arena, &v.machine, sizeof v.machine);
        if (v.depth[VTA_UOP] < m->limits.list)
                m->limits.list = v.depth[VTA_UOP];
        return m;
}

void vta_sizes(const struct vta *v, char text[VTA_SIZES_TEXT])
{
        const struct machine *m = &v->machine, *usual = &machine_vta;
        const struct { const char *name; int value, usual; } numbers[] = {
                { "batch", m->batch, usual->batch }, { "block_in", m->block_in, usual->block_in },
                { "block_out", m->block_out, usual->block_out } };
        int used = 0;
        *text = 0;
        for (int k = 0; k < 3; k++)
                if (numbers[k].value != numbers[k].usual)
                        used += snprintf(text + used, (size_t)(VTA_SIZES_TEXT - used), ",%s=%d", numbers[k].name, numbers[k].value);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (m->memories[k].bytes != usual->memories[k].bytes)
                        used += snprintf(text + used, (size_t)(VTA_SIZES_TEXT - used), ",%s=%" PRId64, m->memories[k].name, m->memories[k].bytes);
        if (used)
                memmove(text, text + 1, (size_t)used);
}

void vta_configuration(const struct vta *v, unsigned char bytes[VTA_CONFIGURATION])
{
        const struct machine *m = &v->machine;
        const struct machine_memory *k = m->memories;
        const int64_t numbers[VTA_CONFIGURATION] = { k[VTA_INP].bits,  k[VTA_WGT].bits,  k[VTA_ACC].bits,  k[VTA_OUT].bits,
                                                     m->batch,         m->block_in,      m->block_out,     k[VTA_UOP].bytes,
                                                     k[VTA_INP].bytes, k[VTA_WGT].bytes, k[VTA_ACC].bytes, k[VTA_OUT].bytes };
        for (int n = 0; n < VTA_CONFIGURATION; n++)
                bytes[n] = (unsigned char)log2_of(numbers[n]);
}
