/* SPDX-License-Identifier: MIT */
/* A machine that runs: functional, for any legal order of its stages. */
#ifndef CODEGEN_MACHINES_SIMULATOR_H
#define CODEGEN_MACHINES_SIMULATOR_H

#include "codegen/machines/instruction_set.h"

/* Memories of the machine begin with all bytes `poison`, and hold what they held from launch to
 * launch. Which of the stages that can go on goes on next, the seed picks; 0: the one whose
 * instruction stands first. */
struct simulator;
struct simulator *simulator_new(const struct isa *isa, uint64_t seed, unsigned char poison);
void simulator_free(struct simulator *s);               /* NULL is fine */

/* Runs `count` instructions at an address of `memory`, whose first byte is address 0 and which has
 * `bytes` bytes. False after one error: EXIT_INVALID for an instruction that cannot run, one that
 * waits for ever, or what is left at the end; EXIT_BUDGET when it takes more work than `work`.
 * Instructions are read as they run. */
bool simulator_launch(struct simulator *s, unsigned char *memory, int64_t bytes, int64_t address,
                      int64_t count, int64_t work, struct diag *diag);
/* what one launch may take where nobody says otherwise: a minute or two */
#define WORK_MOST (INT64_C(1) << 31)

#endif
