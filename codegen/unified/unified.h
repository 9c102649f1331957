/* SPDX-License-Identifier: MIT */
/* The machine with a unified buffer: its instructions as numbers (unified_isa.def has them), and what they do.
 *
 *     host ------ read_host ------> ub, par      ub ---- write_host ----> host
 *     weights --- read_weights ---> fifo --- next ---> array
 *     multiply:   for y, x in size:  sum[y, x] = or += in[y, x] * the array's block           sum, in: begin + y * row + x * column
 *     activate:   for y, x in size:  out[y, x] = min(max((sum[y, x] + parameters + plus) >> shift, low), high)
 *
 * A unit's instructions run in their order; a sync of it waits until another one has done so many, its own syncs counted. Places count
 * elements: 256 bytes of ub, 1 KiB of acc and par, 64 KiB of fifo. See docs/accelerators.md. */
#ifndef CODEGEN_UNIFIED_H
#define CODEGEN_UNIFIED_H

#include <string.h>

#include "codegen/machines/instruction_set.h"

enum unified_unit {
#define UNIT(id, name) UNIFIED_STAGE_##id,
#include "codegen/unified/unified_isa.def"
        UNIFIED_STAGES, UNIFIED_STAGE_NONE = -1, UNIFIED_STAGE_NAMED = -2
};
enum unified_memory {
#define MEMORY(id, name) UNIFIED_##id,
#include "codegen/unified/unified_isa.def"
        UNIFIED_MEMORIES
};
enum unified_form {
#define FORM(id) UNIFIED_FORM_##id,
#include "codegen/unified/unified_isa.def"
        UNIFIED_FORMS
};
enum unified_opcode {
#define OPCODE(id, name, form, unit, run) UNIFIED_##id##_CODE,
#include "codegen/unified/unified_isa.def"
        UNIFIED_OPCODES
};
enum unified_field_number {
#define FIELD(form, id, word, width, sign, says) UNIFIED_FIELD_##id,
#include "codegen/unified/unified_isa.def"
        UNIFIED_FIELDS
};

enum { UNIFIED_BYTES = 32, UNIFIED_WORDS = 4, UNIFIED_LANES = 256, UNIFIED_BLOCK = UNIFIED_LANES * UNIFIED_LANES };

/* Of its fields only those of its form mean anything. */
struct unified_instruction {
#define FIELD(form, id, word, width, sign, says) int64_t id;
#include "codegen/unified/unified_isa.def"
};
static inline const struct unified_instruction *unified_instruction(const struct instruction *i)
{
        return (const struct unified_instruction *)(const void *)i;
}
/* for what takes any machine's instruction */
static inline struct instruction unified_any(const struct unified_instruction *i)
{
        struct instruction all = { { 0 } };
        memcpy(&all, i, sizeof *i);
        return all;
}

extern const struct machine machine_unified;
extern const struct instruction_set unified_set;

/* ---- unified_meaning.c ---- */

void unified_read_host(struct running *r, const struct instruction *i);
void unified_write_host(struct running *r, const struct instruction *i);
void unified_read_weights(struct running *r, const struct instruction *i);
void unified_multiply(struct running *r, const struct instruction *i);
void unified_activate(struct running *r, const struct instruction *i);

/* rows that a product multiplies, or an activation makes; bytes that a transfer moves; else 0 */
int64_t unified_rows(const struct unified_instruction *i);
int64_t unified_moved(const struct unified_instruction *i);
enum unified_memory unified_moved_memory(const struct unified_instruction *i);

#endif
