/* SPDX-License-Identifier: MIT */
/* What C code that drives a VTA consists of: codegen/c_machine.c puts it together. */
#include "codegen/vta/driver.h"

#include <inttypes.h>

#include "base/memory.h"
#include "codegen/vta/cycles.h"
#include "codegen/vta/encode.h"
#include "ir/loop/stream_flat.h"

static bool encode(const struct loop_function *stream, const int64_t *addresses, int64_t lists, struct arena *arena,
                   struct machine_code *code, struct diag *diag)
{
        struct vta v;
        struct vta_code made;
        struct vta_cycles c;
        const char *why = vta_begin(&v, stream->machine);
        if (why)
                diag_error(diag, EXIT_UNSUPPORTED, "machine %s: %s", stream->machine->name, why);
        if (why || !vta_encode_stream(&v, stream, addresses, lists, arena, &made, diag) ||
            !vta_cycles(&v, made.instructions, made.count, &c, NULL, diag))
                return false;
        *code = (struct machine_code){ made.instructions, made.micro_ops, made.count, made.micro_op_count, c.cycles };
        return true;
}

/* of the largest element that transfers move between it and a memory */
static int64_t align_of(const struct loop_function *stream, const struct loop_buffer *parameter)
{
        const struct machine *m = stream->machine;
        int64_t align = 1;
        for (const struct loop_stmt *s = stream->body->first; s; s = s->next) {
                if (s->kind != STMT_TRANSFER || (s->buffer != parameter && s->source != parameter))
                        continue;
                const int memory = loop_transfer_loads(s) ? s->buffer->memory : m->stored;
                const int64_t bytes = machine_element_bytes(&m->memories[memory]);
                align = bytes > align ? bytes : align;
        }
        return align;
}

static int64_t align_most(const struct machine *m)
{
        int64_t align = VTA_ALIGN;
        for (int k = 0; k < MACHINE_MEMORIES; k++) {
                const int64_t bytes = machine_element_bytes(&m->memories[k]);
                align = bytes > align ? bytes : align;
        }
        return align;
}

static void explain(const struct machine *m, const unsigned char *instruction, struct text *out)
{
        struct vta v;
        if (!vta_begin(&v, m))
                vta_assembly_instruction(&v, NULL, instruction, out);
}

/* Addresses stand in one field, in elements of a memory that another one names; of an instruction that moves nothing they stay. */
static const char place_text[] =
        "\n"
        "/* Instructions were compiled for a workspace at address 0 and the program behind it. What moves anything gets\n"
        " * the addresses that both have now. */\n"
        "static void place(uint64_t words[2], uint64_t workspace, uint64_t program)\n"
        "{\n"
        "        static const uint16_t element_bytes[%d] = { ";

static void put_place(const struct machine *m, int64_t workspace_size, struct text *out)
{
        struct vta v;
        if (vta_begin(&v, m))
                return;
        const struct code_field *memory = &v.fields[VTA_FIELD_memory], *at = &v.fields[VTA_FIELD_dram_base],
                               *size = &v.fields[VTA_FIELD_x_size];
        text_add(out, place_text, 1 << memory->width);
        for (int k = 0; k < 1 << memory->width; k++)
                text_add(out, "%s%" PRId64, k ? ", " : "", k < VTA_MEMORIES ? v.bytes[k] : 1);
        text_add(out,
                 " };\n"
                 "        const uint64_t bytes = element_bytes[words[0] >> %d & %d], field = 0x%" PRIx64 "u;\n"
                 "        if ((words[0] & 7) > 1 || !(words[%d] >> %d & 0x%" PRIx64 "u))   /* no load, no store, or of nothing */\n"
                 "                return;\n"
                 "        uint64_t at = (words[0] >> %d & field) * bytes;\n"
                 "        at = at < %" PRId64 "u ? workspace + at : program + (at - %" PRId64 "u);\n"
                 "        words[0] = (words[0] & ~(field << %d)) | at / bytes << %d;\n"
                 "}\n",
                 memory->bit, (1 << memory->width) - 1, ((uint64_t)1 << at->width) - 1, size->bit / 64, size->bit % 64,
                 ((uint64_t)1 << size->width) - 1, at->bit, workspace_size, workspace_size, at->bit, at->bit);
}

const struct machine_driver vta_driver = {
        .name = "vta", .instruction_words = VTA_BYTES / 8, .least = VTA_PAGE, .most = VTA_DRAM_MOST,
        .encode = encode, .measure = vta_measure, .align = align_of, .align_most = align_most, .explain = explain, .place = put_place,
};
