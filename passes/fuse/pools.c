/* SPDX-License-Identifier: MIT */
/* pools: a reduction over all positions of a contraction that nothing else reads becomes part of
 * the contraction's kernel, where its schedule says so.
 *
 *   %1 = fusion(%0, @w) { ... convolve_packed ..           %2 = fusion(%0, @w) { ... convolve_packed .. schedule="... fused_pool=1"
 *                         .. schedule="... fused_pool=1"                             ... reduce
 *                         ... }                      ->                          ... }
 *   %2 = fusion(%1) { reduce ... }
 *
 * A thread block that has all positions of an image then stores their reduction alone
 * (engines/grid/warps_pool.c), which saves a launch. The result is exact to the bit: positions are
 * reduced in the same order. */
#include "kernels/kernels.h"
#include "passes/fuse/join.h"

/* Returns the kernel that computes the positions that `kernel` reduces; NULL if it reduces none, or
 * if others read them. */
static struct op *find_maker(struct op *kernel, const struct target *target)
{
        struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        bool (*pools)(const struct op *contraction, const struct op *reduce) =
                target_engine(target)->pools;
        for (struct op *op = region ? region->first : kernel; op; op = region ? op->next : NULL) {
                const struct value *x = op->code == OP_reduce ? op_operand(op, 0) : NULL;
                struct op *made = x && x->kind == VALUE_RESULT && value_has_one_use(x) ? x->op
                                                                                       : NULL,
                          *contraction = NULL;
                if (made && made->region == kernel->region && made->result_count == 1)
                        contraction = kernels_contraction(
                                made->code == OP_fusion ? made->regions[0] : NULL, made, target);
                const struct schedule_grid *words =
                        contraction ? schedule_grid(contraction->schedule) : NULL;
                if (words && words->fused_pool && pools(contraction, op))
                        return made;
        }
        return NULL;
}

static bool join(struct op *kernel, struct pass_context *context)
{
        struct op *maker = kernel->result_count == 1 ? find_maker(kernel, context->target) : NULL;
        struct op *joined =
                maker ? kernel_join((struct op *const[]){ maker, kernel }, 2, context->diag) : NULL;
        if (!joined || !kernels_accept(joined, &context->lower, context->library, context->diag)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        value_replace(op_result(kernel), op_result(joined));
        op_erase(kernel);
        op_erase(maker);
        return true;
}

int pass_pools(struct function *f, struct pass_context *context)
{
        return kernels_join_all(&f->body, join, context);
}
