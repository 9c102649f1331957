/* SPDX-License-Identifier: MIT */
/* Simulates a machine functionally, for any legal order of its stages. */
#ifndef CODEGEN_MACHINES_SIMULATOR_H
#define CODEGEN_MACHINES_SIMULATOR_H

#include "codegen/machines/instruction_set.h"

/* The machine's memories begin with all bytes `poison`, and keep their contents from launch to
 * launch. The seed picks which of the stages that can run goes next; 0: the one whose instruction
 * stands first. */
struct simulator;
struct simulator *simulator_new(const struct isa *isa, uint64_t seed, unsigned char poison);
void simulator_free(struct simulator *s);               /* `s` may be NULL. */

/* Runs `count` instructions at an address of `memory`, whose first byte is address 0 and which has
 * `bytes` bytes. Instructions are read as they run. Returns false after one error: EXIT_INVALID for
 * an instruction that cannot run, one that waits for ever, or tokens or blocks that are left at the
 * end; EXIT_BUDGET where it takes more work than `work`. */
bool simulator_launch(struct simulator *s, unsigned char *memory, int64_t bytes, int64_t address,
                      int64_t count, int64_t work, struct diag *diag);
/* One launch may do this much work by default: a minute or two. */
#define WORK_MOST (INT64_C(1) << 31)

#endif
