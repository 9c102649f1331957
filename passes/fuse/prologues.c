/* SPDX-License-Identifier: MIT */
/* prologues: an element-wise kernel whose result one contraction reads becomes part of that
 * contraction's kernel.
 *
 *   %1 = fusion(%0, @s) { ... mul ... add ... max ... }           %2 = fusion(%0, @s, @w) { ... mul ... add ... max ...
 *   %2 = fusion(%1, @w) { ... convolve_packed ... }          ->           ... convolve_packed ... schedule="... strip=8" ... }
 *
 * Batch norm and activation in front of DenseNet's convolutions: the scheduled lowering computes
 * them once for each strip of rows, into memory that stays in the second cache
 * (kernels/prologue.c), and nothing is stored that the next kernel only reads again. Where threads
 * share panels, each of them would compute all of the prologue, so the kernels stay two. Operations
 * that decode narrower elements always join, so that what is stored stays small. Every element is
 * computed as before, so results stay the same to the bit. */
#include "cost/room.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/join.h"
#include "kernels/kernels.h"

static bool is_map(const struct op *op)
{
        return op_info[op->code].traits & TRAIT_ELEMENTWISE || op->code == OP_broadcast ||
               op->code == OP_pad || op->code == OP_neighbours;
}

/* Returns the kernel that makes what only the contraction reads, if it has element-wise operations
 * alone; else NULL. */
static struct op *find_map(struct op *kernel, const struct op *contraction)
{
        const struct value *x = op_operand(contraction, 0);
        struct op *made = x->kind == VALUE_RESULT ? x->op : NULL;
        if (!made || made->region != kernel->region || !value_has_one_use(x) ||
            made->result_count != 1)
                return NULL;
        if (made->code != OP_fusion)
                return is_map(made) ? made : NULL;
        for (const struct op *op = made->regions[0]->first; op->code != OP_yield; op = op->next)
                if (!is_map(op))
                        return NULL;
        return made;
}

/* Can its result lie where an operand was? */
static bool is_in_place(const struct op *map)
{
        for (int i = 0; i < map->operand_count; i++) {
                const struct value *v = op_operand(map, i);
                if (v && v->kind == VALUE_RESULT && value_has_one_use(v) &&
                    type_same_dims(v->type, op_result(map)->type))
                        return true;
        }
        return false;
}

/* Is everything that it reads narrower than what it makes? */
static bool widens(const struct op *map)
{
        int count = 0, bytes = element_info[op_result(map)->type->element].bytes;
        struct arena *arena = arena_new();
        struct value **captures = op_captures(arena, map, &count);
        bool all = map->code == OP_fusion;
        for (int i = 0; i < count; i++)
                all &= value_is_constant(captures[i]) ||
                       element_info[captures[i]->type->element].bytes < bytes;
        arena_free(arena);
        return all;
}

/* Does the join pay? It does where what the map reads and stores does not stay in the second cache,
 * and strips are cheaper for the contraction anyway. Elsewhere a map alone is faster, as it runs
 * once over its memory from front to back. */
static bool pays(const struct op *map, const struct schedule_registers *s,
                 const struct target *target)
{
        const struct type *y = op_result(map)->type;
        int64_t bytes = type_inner_elements(y) * element_info[y->element].bytes;
        return widens(map) || (s->strip && s->panel_tasks == 1 &&
                               (is_in_place(map) ? bytes : 2 * bytes) > room_whole(target));
}

static bool join(struct op *kernel, struct pass_context *context)
{
        struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        struct op *contraction = kernel->result_count == 1
                                         ? kernels_contraction(region, kernel, context->target)
                                         : NULL;
        const struct schedule_registers *words =
                contraction ? schedule_registers(contraction->schedule) : NULL;
        if (!words || !fuse_is_packed(contraction) ||
            !op_is_static_inside(contraction))
                return false;
        struct op *map = find_map(kernel, contraction);
        if (!map || !pays(map, words, context->target))
                return false;
        struct op *joined = kernel_join((struct op *const[]){ map, kernel }, 2, context->diag);
        if (!joined ||
            !kernels_accept(joined, &context->lower, context->library, context->diag)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        value_replace(op_result(kernel), op_result(joined));
        op_erase(kernel);
        op_erase(map);
        return true;
}

int pass_prologues(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
