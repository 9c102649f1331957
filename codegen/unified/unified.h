/* SPDX-License-Identifier: MIT */
/* The machine with a unified buffer: its instructions as numbers and as bytes (isa.def has them), and what they do.
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

#include "codegen/vta/program.h"
#include "ir/target/machine.h"

struct loop_function;
struct machine_driver;
struct machine_measure;

enum unified_unit {
#define UNIT(id, name) UNIFIED_STAGE_##id,
#include "codegen/unified/isa.def"
        UNIFIED_STAGES, UNIFIED_STAGE_UNITS = UNIFIED_STAGES
};
enum unified_memory {
#define MEMORY(id, name) UNIFIED_##id,
#include "codegen/unified/isa.def"
        UNIFIED_MEMORIES
};
enum unified_form {
#define FORM(id) UNIFIED_FORM_##id,
#include "codegen/unified/isa.def"
        UNIFIED_FORMS
};
enum unified_opcode {
#define OPCODE(id, name, form, unit) UNIFIED_##id##_CODE,
#include "codegen/unified/isa.def"
        UNIFIED_OPCODES
};
enum unified_field_number {
#define FIELD(form, id, word, width, sign) UNIFIED_FIELD_##id,
#include "codegen/unified/isa.def"
        UNIFIED_FIELDS
};
enum unified_rule {
#define RULE(id, text) UNIFIED_RULE_##id,
#include "codegen/unified/rules.def"
        UNIFIED_RULES
};

enum { UNIFIED_BYTES = 32, UNIFIED_WORDS = 4 };

/* Of its fields only those of its form mean anything. */
struct unified_instruction {
#define FIELD(form, id, word, width, sign) int64_t id;
#include "codegen/unified/isa.def"
};

extern const struct machine machine_unified;
extern const char *const unified_unit_names[UNIFIED_STAGES], *const unified_opcode_names[UNIFIED_OPCODES];
struct unified_rule_info { const char *name, *text; };
extern const struct unified_rule_info unified_rules[UNIFIED_RULES];

/* ---- instruction.c ---- */

const struct code_field *unified_fields(void);                /* UNIFIED_FIELDS of them */
enum unified_form unified_form_of(int64_t opcode);
static inline bool unified_has(int64_t opcode, const struct code_field *f)
{
        return f->form == UNIFIED_FORM_HEAD || f->form == (int)unified_form_of(opcode);
}
static inline int64_t *unified_at(struct unified_instruction *i, const struct code_field *f) { return code_at(i, f); }
/* The first field whose number does not fit; NULL: all do. */
const struct code_field *unified_misfit(struct unified_instruction i);
void unified_encode(struct unified_instruction i, unsigned char bytes[UNIFIED_BYTES]);
/* false: these bytes are no instruction; then *i is 0 */
bool unified_decode(const unsigned char bytes[UNIFIED_BYTES], struct unified_instruction *i);
/* the unit that runs it; UNIFIED_STAGES: none (halt) */
enum unified_unit unified_unit_of(const struct unified_instruction *i);

/* ---- meaning.c ---- */

static inline int64_t unified_depth(enum unified_memory m) { return machine_depth(&machine_unified.memories[m]); }
static inline int64_t unified_element_bytes(enum unified_memory m) { return machine_element_bytes(&machine_unified.memories[m]); }
/* rows that a product multiplies, or an activation makes; bytes that a transfer moves; else 0 */
int64_t unified_rows(const struct unified_instruction *i);
int64_t unified_moved(const struct unified_instruction *i);
/* NULL, or the rule that it breaks whatever stands around it; memory has so many bytes */
bool unified_is_safe(const struct unified_instruction *i, int64_t memory, enum unified_rule *broken);

/* What a safe instruction touches: elements, outside (UNIFIED_HOST) bytes. The FIFO is not among it. */
enum { UNIFIED_HOST = UNIFIED_MEMORIES };
struct unified_visitor {
        void (*visit)(void *context, int memory, int64_t first, int64_t count, bool writes);
        void *context;
};
void unified_visit(const struct unified_instruction *i, const struct unified_visitor *visitor);

/* ---- encode.c ---- */

/* A stream that the passes on streams made, its parameters at these addresses. *bytes is in arena. False after one error. */
bool unified_encode_stream(const struct loop_function *stream, const int64_t *addresses, struct arena *arena, unsigned char **bytes,
                           int64_t *count, struct diag *diag);

/* ---- driver.c, measure.c ---- */

extern const struct machine_driver unified_driver;
/* for struct machine_driver: a part is a layer, `result` whose weights it multiplies by first */
bool unified_measure(const struct loop_function *stream, struct arena *arena, struct machine_measure *measure, struct diag *diag);

/* ---- simulate.c ---- */

/* Runs the program in `memory`. On-chip memories begin with all bytes `poison`. Which of the units that can go on goes on next, the seed
 * picks; 0: the one whose instruction stands first. False after one error: EXIT_INVALID for an instruction that cannot run, or units that
 * wait for ever; EXIT_BUDGET when it takes more work than `work` (rows and moved elements). */
bool unified_run(const struct vta_program *p, unsigned char *memory, uint64_t seed, unsigned char poison, int64_t work, struct diag *diag);

/* ---- check.c ---- */

/* Says each rule that an instruction breaks, the first `most` of them, as EXIT_INVALID errors. True: none is broken. */
bool unified_check(const struct vta_program *p, int64_t work, int most, struct diag *diag);

/* ---- cycles.c ---- */

struct unified_times { int64_t start, end; };
struct unified_cycles {
        int64_t cycles, rows;           /* rows: of products, a cycle each */
        int64_t count[UNIFIED_OPCODES], busy[UNIFIED_STAGES], bytes[UNIFIED_OPCODES];
};
/* The model, in whole numbers, C a constant of machine_unified.cycles:
 *     each unit begins an instruction when it is done with the one before. Moves take bytes / C.beat_bytes cycles, rounded up. A block of
 *     weights takes its bytes / C.weight_bytes, and begins when the FIFO has room for it. It is shifted into the array in C.change cycles,
 *     from when it is there, the one before it has been shifted, and that one's first product has begun; then its place in the FIFO is free.
 *     A product begins when its block is in the array, and a row goes in each cycle; the next may begin then, and it is done C.product_fill
 *     later. Rows of an activation likewise, C.operation_fill. A sync ends when what it waits for is done.
 * times: of each instruction, or NULL. False: units wait for ever. */
bool unified_cycles(const struct vta_program *p, struct unified_cycles *c, struct unified_times *times, struct diag *diag);
/* "array", "weights", "host link", "activation": what is busy most, if half of the time; else "waiting" */
const char *unified_bound(const struct unified_cycles *c);
bool unified_report(const struct vta_program *p, bool each, struct text *out, struct diag *diag);

/* ---- codec.c ---- */

extern const struct program_codec unified_codec;
static inline int64_t unified_length(const struct vta_program *p) { return p->code->bytes / UNIFIED_BYTES; }
/* decodes instruction k; false: it is none */
static inline bool unified_instruction_at(const struct vta_program *p, int64_t k, struct unified_instruction *i)
{
        return unified_decode(p->code->content + k * UNIFIED_BYTES, i);
}

#endif
