/* SPDX-License-Identifier: MIT */
/* This is the target generic for big-endian machines, where constants of any size are numbers. */
#include "ir/target/target.h"

extern const struct target target_generic, target_generic_be;

const struct target target_generic_be = {
        .name = "generic-be",
        .doc = "plain C99 for big-endian machines, where constants take more than 1 MB",
        .base = &target_generic,
        .big_endian = true,
};
