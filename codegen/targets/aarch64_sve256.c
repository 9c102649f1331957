/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with SVE registers of 256 bits or more, as Neoverse V1 (2020) and A64FX (2019)
 * have them. */
#include "codegen/targets/sve.h"

extern const struct target target_aarch64, target_aarch64_sve256;

static const struct c_spelling spellings[] = { SVE_ROWS("8", "4", "32", SVE_STEPS_8),
                                               { .op = CAN_END } };
static const struct multiply multiplies[] = { SVE_MULTIPLIES(8), { 0 } };

const struct target target_aarch64_sve256 = {
        .name = "aarch64-sve256",
        .doc = "64-bit ARM with SVE, 8 lanes: registers of 256 bits or more",
        .base = &target_aarch64,
        .attribute = "sve",
        .gcc_attribute = "+sve",
        .gcc_optimize = ARM_GCC,
        .include = "<arm_sve.h>",
        .length = "svcntb()",
        .vector_bytes = 32,
        .has_masks = true,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
