/* SPDX-License-Identifier: MIT */
/* The row of the grid engine (grid_engine.c) consists of these functions, each in a file of its
 * name. */
#ifndef ENGINES_GRID_GRID_ENGINE_H
#define ENGINES_GRID_GRID_ENGINE_H

#include "kernels/attention.h"
#include "kernels/kernel_state.h"
#include "schedule/choose.h"

/* Prepare a kernel of convolve_packed: few rows, of which a warp multiplies weights straight from
 * memory (row_warps.c), or fragments (contract_warps.c). Return NULL where the schedule cannot be
 * followed. */
struct kernel_state *row_warps_prepare(const struct kernel_state *common);
struct kernel_state *warps_prepare(const struct kernel_state *common);
/* Choose its schedule: by warps, each for itself, or by warp groups. */
struct schedule warps_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule groups_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
/* Returns the vectors of outputs in a panel that give the least predicted time where warp groups
 * multiply by m (choose_warp_groups.c). */
int64_t group_panel(const struct target *target, const struct multiply *m,
                    const struct schedule_product *p);

/* Write attention: of many rows by fragments, of few rows by warps that each have keys of their
 * own. */
bool attention_warps_kernel(struct emit *e, const struct kernel_request *request,
                            const struct attention *a, struct loop_buffer *buffer);
bool attention_rows_kernel(struct emit *e, const struct kernel_request *request,
                           const struct attention *a, struct loop_buffer *buffer);
/* Chooses the schedule of the second product. Returns false where nothing fits. */
bool attention_choose(const struct attention *a, const struct target *target, struct arena *arena,
                      struct schedule *best);

#endif
