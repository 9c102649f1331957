/* SPDX-License-Identifier: MIT */
/* This is the Neoverse V1 (2020), of Graviton 3.
 *
 * The rates are those of the Arm Neoverse V1 Software Optimization Guide, tables of advanced SIMD
 * instructions and of loads. They are the Cortex-X1's, whose core it has; USDOT and SMMLA take as
 * long as SDOT. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_i8mm, target_neoverse_v1;

const struct target target_neoverse_v1 = {
        .name = "neoverse-v1",
        .doc = "what aarch64-i8mm has, with four products of vectors a cycle",
        .base = &target_aarch64_i8mm,
        .cpu = "neoverse-v1",
        .processors = (const struct processor[]){ { "0x41", 8, 0xd40, 0xd40 }, { 0 } },
        .l1_bytes = 65536,
        .l1_way_bytes = 16384,
        .l2_bytes = 1048576,
        .rates =
                &(const struct rates){
                        .issue = 4,
                        .load = 1.33, /* Three loads start in a cycle. */
                        .latency = 2, /* A sum is forwarded. */
                        .tile_multiply = .25,
                        .tile_load = .25, /* Its second row takes one of the four. */
                        .multiplies = (const struct multiply_rate[]){ { "smlal", 1 },
                                                                      { "smull", 1 },
                                                                      { 0 } },
                },
};
