/* SPDX-License-Identifier: MIT */
/* The interpreter's compiler: nests of loops around one accumulation become one instruction.
 *
 *     for %c = 0 to 8 {                                      NEST MUL_ADD_F32  %sum, 3 loops with their bounds,
 *       for %i = max(0, 2 - %y) to 5 {                         x at base + 784 %c + 28 %i + %j,
 *         for %j = max(0, 2 - %x) to 5 {                       w at base + 25 %c + 5 %i + %j
 *           set %sum = %sum + %x[...] * %w[...]
 *     } } }
 *
 * The order of additions is that of the loops, so the bits are the same. Between the loops there
 * may be lets of subscripts; bounds must not depend on the nest's own variables, and subscripts
 * must be affine in them. Their range is checked once, before the first iteration. */
#include <stdlib.h>

#include "ir/interp/interp_compile.h"

enum { NEST_VARIABLES_MAX = 24 };

struct nest_row {
        uint16_t code;
        uint8_t kind, loads, x, y;
};
static const struct nest_row rows[] = {
#define NEST(name, kind, type, field, loads, x, y, ...) { N_##name, KIND_##kind, loads, E_##x, E_##y },
#include "ir/interp/interp_ops.def"
};

/* The pattern holds the statements of a nest, found before any code is made. */
struct pattern {
        const struct loop_stmt *loops[NEST_DEPTH_MAX], *set;
        int depth;
        /* The variables of the loops and lets. */
        const struct loop_variable *variables[NEST_VARIABLES_MAX];
        int variable_count;
        const struct loop_expr *loads[2];
        uint16_t code;
};

static bool is_own(const struct pattern *p, const struct loop_variable *v)
{
        for (int i = 0; i < p->variable_count; i++)
                if (p->variables[i] == v)
                        return true;
        return false;
}

/* Does e mention neither the nest's variables, nor the accumulator, nor memory? */
static bool is_fixed(const struct pattern *p, const struct loop_expr *e)
{
        if (e->op == LOOP_LOAD || e->op == LOOP_CALL || e->op == LOOP_TILE_ENTRY)
                return false;
        if (e->op == LOOP_VARIABLE)
                return !is_own(p, e->variable) && (!p->set || e->variable != p->set->variable);
        for (int i = 0; i < e->arity; i++)
                if (!is_fixed(p, e->args[i]))
                        return false;
        return true;
}

static bool is_affine(const struct pattern *p, const struct loop_expr *e)
{
        int64_t factor;
        switch (e->op) {
        case LOOP_ADD:
        case LOOP_SUB: return is_affine(p, e->args[0]) && is_affine(p, e->args[1]);
        case LOOP_NEG: return is_affine(p, e->args[0]);
        case LOOP_MUL:
                if (loop_is_int(e->args[1], &factor))
                        return is_affine(p, e->args[0]);
                return loop_is_int(e->args[0], &factor) ? is_affine(p, e->args[1]) : is_fixed(p, e);
        case LOOP_VARIABLE: return is_own(p, e->variable) || is_fixed(p, e);
        default: return is_fixed(p, e);
        }
}

/* Finds the loops down to the accumulation. */
static bool find_loops(struct pattern *p, const struct loop_stmt *s)
{
        for (;;) {
                if (p->depth == NEST_DEPTH_MAX || p->variable_count == NEST_VARIABLES_MAX)
                        return false;
                if (p->depth && (!is_fixed(p, s->a) || !is_fixed(p, s->b)))
                        return false;
                p->loops[p->depth++] = s;
                p->variables[p->variable_count++] = s->variable;
                s = s->body->first;
                for (; s && s->kind == STMT_LET; s = s->next) {
                        if (p->variable_count == NEST_VARIABLES_MAX ||
                            s->variable->type.element != E_INDEX || s->variable->type.lanes != 1 ||
                            !is_affine(p, s->a))
                                return false;
                        p->variables[p->variable_count++] = s->variable;
                }
                if (!s || s->next || s->kind == STMT_SET) {
                        p->set = s;
                        return s && !s->next && !s->variable->rows && s->variable->type.lanes == 1;
                }
                if (s->kind != STMT_FOR)
                        return false;
        }
}

/* Returns a load, which is of the accumulator's type or converted to it; NULL: e is none. */
static const struct loop_expr *loaded(const struct loop_expr *e,
                                      const struct loop_variable *accumulator)
{
        if (e->op == LOOP_CAST && e->type.element == accumulator->type.element)
                e = e->args[0];
        return e->op == LOOP_LOAD && !e->group && !e->args[1] && e->type.lanes == 1 ? e : NULL;
}

static bool is_use(const struct loop_expr *e, const struct loop_variable *v)
{
        return e->op == LOOP_VARIABLE && e->variable == v;
}

