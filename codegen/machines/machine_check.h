/* SPDX-License-Identifier: MIT */
/* Rules of programs, and what holds programs to them without computing anything: machine_program.h
 * has program_check. */
#ifndef CODEGEN_MACHINES_MACHINE_CHECK_H
#define CODEGEN_MACHINES_MACHINE_CHECK_H

#include "codegen/machines/machine_program.h"

#define WORK_ERROR "instruction %" PRId64 ": the program takes more steps than --steps allows"

/* ---- isa.c ---- */

/* The first rule that an instruction breaks without which nothing can run it, as
 * instruction_set.breaks has it; and an EXIT_INVALID error where there is one. */
const char *instruction_breaks(const struct isa *isa, const struct instruction *i,
                               const void *lists, int64_t memory);
bool instruction_can_run(const struct isa *isa, const struct instruction *i, int64_t number,
                         const void *lists, int64_t memory, struct diag *diag);
/* Places of lists as they are before any is loaded, to be freed: all bytes so. NULL: there are
 * none. */
void *running_lists(const struct isa *isa, unsigned char byte);

/* ---- machine_check.c: for rules of a machine's own ---- */

/* The instruction that is looked at breaks a rule, which is said once for each rule; the format is
 * of what is so here, "%s" with "": the rule says all. */
void check_report(struct checker *c, const char *rule, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- machine_races.c ---- */

struct races;
struct races *races_begin(const struct machine_program *p);
void races_end(struct races *r);
/* The instructions one after the other, in program order. Takes tokens and blocks; the rule that it
 * breaks, as what it waits for is not there, or NULL. */
const char *races_start(struct races *r, const struct order *order, int64_t number);
/* It touches elements: after one that races, *with is the other instruction's number, else -1. */
void races_touch(struct races *r, int memory, int64_t first, int64_t count, bool writes,
                 int64_t *with, int64_t *element);
void races_finish(struct races *r);                      /* gives its tokens and blocks */
/* 1 + the last instruction of a stage that the current one's stage knows to be done; 0: of none */
int64_t races_done(const struct races *r, int stage);
int64_t races_tokens(const struct races *r, int queue);
int64_t races_blocks(const struct races *r);             /* that nobody has taken */

#endif
