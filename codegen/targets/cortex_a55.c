/* SPDX-License-Identifier: MIT */
/* Cortex-A55 (2017): in order, the small core beside Cortex-A75 to A78.
 *
 * Rates: Arm Cortex-A55 Software Optimization Guide (EPM128372), tables of advanced SIMD
 * instructions and of loads: 128 bits of FMLA, SDOT, SMULL or SADALP a cycle, 64 bits loaded a
 * cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_dotprod, target_cortex_a55;

const struct target target_cortex_a55 = {
        .name = "cortex-a55",
        .doc = "what aarch64-dotprod has, in order, with half a load a cycle",
        .base = &target_aarch64_dotprod,
        .processors = (const struct processor[]){
                { "0x41", 8, 0xd05, 0xd05 },
                { 0 }
        },
        .l1_bytes = 32768,
        .l2_bytes = 131072,
        .rates = &(const struct rates){
                .issue = 1,             /* of 128 bits */
                .load = 2,              /* 64 bits a cycle */
                .load_wait = 4,
                .contention = 1,        /* in order: nothing is hidden */
                .packed_result = 10,    /* ten instructions, one a cycle */
        },
};
