/* SPDX-License-Identifier: MIT */
/* Cortex-M7 computes as Cortex-M4 does. */
#include "codegen/targets/firmware.h"

extern const struct target target_cortex_m4, target_cortex_m7;

const struct target target_cortex_m7 = {
        .name = "cortex-m7",
        .doc = "Cortex-M7: as Cortex-M4",
        .base = &target_cortex_m4,
        .cpu = "cortex-m7",
        .compilers = "gcc or clang for Cortex-M7 (-mcpu=cortex-m7)",
};
