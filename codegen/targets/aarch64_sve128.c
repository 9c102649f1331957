/* SPDX-License-Identifier: MIT */
/* This is 64-bit ARM with SVE registers of any length, of which 128 bits are used: Neoverse N2, V2,
 * Cortex-A510, A710, X2 and later. NEON has as many lanes; SVE has masks. No row is NEON's, because
 * its vectors have other types. */
#include "codegen/targets/sve.h"

extern const struct target target_generic, target_aarch64_sve128;

static const struct c_spelling spellings[] = { SVE_ROWS("4", "2", "16", SVE_STEPS_4),
                                               { .op = CAN_END } };
static const struct multiply multiplies[] = { SVE_MULTIPLIES(4), { 0 } };

const struct target target_aarch64_sve128 = {
        .name = "aarch64-sve128",
        .doc = "64-bit ARM with SVE, 4 lanes: registers of any length",
        .base = &target_generic,
        .engine = &engine_vector,
        .machine = "defined(__aarch64__) && defined(__GNUC__)",
        ARM64_PROCESSOR,
        .attribute = "sve",
        .gcc_attribute = "+sve",
        .include = "<arm_sve.h>",
        .length = "svcntb()",
        .vector_bytes = 16,
        .vector_registers = 32,
        .has_fma = true,
        .has_masks = true,
        .multiplies = multiplies,
        C_SPELLINGS(spellings),
};
