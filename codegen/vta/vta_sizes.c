/* SPDX-License-Identifier: MIT */
/* A VTA has sizes by name, in text, and as exchange files have them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/suggest.h"
#include "base/text.h"
#include "codegen/vta/vta.h"

enum { LOG_MOST = 30, ADDRESSABLE = 65536 };

const char *vta_fits(struct isa *isa)
{
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (isa->depth[k] > ADDRESSABLE || isa->bytes[k] > ADDRESSABLE)
                        return "a memory is larger than an instruction can address";
        isa->depth[VTA_ACC8] = isa->depth[VTA_ACC];
        isa->bytes[VTA_ACC8] = isa->bytes[VTA_OUT];
        return isa->depth[VTA_OUT] < isa->depth[VTA_ACC] ? "OUT has fewer elements than ACC" : NULL;
}

/* ---- sizes by name ---- */

/* Sets the extents of elements, which follow from batch and blocks. */
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
                { "batch", &m->batch, NULL }, { "block_in", &m->block_in, NULL },
                { "block_out", &m->block_out, NULL },
                { "block", &m->block_in, &m->block_out } };
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
                if (strlen(numbers[k].name) == length && !strncmp(numbers[k].name, name, length)) {
                        *numbers[k].first = (int)value;
                        if (numbers[k].second)
                                *numbers[k].second = (int)value;
                        return true;
                }
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (strlen(m->memories[k].name) == length &&
                    !strncmp(m->memories[k].name, name, length)) {
                        m->memories[k].bytes = value;
                        return true;
                }
        return false;
}

bool vta_resize(struct machine *m, const char *sizes, struct arena *arena, struct diag *diag)
{
        for (const char *p = sizes; *p;) {
                size_t length = strcspn(p, ","), name = strcspn(p, "=,");
                uint64_t value = 0;
                bool number = p[name] == '=' &&
                              size_parse(arena_printf(arena, "%.*s", (int)(length - name - 1),
                                                      p + name + 1),
                                         &value);
                if (!number || !value || value > UINT64_C(1) << LOG_MOST || (value & (value - 1))) {
                        diag_error(diag, EXIT_USAGE,
                                   "sizes of the machine are NAME=N,.. with powers of two, such as "
                                   "inp=16K,block=32, not '%s'",
                                   text_argument_part(arena, p, length));
                        return false;
                }
                if (!set_size(m, p, name, (int64_t)value)) {
                        struct suggest known = suggest_new(arena, p, name);
                        static const char *const numbers[] =
                                { "batch", "block", "block_in", "block_out" };
                        for (int k = 0; k < 4; k++)
                                suggest_add(&known, numbers[k]);
                        for (int k = 0; k < MACHINE_MEMORIES; k++)
                                suggest_add(&known, m->memories[k].name);
                        diag_error(diag, EXIT_USAGE, "the machine has no size called '%s'%s",
                                   text_argument_part(arena, p, name), suggest_text(&known, true));
                        return false;
                }
                p += length + (p[length] == ',');
        }
        set_elements(m);
        return true;
}

void vta_sizes(const struct machine *m, char text[ISA_SIZES_TEXT])
{
        const struct machine *usual = &machine_vta;
        const struct { const char *name; int value, usual; } numbers[] = {
                { "batch", m->batch, usual->batch }, { "block_in", m->block_in, usual->block_in },
                { "block_out", m->block_out, usual->block_out } };
        int used = 0;
        *text = 0;
        for (int k = 0; k < 3; k++)
                if (numbers[k].value != numbers[k].usual)
                        used += snprintf(text + used, (size_t)(ISA_SIZES_TEXT - used), ",%s=%d",
                                         numbers[k].name, numbers[k].value);
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                if (m->memories[k].bytes != usual->memories[k].bytes)
                        used += snprintf(text + used, (size_t)(ISA_SIZES_TEXT - used),
                                         ",%s=%" PRId64, m->memories[k].name, m->memories[k].bytes);
        if (used)
                memmove(text, text + 1, (size_t)used);
}

void vta_configuration(const struct isa *isa, unsigned char bytes[ISA_MEMORY_SIZES])
{
        static const int memories[ISA_MEMORY_SIZES] = { VTA_UOP, VTA_INP, VTA_WGT, VTA_ACC,
                                                        VTA_OUT };
        for (int n = 0; n < ISA_MEMORY_SIZES; n++)
                bytes[n] = (unsigned char)isa_log2(isa->machine.memories[memories[n]].bytes);
}
