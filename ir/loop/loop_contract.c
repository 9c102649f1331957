/* SPDX-License-Identifier: MIT */
#include "ir/loop/loop_contract.h"

#include <string.h>

enum { NAME_MAX_LENGTH = 31 };

struct contracting {
        struct arena *arena;
        const struct loop_library *library;
        struct map *twins;              /* The map finds the twins of variables; NULL: variables
                                         * stay. */
        bool scalars, rounded;
        int count;
};

static struct loop_function *find_twin(const struct loop_library *library,
                                       const struct loop_function *f)
{
        char name[NAME_MAX_LENGTH + 8];
        size_t length = strlen(f->name);
        if (!f->scalar_count || length > NAME_MAX_LENGTH)
                return NULL;
        memcpy(name, f->name, length);
        memcpy(name + length, "_fused", 7);
        return loop_library_find(library, name, f->scalars[0]->type.element);
}

/* ---- expressions ---- */

static struct loop_expr *negative(struct arena *arena, struct loop_expr *e)
{
        if (e->op == LOOP_LITERAL)
                return loop_literal(arena, e->type, (union scalar){ .f = -e->literal.f });
        return loop_op(arena, LOOP_NEG, e, NULL, NULL);
}

static struct loop_expr *fused(struct contracting *c, const struct loop_expr *product,
                               struct loop_expr *rest, bool minus)
{
        struct loop_expr *a = product->args[0], *b = product->args[1];
        if (minus && b->op == LOOP_LITERAL)
                b = negative(c->arena, b);
        else if (minus)
                a = negative(c->arena, a);
        c->count++;
        return loop_op(c->arena, LOOP_FMA, a, b, rest);
}

static struct loop_expr *contracted(struct contracting *c, const struct loop_expr *e)
{
        if (!e)
                return NULL;
        struct loop_expr *copy = ARENA_NEW(c->arena, struct loop_expr);
        *copy = *e;
        if (e->variable && c->twins)
                copy->variable = map_get(c->twins, (const char *)&e->variable, sizeof e->variable);
        bool above = c->rounded;
        c->rounded |= loop_is_round(e);
        for (int i = 0; i < e->arity; i++)
                copy->args[i] = contracted(c, e->args[i]);
        c->rounded = above;
        if (e->type.lanes == 1 && !c->scalars)
                return copy;
        if (e->op == LOOP_CALL) {
                struct loop_function *twin = find_twin(c->library, e->function);
                copy->function = twin ? twin : e->function;
                c->count += twin != NULL;
        }
        if ((e->op != LOOP_ADD && e->op != LOOP_SUB) || c->rounded ||
            !element_is_float(e->type.element) || loop_computes_narrow(e))
                return copy;
        struct loop_expr *a = copy->args[0], *b = copy->args[1];
        if (b->op == LOOP_MUL)
                return fused(c, b, a, e->op == LOOP_SUB);
        if (a->op == LOOP_MUL)
                return fused(c, a, e->op == LOOP_SUB ? negative(c->arena, b) : b, false);
        return copy;
}

struct loop_expr *loop_contract(struct arena *arena, const struct loop_library *library,
                                const struct loop_expr *e, bool rounded, int *count)
{
        struct contracting c = { .arena = arena, .library = library, .rounded = rounded };
        struct loop_expr *result = contracted(&c, e);
        *count += c.count;
        return result;
}

/* ---- functions ---- */

static void add_twin(struct contracting *c, const struct loop_variable *from,
                     struct loop_variable *to)
{
        map_set(c->twins, (const char *)&from, sizeof from, to);
}

static void find_wide(struct loop_expr *e, void *found)
{
        *(bool *)found |= element_info[e->type.element].bytes == 8;
}

/* Does f use types that there are no vectors of? */
static bool uses_wide(const struct loop_function *f)
{
        bool found = false;
        loop_block_walk(f->body, NULL, find_wide, &found);
        return found;
}

struct loop_function *loop_contract_twin(struct arena *arena, const struct loop_library *library,
                                         const struct loop_function *f)
{
        const char *name = arena_printf(arena, "%s_fused", f->name);
        struct loop_function *twin = loop_function_new(arena, FUNCTION_LIBRARY, name);
        struct contracting c = { .arena = arena,
                                 .library = library,
                                 .twins = map_new(arena),
                                 .scalars = true };
        bool vectors = f->scalar_count && f->scalars[0]->type.element == E_F32 && !uses_wide(f);
        if (!vectors || f->spelling || !f->error || !strcmp(f->error, "exact") ||
            strlen(name) > NAME_MAX_LENGTH)
                return NULL;
        twin->result = f->result;
        twin->error = f->error;
        for (int i = 0; i < f->scalar_count; i++)
                add_twin(&c, f->scalars[i],
                         loop_scalar_add(arena, twin, f->scalars[i]->name, f->scalars[i]->type));
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                if (s->kind != STMT_LET && s->kind != STMT_RETURN)
                        return NULL;
                struct loop_stmt *copy = loop_append(arena, twin->body, s->kind);
                copy->a = contracted(&c, s->a);
                if (s->kind == STMT_LET) {
                        copy->variable = loop_variable_new(arena, s->variable->name,
                                                           s->variable->type, VARIABLE_LET);
                        add_twin(&c, s->variable, copy->variable);
                }
        }
        return c.count ? twin : NULL;
}
