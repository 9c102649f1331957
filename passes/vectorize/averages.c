/* SPDX-License-Identifier: MIT */
#include "passes/vectorize/averages.h"

#include "base/text.h"

struct finding {
        struct map *made;               /* Each variable has the let that makes it. */
        struct map *sums;               /* Each variable has a statement that adds to it. */
        struct map *others;             /* These variables are set in other ways. */
        struct map *found;
};

static void *entry(const struct map *map, const struct loop_variable *v)
{
        return map_get(map, (const char *)&v, sizeof v);
}

static void enter(struct map *map, struct loop_variable *v, void *what)
{
        map_set(map, (const char *)&v, sizeof v, what);
}

static bool is_float(const struct loop_expr *e)
{
        return element_is_float(e->type.element);
}

/* ---- sums ---- */

/* Returns what the statement adds to its variable, or NULL. */
static struct loop_expr *added(const struct loop_stmt *s)
{
        const struct loop_expr *e = s->a;
        for (int i = 0; i < 2 && e->op == LOOP_ADD; i++)
                if (e->args[i]->op == LOOP_VARIABLE && e->args[i]->variable == s->variable)
                        return e->args[1 - i];
        return NULL;
}

static void find_set(struct loop_stmt *s, void *context)
{
        struct finding *f = context;
        if (s->kind == STMT_LET)
                enter(f->made, s->variable, s);
        if (s->kind != STMT_SET)
                return;
        bool sum = !s->variable->rows && is_float(s->a) && added(s);
        enter(sum ? f->sums : f->others, s->variable, s);
}

/* ---- what they are made of, and what is made of them ---- */

enum { NODES_MAX = 64 };                /* Larger expressions are not looked at. */

/* The struct describes arithmetic of numbers that the program knows and one other value, which is
 * of integers, or is a sum. */
struct arithmetic {
        const struct finding *f;
        const struct loop_variable *sum;
        bool whole;
        int left;                       /* This many nodes may still be looked at. */
};

/* Is e such arithmetic? varies: the other value is in it. */
static bool is_arithmetic(struct arithmetic *a, const struct loop_expr *e, bool *varies)
{
        if (a->left-- <= 0)
                return false;
        switch (e->op) {
        case LOOP_LITERAL: return true;
        case LOOP_CAST:
                *varies = a->whole = true;
                return !is_float(e->args[0]);
        case LOOP_VARIABLE: {
                const struct loop_stmt *let = entry(a->f->made, e->variable);
                if (let)
                        return is_arithmetic(a, let->a, varies);
                bool same = !a->sum || a->sum == e->variable;
                a->sum = e->variable;
                *varies = true;
                return same && entry(a->f->sums, e->variable) && !entry(a->f->others, e->variable);
        }
        case LOOP_SPLAT: case LOOP_NEG: return is_arithmetic(a, e->args[0], varies);
        case LOOP_ADD: case LOOP_SUB: case LOOP_MUL: case LOOP_DIV: case LOOP_MIN: case LOOP_MAX: {
                bool x = false, y = false;
                bool both = is_arithmetic(a, e->args[0], &x) && is_arithmetic(a, e->args[1], &y);
                *varies = x || y;
                return both && !(e->op == LOOP_MUL && x && y);
        }
        default: return false;
        }
}

/* Excludes sums of anything else. */
static void check_term(struct loop_stmt *s, void *context)
{
        struct finding *f = context;
        struct arithmetic term = { .f = f, .left = NODES_MAX };
        bool varies = false;
        if (s->kind == STMT_SET && !entry(f->others, s->variable) &&
            (!is_arithmetic(&term, added(s), &varies) || !term.whole || term.sum))
                enter(f->others, s->variable, s);
}

static void find_rounded(struct loop_expr *e, void *context)
{
        struct finding *f = context;
        struct arithmetic result = { .f = f, .left = NODES_MAX };
        bool varies = false;
        if (!loop_is_round(e) || !is_arithmetic(&result, e->args[0], &varies) || !result.sum)
                return;
        struct loop_stmt *set = entry(f->sums, result.sum);
        enter(f->found, set->variable, set);
}

struct map *averages_find(struct arena *arena, const struct loop_function *f)
{
        struct finding finding = { map_new(arena), map_new(arena), map_new(arena), map_new(arena) };
        loop_block_walk(f->body, find_set, NULL, &finding);
        loop_block_walk(f->body, check_term, NULL, &finding);
        loop_block_walk(f->body, NULL, find_rounded, &finding);
        return finding.found;
}

bool averages_has(const struct map *averages, const struct loop_variable *v)
{
        return entry(averages, v) != NULL;
}
