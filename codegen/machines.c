/* SPDX-License-Identifier: MIT */
#include "codegen/machines.h"

#define MACHINE(id) extern const struct machine machine_##id;
#include "codegen/machines.def"

#include <stddef.h>

const struct machine *const machines[] = {
#define MACHINE(id) &machine_##id,
#include "codegen/machines.def"
        NULL
};
