/* contract: on vectors, products that are added are not rounded before, where the target does both
 * in one instruction.
 *
 *     %v = %x * splat<16>(%scale) + splat<16>(%shift)   ->   %v = fma(%x, splat<16>(%scale), splat<16>(%shift))
 *     exp(%v)                                           ->   exp_fused(%v)
 *
 * Other bits, and mostly better ones: nothing with --exact. A product that has a name of its own
 * keeps its rounding. */
#include "ir/loop_contract.h"
#include "passes/pass.h"

struct contracting { struct loop_program *program; int count; };

static void contract(struct contracting *c, struct loop_expr **e)
{
        const struct loop_program *p = c->program;
        int before = c->count;
        struct loop_expr *better =
                *e ? loop_contract(p->arena, p->library, *e, false, &c->count) : NULL;
        if (c->count > before)
                *e = better;
}

static void contract_stmt(struct loop_stmt *s, void *context)
{
        contract(context, &s->a);
        contract(context, &s->b);
        contract(context, &s->c);
}

int pass_contract(struct loop_program *p, struct pass_context *context)
{
        struct contracting c = { .program = p };
        if (context->exact || !target_has_fma(context->target))
                return 0;
        for (struct loop_function *f = p->kernels; f; f = f->next)
                loop_block_walk(f->body, contract_stmt, NULL, &c);
        return c.count;
}
