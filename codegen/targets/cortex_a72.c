/* SPDX-License-Identifier: MIT */
/* This is the Cortex-A72 (2015), of the Raspberry Pi 4 and Graviton. It executes out of order, and
 * has two vector pipelines that share FMLA of 128 bits.
 *
 * The rates are those of the Arm Cortex-A72 Software Optimization Guide (UAN 0016), tables of
 * advanced SIMD instructions and of loads: one FMLA of 128 bits starts in a cycle, and waits 3
 * cycles for its sum; SMULL and SMLAL start on F0, SADALP on F1, each one in a cycle; one load
 * starts in a cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64, target_cortex_a72;

const struct target target_cortex_a72 = {
        .name = "cortex-a72",
        .doc = "what aarch64 has, with one product of floats a cycle",
        .base = &target_aarch64,
        .cpu = "cortex-a72",
        .processors = (const struct processor[]){ { "0x41", 8, 0xd08, 0xd08 }, { 0 } },
        .l1_bytes = 32768,
        .l1_way_bytes = 16384,
        .l2_bytes = 262144,
        .rates =
                &(const struct rates){
                        .issue = 1,
                        .latency = 3, /* A sum is forwarded. */
                        .multiplies = (const struct multiply_rate[]){ { "smlal", 2 },
                                                                      { "smull", 2 },
                                                                      { 0 } },
                },
};
