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
        case UNIFIED_OPCODE_READ_HOST: return i->count < 1 ? "empty" : NULL;
        case UNIFIED_OPCODE_WRITE_HOST: return i->count < 1 ? "empty" : i->par ? "local" : NULL;
        case UNIFIED_OPCODE_READ_WEIGHTS: return i->blocks < 1 ? "empty" : NULL;
        case UNIFIED_OPCODE_MULTIPLY: return unified_rows(i) < 1 ? "empty" : NULL;
        case UNIFIED_OPCODE_ACTIVATE:
                if (unified_rows(i) < 1)
                        return "empty";
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

/* Writes the logarithms of the bits of inputs, weights, sums and results, and of the batch, inputs
 * and outputs of a step; then the MiB of ub, the blocks of fifo, the logarithms of the elements of
 * acc and par, and 0. */
static void configuration(const struct isa *isa, unsigned char bytes[ISA_CONFIGURATION])
{
        const struct machine *m = &isa->machine;
        const int64_t acc = isa->depth[UNIFIED_ACC], par = isa->depth[UNIFIED_PAR];
        const int64_t all[ISA_CONFIGURATION] = { 3,
                                                 3,
                                                 5,
                                                 3,
                                                 0,
                                                 isa_log2(m->block_in),
                                                 isa_log2(m->block_out),
                                                 m->memories[UNIFIED_UB].bytes >> 20,
                                                 isa->depth[UNIFIED_FIFO],
                                                 isa_log2(acc),
                                                 isa_log2(par),
                                                 0 };
        for (int k = 0; k < ISA_CONFIGURATION; k++)
                bytes[k] = (unsigned char)all[k];
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
