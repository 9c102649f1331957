/* SPDX-License-Identifier: MIT */
/* Cortex-M33 computes as Cortex-M4 does. */
#include "codegen/targets/firmware.h"

extern const struct target target_cortex_m4, target_cortex_m33;

const struct target target_cortex_m33 = {
        .name = "cortex-m33",
        .doc = "Cortex-M33 with its DSP extension: as Cortex-M4",
        .base = &target_cortex_m4,
        .triple = "thumbv8m.main-none-eabihf",
        .cpu = "cortex-m33",
        .compilers = "gcc or clang for Cortex-M33 (-mcpu=cortex-m33)",
};
