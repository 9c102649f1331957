/* SPDX-License-Identifier: MIT */
/* What the row of the grid engine (grid_engine.c) is made of, each in a file of its name. */
#ifndef ENGINES_GRID_GRID_ENGINE_H
#define ENGINES_GRID_GRID_ENGINE_H

#include "kernels/attention.h"
#include "kernels/kernel_state.h"
#include "schedule/choose.h"

/* convolve_packed: few rows by a warp from memory (row_warps.c), or fragments
 * (contract_warps.c). NULL: it cannot be as the schedule says. */
struct kernel_state *row_warps_prepare(const struct kernel_state *common);
struct kernel_state *warps_prepare(const struct kernel_state *common);
/* its schedule: by warps, each by itself, or by warp groups */
struct schedule warps_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena);
struct schedule groups_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena);
/* Vectors of outputs of a panel where warp groups multiply by m: those of least predicted time
 * (choose_warp_groups.c). */
int64_t group_panel(const struct target *target, const struct multiply *m,
                    const struct schedule_product *p);

/* Attention: of many rows by fragments, of few by warps that each have keys of their own. */
bool attention_warps_kernel(struct emit *e, const struct kernel_request *request,
                            const struct attention *a, struct loop_buffer *buffer);
bool attention_rows_kernel(struct emit *e, const struct kernel_request *request,
                           const struct attention *a, struct loop_buffer *buffer);
/* The schedule of the second product. False: nothing fits. */
bool attention_choose(const struct attention *a, const struct target *target, struct arena *arena,
                      struct schedule *best);

#endif
