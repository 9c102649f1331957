/* SPDX-License-Identifier: MIT */
#ifndef COMPILER_EMIT_LAUNCHES_H
#define COMPILER_EMIT_LAUNCHES_H

#include <stdio.h>

#include "compiler/driver.h"

/* --emit=vta, program: each launch that main makes, the first to `out`. False after an error. */
bool emit_launches(struct run *run, FILE *out);

#endif
