/* SPDX-License-Identifier: MIT */
/* This is AMD Zen 4 (2022). Vectors of 512 bits run as two halves, so one multiply-add of them
 * starts in a cycle.
 *
 * make fit-cost found the rates on an EPYC of family 25, model 17, two cores of a virtual machine
 * under load; the comment of each rate is by how much the median of its times exceeds the least.
 * Its rates for a second core are not used, because that core was never free for long. */
#include "ir/target/rates.h"

extern const struct target target_x86_64_v4_bf16, target_zen4;

static const struct rates rates = {
        .issue = 1,                     /* 1 to 7 % */
        .l2 = 30,                       /* 0 to 2 % */
        .memory = 9.2,                  /* 7 to 17 % */
        /* For these four it is 1 % of the time of small layers; .01 means that the cost is hidden
         * by products. */
        .contention = .01,
        .packed_entry = .01,
        .packed_iteration = .01,
        .packed_result = 1.7,
        /* The core's own prefetching reaches as far: 8 lines take 1.1 times as long as one. */
        .packed_ahead = 1,
        .multiplies = (const struct multiply_rate[]){
                { "bf16_dot", 1 }, { "vnni", 1 }, { "fma", 1 }, { "maddwd", 1.22 }, { 0 }
        },
};

const struct target target_zen4 = {
        .name = "zen4",
        .doc = "AMD Zen 4: what x86-64-v4-bf16 has, with vectors of 512 bits at half the rate",
        .base = &target_x86_64_v4_bf16,
        .processors = (const struct processor[]){
                { "AuthenticAMD", 25, 0x10, 0x1f },       /* Genoa, Storm Peak */
                { "AuthenticAMD", 25, 0x60, 0x7f },       /* Raphael, Phoenix */
                { "AuthenticAMD", 25, 0xa0, 0xaf },       /* Bergamo */
                { 0 }
        },
        .rates = &rates,
};
