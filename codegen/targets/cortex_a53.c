/* SPDX-License-Identifier: MIT */
/* This is the Cortex-A53 (2012), of the Raspberry Pi 3 and of small cores beside large ones. It
 * executes in order, two instructions a cycle, and vectors of 128 bits in two halves.
 *
 * Arm has no public guide for it. The rates come from LLVM's model (AArch64SchedA53.td) and from
 * the guide for the Cortex-A55, whose pipelines it shares: a vector instruction of 128 bits starts
 * in a cycle, and 64 bits are loaded in a cycle; a product does not wait for a load, but does not
 * start together with one. */
#include "ir/target/rates.h"

extern const struct target target_aarch64, target_cortex_a53;

const struct target target_cortex_a53 = {
        .name = "cortex-a53",
        .doc = "what aarch64 has, in order, with half a load a cycle",
        .base = &target_aarch64,
        .cpu = "cortex-a53",
        .processors = (const struct processor[]){ { "0x41", 8, 0xd03, 0xd03 }, { 0 } },
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
