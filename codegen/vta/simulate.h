/* SPDX-License-Identifier: MIT */
/* A VTA that runs: functional, for any legal order of its stages. */
#ifndef CODEGEN_VTA_SIMULATE_H
#define CODEGEN_VTA_SIMULATE_H

#include "codegen/vta/vta.h"

/* SRAMs begin with all bytes `poison`, and hold what they held from launch to launch. Which of the stages that can go on goes on
 * next, the seed picks; 0: the one whose instruction stands first. */
struct vta_simulator;
struct vta_simulator *vta_simulator_new(const struct vta *v, uint64_t seed, unsigned char poison);
void vta_simulator_free(struct vta_simulator *s);               /* NULL is fine */

/* Runs `count` instructions at an address of `memory`, whose first byte is address 0 and which has `bytes` bytes. False after one
 * error: EXIT_INVALID for an instruction that cannot run or tokens that never come or are left, EXIT_BUDGET when it takes more work
 * than `work` (codegen/vta/check.h). Instructions are read as they run. */
bool vta_launch(struct vta_simulator *s, unsigned char *memory, int64_t bytes, int64_t address, int64_t count, int64_t work,
                struct diag *diag);

#endif
