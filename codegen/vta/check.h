/* SPDX-License-Identifier: MIT */
/* Rules of programs (rules.def), and what holds programs to them without running them. */
#ifndef CODEGEN_VTA_CHECK_H
#define CODEGEN_VTA_CHECK_H

#include "codegen/vta/program.h"

enum vta_rule {
#define RULE(id, must, text) VTA_RULE_##id,
#include "codegen/vta/rules.def"
        VTA_RULES                       /* none is broken */
};
struct vta_rule_info { const char *name; bool must; const char *text; };
extern const struct vta_rule_info vta_rules[VTA_RULES];

/* ---- safety.c ---- */

/* What may be asked of decoded micro-ops; their memory holds them as vta_micro_op. */
struct vta_micro_op { int32_t dst, src, wgt; bool fine; };        /* fine: no bit was set that is no field's */

/* The first `must` rule that an instruction breaks, or VTA_RULES; uops: the memory of micro-ops, depth of it. */
enum vta_rule vta_unsafe(const struct vta *v, const struct vta_instruction *i, const struct vta_micro_op *uops, int64_t dram_bytes);
/* the same of a load or store, of which micro-ops say nothing */
enum vta_rule vta_unsafe_move(const struct vta *v, const struct vta_instruction *i, int64_t dram_bytes);
/* How much work it is: steps and elements moved, and one. */
int64_t vta_work(const struct vta_instruction *i);
/* what one launch may take where nobody says otherwise: a minute or two */
#define VTA_WORK_MOST (INT64_C(1) << 31)

/* ---- accesses.c ---- */

enum vta_access {
        VTA_READS, VTA_WRITES,
        VTA_SPOILS                      /* OUT where ACC was written, and OUT was not or with something else */
};
enum { VTA_DRAM = VTA_MEMORIES };       /* in bytes; other memories in elements */
struct vta_visitor {
        void (*visit)(void *context, int memory, int64_t first, int64_t count, enum vta_access access);
        void *context;
};
/* What a safe instruction accesses, in order. */
void vta_accesses(const struct vta *v, const struct vta_instruction *i, const struct vta_micro_op *uops, const struct vta_visitor *visitor);

/* ---- check.c ---- */

/* Says each rule that an instruction breaks, as an EXIT_INVALID error with the instruction's number, the first `most` of them; true:
 * none is broken. EXIT_BUDGET when walking it takes more than `work`. */
bool vta_check(const struct vta_program *p, int64_t work, int most, struct diag *diag);

/* ---- races.c ---- */

struct vta_races;
struct vta_races *vta_races_begin(const struct vta *v, int64_t dram_bytes);
void vta_races_end(struct vta_races *r);
/* The instructions one after the other, in program order. Takes tokens; false: one was not there. */
bool vta_races_start(struct vta_races *r, const struct vta_instruction *i, int64_t number);
/* Its accesses (vta_accesses); after one that races, *with is the other instruction's number, else -1. */
void vta_races_access(struct vta_races *r, int memory, int64_t first, int64_t count, int64_t *with, int64_t *element);
void vta_races_finish(struct vta_races *r);                      /* gives its tokens */
/* 1 + the last instruction of a stage that the current one's stage knows to be done, ; 0: of none */
int64_t vta_races_done(const struct vta_races *r, int stage);
int64_t vta_races_tokens(const struct vta_races *r, int queue);

#endif
