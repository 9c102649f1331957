/* SPDX-License-Identifier: MIT */
/* A machine can compute a part of some kernels: those that only multiply bytes by numbers, those
 * that continue from the bytes that sums become, and those that round a branch to bytes on the
 * way. */
#include <math.h>

#include "engines/stream/offload.h"

/* ---- element by element ---- */

int offload_elements(struct op *kernel, const struct partition *p)
{
        struct pass_context *context = p->context;
        const int lanes = target_accelerator(context->target)->block_in;
        struct region *region =
                kernel->code == OP_fusion && kernel->result_count == 1 ? kernel->regions[0] : NULL;
        struct stream_work work;
        struct stream_cost cost;
        double number;
        if (partition_stays(p, kernel))
                return 0;
        for (struct op *op = region ? region->first : NULL; op; op = op->next)
                if (op_info[op->code].traits & TRAIT_CONTRACTION || op->code == OP_reduce ||
                    op->code == OP_reduce_window)
                        return 0;
        for (struct op *op = region ? region->first : NULL; op; op = op->next) {
                struct value *x = op->code == OP_mul ? offload_multiplied(op, &number) : NULL,
                             *old = x ? op_result(op) : NULL;
                if (!x || old->type->element != E_I32 || x->type->rank < 4 ||
                    !dim_is(x->type->dims[0], 1) ||
                    !dim_is(x->type->dims[x->type->rank - 1], lanes))
                        continue;
                struct offloading o = { .m = region->function->module,
                                        .context = context,
                                        .lanes = lanes };
                struct builder b = builder_before(op, context->diag);
                struct value *w = offload_spread(&b, offload_weights(&o, x->type),
                                                 offload_diagonal(&o, (int)number)),
                             *sums = offload_products(&o, &b, x, w, (int)fabs(number));
                if (!sums)
                        return 0;
                value_replace(old, sums);
                const int count = offload_sums(region, sums->op, context);
                if (stream_work_of(sums->op, context->target, &work) &&
                    offload_fits(kernel, context, &cost))
                        return offload_erase_unused(region), count + 1;
                value_replace(sums, old);
                offload_erase_unused(region);
                return 0;
        }
        return 0;
}

/* ---- kernels that continue from bytes ---- */

/* Returns the operation that makes bytes of the sums on their way through the kernel, where the
 * kernel continues from them; or NULL. */
static struct op *bytes_of(const struct op *convolve)
{
        const struct value *at = op_result(convolve);
        while (value_has_one_use(at) && at->uses->user->code != OP_yield &&
               at->uses->user->result_count == 1) {
                struct op *op = at->uses->user;
                at = op_result(op);
                if (op->code != OP_cast || at->type->element != E_I8)
                        continue;
                const struct op *next = value_has_one_use(at) ? at->uses->user : NULL;
                return next && (next->code == OP_yield || next->code == OP_pad) ? NULL : op;
        }
        return NULL;
}

/* Copies v, and the operations of the region that it is computed by. */
static struct value *copy_value(struct builder *b, const struct region *region, struct value *v)
{
        if (v->kind != VALUE_RESULT || v->op->region != region)
                return v;
        for (int i = 0; i < v->op->operand_count && !v->scratch; i++)
                if (op_operand(v->op, i))
                        copy_value(b, region, op_operand(v->op, i));
        if (!v->scratch)
                v->scratch = op_result(op_clone(b, v->op));
        return v->scratch;
}

/* Makes a kernel, before this one, of the operations that `bytes` is computed by. */
static struct op *cut_off(struct op *kernel, struct op *bytes, int part,
                          struct pass_context *context)
{
        struct region *region = kernel->regions[0];
        struct builder b = builder_before(kernel, context->diag);
        b.location = bytes->location;
        struct op *first =
                op_build_results(&b, OP_fusion, NULL, 0, NULL, &op_result(bytes)->type, 1, 1);
        if (!first)
                return NULL;
        first->number = kernel->number + part;
        struct builder inside = { .m = b.m,
                                  .region = op_add_region(first, 0),
                                  .diag = context->diag };
        struct value *result = copy_value(&inside, region, op_result(bytes));
        build_yield(&inside, &result, 1);
        for (struct op *op = region->first; op; op = op->next)
                for (int k = 0; k < op->result_count; k++)
                        op->results[k].scratch = NULL;
        return first;
}

/* Lets the kernel read the result of the first one, once the machine can compute that. */
static void read_result(struct op *kernel, struct op *bytes, struct op *first)
{
        value_replace(op_result(bytes), op_result(first));
        offload_erase_unused(kernel->regions[0]);
}

int offload_first(struct op *kernel, struct op *convolve, const struct partition *p)
{
        struct pass_context *context = p->context;
        struct op *bytes = bytes_of(convolve);
        struct stream_work work;
        struct op *first = bytes && !p->stays[kernel->number + PART_FIRST] &&
                                           !stream_work_of(convolve, context->target, &work)
                                   ? cut_off(kernel, bytes, PART_FIRST, context)
                                   : NULL;
        if (!first)
                return 0;
        int count = offload_sums(first->regions[0], offload_convolve(first), context);
        offload_erase_unused(first->regions[0]);
        if (!stream_work_of(offload_convolve(first), context->target, &work)) {
                op_erase(first);
                return 0;
        }
        read_result(kernel, bytes, first);
        return count + 1 + offload_elements(kernel, p);
}

/* Returns which operations of its region, by their number there, depend on convolve's result. */
static bool *followers(struct arena *arena, struct op *convolve)
{
        int count = 0;
        for (struct op *op = convolve->region->first; op; op = op->next)
                op->number = count++;
        bool *follow = arena_array(arena, (size_t)count, sizeof *follow);
        for (const struct op *op = convolve->region->first; op; op = op->next) {
                follow[op->number] = op == convolve;
                for (int i = 0; i < op->operand_count; i++) {
                        const struct value *v = op_operand(op, i);
                        if (v && v->kind == VALUE_RESULT && v->op->region == convolve->region)
                                follow[op->number] |= follow[v->op->number];
                }
        }
        return follow;
}

int offload_branches(struct op *kernel, struct op *convolve, const struct partition *p)
{
        struct pass_context *context = p->context;
        int count = 0;
        struct arena *arena = arena_new();
        const bool *follow = followers(arena, convolve);
        for (struct op *op = kernel->regions[0]->first, *next; op && !context->diag->code;
             op = next) {
                next = op->next;
                if (op->code != OP_cast || op_result(op)->type->element != E_I8 ||
                    op_operand(op, 0)->type->element != E_I32 || follow[op->number])
                        continue;
                struct op *first = cut_off(kernel, op, PART_BRANCH, context);
                if (first && !offload_elements(first, p)) {
                        op_erase(first);
                } else if (first) {
                        value_replace(op_result(op), op_result(first));
                        count++;
                }
        }
        arena_free(arena);
        offload_erase_unused(kernel->regions[0]);
        return count;
}
