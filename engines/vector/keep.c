/* SPDX-License-Identifier: MIT */
/* keep: operands of sums stay in their registers up to their last use.
 *
 *     set %acc{0, 0} = fma(%a, %w0, %acc{0, 0})
 *     set %acc{0, 1} = fma(%a, %w1, %acc{0, 1})       ->      ...
 *                                                             keep %a
 *
 * The result of an fma takes the register of one operand. gcc picks any that is not used again: at
 * the last use of %a it may be %a's, and then sums move from register to register and in the end to
 * memory and back (half of all loops over 14 x 2 vectors, with gcc 12). A use after the fma leaves
 * %a's register alone.
 *
 *     var %acc : f32x16[14][2]
 *     var %vector : index = %panel * 2                ->      ...
 *                                                             keep %vector
 *
 * A variable subscript that is kept after sums in registers hides its value from there on:
 * otherwise compilers would load what depends on it alone (a bias) before the loops around the
 * sums, and keep it in registers that the sums need.
 *
 *     for %panel = 0 to 32 {                          var %x_at : index = %row * 320
 *       let %x_at : index = %row * 320         ->     keep %x_at
 *
 * Where sums have general registers and words are vectors, of which there are few, loads at a place
 * that is the same in all iterations would be made once in front of the loop, and what they give
 * would move to the stack and back.
 *
 * The pass is for targets whose compilers are known to need it (target_keep). Exact: `keep` has no
 * effect on values. */
#include "passes/pass.h"

struct keeping {
        struct arena *arena, *scratch;  /* `arena` is the program's, `scratch` the pass's. */
        struct map *last;               /* For each vector, this is the statement of the block that
                                         * uses it last. */
        struct loop_stmt *now;
        int count;
        int registers;                  /* So many vectors have registers. */
};

/* ---- last uses ---- */

static void note_use(struct loop_expr *e, void *context)
{
        struct keeping *k = context;
        if (e->op == LOOP_VARIABLE && e->type.lanes > 1 && e->variable->kind != VARIABLE_VAR)
                map_set(k->last, (const char *)&e->variable, sizeof e->variable, k->now);
}

static void note_uses(struct loop_stmt *s, void *context)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3; i++)
                if (exprs[i])
                        loop_expr_walk(exprs[i], note_use, context);
}

static bool adds_to_tile(const struct loop_stmt *s)
{
        return s->kind == STMT_SET && s->variable->rows;
}

/* Finds the last uses of vectors in a block with sums; k->last is NULL where it has no sums. */
static void find_last_uses(struct keeping *k, const struct loop_block *block)
{
        k->last = NULL;
        for (const struct loop_stmt *s = block->first; s && !k->last; s = s->next)
                if (adds_to_tile(s) && s->a->op == LOOP_FMA)
                        k->last = map_new(k->scratch);
        for (struct loop_stmt *s = block->first; s && k->last; s = s->next) {
                k->now = s;
                note_uses(s, k);
                if (s->body)
                        loop_block_walk(s->body, note_uses, NULL, k);
                if (s->other)
                        loop_block_walk(s->other, note_uses, NULL, k);
        }
}

/* ---- statements ---- */

/* Appends a keep to the block. */
static void keep(struct keeping *k, struct loop_block *block, struct loop_variable *v)
{
        loop_append(k->arena, block, STMT_KEEP)->variable = v;
        k->count++;
}

struct used { struct keeping *k; struct loop_block *block; };

static void keep_used(struct loop_expr *e, void *context)
{
        const struct used *u = context;
        struct map *last = u->k->last;
        if (e->op != LOOP_VARIABLE ||
            map_get(last, (const char *)&e->variable, sizeof e->variable) != u->k->now)
                return;
        /* The vector is kept only once. */
        map_set(last, (const char *)&e->variable, sizeof e->variable, u->k);
        keep(u->k, u->block, e->variable);
}

static void keep_in_block(struct keeping *k, struct loop_block *block)
{
        struct loop_stmt *s = block->first, *next;
        bool tile = false;
        find_last_uses(k, block);
        struct map *last = k->last;
        for (*block = (struct loop_block){ .end = &block->first }; s; s = next) {
                next = s->next;
                s->next = NULL;
                *block->end = s;
                block->end = &s->next;
                if (s->body)
                        keep_in_block(k, s->body);
                if (s->other)
                        keep_in_block(k, s->other);
                k->last = last;
                k->now = s;
                if (last && adds_to_tile(s))
                        loop_expr_walk(s->a, keep_used, &(struct used){ k, block });
                bool declares = s->kind == STMT_VAR;
                if (declares && tile && loop_type_same(s->variable->type, LOOP_TYPE(E_INDEX)))
                        keep(k, block, s->variable);
                tile |= declares && s->variable->rows;
        }
}

