/* SPDX-License-Identifier: MIT */
/* What C code that drives the machine consists of: codegen/c_machine.c puts it together. */
#include <inttypes.h>

#include "codegen/machines.h"
#include "codegen/unified/unified.h"
#include "ir/loop/loop.h"

enum { UNIT_OF_MEMORY = 16 };           /* bytes that two units may not both touch: codegen/unified/check.c */

/* The model wants a program's first page left alone: addresses of the code itself begin at 0. */
static bool count_cycles(const struct loop_function *stream, const int64_t *addresses, struct arena *arena, int64_t *cycles, struct diag *diag)
{
        struct vta_segment code = { .kind = VTA_KIND_CODE };
        struct vta_program p = { .codec = &unified_codec, .dram_bytes = VTA_DRAM_MOST, .code = &code };
        struct unified_cycles c;
        int64_t *moved = arena_array(arena, (size_t)stream->buffer_count + 1, sizeof *moved), count;
        unsigned char *bytes;
        for (int k = 0; k < stream->buffer_count; k++)
                moved[k] = addresses[k] + VTA_PAGE;
        if (!unified_encode_stream(stream, moved, arena, &bytes, &count, diag))
                return false;
        code.content = bytes;
        code.bytes = count * UNIFIED_BYTES;
        if (!unified_cycles(&p, &c, NULL, diag))
                return false;
        *cycles = c.cycles;
        return true;
}

static bool encode(const struct loop_function *stream, const int64_t *addresses, int64_t lists, struct arena *arena,
                   struct machine_code *code, struct diag *diag)
{
        unsigned char *bytes;
        (void)lists;
        *code = (struct machine_code){ .lists = NULL };
        if (!unified_encode_stream(stream, addresses, arena, &bytes, &code->count, diag) ||
            !count_cycles(stream, addresses, arena, &code->cycles, diag))
                return false;
        code->instructions = bytes;
        return true;
}

static int64_t align_of(const struct loop_function *stream, const struct loop_buffer *parameter)
{
        (void)stream;
        (void)parameter;
        return UNIT_OF_MEMORY;          /* addresses count bytes */
}

static int64_t align_most(const struct machine *m)
{
        (void)m;
        return VTA_ALIGN;
}

static void explain(const struct machine *m, const unsigned char *instruction, struct text *out)
{
        const struct vta_program none = { .codec = &unified_codec };
        (void)m;
        unified_codec.print(&none, instruction, out);
}

static const char place_text[] =
        "\n"
        "/* Instructions were compiled for a workspace at address 0 and the program behind it. What moves anything gets\n"
        " * the addresses that both have now. */\n"
        "static void place(uint64_t words[%d], uint64_t workspace, uint64_t program)\n"
        "{\n"
        "        const uint64_t opcode = words[0] & %d, mask = 0x%" PRIx64 "u;\n"
        "        const int bit = opcode == %d ? %d : %d;\n"
        "        if (opcode != %d && opcode != %d && opcode != %d)        /* it reads and writes no memory */\n"
        "                return;\n"
        "        uint64_t at = words[bit / 64] >> bit %% 64 & mask;\n"
        "        at = at < %" PRId64 "u ? workspace + at : program + (at - %" PRId64 "u);\n"
        "        words[bit / 64] = (words[bit / 64] & ~(mask << bit %% 64)) | at << bit %% 64;\n"
        "}\n";

static void put_place(const struct machine *m, int64_t workspace_size, struct text *out)
{
        const struct code_field *fields = unified_fields(), *opcode = &fields[UNIFIED_FIELD_opcode], *host = &fields[UNIFIED_FIELD_host],
                                   *from = &fields[UNIFIED_FIELD_from];
        (void)m;
        text_add(out, place_text, UNIFIED_WORDS, (1 << opcode->width) - 1, (UINT64_C(1) << host->width) - 1, UNIFIED_READ_WEIGHTS_CODE, from->bit,
                 host->bit, UNIFIED_READ_HOST_CODE, UNIFIED_WRITE_HOST_CODE, UNIFIED_READ_WEIGHTS_CODE, workspace_size, workspace_size);
}

const struct machine_driver unified_driver = {
        .name = "unified", .instruction_words = UNIFIED_WORDS, .least = VTA_PAGE, .most = VTA_DRAM_MOST,
        .encode = encode, .measure = unified_measure, .align = align_of, .align_most = align_most, .explain = explain, .place = put_place,
};
