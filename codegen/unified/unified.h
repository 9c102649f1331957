/* SPDX-License-Identifier: MIT */
/* The machine with a unified buffer has these instructions. Their numbers are rows of
 * unified_isa.def.
 *
 *     host ------ read_host ------> ub, par      ub ---- write_host ----> host
 *     weights --- read_weights ---> fifo --- next ---> array
 *     multiply:   for y, x in size:  sum[y, x] = or += in[y, x] * the array's block
 *     activate:   for y, x in size:  out[y, x] = min(max((sum[y, x] + parameters + plus) >> shift,
 *                                                        low), high)
 *
 * Elements `in` and `sum` lie at begin + y * row + x * column. A unit's instructions run in their
 * order; a sync waits until another unit has done a given number of instructions, its own syncs
 * counted. Places count elements: 256 bytes of ub, 1 KiB of acc and par, 64 KiB of fifo. See
 * docs/accelerators.md. */
#ifndef CODEGEN_UNIFIED_UNIFIED_H
#define CODEGEN_UNIFIED_UNIFIED_H

#include <string.h>

#include "codegen/machines/instruction_set.h"

#define ISA_ROWS "codegen/unified/unified_isa.def"
#define ISA(name) UNIFIED_##name
#define ISA_INSTRUCTION unified_instruction
#define ISA_ANY unified_any
#include "codegen/machines/isa_enums.h"

enum { UNIFIED_BYTES = 32, UNIFIED_LANES = 256, UNIFIED_BLOCK = UNIFIED_LANES * UNIFIED_LANES };

extern const struct machine machine_unified;
extern const struct instruction_set unified_set;

/* ---- unified_meaning.c ---- */

/* unified_rows returns the rows that a product multiplies, or an activation makes, otherwise 0;
 * unified_moved the bytes that a transfer moves, otherwise 0. */
int64_t unified_rows(const struct unified_instruction *i);
int64_t unified_moved(const struct unified_instruction *i);
int unified_moved_memory(const struct unified_instruction *i);

#endif
