/* SPDX-License-Identifier: MIT */
/* What the row of the vector engine (vector_engine.c) is made of, each in a file of its operation: the lowering, and the choice
 * of its schedule. */
#ifndef ENGINES_VECTOR_VECTOR_ENGINE_H
#define ENGINES_VECTOR_VECTOR_ENGINE_H

#include "kernels/stage.h"
#include "schedule/choose.h"

struct stage *lanes_prepare(const struct stage *common);
struct stage *winograd_prepare(const struct stage *common);
struct stage *windows_prepare(const struct stage *common);
struct stage *blocks_prepare(const struct stage *common);

struct schedule lanes_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena);
struct schedule windows_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena);
struct schedule blocks_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena);

#endif
