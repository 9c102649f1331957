/* SPDX-License-Identifier: MIT */
/* offload: rewrites what a kernel adds to the sums of a convolution as products: always for bytes,
 * which a machine can only add in this way, and where it is cheaper for numbers per output.
 *
 *   fusion {                                       fusion {
 *     %2 = convolve_packed %0, @w                    %2 = convolve_packed %0, @w
 *     %3 = mul(cast(%1: i8) to=i32, 99)              %3 = convolve_packed %1,
 *     %4 = add(%2, %3)                      ->           broadcast(@diagonal of 99)
 *     %5 = add(%4, broadcast(@bias))                 %4 = add(%2, %3)
 *                                                    %5 = convolve_packed
 *                                                        broadcast(@[1, 127, 127, ..]),
 *                                                        @pieces of bias
 *                                                    %6 = add(%4, %5)
 *
 * A number becomes pieces of 8 bits: r + 127 * (q1 + q2 + ..), as many as there are lanes. Weights
 * whose blocks are all equal (averages) become one block. A pool joins the kernel that makes what
 * it reads, or becomes products by 1 and a pool of these. A kernel that only scales bytes becomes
 * products; where a kernel rounds a branch to bytes on the way, or continues from its bytes in
 * floats, it is divided there. Exact to the bit. This is done only where the machine can then
 * compute the whole kernel (engines/stream/streams.h) and is predicted to be faster
 * (offload_partition.c): first for all kernels, then again from the beginning where some of them
 * are faster on the processor, in their original form. */
#include "engines/stream/stream_memo.h"
#include "engines/stream/offload.h"

struct op *offload_convolve(const struct op *kernel)
{
        struct op *op = kernel->code == OP_fusion ? kernel->regions[0]->first : NULL;
        while (op && op->code != OP_convolve_packed)
                op = op->next;
        return op;
}

bool offload_fits(const struct op *kernel, struct pass_context *context, struct stream_cost *cost)
{
        const struct op *convolve = offload_convolve(kernel);
        struct stream_work work;
        struct schedule_stream s;
        return convolve && stream_work_of(convolve, context->target, &work) &&
               stream_tiles_best(&work, target_accelerator(context->target),
                                 kernel->region->function->module->arena, &context->memo, &s, cost);
}

static int offload_all(struct function *f, const struct partition *p)
{
        int count = 0;
        for (struct op *kernel = region_walk(&f->body, NULL); kernel && !p->context->diag->code;
             kernel = region_walk(&f->body, kernel)) {
                struct op *convolve = offload_convolve(kernel);
                if (!convolve) {
                        count += offload_elements(kernel, p);
                        continue;
                }
                count += offload_branches(kernel, convolve, p);
                count += partition_stays(p, kernel)
                                 ? 0
                                 : offload_sums(kernel->regions[0], convolve, p->context);
                offload_erase_unused(kernel->regions[0]);
                count += offload_first(kernel, convolve, p);
        }
        return count + offload_pools(&f->body, p);
}

/* ---- the second time ---- */

/* Replaces the operations of a region by copies of those of another one, which has as many
 * arguments. */
static void copy_body(const struct region *from, struct region *to, struct diag *diag)
{
        struct builder b = { .m = to->function->module, .region = to, .diag = diag };
        while (to->last)
                op_erase(to->last);
        for (int i = 0; i < from->argument_count; i++)
                from->arguments[i].scratch = &to->arguments[i];
        region_clone_operations(&b, from);
}

static int offload_partly(struct function *f, struct partition *p, struct arena *arena)
{
        struct region before = { .function = f };
        int count;
        region_reserve(&before, f->body.argument_count);
        for (int i = 0; i < f->body.argument_count; i++)
                region_add_argument(&before, f->body.arguments[i].type, f->body.arguments[i].name);
        copy_body(&f->body, &before, p->context->diag);
        partition_begin(p, f, arena);
        while ((count = offload_all(f, p)) && !p->context->diag->code && partition_choose(p, f)) {
                copy_body(&before, &f->body, p->context->diag);
                partition_number(f);
        }
        while (before.last)
                op_erase(before.last);
        partition_mark(p, f);
        return count;
}

int pass_offload(struct function *f, struct pass_context *context)
{
        struct partition p = { .context = context };
        struct arena *arena =
                target_accelerator(context->target) && !context->exact ? arena_new() : NULL;
        const int count = arena ? offload_partly(f, &p, arena) : 0;
        arena_free(arena);
        return context->diag->code ? -1 : count;
}
