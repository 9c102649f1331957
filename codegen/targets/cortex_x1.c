/* SPDX-License-Identifier: MIT */
/* This is the Cortex-X1 (2020). It has four vector pipelines of 128 bits.
 *
 * The rates are those of the Arm Cortex-X1 Software Optimization Guide, tables of advanced SIMD
 * instructions and of loads: four FMLA or SDOT start in a cycle, whose sum is forwarded in 2 cycles
 * (1); two SMULL, SMLAL or SADALP and three loads start in a cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_dotprod, target_cortex_x1;

const struct target target_cortex_x1 = {
        .name = "cortex-x1",
        .doc = "what aarch64-dotprod has, with four products of vectors a cycle",
        .base = &target_aarch64_dotprod,
        .cpu = "cortex-x1",
        .processors = (const struct processor[]){ { "0x41", 8, 0xd44, 0xd44 },
                                                  { "0x41", 8, 0xd4c, 0xd4c }, /* X1C */
                                                  { 0 } },
        .l1_bytes = 65536,
        .l1_way_bytes = 16384,
        .l2_bytes = 1048576,
        .rates =
                &(const struct rates){
                        .issue = 4,
                        .load = 1.33, /* Three loads start in a cycle. */
                        .latency = 2, /* A sum is forwarded. */
                        .multiplies =
                                (const struct multiply_rate[]){
                                        { "smlal", 1 }, { "smull", 1 }, { "sdot", .25 }, { 0 } },
                },
};
