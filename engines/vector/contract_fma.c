/* SPDX-License-Identifier: MIT */
/* contract: on vectors, a product is not rounded before it is added, where the target does both in
 * one instruction.
 *
 *     %v = %x * splat<16>(%scale) + splat<16>(%shift)
 *     exp(%v)
 *
 * becomes
 *
 *     %v = fma(%x, splat<16>(%scale), splat<16>(%shift))
 *     exp_fused(%v)
 *
 * The bits of results change, mostly to better ones: the pass does nothing under --exact. A product
 * that has a name of its own keeps its rounding. So does a value that becomes a whole number: next
 * to a half, another last bit is another number, and quantized networks have the same bytes on
 * every target.
 *
 *     let %v = %x * %a + %y * %b
 *     %y[i] = u8(round(%v))                             stays */
#include "ir/loop/loop_contract.h"
#include "passes/pass.h"
#include "passes/vectorize/averages.h"

struct contracting {
        struct loop_program *program;
        struct map *made, *rounded;     /* For each variable, `made` has the let that defines it,
                                         * `rounded` the one that computes a whole number. */
        struct map *averages;           /* It is described in passes/vectorize/averages.h. */
        struct pending { const struct loop_stmt *let; struct pending *next; } *pending;
        int count;
};

/* ---- values that become whole numbers ---- */

static const void *entry(const struct map *map, const struct loop_variable *v)
{
        return map_get(map, (const char *)&v, sizeof v);
}

static void find_made(struct loop_stmt *s, void *context)
{
        const struct contracting *c = context;
        if (s->kind == STMT_LET)
                map_set(c->made, (const char *)&s->variable, sizeof s->variable, s);
}

static void add_named(struct loop_expr *e, void *context)
{
        struct contracting *c = context;
        const struct loop_stmt *let = e->variable ? entry(c->made, e->variable) : NULL;
        if (!let || entry(c->rounded, e->variable))
                return;
        map_set(c->rounded, (const char *)&e->variable, sizeof e->variable, e->variable);
        struct pending *p = ARENA_NEW(c->program->arena, struct pending);
        *p = (struct pending){ let, c->pending };
        c->pending = p;
}

static void find_round(struct loop_expr *e, void *context)
{
        if (loop_is_round(e))
                loop_expr_walk(e, add_named, context);
}

static void find_rounded(struct contracting *c, const struct loop_function *f)
{
        c->made = map_new(c->program->arena);
        c->rounded = map_new(c->program->arena);
        loop_block_walk(f->body, find_made, NULL, c);
        loop_block_walk(f->body, NULL, find_round, c);
        while (c->pending) {
                const struct loop_stmt *let = c->pending->let;
                c->pending = c->pending->next;
                loop_expr_walk(let->a, add_named, c);
        }
}

/* ---- contracting ---- */

static void contract(struct contracting *c, struct loop_expr **e, bool rounded)
{
        const struct loop_program *p = c->program;
        int before = c->count;
        struct loop_expr *better =
                *e ? loop_contract(p->arena, p->library, *e, rounded, &c->count) : NULL;
        if (c->count > before)
                *e = better;
}

static void contract_stmt(struct loop_stmt *s, void *context)
{
        const struct contracting *c = context;
        bool rounded = (s->kind == STMT_LET && entry(c->rounded, s->variable)) ||
                       (s->kind == STMT_SET && averages_has(c->averages, s->variable));
        contract(context, &s->a, rounded);
        contract(context, &s->b, rounded);
        contract(context, &s->c, rounded);
}

int pass_contract(struct loop_program *p, struct pass_context *context)
{
        struct contracting c = { .program = p };
        if (context->exact || !target_has_fma(context->target))
                return 0;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                if (f->external)        /* Its body says what it means as it stands. */
                        continue;
                find_rounded(&c, f);
                c.averages = averages_find(p->arena, f);
                loop_block_walk(f->body, contract_stmt, NULL, &c);
        }
        return c.count;
}