/* ---- loads that stay in their loop ---- */

struct place { const struct loop_variable *v; int loads; };

static void count_load(struct loop_expr *e, void *context)
{
        struct place *p = context;
        if (e->op == LOOP_LOAD && e->type.lanes > 1)
                p->loads += loop_mentions(e->args[0], p->v);
}

/* Returns how many vectors are loaded at the let's place, in the statements behind it. */
static int loads_at(const struct loop_stmt *let)
{
        struct place p = { let->variable, 0 };
        for (const struct loop_stmt *s = let->next; s; s = s->next) {
                struct loop_expr *const exprs[] = { s->a, s->b, s->c };
                for (int i = 0; i < 3; i++)
                        if (exprs[i])
                                loop_expr_walk(exprs[i], count_load, &p);
                if (s->body)
                        loop_block_walk(s->body, NULL, count_load, &p);
        }
        return p.loads;
}

/* Is the statement, in the body of this loop, an index that is the same in all of its iterations?
 * An earlier run of the pass has made a variable of it. */
static bool is_same(const struct loop_stmt *loop, const struct loop_stmt *let)
{
        if ((let->kind != STMT_LET && let->kind != STMT_VAR) || !let->a ||
            !loop_type_same(let->variable->type, LOOP_TYPE(E_INDEX)) || let->variable->rows)
                return false;
        bool same = !loop_mentions(let->a, loop->variable);
        for (const struct loop_stmt *s = loop->body->first; s != let; s = s->next)
                same = same && (!s->variable || !loop_mentions(let->a, s->variable));
        return same;
}

/* Returns the vectors that are loaded at places that are the same in all iterations; those of equal
 * places count once. */
static int loads_of_all(const struct loop_stmt *loop)
{
        int loads = 0;
        for (const struct loop_stmt *s = loop->body->first; s; s = s->next) {
                bool before = !is_same(loop, s);
                for (const struct loop_stmt *t = loop->body->first; t != s && !before; t = t->next)
                        before = is_same(loop, t) && loop_expr_same(t->a, s->a);
                loads += before ? 0 : loads_at(s);
        }
        return loads;
}

static bool has_sums(const struct loop_stmt *loop)
{
        for (const struct loop_stmt *s = loop->body->first; s; s = s->next)
                if (s->kind == STMT_VAR && s->variable->rows)
                        return true;
        return false;
}

static void keep_places(struct loop_stmt *loop, void *context)
{
        struct keeping *k = context;
        if (loop->kind != STMT_FOR || !has_sums(loop) || loads_of_all(loop) <= k->registers)
                return;
        for (struct loop_stmt *s = loop->body->first; s; s = s->next) {
                if (!is_same(loop, s) || !loads_at(s))
                        continue;
                struct loop_block own;
                own.end = &own.first;
                s->kind = STMT_VAR;
                s->variable->kind = VARIABLE_VAR;
                keep(k, &own, s->variable);
                own.first->next = s->next;
                if (!s->next)
                        loop->body->end = &own.first->next;
                s->next = own.first;
        }
}

/* Removes keeps of an earlier run. */
static void let_go(struct loop_block *block)
{
        struct loop_stmt *s = block->first;
        block->end = &block->first;
        for (; s; s = s->next) {
                if (s->body)
                        let_go(s->body);
                if (s->other)
                        let_go(s->other);
                if (s->kind == STMT_KEEP)
                        continue;
                *block->end = s;
                block->end = &s->next;
        }
        *block->end = NULL;
}

int pass_keep(struct loop_program *p, struct pass_context *context)
{
        const struct engine *engine = target_engine(context->target);
        struct keeping k = { .arena = p->arena, .scratch = arena_new() };
        k.registers = target_vector_registers(target_of_width(context->target, true));
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                let_go(f->body);
                if (engine->vectors && target_keep(context->target))
                        keep_in_block(&k, f->body);
                if (engine->single_sums && target_keep(context->target))
                        loop_block_walk(f->body, keep_places, NULL, &k);
        }
        arena_free(k.scratch);
        return k.count;
}
