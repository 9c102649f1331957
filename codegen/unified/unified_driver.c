/* SPDX-License-Identifier: MIT */
/* What streams, and C code that drives the machine, need to know of it. */
#include <inttypes.h>

#include "codegen/machines/launch_moves.h"
#include "codegen/unified/unified_encode.h"

enum { UNIT_OF_MEMORY = 16 };           /* bytes that two units may not both touch: codegen/machines/machine_races.c */

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

static void put_place(const struct isa *isa, int64_t workspace_size, struct text *out)
{
        const struct code_field *opcode = &isa->fields[UNIFIED_FIELD_opcode], *host = &isa->fields[UNIFIED_FIELD_host],
                                   *from = &isa->fields[UNIFIED_FIELD_from];
        text_add(out, place_text, UNIFIED_WORDS, (1 << opcode->width) - 1, (UINT64_C(1) << host->width) - 1, UNIFIED_READ_WEIGHTS_CODE, from->bit,
                 host->bit, UNIFIED_READ_HOST_CODE, UNIFIED_WRITE_HOST_CODE, UNIFIED_READ_WEIGHTS_CODE, workspace_size, workspace_size);
}

/* ---- parts of a launch: layers ---- */

struct layering {
        struct launch_parts *parts;
        int *had;                       /* by number of a parameter: the layer that had it first; 0: none */
        int64_t *blocks;                /* where those lie that the array takes */
        int64_t block_count, taken;
};

static void find_blocks(struct layering *l)
{
        for (int64_t k = 0; k < l->parts->code->count; k++) {
                struct unified_instruction i;
                launch_part_instruction(l->parts, k, &i);
                for (int64_t b = 0; i.opcode == UNIFIED_READ_WEIGHTS_CODE && b < i.blocks; b++) {
                        ARENA_GROW(l->parts->arena, l->blocks, l->block_count);
                        l->blocks[l->block_count++] = i.from + b * UNIFIED_BLOCK;
                }
        }
}

/* A layer begins behind the last activation, or store, of the one before, and where it multiplies by weights that no layer had before
 * it: its result is those. */
static void find_parts(struct launch_parts *parts)
{
        const struct loop_function *f = parts->moves->stream;
        struct layering l = { .parts = parts, .had = arena_array(parts->arena, (size_t)f->buffer_count + 1, sizeof *l.had) };
        int64_t behind = 0;             /* the last activation into the buffer, or store */
        bool made = true;               /* the layer has made something */
        find_blocks(&l);
        for (int64_t k = 0; k < parts->code->count; k++) {
                struct unified_instruction i;
                launch_part_instruction(parts, k, &i);
                if (i.opcode == UNIFIED_MULTIPLY_CODE && i.next && l.taken < l.block_count) {
                        const struct loop_buffer *weights = launch_moves_parameter(parts->moves, l.blocks[l.taken++]);
                        if (made && !l.had[weights->number]) {
                                launch_part_begin(parts, behind, k, weights);
                                made = false;
                        }
                        l.had[weights->number] = parts->count;
                }
                if ((i.opcode == UNIFIED_ACTIVATE_CODE && !i.to_sums && i.low < i.high) || i.opcode == UNIFIED_WRITE_HOST_CODE) {
                        made = true;
                        behind = k + 1;
                }
                parts->of[k] = parts->count ? parts->count : 1;
        }
        if (!parts->count)
                launch_part_begin(parts, 0, parts->code->count, NULL);
}

const struct machine_driver unified_driver = {
        .encode = unified_encode_stream, .align = UNIT_OF_MEMORY, .place = put_place, .parts = find_parts,
};
