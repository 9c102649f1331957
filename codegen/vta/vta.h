/* SPDX-License-Identifier: MIT */
/* VTA: instructions as numbers and as bytes (isa.def has them), and its configuration.
 *
 *     DRAM --load--> INP, WGT --compute (products, operations)--> ACC, OUT --store--> DRAM
 *                    UOP, ACC: loaded by compute
 *
 * A product adds, for each step, INP[s] times WGT[w] to ACC[d]; where s, w and d begin is a micro-op, and two counters add to
 * them. See docs/accelerators.md. */
#ifndef CODEGEN_VTA_H
#define CODEGEN_VTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"
#include "codegen/vta/fields.h"
#include "ir/target/machine.h"

enum vta_stage {
#define STAGE(id, name) VTA_STAGE_##id,
#include "codegen/vta/isa.def"
        VTA_STAGES
};
enum vta_memory {
#define MEMORY(id, name, stage, of) VTA_##id,
#include "codegen/vta/isa.def"
        VTA_MEMORIES
};
enum vta_form {
#define FORM(id, after) VTA_FORM_##id,
#include "codegen/vta/isa.def"
        VTA_FORMS
};
enum vta_opcode {
#define OPCODE(id, name, form) VTA_OPCODE_##id,
#include "codegen/vta/isa.def"
        VTA_OPCODES
};
enum vta_operation {
#define OPERATION(id, name) VTA_OPERATION_##id,
#include "codegen/vta/isa.def"
        VTA_OPERATIONS
};
enum vta_field_number {
#define FIELD(form, id, word, width, sign) VTA_FIELD_##id,
#include "codegen/vta/isa.def"
        VTA_FIELDS
};

enum { VTA_BYTES = 16, VTA_MICRO_OP_BYTES = 4, VTA_PAGE = 4096 };
/* the last address that a launch may have, and one; how long its instructions may be */
#define VTA_DRAM_MOST (INT64_C(1) << 32)
#define VTA_STREAM_MOST (INT64_C(32) << 20)

/* An instruction, or a micro-op (dst, src, wgt): of its fields only those of its form mean anything. */
struct vta_instruction {
#define FIELD(form, id, word, width, sign) int64_t id;
#include "codegen/vta/isa.def"
};

/* A machine of this kind, and what follows from its sizes. */
struct vta {
        struct machine machine;
        int64_t depth[VTA_MEMORIES], bytes[VTA_MEMORIES];     /* elements; bytes of one, in DRAM */
        struct code_field fields[VTA_FIELDS];
};

extern const struct machine machine_vta;
extern const char *const vta_stage_names[VTA_STAGES], *const vta_memory_names[VTA_MEMORIES],
        *const vta_opcode_names[VTA_OPCODES], *const vta_operation_names[VTA_OPERATIONS];

/* ---- configuration.c ---- */

/* NULL, or why instructions cannot be encoded for this machine. */
const char *vta_begin(struct vta *v, const struct machine *machine);
/* "inp=16K,acc=64K,block=32": the default with other sizes; memories by name, batch, block_in, block_out, block (both).
 * False after one EXIT_USAGE error. */
bool vta_begin_sizes(struct vta *v, const char *sizes, struct diag *diag);
/* the machine of such sizes (codegen/machines.h) */
const struct machine *vta_machine_sized(struct arena *arena, const char *sizes, struct diag *diag);
/* What of it is not as in the default, in the same form; "" when all is. */
enum { VTA_SIZES_TEXT = 192 };            /* eight sizes of 10 digits fit */
void vta_sizes(const struct vta *v, char text[VTA_SIZES_TEXT]);
/* In logarithms, as exchange files have them: bits of inputs, weights, sums and outputs; batch, block_in, block_out; bytes of
 * UOP, INP, WGT, ACC, OUT. */
enum { VTA_CONFIGURATION = 12 };
void vta_configuration(const struct vta *v, unsigned char bytes[VTA_CONFIGURATION]);

/* ---- instruction.c ---- */

extern const int vta_form_after[VTA_FORMS];     /* what each goes on from */
enum vta_form vta_form_of(int64_t opcode);
static inline bool vta_form_has(enum vta_form form, int part) { return code_form_has(vta_form_after, (int)form, part); }
/* The first field whose number does not fit; NULL: all do. Of a micro-op, too (form VTA_FORM_MICRO_OP). */
const struct code_field *vta_misfit(const struct vta *v, const struct vta_instruction *i, enum vta_form form);
void vta_encode(const struct vta *v, const struct vta_instruction *i, unsigned char bytes[VTA_BYTES]);
/* NULL, or why these bytes are no instruction; then *i is 0. */
const char *vta_decode(const struct vta *v, const unsigned char bytes[VTA_BYTES], struct vta_instruction *i);
uint32_t vta_encode_micro_op(const struct vta *v, const struct vta_instruction *i);
/* false: bits are set that no field has */
bool vta_decode_micro_op(const struct vta *v, uint32_t word, struct vta_instruction *i);
static inline int64_t *vta_at(struct vta_instruction *i, const struct code_field *f) { return code_at(i, f); }

uint64_t vta_number(const unsigned char *bytes, int count);      /* little endian */

/* ---- what an instruction does (meaning.c) ---- */

bool vta_moves(const struct vta_instruction *i);                 /* a load or store that moves or clears something */
bool vta_works(const struct vta_instruction *i);                 /* product or operation */
enum vta_stage vta_stage_of(const struct vta_instruction *i);
int64_t vta_steps(const struct vta_instruction *i);              /* of products and operations; else 0 */
/* of a load: elements of a row with its padding, and of all rows, that it writes; of a store, that it reads */
int64_t vta_row(const struct vta_instruction *i);
int64_t vta_elements(const struct vta_instruction *i);
/* the byte address of row y in DRAM; may be beyond its end */
int64_t vta_row_address(const struct vta *v, const struct vta_instruction *i, int64_t y);

/* Queues of tokens between neighbouring stages: the one that a flag of the instruction takes from or puts to; -1: there is no
 * such neighbour, -2: the flag is not set. */
enum { VTA_QUEUES = 4, VTA_TOKENS_MOST = 255, VTA_FLAGS = 4, VTA_POPS = 2 };   /* flags in the order of bits; pops come first */
int vta_queue(const struct vta_instruction *i, int flag);
extern const char *const vta_queue_names[VTA_QUEUES];

#endif
