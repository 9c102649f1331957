/* SPDX-License-Identifier: MIT */
/* Estimates what a kernel costs on a processor beside a machine, roughly and before it is lowered;
 * this decides whether the machine is worth a launch. */
#ifndef ENGINES_STREAM_PROCESSOR_COST_H
#define ENGINES_STREAM_PROCESSOR_COST_H

#include "ir/target/target.h"
#include "ir/tensor/tensor.h"

/* Returns the predicted cycles of one core, without vectors, for an operation or a fusion. Products
 * by one block, or of one element for all positions, which a machine is given, count as what they
 * stand for: operations on elements (offload.c). */
double processor_cycles(const struct op *kernel, const struct target *target);

#endif
