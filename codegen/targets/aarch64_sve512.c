/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with SVE registers of 512 bits or more, as A64FX (2019) has them. */
#include "codegen/targets/sve.h"

extern const struct target target_aarch64_sve256, target_aarch64_sve512;

static const struct c_spelling spellings[] = { SVE_ROWS("16", "8", "64", SVE_STEPS_16),
                                               { .op = CAN_END } };
static const struct multiply multiplies[] = { SVE_MULTIPLIES(16), { 0 } };

const struct target target_aarch64_sve512 = {
        .name = "aarch64-sve512",
        .doc = "64-bit ARM with SVE, 16 lanes: registers of 512 bits or more",
        .base = &target_aarch64_sve256,
        .attribute = "sve",
        .gcc_attribute = "+sve",
        .vector_bytes = 64,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
