/* SPDX-License-Identifier: MIT */
/* The commands engine turns networks into text of commands for a machine that runs them as a whole
 * (codegen/sections). */
#include "ir/target/engine.h"
#include "ir/target/target.h"

static bool fits(const struct target *target) { return target_commands(target); }

const struct engine engine_commands = {
        .name = "commands",
        .doc = "text of commands for a machine that runs whole networks",
        .base = &engine_scalar,
        .fits = fits,
};
