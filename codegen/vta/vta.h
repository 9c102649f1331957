/* SPDX-License-Identifier: MIT */
/* VTA: its instructions as numbers (rows in vta_isa.def), and what they do.
 *
 *     DRAM --load--> INP, WGT --compute (products, operations)--> ACC, OUT --store--> DRAM
 *                    UOP, ACC: loaded by compute
 *
 * A product adds, for each step, INP[s] times WGT[w] to ACC[d]; a micro-op says where s, w and d
 * begin, and two counters add to them. See docs/accelerators.md. */
#ifndef CODEGEN_VTA_VTA_H
#define CODEGEN_VTA_VTA_H

#include <string.h>

#include "codegen/machines/instruction_set.h"

#define ISA_ROWS "codegen/vta/vta_isa.def"
#define ISA(name) VTA_##name
#define ISA_INSTRUCTION vta_instruction         /* The struct is also that of a micro-op: dst, src,
                                                 * wgt. */
#define ISA_ANY vta_any
#include "codegen/machines/isa_enums.h"

enum { VTA_BYTES = 16, VTA_MICRO_OP_BYTES = 4, VTA_TOKENS_MOST = 255 };

/* It is a place in a list while the machine runs. */
/* spoiled: a bit was set that belongs to no field. */
struct vta_micro_op { int32_t dst, src, wgt, spoiled; };

extern const struct machine machine_vta;
extern const struct instruction_set vta_set;

/* ---- vta_meaning.c ---- */

/* Is it a load or store that moves or clears something? */
bool vta_moves(const struct vta_instruction *i);
bool vta_works(const struct vta_instruction *i);                 /* Is it a product or an
                                                                  * operation? */
int vta_stage_of(const struct vta_instruction *i);
/* Returns the steps of a product or operation; 0 for others. */
int64_t vta_steps(const struct vta_instruction *i);
/* vta_row and vta_elements return the elements of a row with its padding, and of all rows, that a
 * load writes, or a store reads. */
int64_t vta_row(const struct vta_instruction *i);
int64_t vta_elements(const struct vta_instruction *i);
/* Returns the byte address of row y in DRAM, which may be beyond its end. */
int64_t vta_row_address(const struct isa *isa, const struct vta_instruction *i, int64_t y);

/* ---- vta_hazards.c: order, safety, rules and costs, for struct instruction_set ---- */

struct order vta_order(const struct instruction *i);
const char *vta_breaks(const struct isa *isa, const struct instruction *i, const void *lists,
                       int64_t memory);
void vta_check(struct checker *c, const struct instruction *i, const void *lists, bool safe);
struct cost vta_cost(const struct isa *isa, const struct instruction *i);
int64_t vta_work(const struct instruction *i);

/* ---- vta_encode.c: for struct machine_driver ---- */

struct loop_function;
struct machine_code;
bool vta_encode_stream(const struct isa *isa, const struct loop_function *stream,
                       const int64_t *addresses, int64_t micro_ops, struct arena *arena,
                       struct machine_code *code, struct diag *diag);

/* ---- vta_sizes.c ---- */

const char *vta_fits(struct isa *isa);
/* Sizes are text, "inp=16K,acc=64K,block=32": memories by name, batch, block_in, block_out, block
 * (both). */
bool vta_resize(struct machine *m, const char *sizes, struct arena *arena, struct diag *diag);
void vta_sizes(const struct machine *m, char text[ISA_SIZES_TEXT]);
/* Writes the logarithms of the bytes of UOP, INP, WGT, ACC, OUT. */
void vta_configuration(const struct isa *isa, unsigned char bytes[ISA_MEMORY_SIZES]);

#endif
