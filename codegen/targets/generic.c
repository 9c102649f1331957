/* Plain C99 without a single extension: has everything, always right, the base of all others. */
#include "codegen/c_printer.h"

extern const struct target target_generic;

const struct target target_generic = {
        .name = "generic",
        .doc = "plain C99, any compiler and machine",
        .printer = &c_printer,
        .workspace_align = 64,          /* a cache line */
        .stack_bytes = 4096,
        .l1_bytes = 32768,
        .l2_bytes = 262144,
        .vector_issue = 1,
        .l2_speed = 16,
        .memory_speed = 4,
};
