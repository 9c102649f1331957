/* SPDX-License-Identifier: MIT */
/* This is AMD Zen 5 (2024): Turin, Granite Ridge. The processors for laptops, models from 0x20 to
 * 0x2f and from 0x60 on, are not included: their vectors of 512 bits run as two halves.
 *
 * make fit-cost found the rates on an EPYC of family 26, model 2, two cores of a virtual machine;
 * the comment of each rate is by how much the median of its times exceeds the least. Its rates for
 * a second core are not used, because that core was never free for long. AMD's Software
 * Optimization Guide for the Zen 5 Microarchitecture (58455) has two multiply-adds of 512 bits in a
 * cycle, latency 4, and 64 bytes in a cycle from the second-level cache. */
#include "ir/target/rates.h"

extern const struct target target_x86_64_v4_bf16, target_zen5;

static const struct rates rates = {
        .l2 = 56,                       /* 1 % */
        .memory = 11,                   /* 2 % */
        /* For these four it is 1 % of the time of small layers; .01 means that the cost is hidden
         * by products. */
        .contention = .01,
        .packed_entry = .01,
        .packed_iteration = .01,
        .packed_result = .55,
        .multiplies = (const struct multiply_rate[]){ { "maddubs", 1 }, { "maddwd", .66 }, { 0 } },
};

const struct target target_zen5 = {
        .name = "zen5",
        .doc = "AMD Zen 5: what x86-64-v4-bf16 has, and a larger first cache",
        .base = &target_x86_64_v4_bf16,
        .processors = (const struct processor[]){
                { "AuthenticAMD", 26, 0x00, 0x1f },       /* Turin */
                { "AuthenticAMD", 26, 0x40, 0x4f },       /* Granite Ridge */
                { 0 }
        },
        .l1_bytes = 49152,
        .rates = &rates,
};
