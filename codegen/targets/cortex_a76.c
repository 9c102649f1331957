/* SPDX-License-Identifier: MIT */
/* This is the Cortex-A76 (2018), of the Raspberry Pi 5. It has two vector pipelines of 128 bits.
 *
 * The rates are those of the Arm Cortex-A76 Software Optimization Guide, tables of advanced SIMD
 * instructions and of loads: two FMLA or SDOT start in a cycle, whose sum is forwarded in 2 cycles
 * (1); SMULL and SMLAL start on V0, SADALP on V1, each one in a cycle; two loads start in a
 * cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_dotprod, target_cortex_a76;

const struct target target_cortex_a76 = {
        .name = "cortex-a76",
        .doc = "what aarch64-dotprod has, with two products of vectors a cycle",
        .base = &target_aarch64_dotprod,
        .cpu = "cortex-a76",
        .processors = (const struct processor[]){ { "0x41", 8, 0xd0b, 0xd0b },
                                                  { "0x41", 8, 0xd0e, 0xd0e }, /* A76AE */
                                                  { 0 } },
        .l1_bytes = 65536,
        .l1_way_bytes = 16384,
        .l2_bytes = 524288,
        .rates =
                &(const struct rates){
                        .issue = 2,
                        .latency = 2, /* A sum is forwarded. */
                        .multiplies =
                                (const struct multiply_rate[]){
                                        { "smlal", 2 }, { "smull", 2 }, { "sdot", .5 }, { 0 } },
                },
};
