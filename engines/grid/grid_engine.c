/* SPDX-License-Identifier: MIT */
/* The grid engine launches blocks of warps. Products use fragments of warps; all other kernels are
 * nests in grid form (grid.c). */
#include "engines/grid/contract_warps.h"
#include "engines/grid/grid_engine.h"
#include "engines/grid/launch_cost.h"
#include "engines/grid/row_warps.h"
#include "engines/grid/warp_group_cost.h"
#include "ir/target/engine.h"
#include "ir/target/target.h"
#include "kernels/attention.h"
#include "kernels/contract.h"
#include "kernels/kernel_state.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

/* Products and convolutions of as many images as a run gives, or products of as many rows. */
static bool has_fragments(const struct op *op, const struct target *target)
{
        const struct type *y = op_result(op)->type;
        const bool rows = y->rank == 4 && dim_is(y->dims[0], 1) && dim_is(y->dims[1], 1) &&
                          type_is_static_from(op_operand(op, 0)->type, 3) &&
                          type_is_static(op_operand(op, 1)->type);
        return contract_multiply(op, target, true) && (op_is_static_inside(op) || rows);
}

static bool has_few_rows(const struct op *op, const struct target *target)
{
        return op_is_static(op) && contract_multiply(op, target, true);
}

static struct schedule choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena)
{
        const struct multiply *m = contract_multiply(op, machine->target, true);
        return (multiply_by_warp_group(m) ? groups_choose : warps_choose)(op, machine, arena);
}

static const struct lowering lowerings[] = {
        /* A schedule for few rows is followed by row_warps_prepare, any other by warps_prepare. */
        { .code = OP_convolve_packed, .reads = CONTRACT_READS, .serves = has_few_rows, .prepare = row_warps_prepare, .choose = choose, .kind = SCHEDULE_grid },
        { .code = OP_convolve_packed, .reads = CONTRACT_READS, .serves = has_fragments, .prepare = warps_prepare, .choose = choose, .images = true, .positions = true, .kind = SCHEDULE_grid },
        { .reads = 0 }
};

static bool attention(struct emit *e, const struct kernel_request *request,
                      const struct attention *a, struct loop_buffer *buffer)
{
        const struct schedule_grid *s = schedule_grid(a->second->schedule);
        return (a->first->code == OP_dot && s && !s->keys ? attention_rows_kernel
                                                          : attention_warps_kernel)(
                e, request, a, buffer);
}

static int64_t panel(const struct target *target, const struct multiply *m,
                     const struct schedule_product *p)
{
        if (p->matrix && p->positions <= ROW_WARPS_MOST)
                return 1;               /* The panels are as narrow as possible, so that many blocks
                                         * can share them. */
        return multiply_by_warp_group(m) ? group_panel(target, m, p) : 0;
}

/* Returns the multiply of a product: by warp groups, or by each warp for itself. */
static const struct multiply *multiply(const struct target *target, const struct multiply *m,
                                       const struct schedule_product *p, int64_t percent)
{
        const struct multiply *other;
        if (!multiply_by_warp_group(m))
                return m;
        for (int i = 0; (other = multiply_at(target, i)); i++)
                if (other->x.memory == m->x.memory && other->w.memory == m->w.memory &&
                    other->x.source == SOURCE_WARP)
                        break;
        bool faster = !other || groups_products(target, m, p->positions, p->outputs, p->channels) <
                                        groups_products(target, other, p->positions, p->outputs,
                                                        p->channels) *
                                                (double)percent / 100;
        return faster && p->positions >= m->positions ? m : other;
}

static bool cold(const struct target *target, double bytes)
{
        return warps_are_cold(target_gpu(target), bytes);
}

static bool fits(const struct target *target)
{
        return target_gpu(target) && multiply_registers(target);
}

const struct engine engine_grid = {
        .name = "grid",
        .doc = "launches of blocks of warps",
        .fits = fits,
        .blocks = true,
        .float_schedules = true,
        .hardware_tiles = true,
        .open_tiles = true,
        .launches = true,
        .reads_borders = true,
        .joins_products = true,
        .canonical_depthwise = true,
        .layout = LAYOUT_CHANNELS_LAST,
        .lowerings = lowerings,
        .attention = attention,
        .attention_schedule = attention_choose,
        .pools = warps_pools,
        .decoded = warps_decoded,
        .stores_caches = grid_stores_within_launch,
        .panel = panel,
        .multiply = multiply,
        .window_cost = warps_window_cost,
        .cold = cold,
};
