/* SPDX-License-Identifier: MIT */
/* The code that all machines share handles the machine's instructions by these tables. */
#include "base/size.h"
#include "codegen/unified/unified.h"

#define ISA_RULES "codegen/unified/unified_rules.def"
#include "codegen/machines/isa_tables.h"

/* ---- hazards ---- */

static struct order order(const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const bool multiplies = i->opcode == UNIFIED_OPCODE_MULTIPLY,
                   waits = i->opcode == UNIFIED_OPCODE_SYNC;
        return (struct order){ .stage = waits ? (int)i->unit : isa_opcodes[i->opcode].stage,
                               .take = { -1, -1 }, .give = { -1, -1 },
                               .on = waits ? (int)i->on : -1, .done = i->done,
                               .blocks = i->opcode == UNIFIED_OPCODE_READ_WEIGHTS ? i->blocks : 0,
                               .next = multiplies && i->next, .needs = multiplies };
}

static const char *breaks(const struct isa *isa, const struct instruction *instruction,
                          const void *lists, int64_t memory)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        (void)isa;
        (void)lists;
        (void)memory;
        switch (i->opcode) {
        case UNIFIED_OPCODE_WRITE_HOST: return i->par ? "local" : NULL;
        case UNIFIED_OPCODE_ACTIVATE:
                return i->low > i->high ||
                                       (!i->to_sums && (i->low < INT8_MIN || i->high > INT8_MAX)) ||
                                       (i->lanes && !i->by)
                               ? "bounds"
                               : NULL;
        case UNIFIED_OPCODE_SYNC: return i->unit == i->on ? "sync" : NULL;
        default: return NULL;
        }
}

/* ---- cost ----
 *
 *     moves        bytes / beat_bytes, rounded up
 *     weights      bytes of a block / weight_bytes, rounded up
 *     product      a row a cycle, and product_fill until it is done
 *     activation   a row a cycle, and operation_fill until it is done */
static struct cost cost(const struct isa *isa, const struct instruction *instruction)
{
        const struct unified_instruction *i = unified_instruction(instruction);
        const struct machine_cycles *m = &isa->machine.cycles;
        const bool blocks = i->opcode == UNIFIED_OPCODE_READ_WEIGHTS;
        struct cost c = { .class = (int)i->opcode, .steps = unified_rows(i),
                          .bytes = unified_moved(i), .memory = -1,
                          .stores = i->opcode == UNIFIED_OPCODE_WRITE_HOST };
        c.makes = c.stores ||
                  (i->opcode == UNIFIED_OPCODE_ACTIVATE && !i->to_sums && i->low < i->high);
        if (c.bytes)
                c.memory = (int)unified_moved_memory(i);
        c.busy = blocks    ? divide_up(UNIFIED_BLOCK, m->weight_bytes)
                 : c.bytes ? divide_up(c.bytes, m->beat_bytes)
                           : c.steps;
        c.fill = i->opcode == UNIFIED_OPCODE_MULTIPLY   ? m->product_fill
                 : i->opcode == UNIFIED_OPCODE_ACTIVATE ? m->operation_fill
                                                        : 0;
        return c;
}

/* Writes the MiB of ub, the blocks of fifo, the logarithms of the elements of acc and par, and
 * 0. */
static void configuration(const struct isa *isa, unsigned char bytes[ISA_MEMORY_SIZES])
{
        bytes[0] = (unsigned char)(isa->machine.memories[UNIFIED_UB].bytes >> 20);
        bytes[1] = (unsigned char)isa->depth[UNIFIED_FIFO];
        bytes[2] = (unsigned char)isa_log2(isa->depth[UNIFIED_ACC]);
        bytes[3] = (unsigned char)isa_log2(isa->depth[UNIFIED_PAR]);
        bytes[4] = 0;
}

const struct instruction_set unified_set = {
        .machine = &machine_unified,
        .magic = "UNIPROG1",
        .bytes = UNIFIED_BYTES,
        ISA_TABLES,
        .last = UNIFIED_OPCODE_HALT,
        .products = UNIFIED_OPCODE_MULTIPLY,
        .busy = { [UNIFIED_STAGE_HOST] = "host link", [UNIFIED_STAGE_WEIGHTS] = "weights",
                  [UNIFIED_STAGE_MULTIPLY] = "array", [UNIFIED_STAGE_ACTIVATE] = "activation" },
        .bus = -1,
        .stage_word = "unit",
        .scratch = UNIFIED_BLOCK,
        .order = order, .breaks = breaks, .inside = "local", .outside = "host",
        .cost = cost, .configuration = configuration,
};
