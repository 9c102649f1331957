/* SPDX-License-Identifier: MIT */
/* What a kernel costs on a processor beside a machine, roughly and before it is lowered: whether
 * the machine is worth a launch. */
#ifndef ENGINES_STREAM_PROCESSOR_COST_H
#define ENGINES_STREAM_PROCESSOR_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* Predicted cycles of one core, without vectors, for an operation or a fusion. What a machine is
 * given as products by one block, or of one element for all positions, counts as what it stands
 * for: operations on elements (offload.c). */
double processor_cycles(const struct op *kernel, const struct target *target);

#endif
