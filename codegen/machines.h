/* SPDX-License-Identifier: MIT */
/* The table of machines (ir/machine.h). */
#ifndef CODEGEN_MACHINES_H
#define CODEGEN_MACHINES_H

#include "ir/machine.h"

extern const struct machine *const machines[];           /* NULL behind the last */

#endif
