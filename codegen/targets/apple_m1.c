/* SPDX-License-Identifier: MIT */
/* This is the Apple M1 (2020). Its performance cores have four vector pipelines of 128 bits.
 *
 * Apple has no public guide of instruction times. D. Johnson measured these rates (Apple M1
 * microarchitecture research, Firestorm, SIMD and loads): four FMLA, SDOT, SMULL or SADALP start in
 * a cycle, and a sum waits 4 cycles (3 of SDOT); three loads start in a cycle. */
#include "ir/target/rates.h"

extern const struct target target_aarch64_fp16, target_apple_m1;

const struct target target_apple_m1 = {
        .name = "apple-m1",
        .doc = "what aarch64-fp16 has, with four products of vectors a cycle",
        .base = &target_aarch64_fp16,
        .triple = "arm64-apple-macosx11.0.0",
        .cpu = "apple-m1",
        .processors = (const struct processor[]){ { "0x61", 8, 0x22, 0x25 }, /* M1, M1 Pro */
                                                  { "0x61", 8, 0x28, 0x29 }, /* M1 Max */
                                                  { 0 } },
        .l1_bytes = 131072,
        .l1_way_bytes = 16384,
        .l2_bytes = 3145728,
        .rates =
                &(const struct rates){
                        .issue = 4,
                        .load = 1.33, /* Three loads start in a cycle. */
                        .multiplies =
                                (const struct multiply_rate[]){
                                        { "smlal", .75 }, { "smull", 1 }, { "sdot", .25 }, { 0 } },
                },
};