/* Finds the operation: sum + x, sum + x * y (sums also the other way round), max(sum, x). */
static bool find_operation(const struct compiler *c, struct pattern *p)
{
        const struct loop_variable *v = p->set->variable;
        const struct loop_expr *e = p->set->a, *term;
        if ((e->op != LOOP_ADD && e->op != LOOP_MAX) || e->type.lanes != 1)
                return false;
        if (is_use(e->args[0], v))
                term = e->args[1];
        else if (e->op == LOOP_ADD && is_use(e->args[1], v))
                term = e->args[0];
        else
                return false;
        int count = e->op == LOOP_ADD && term->op == LOOP_MUL ? 2 : 1, first;
        p->loads[0] = loaded(count == 2 ? term->args[0] : term, v);
        p->loads[1] = count == 2 ? loaded(term->args[1], v) : NULL;
        if (!p->loads[0] || (count == 2 && !p->loads[1]))
                return false;
        first = count == 2 ? N_MUL_ADD_F32 : e->op == LOOP_MAX ? N_MAX_F32 : N_SUM_F32;
        int end = count == 2 ? I_FAIL : e->op == LOOP_MAX ? N_MUL_ADD_F32 : N_MAX_F32;
        bool as_double = c->options->as_double;
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                const struct nest_row *row = &rows[r];
                if (row->code < first || row->code >= end ||
                    row->kind != kind_of(c, v->type.element) ||
                    interp_element(p->loads[0]->buffer->element, as_double) != row->x ||
                    (count == 2 &&
                     interp_element(p->loads[1]->buffer->element, as_double) != row->y))
                        continue;
                p->code = row->code;
                return true;
        }
        return false;
}

static bool affine_loads(const struct pattern *p)
{
        for (int k = 0; k < 2; k++)
                if (p->loads[k] && !is_affine(p, p->loads[k]->args[0]))
                        return false;
        return true;
}

/* Puts the subscript's part outside the nest into a slot, and finds the strides of the nest's
 * loops. */
static bool place_access(struct compiler *c, const struct pattern *p, const struct loop_expr *load,
                         struct nest_access *access)
{
        struct form form;
        if (!form_of(c, load->args[0], &form))
                return false;
        *access = (struct nest_access){ .descriptor = descriptor_of(c, load->buffer) };
        for (int l = 0; l < p->depth; l++) {
                int counter = bound_of(c, p->loops[l]->variable)->value.slot;
                for (int t = 0; t < form.count; t++)
                        if (form.terms[t].value.slot == counter) {
                                access->stride[l] = form.terms[t].coefficient;
                                form.terms[t].coefficient = 0;
                        }
        }
        access->base = form_value(c, &form, -1).slot;
        return true;
}

static bool place_lets(struct compiler *c, const struct loop_stmt *loop)
{
        for (const struct loop_stmt *s = loop->body->first; s && s->kind == STMT_LET; s = s->next) {
                struct form form;
                if (!form_of(c, s->a, &form))
                        return false;
                bind_variable(c, s->variable, (struct cell){ .slot = -1 }, new_form(c, &form));
        }
        return true;
}

bool compile_nest(struct compiler *c, const struct loop_stmt *s)
{
        struct pattern p = { .depth = 0 };
        struct nest nest = { .depth = 0 };
        if (!find_loops(&p, s) || !find_operation(c, &p) || !affine_loads(&p))
                return false;
        for (int l = 0; l < p.depth; l++) {
                nest.loops[l].start = compile_expr(c, p.loops[l]->a, -1).slot;
                nest.loops[l].end = compile_expr(c, p.loops[l]->b, -1).slot;
                nest.loops[l].step = p.loops[l]->step;
        }
        for (int l = 0; l < p.depth; l++) { /* No slot holds these counters, so nothing may be
                                             * computed from them. */
                struct cell counter = { .slot = new_slots(c, 1),
                                        .level = c->chunk->level + 1,
                                        .lanes = 1 };
                bind_variable(c, p.loops[l]->variable, counter, -1);
                if (!place_lets(c, p.loops[l]))
                        return false;
        }
        for (int k = 0; k < 2; k++)
                if (p.loads[k] && !place_access(c, &p, p.loads[k], &nest.access[k]))
                        return false;
        nest.depth = p.depth;
        nest.accumulator = bound_of(c, p.set->variable)->value.slot;
        c->interp->nests = compiler_grow(c->interp->nests, c->nest_count, &c->nest_room,
                                         sizeof *c->interp->nests);
        c->interp->nests[c->nest_count] = nest;
        emit(c, (struct instruction){ .code = p.code, .a = c->nest_count++ });
        return true;
}
