/* SPDX-License-Identifier: MIT */
/* jam, the copies: statements for one iteration become statements for several, side by side. */
#include "ir/loop/loop_vector.h"
#include "passes/vectorize/jam.h"

struct jam_copy *jam_copy_new(struct arena *arena, int times)
{
        struct jam_copy *c = ARENA_NEW(arena, struct jam_copy);
        c->arena = arena;
        c->times = times;
        c->values = map_new(arena);
        return c;
}

static struct loop_expr **values_of(const struct jam_copy *c, const struct loop_variable *v)
{
        return map_get(c->values, (const char *)&v, sizeof v);
}

void jam_copy_set(struct jam_copy *c, const struct loop_variable *variable, int i,
                  struct loop_expr *value)
{
        struct loop_expr **values = values_of(c, variable);
        if (!values) {
                values = arena_array(c->arena, (size_t)c->times, sizeof *values);
                map_set(c->values, (const char *)&variable, sizeof variable, values);
        }
        values[i] = value;
}

/* ---- expressions ---- */

static bool varies(const struct jam_copy *c, const struct loop_expr *e)
{
        bool found = c->all || (e->op == LOOP_VARIABLE && values_of(c, e->variable));
        for (int k = 0; k < e->arity && !found; k++)
                found = e->args[k] && varies(c, e->args[k]);
        return found;
}

struct loop_expr *jam_expr(struct jam_copy *c, const struct loop_expr *e, int i)
{
        struct loop_expr **values;
        if (e->op == LOOP_VARIABLE && (values = values_of(c, e->variable)))
                return loop_expr_copy(c->arena, values[i]);
        struct loop_expr *copy = arena_copy(c->arena, e, sizeof *e);
        for (int k = 0; k < e->arity; k++)
                copy->args[k] = e->args[k] ? jam_expr(c, e->args[k], i) : NULL;
        bool folds = e->op < LOOP_CAST && e->type.element == E_INDEX && e->type.lanes == 1;
        return folds ? loop_op(c->arena, e->op, copy->args[0], copy->args[1], copy->args[2]) : copy;
}

/* ---- statements ---- */

static struct loop_stmt *append(struct jam_copy *c, const struct loop_stmt *s,
                                struct loop_block *out)
{
        struct loop_stmt *copy = loop_append(c->arena, out, s->kind);
        struct loop_block *body = copy->body, *other = copy->other;
        *copy = *s;
        copy->next = NULL;
        copy->body = body;
        copy->other = other;
        return copy;
}

/* Declares a variable of its own in copy number i; a value that is constant there needs none. */
static void declare(struct jam_copy *c, const struct loop_stmt *s, int i, struct loop_block *out)
{
        struct loop_expr *value = s->a ? jam_expr(c, s->a, i) : NULL;
        int64_t constant;
        if (s->kind == STMT_LET && loop_is_int(value, &constant)) {
                jam_copy_set(c, s->variable, i, value);
                return;
        }
        struct loop_stmt *copy = append(c, s, out);
        copy->variable = loop_variable_new(c->arena, s->variable->name, s->variable->type,
                                           s->variable->kind);
        copy->a = value;
        jam_copy_set(c, s->variable, i, loop_use(c->arena, copy->variable));
}

/* Returns the expression that is the same in every copy; else NULL. */
static struct loop_expr *common(struct jam_copy *c, const struct loop_expr *e)
{
        struct loop_expr *first = jam_expr(c, e, 0);
        for (int i = 1; i < c->times && varies(c, e); i++)
                if (!loop_expr_same(first, jam_expr(c, e, i)))
                        return NULL;
        return first;
}

static void copy_loop(struct jam_copy *c, const struct loop_stmt *s, struct loop_block *out)
{
        struct loop_expr *from = common(c, s->a), *to = common(c, s->b);
        if (!from || !to) {
                c->failed = true;
                return;
        }
        struct loop_stmt *copy = append(c, s, out);
        copy->a = from;
        copy->b = to;
        if (c->all) {
                copy->variable = loop_variable_new(c->arena, s->variable->name, s->variable->type,
                                                   VARIABLE_LOOP);
                jam_copy_set(c, s->variable, 0, loop_use(c->arena, copy->variable));
        }
        jam_range(c, s->body->first, NULL, copy->body);
}

/* Writes what `alone` stands for, in a loop over all copies. */
static void write_alone(struct jam_copy *c, const struct loop_stmt *s, struct loop_block *out)
{
        struct loop_stmt *each = loop_append(c->arena, out, STMT_FOR);
        each->variable = loop_variable_new(c->arena, "r", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        each->a = loop_index(c->arena, 0);
        each->b = loop_index(c->arena, c->times);
        struct jam_copy *one = jam_copy_new(c->arena, 1);
        one->all = true;
        jam_copy_set(one, c->variable, 0,
                     loop_op(c->arena, LOOP_ADD,
                             loop_use(c->arena, (struct loop_variable *)(uintptr_t)c->variable),
                             loop_use(c->arena, each->variable), NULL));
        if (c->line)
                jam_copy_set(one, c->line, 0, loop_use(c->arena, each->variable));
        jam_range(one, s, s->next, each->body);
}

/* Writes copy number i of a statement that is no loop; what is the same in all copies is written
 * once. */
static void copy_simple(struct jam_copy *c, const struct loop_stmt *s, int i,
                        struct loop_block *out)
{
        struct loop_expr **values = s->variable ? values_of(c, s->variable) : NULL;
        struct loop_stmt *copy;
        switch (s->kind) {
        case STMT_LET:
                if (values || varies(c, s->a))
                        declare(c, s, i, out);
                else if (!i)
                        append(c, s, out);
                break;
        case STMT_VAR: declare(c, s, i, out); break;
        case STMT_SET:
                c->failed |= !values;
                if (!values)
                        break;
                copy = append(c, s, out);
                copy->variable = values[i]->variable;
                copy->a = jam_expr(c, s->a, i);
                break;
        case STMT_STORE:
                copy = append(c, s, out);
                copy->a = jam_expr(c, s->a, i);
                copy->b = jam_expr(c, s->b, i);
                break;
        case STMT_ALLOC: /* One array serves all copies. */
                if (!i)
                        append(c, s, out);
                break;
        default: c->failed = true;
        }
}

/* Copies statements of a kind, all copies of one and then of the next: neighbours are stored one
 * after the other, as C compilers need them for vectors. */
void jam_range(struct jam_copy *c, const struct loop_stmt *first, const struct loop_stmt *last,
               struct loop_block *out)
{
        for (const struct loop_stmt *s = first, *end; s != last && !c->failed; s = end) {
                for (end = s->next; s->kind != STMT_FOR && end != last && end->kind == s->kind;)
                        end = end->next;
                if (s->kind == STMT_FOR &&
                    (s->variable == c->alone[0] || s->variable == c->alone[1]))
                        write_alone(c, s, out);
                else if (s->kind == STMT_FOR)
                        copy_loop(c, s, out);
                for (int i = 0; s->kind != STMT_FOR && i < c->times && !c->failed; i++)
                        for (const struct loop_stmt *one = s; one != end; one = one->next)
                                copy_simple(c, one, i, out);
        }
}
