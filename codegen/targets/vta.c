/* SPDX-License-Identifier: MIT */
/* This is VTA beside a processor that runs plain C: quantized convolutions run on the machine,
 * everything else in C. */
#include "ir/target/target.h"

#include "codegen/vta/vta.h"

extern const struct target target_generic;

static const struct multiply multiplies[] = {
        { .name = "vta", .positions = 1, .outputs = 16, .depth = 1, .channels = 16,
          .x = { .memory = E_I8, .word = E_I8, .source = SOURCE_BROADCAST },
          .w = { .memory = E_I8, .word = E_I8, .source = SOURCE_VECTOR },
          .sum = E_I32, .order = ORDER_EXACT, .streams = true, .instructions = 1 },
        { 0 }
};

const struct target target_vta = {
        .name = "vta",
        .doc = "plain C99, and TVM's accelerator for quantized convolutions",
        .base = &target_generic,
        .engine = &engine_stream,
        .multiplies = multiplies,
        .accelerator = &machine_vta,
        .workspace_align = 256,         /* The largest element of its memories has this many
                                         * bytes. */
};
