/* SPDX-License-Identifier: MIT */
/* strips: kernels that hand a large tensor to the next one become one kernel that makes and reads
 * it strip by strip.
 *
 *   %1 = fusion(%0, @e) { ... convolve_packed ... pad ... }          %3 = fusion(%0, @e, @d, @p) { ... convolve_packed ... pad ...
 *   %2 = fusion(%1, @d) { ... convolve_lanes ... }            ->            ... convolve_lanes ...
 *   %3 = fusion(%2, @p) { ... convolve_packed ... }                         ... convolve_packed ... schedule="strip=8" ... }
 *
 * So in MobileNetV2 the expanded channels never leave the second cache. Kernels join where
 *
 *   - one of the two that meet is a depthwise convolution or a pool, and so bound by memory, or the
 *     second makes the outputs of one vector;
 *   - what lies between them is larger than the cache (or a good part of it, when there are strips
 *     already), or a pool follows weights that stay in it, or (tile by tile: engines/vector/convolve_winograd.c)
 *     Winograd's algorithm;
 *   - the scheduled lowering (kernels/strips_kernel.c) can write both.
 *
 * Every element is computed as before, so results stay the same to the bit. */
#include "cost/room.h"
#include "kernels/kernels.h"
#include "kernels/layer_chain.h"
#include "passes/fuse/join.h"
#include "schedule/schedule_choice.h"

/* Is the kernel, an operation or a fusion, a layer chain whose operations have schedules? */
static bool find_chain(struct op *kernel, struct layer_chain *chain)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        if (kernel->result_count != 1 || (region && region->last->operand_count != 1) ||
            !layer_chain_find(region, kernel,
                              region ? op_operand(region->last, 0) : op_result(kernel), chain))
                return false;
        for (int i = 0; i < chain->count; i++)
                if (!chain->links[i].op->schedule)
                        return false;
        return true;
}

/* Returns the bytes of one image of v. */
static int64_t bytes_of(const struct value *v)
{
        return type_inner_elements(v->type) * element_info[v->type->element].bytes;
}

static int64_t weights_bytes(const struct op *op)
{
        return op->operand_count > 1 ? type_bytes(op_operand(op, 1)->type) : 0;
}

/* Is op bound by memory when it runs alone? */
static bool is_light(const struct op *op)
{
        return op->code == OP_convolve_lanes || op->code == OP_reduce_window;
}

/* Does it make a single vector of outputs from all that it reads? */
static bool is_narrow(const struct op *op, const struct target *target)
{
        return op->code == OP_convolve_packed && op_int(op, "outputs") <= target_block(target);
}

static bool pays(const struct layer_chain *first, const struct layer_chain *second,
                 const struct target *target)
{
        const struct op *before = first->links[first->count - 1].op, *after = second->links[0].op;
        if (after->code == OP_reduce_window && weights_bytes(before) < room_strip(target))
                return true;
        return (is_light(before) || is_light(after) || is_narrow(after, target)) &&
               bytes_of(op_operand(after, 0)) >
                       (first->count + second->count > 2 ? room_part(target) : room_whole(target));
}

/* Returns the rows of link i's tile: as many as the schedule says, or fewer so that they divide the
 * rows of the result. */
static int tile_rows(const struct layer_chain *chain, int i, const struct schedule_registers *s)
{
        int64_t rows = type_extent(op_result(chain->links[i].op)->type, LAYER_CHAIN_ROWS);
        int most = i < chain->wide ? 1 : s->rows;
        while (rows % most)
                most--;
        return most;
}

/* Returns the rows of a strip: what lies between the contractions fills half of the second cache,
 * threads get equal shares, and strips are whole tiles. 0: not even one row fits. */
static int64_t strip_rows(const struct layer_chain *chain, const struct schedule_machine *machine,
                          int tile)
{
        int64_t room = room_strip(machine->target), each = 0;
        const struct op *wide = chain->links[chain->wide].op;
        int64_t stride = chain->wide ? layer_chain_stride(wide) : 1;
        int64_t rows =
                type_extent(op_result(chain->links[chain->count - 1].op)->type, LAYER_CHAIN_ROWS);
        for (int i = 1; i < chain->count; i++) {
                const struct value *x = op_operand(chain->links[i].op, 0);
                int64_t row = bytes_of(x) / type_extent(x->type, LAYER_CHAIN_ROWS);
                each += i <= chain->wide ? row * stride : row;
                if (i <= chain->wide)
                        room -= row * (layer_chain_reach(wide) - stride);
        }
        int64_t most = room / each < rows ? room / each / tile * tile : rows;
        if (most < 1)
                return 0;
        int64_t threads = machine->threads > 1 ? machine->threads : 1;
        int64_t strips = divide_up(divide_up(rows, most), threads) * threads;
        return divide_up(divide_up(rows, strips), tile) * tile;
}

