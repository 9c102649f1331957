/* SPDX-License-Identifier: MIT */
/* Supports C code that drives a VTA. */
#include <inttypes.h>

#include "codegen/machines/machines.h"
#include "codegen/vta/vta.h"

/* An instruction has one field for an address, in elements of a memory that another field names;
 * instructions that move nothing are not changed. */
static const char place_text[] =
        "\n"
        "/* Instructions were compiled for a workspace at address 0 and the program behind it. "
        "Instructions that move\n"
        " * anything get the addresses that both have now. */\n"
        "static void place(uint64_t words[2], uint64_t workspace, uint64_t program)\n"
        "{\n"
        "        static const uint16_t element_bytes[%d] = { ";

static void put_place(const struct isa *isa, int64_t workspace_size, struct text *out)
{
        const struct code_field *memory = &isa->fields[VTA_FIELD_memory],
                                *at = &isa->fields[VTA_FIELD_dram_base],
                                *size = &isa->fields[VTA_FIELD_x_size];
        text_add(out, place_text, 1 << memory->width);
        for (int k = 0; k < 1 << memory->width; k++)
                text_add(out, "%s%" PRId64, k ? ", " : "", k < VTA_MEMORIES ? isa->bytes[k] : 1);
        text_add(out,
                 " };\n"
                 "        const uint64_t bytes = element_bytes[words[0] >> %d & %d], field = "
                 "0x%" PRIx64 "u;\n"
                 "        if ((words[0] & 7) > 1 || !(words[%d] >> %d & 0x%" PRIx64
                 "u))   /* This is no load and no store, or it moves nothing. */\n"
                 "                return;\n"
                 "        uint64_t at = (words[0] >> %d & field) * bytes;\n"
                 "        at = at < %" PRId64 "u ? workspace + at : program + (at - %" PRId64
                 "u);\n"
                 "        words[0] = (words[0] & ~(field << %d)) | at / bytes << %d;\n"
                 "}\n",
                 memory->bit, (1 << memory->width) - 1, ((uint64_t)1 << at->width) - 1,
                 size->bit / 64, size->bit % 64, ((uint64_t)1 << size->width) - 1, at->bit,
                 workspace_size, workspace_size, at->bit, at->bit);
}

const struct machine_driver vta_driver = { .encode = vta_encode_stream, .place = put_place };
