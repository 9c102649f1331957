/* SPDX-License-Identifier: MIT */
/* Cortex-M55 has the instructions of Cortex-M4; its vectors (MVE) are not used yet. */
#include "codegen/targets/firmware.h"

extern const struct target target_cortex_m4, target_cortex_m55;

const struct target target_cortex_m55 = {
        .name = "cortex-m55",
        .doc = "Cortex-M55: as Cortex-M4, no vectors yet",
        .base = &target_cortex_m4,
        .compilers = "gcc or clang for Cortex-M55 (-mcpu=cortex-m55)",
};
