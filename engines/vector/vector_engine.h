/* SPDX-License-Identifier: MIT */
/* The row of the vector engine (vector_engine.c) consists of these functions, each in the file of
 * its operation: the lowering, and the choice of its schedule. */
#ifndef ENGINES_VECTOR_VECTOR_ENGINE_H
#define ENGINES_VECTOR_VECTOR_ENGINE_H

#include "kernels/kernel_state.h"
#include "schedule/choose.h"

struct kernel_state *lanes_prepare(const struct kernel_state *common);
struct kernel_state *winograd_prepare(const struct kernel_state *common);
struct kernel_state *windows_prepare(const struct kernel_state *common);
/* Are channels and lanes known? */
bool windows_serve(const struct op *op, const struct target *target);
struct kernel_state *blocks_prepare(const struct kernel_state *common);

struct schedule lanes_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule windows_choose(const struct op *op, const struct schedule_machine *machine,
                               struct arena *arena);
struct schedule blocks_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);

#endif
