/* SPDX-License-Identifier: MIT */
/* VTA: its instructions as numbers (vta_isa.def has them), and what they do.
 *
 *     DRAM --load--> INP, WGT --compute (products, operations)--> ACC, OUT --store--> DRAM
 *                    UOP, ACC: loaded by compute
 *
 * A product adds, for each step, INP[s] times WGT[w] to ACC[d]; where s, w and d begin is a micro-op, and two counters add to
 * them. See docs/accelerators.md. */
#ifndef CODEGEN_VTA_H
#define CODEGEN_VTA_H

#include <string.h>

#include "codegen/machines/instruction_set.h"

enum vta_stage {
#define STAGE(id, name) VTA_STAGE_##id,
#include "codegen/vta/vta_isa.def"
        VTA_STAGES
};
enum vta_memory {
#define MEMORY(id, name, stage) VTA_##id,
#include "codegen/vta/vta_isa.def"
        VTA_MEMORIES
};
enum vta_form {
#define FORM(id, after) VTA_FORM_##id,
#include "codegen/vta/vta_isa.def"
        VTA_FORMS
};
enum vta_opcode {
#define OPCODE(id, name, form, run) VTA_OPCODE_##id,
#include "codegen/vta/vta_isa.def"
        VTA_OPCODES
};
enum vta_operation {
#define OPERATION(id, name) VTA_OPERATION_##id,
#include "codegen/vta/vta_isa.def"
        VTA_OPERATIONS
};
enum vta_field_number {
#define FIELD(form, id, word, width, sign, says) VTA_FIELD_##id,
#include "codegen/vta/vta_isa.def"
        VTA_FIELDS
};
enum vta_class {
#define CLASS(id, name, busy) VTA_CLASS_##id,
#include "codegen/vta/vta_isa.def"
        VTA_CLASSES
};

enum { VTA_BYTES = 16, VTA_MICRO_OP_BYTES = 4, VTA_TOKENS_MOST = 255 };

/* An instruction, or a micro-op (dst, src, wgt): of its fields only those of its form mean anything. */
struct vta_instruction {
#define FIELD(form, id, word, width, sign, says) int64_t id;
#include "codegen/vta/vta_isa.def"
};
static inline const struct vta_instruction *vta_instruction(const struct instruction *i)
{
        return (const struct vta_instruction *)(const void *)i;
}
/* for what takes any machine's instruction */
static inline struct instruction vta_any(const struct vta_instruction *i)
{
        struct instruction all = { { 0 } };
        memcpy(&all, i, sizeof *i);
        return all;
}

/* A place in a list while the machine runs. */
struct vta_micro_op { int32_t dst, src, wgt, spoiled; };         /* spoiled: a bit was set that is no field's */

extern const struct machine machine_vta;
extern const struct instruction_set vta_set;

/* ---- vta_meaning.c: what each instruction does ---- */

void vta_load(struct running *r, const struct instruction *i);
void vta_store(struct running *r, const struct instruction *i);
void vta_multiply(struct running *r, const struct instruction *i);
void vta_combine(struct running *r, const struct instruction *i);

bool vta_moves(const struct vta_instruction *i);                 /* a load or store that moves or clears something */
bool vta_works(const struct vta_instruction *i);                 /* product or operation */
enum vta_stage vta_stage_of(const struct vta_instruction *i);
int64_t vta_steps(const struct vta_instruction *i);              /* of products and operations; else 0 */
/* of a load: elements of a row with its padding, and of all rows, that it writes; of a store, that it reads */
int64_t vta_row(const struct vta_instruction *i);
int64_t vta_elements(const struct vta_instruction *i);
/* the byte address of row y in DRAM; may be beyond its end */
int64_t vta_row_address(const struct isa *isa, const struct vta_instruction *i, int64_t y);

/* ---- vta_hazards.c: order, safety, rules and costs, for struct instruction_set ---- */

struct order vta_order(const struct instruction *i);
const char *vta_breaks(const struct isa *isa, const struct instruction *i, const void *lists, int64_t memory);
void vta_check(struct checker *c, const struct instruction *i, const void *lists, bool safe);
struct cost vta_cost(const struct isa *isa, const struct instruction *i);
int64_t vta_work(const struct instruction *i);

/* ---- vta_sizes.c ---- */

const char *vta_fits(struct isa *isa);
/* "inp=16K,acc=64K,block=32": memories by name, batch, block_in, block_out, block (both) */
bool vta_resize(struct machine *m, const char *sizes, struct arena *arena, struct diag *diag);
void vta_sizes(const struct machine *m, char text[ISA_SIZES_TEXT]);
/* In logarithms: bits of inputs, weights, sums and outputs; batch, block_in, block_out; bytes of UOP, INP, WGT, ACC, OUT. */
void vta_configuration(const struct isa *isa, unsigned char bytes[ISA_CONFIGURATION]);

#endif
