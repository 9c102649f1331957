/* SPDX-License-Identifier: MIT */
/* This machine holds activations itself. What it computes is command text (--emit=commands). As C,
 * the target is the same model in plain C, with the same bits. */
#include "codegen/sections/sections.h"
#include "ir/target/target.h"

extern const struct target target_generic;

const struct target target_sections = {
        .name = "sections",
        .doc = "plain C99; with --emit=commands, command text as XFDNN writes it, for quantized "
               "convolutions",
        .base = &target_generic,
        .engine = &engine_commands,
        .commands = overlays,
};
