/* SPDX-License-Identifier: MIT */
/* Cortex-A53 (2012), of the Raspberry Pi 3 and of small cores beside large ones: in order, two
 * instructions a cycle, vectors of 128 bits in two halves.
 *
 * Rates: Arm has no public guide for it; these come from LLVM's model (AArch64SchedA53.td) and the
 * Cortex-A55's guide, whose pipelines it shares: a vector instruction of 128 bits a cycle, 64 bits
 * loaded a cycle; a product does not wait for a load, but does not start together with one. */
#include "ir/target/rates.h"

extern const struct target target_aarch64, target_cortex_a53;

const struct target target_cortex_a53 = {
        .name = "cortex-a53",
        .doc = "what aarch64 has, in order, with half a load a cycle",
        .base = &target_aarch64,
        .processors = (const struct processor[]){
                { "0x41", 8, 0xd03, 0xd03 },
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
