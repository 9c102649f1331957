/* SPDX-License-Identifier: MIT */
/* Pools become part of the kernel that makes what they read, or of a kernel of products by 1. */
#include "engines/stream/offload.h"

/* Returns the pool of bytes in blocks that a kernel consists of, except for a pad around it; or
 * NULL. */
static struct op *pool_of(struct op *kernel, int lanes)
{
        struct op *op = kernel->code == OP_fusion ? kernel->regions[0]->first : kernel;
        const struct type *x = op->code == OP_reduce_window ? op_operand(op, 0)->type : NULL;
        return x && x->element == E_I8 && op_int(op, "kind") == REDUCE_max && x->rank >= 4 &&
                               dim_is(x->dims[x->rank - 1], lanes) && kernel->result_count == 1 &&
                               !offload_convolve(kernel)
                       ? op
                       : NULL;
}

/* Joins several kernels to one, where the machine can compute that. */
static bool join_kernels(struct op *const *kernels, int count, struct pass_context *context)
{
        struct op *last = kernels[count - 1], *joined = kernel_join(kernels, count, context->diag);
        struct stream_cost cost;
        if (!joined || !offload_fits(joined, context, &cost)) {
                if (joined)
                        op_erase(joined);
                return false;
        }
        joined->number = last->number;
        value_replace(op_result(last), op_result(joined));
        while (count--)
                op_erase(kernels[count]);
        return true;
}

static bool offload_pool(struct op *kernel, const struct partition *p)
{
        struct pass_context *context = p->context;
        const int lanes = target_accelerator(context->target)->block_in;
        struct op *pool = pool_of(kernel, lanes);
        if (!pool || partition_stays(p, kernel))
                return false;
        struct value *x = op_operand(pool, 0);
        struct op *from = x->kind == VALUE_RESULT && x->op->region == kernel->region ? x->op : NULL;
        if (from && value_has_one_use(x) && offload_convolve(from) &&
            join_kernels((struct op *[]){ from, kernel }, 2, context))
                return true;
        struct builder b = builder_before(kernel, context->diag);
        struct offloading o = { .m = b.m, .context = context, .lanes = lanes };
        struct value *block = offload_diagonal(&o, 1),
                     *w = offload_spread(&b, offload_weights(&o, x->type), block),
                     *sums = offload_products(&o, &b, x, w, 1),
                     *bytes = sums ? build_cast(&b, sums, E_I8) : NULL;
        if (!bytes)
                return false;
        op_set_operand(pool, 0, bytes);
        if (join_kernels((struct op *[]){ w->op, sums->op, bytes->op, kernel }, 4, context))
                return true;
        op_set_operand(pool, 0, x);
        op_erase(bytes->op);
        op_erase(sums->op);
        op_erase(w->op);
        return false;
}

int offload_pools(struct region *region, const struct partition *p)
{
        int count = 0;
        for (struct op *op = region->first, *next; op && !p->context->diag->code; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        count += offload_pools(op->regions[i], p);
                count += offload_pool(op, p);
        }
        return count;
}
