/* SPDX-License-Identifier: MIT */
/* These are the rules of programs, and the functions that check them without computing anything;
 * program_check is in machine_program.h. */
#ifndef CODEGEN_MACHINES_MACHINE_CHECK_H
#define CODEGEN_MACHINES_MACHINE_CHECK_H

#include "codegen/machines/machine_program.h"

#define WORK_ERROR "instruction %" PRId64 ": the program takes more steps than --steps allows"

/* ---- isa.c ---- */

/* instruction_breaks returns the first rule that an instruction breaks without which nothing can
 * run it, as instruction_set.breaks has it; instruction_can_run reports that as an EXIT_INVALID
 * error. */
const char *instruction_breaks(const struct isa *isa, const struct instruction *i,
                               const void *lists, int64_t memory);
bool instruction_can_run(const struct isa *isa, const struct instruction *i, int64_t number,
                         const void *lists, int64_t memory, struct diag *diag);
/* Allocates the decoded places of lists as they are before any list is loaded, all bytes `byte`;
 * the caller frees them. Returns NULL where the machine has no lists. */
void *running_lists(const struct isa *isa, unsigned char byte);

/* ---- machine_check.c: for rules of a machine's own ---- */

/* Reports that the instruction which is looked at breaks a rule, once for each rule and
 * instruction. The format gives the details; "%s" with "": there are none. */
void check_report(struct checker *c, const char *rule, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* ---- machine_races.c ---- */

struct races;
struct races *races_begin(const struct machine_program *p);
void races_end(struct races *r);
/* The instructions must come in program order. races_start takes the instruction's tokens and
 * blocks, and returns the rule that it breaks where what it waits for is missing, or NULL. */
const char *races_start(struct races *r, const struct order *order, int64_t number);
/* Records that the instruction touches elements. Where it races, *with is the number of the other
 * instruction, otherwise -1. */
void races_touch(struct races *r, int memory, int64_t first, int64_t count, bool writes,
                 int64_t *with, int64_t *element);
void races_finish(struct races *r);                      /* Gives the instruction's tokens and
                                                          * blocks. */
/* Returns 1 + the last instruction of a stage that the current instruction's stage knows to be
 * done; 0: it knows of none. */
int64_t races_done(const struct races *r, int stage);
int64_t races_tokens(const struct races *r, int queue);
int64_t races_blocks(const struct races *r);             /* Returns the blocks that no instruction
                                                          * has taken. */

#endif