/* Turns the schedules of single contractions into schedules of a chain. Returns false if that
 * cannot be. */
static bool set_schedules(struct layer_chain *chain, const struct schedule_machine *machine,
                          struct arena *arena)
{
        struct schedule_registers schedules[LAYER_CHAIN_MAX];
        int tile = 1;
        for (int i = 0; i < chain->count; i++) {
                struct schedule_registers *s = &schedules[i];
                *s = schedule_tiles(chain->links[i].op->schedule);
                int rows = tile_rows(chain, i, s);
                s->columns = s->rows * s->columns / rows;
                s->rows = rows;
                s->row_tasks = s->panel_tasks = 1;
                s->flat = s->strip = s->prefetch = s->pack = 0;
                tile = rows > tile ? rows : tile;
        }
        int64_t strip = strip_rows(chain, machine, tile);
        schedules[chain->count - 1].strip = (int)strip;
        schedules[chain->count - 1].row_tasks = machine->threads > 1 ? machine->threads : 1;
        for (int i = 0; i < chain->count; i++)
                chain->links[i].op->schedule =
                        schedule_keep(arena, schedule_of_registers(schedules[i], NULL));
        return strip > 0;
}

/* Returns the kernel whose result is all that the chain of `second` reads, and whose only reader is
 * `second`; NULL if there is none. */
static struct op *find_first(struct op *second, const struct layer_chain *chain)
{
        const struct value *x = op_operand(chain->links[0].op, 0);
        bool made =
                x->kind == VALUE_RESULT && x->op->region == second->region && value_has_one_use(x);
        return made ? x->op : NULL;
}

/* Puts `joined` in the place of first and second if it can be scheduled; else erases it and returns
 * false. */
static bool replace(struct op *first, struct op *second, struct op *joined,
                    struct pass_context *context)
{
        if (!kernels_accept(joined, &context->lower, context->library, context->diag)) {
                op_erase(joined);
                return false;
        }
        value_replace(op_result(second), op_result(joined));
        op_erase(second);
        op_erase(first);
        return true;
}

static struct op *contraction_of(struct op *kernel, const struct target *target)
{
        return kernels_contraction(kernel->code == OP_fusion ? kernel->regions[0] : NULL, kernel,
                                   target);
}

/* Joins a pool to the Winograd convolution whose tiles its windows read. */
static bool join_windows(struct op *second, struct pass_context *context)
{
        struct op *pool =
                second->result_count == 1 ? contraction_of(second, context->target) : NULL;
        struct value *x = pool && pool->code == OP_reduce_window ? op_operand(pool, 0) : NULL;
        if (!x || x->kind != VALUE_RESULT || x->op->region != second->region ||
            !value_has_one_use(x) || x->op->result_count != 1)
                return false;
        struct op *first = x->op, *contraction = contraction_of(first, context->target);
        if (!contraction || contraction->code != OP_convolve_winograd || !contraction->schedule)
                return false;
        struct op *joined = kernel_join((struct op *const[]){ first, second }, 2, context->diag);
        return joined && replace(first, second, joined, context);
}

static bool join(struct op *second, struct pass_context *context)
{
        const struct schedule_machine machine = { .target = context->target,
                                                  .threads = context->lower.threads };
        struct module *m = second->region->function->module;
        struct layer_chain first_chain, chain;
        if (join_windows(second, context))
                return true;
        if (!find_chain(second, &chain))
                return false;
        struct op *first = find_first(second, &chain);
        if (!first || !find_chain(first, &first_chain) ||
            !layer_chain_joins(&first_chain, &chain) ||
            !pays(&first_chain, &chain, context->target))
                return false;
        struct op *joined = kernel_join((struct op *const[]){ first, second }, 2, context->diag);
        if (!joined)
                return false;
        if (find_chain(joined, &chain) && set_schedules(&chain, &machine, m->arena))
                return replace(first, second, joined, context);
        op_erase(joined);
        return false;
}

int pass_strips(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
