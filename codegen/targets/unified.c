/* SPDX-License-Identifier: MIT */
/* This is a machine with a unified buffer beside a processor that runs plain C: quantized
 * convolutions run on the machine, everything else in C. */
#include "ir/target/target.h"

#include "codegen/unified/unified.h"

extern const struct target target_generic;

static const struct multiply multiplies[] = {
        { .name = "unified", .positions = 1, .outputs = 256, .depth = 1, .channels = 256,
          .x = { .memory = E_I8, .word = E_I8, .source = SOURCE_BROADCAST },
          .w = { .memory = E_I8, .word = E_I8, .source = SOURCE_VECTOR },
          .sum = E_I32, .order = ORDER_EXACT, .streams = true, .instructions = 1 },
        { 0 }
};

const struct target target_unified = {
        .name = "unified",
        .doc = "plain C99, and a machine with a unified buffer, like the first TPU, for quantized "
               "convolutions",
        .base = &target_generic,
        .engine = &engine_stream,
        .multiplies = multiplies,
        .accelerator = &machine_unified,
        .workspace_align = 256,
};
