/* SPDX-License-Identifier: MIT */
/* Plain C99 without any extension: it says everything, is always correct, and is the base of all
 * other targets. */
#include "codegen/c_printer.h"

extern const struct target target_generic;

/* Vectors multiply and add by two operations, for targets that have no better rows. */
#define PLAIN(lanes, w_, function) \
        { .name = "mul_add", .positions = 1, .outputs = lanes, .depth = 1, .channels = 1, \
          .x = { .memory = E_F32, .word = E_F32, .source = SOURCE_BROADCAST }, \
          .w = { .memory = E_##w_, .word = E_F32, .source = SOURCE_VECTOR, .decode = function }, \
          .sum = E_F32, .order = ORDER_SEQUENCE, .instructions = 2 }
#define PLAINS(lanes) \
        PLAIN(lanes, F32, NULL), PLAIN(lanes, BF16, NULL), PLAIN(lanes, F16, NULL), \
        PLAIN(lanes, F8E4M3, "finite_f8e4m3fn"), PLAIN(lanes, F8E5M2, "finite_f8e5m2")

static const struct multiply multiplies[] = {
        PLAINS(2), PLAINS(4), PLAINS(8), PLAINS(16), PLAINS(32), PLAINS(64), { 0 }
};

const struct target target_generic = {
        .name = "generic",
        .doc = "plain C99, any compiler and machine",
        .engine = &engine_scalar,
        .printer = &c_printer,
        .workspace_align = 8,           /* This is what the largest type asks for. */
        .stack_bytes = 4096,
        .l1_bytes = 32768,
        .l2_bytes = 262144,
        .line_bytes = 64,
        .multiplies = multiplies,
};
