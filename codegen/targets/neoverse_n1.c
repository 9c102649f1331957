/* SPDX-License-Identifier: MIT */
/* This is the Neoverse N1 (2019), of Graviton 2 and Ampere Altra. Its core is the Cortex-A76's, and
 * its guide (Arm Neoverse N1 Software Optimization Guide) has the same rates in the same tables. */
#include "ir/target/target.h"

extern const struct target target_cortex_a76, target_neoverse_n1;

const struct target target_neoverse_n1 = {
        .name = "neoverse-n1",
        .doc = "what cortex-a76 has, and a larger second cache",
        .base = &target_cortex_a76,
        .cpu = "neoverse-n1",
        .processors = (const struct processor[]){
                { "0x41", 8, 0xd0c, 0xd0c },
                { 0 }
        },
        .l2_bytes = 1048576,
};
