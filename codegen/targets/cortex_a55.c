/* SPDX-License-Identifier: MIT */
/* This is the Cortex-A55 (2017), the small core beside Cortex-A75 to A78. It executes in order.
 *
 * The rates are those of the Arm Cortex-A55 Software Optimization Guide (EPM128372), tables of
 * advanced SIMD instructions and of loads: 128 bits of FMLA, SDOT, SMULL or SADALP start in a
 * cycle, and 64 bits are loaded in a cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_dotprod, target_cortex_a55;

const struct target target_cortex_a55 = {
        .name = "cortex-a55",
        .doc = "what aarch64-dotprod has, in order, with half a load a cycle",
        .base = &target_aarch64_dotprod,
        .cpu = "cortex-a55",
        .processors = (const struct processor[]){
                { "0x41", 8, 0xd05, 0xd05 },
                { 0 }
        },
        .l1_bytes = 32768,
        .l1_way_bytes = 8192,
        .l2_bytes = 131072,
        .rates = &(const struct rates){
                .issue = 1,             /* One instruction of 128 bits starts in a cycle. */
                .load = 2,              /* 64 bits are loaded in a cycle. */
                .load_wait = 4,
                .contention = 1,        /* The core is in order, so nothing is hidden. */
                .packed_result = 10,    /* It takes ten instructions, one a cycle. */
        },
};
