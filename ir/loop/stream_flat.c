/* SPDX-License-Identifier: MIT */
/* Reads nests of streams as numbers, and writes them back. */
#include "ir/loop/stream_flat.h"

#include <string.h>

/* ---- indices ---- */

struct affine { int64_t base, add[NEST_MAX]; };
struct reading {
        const struct flat_state *state;
        /* The variables are of the nest's loops. */
        const struct loop_variable *variables[NEST_MAX];
        int64_t starts[NEST_MAX], steps[NEST_MAX];
        int count;
};

static bool is_constant(const struct affine *a)
{
        for (int k = 0; k < NEST_MAX; k++)
                if (a->add[k])
                        return false;
        return true;
}

static bool read_variable(const struct reading *r, const struct loop_variable *v,
                          struct affine *out)
{
        for (int k = 0; k < r->count; k++)
                if (r->variables[k] == v) {
                        out->add[k] = 1;
                        return true;
                }
        if (!r->state)
                return false;
        out->base = r->state->values[v->number];
        return true;
}

static int64_t product_of(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t sum_of(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static void combine(struct affine *a, const struct affine *b, int64_t scale)
{
        a->base = sum_of(a->base, product_of(b->base, scale));
        for (int k = 0; k < NEST_MAX; k++)
                a->add[k] = sum_of(a->add[k], product_of(b->add[k], scale));
}

static int64_t fold(enum loop_opcode op, int64_t a, int64_t b, bool *known)
{
        switch (op) {
        case LOOP_DIV: return b == 0 ? 0 : b == -1 ? product_of(a, -1) : a / b;
        case LOOP_REM: return b == 0 || b == -1 ? 0 : a % b;
        case LOOP_MIN: return a < b ? a : b;
        case LOOP_MAX: return a > b ? a : b;
        case LOOP_LT: return a < b;
        case LOOP_LE: return a <= b;
        case LOOP_GT: return a > b;
        case LOOP_GE: return a >= b;
        case LOOP_EQ: return a == b;
        case LOOP_NE: return a != b;
        case LOOP_AND: return a & b;
        case LOOP_OR: return a | b;
        default: *known = false; return 0;
        }
}

static bool read_affine(const struct reading *r, const struct loop_expr *e, struct affine *out)
{
        struct affine a = { 0 }, b = { 0 }, c = { 0 };
        *out = a;
        if (e->op == LOOP_LITERAL) {
                out->base = e->literal.i;
                return true;
        }
        if (e->op == LOOP_VARIABLE)
                return read_variable(r, e->variable, out);
        if (e->arity < 1 || e->type.lanes != 1 || !e->args[0] || !read_affine(r, e->args[0], &a) ||
            (e->arity > 1 && !read_affine(r, e->args[1], &b)) ||
            (e->arity > 2 && !read_affine(r, e->args[2], &c)))
                return false;
        bool known = true;
        switch (e->op) {
        case LOOP_ADD: case LOOP_SUB:
                *out = a;
                combine(out, &b, e->op == LOOP_ADD ? 1 : -1);
                return true;
        case LOOP_NEG:
                combine(out, &a, -1);
                return true;
        case LOOP_MUL:
                if (!is_constant(&a) && !is_constant(&b))
                        return false;
                combine(out, is_constant(&b) ? &a : &b, is_constant(&b) ? b.base : a.base);
                return true;
        case LOOP_SELECT:
                *out = a.base ? b : c;
                return is_constant(&a);
        default:
                out->base = fold(e->op, a.base, b.base, &known);
                return known && is_constant(&a) && is_constant(&b);
        }
}

bool flat_value(const struct loop_expr *e, const struct flat_state *state, int64_t *value)
{
        struct affine a;
        if (!read_affine(&(struct reading){ .state = state }, e, &a))
                return false;
        *value = a.base;
        return true;
}

/* ---- nests ---- */

/* Reads the place from where loops begin, in elements of a memory, or in numbers. */
static bool read_place(const struct machine *m, const struct reading *r, struct loop_buffer *b,
                       const struct loop_expr *at, int operand, struct flat_step *step)
{
        struct affine a;
        if (!b)
                return true;
        if (!read_affine(r, at, &a))
                return false;
        bool memory = b->space == SPACE_MEMORY;
        int64_t numbers = memory ? machine_element_numbers(&m->memories[b->memory]) : 1,
                base = a.base;
        for (int k = 0; k < r->count; k++) {
                base = sum_of(base, product_of(a.add[k], r->starts[k]));
                int64_t add = product_of(a.add[k], r->steps[k]);
                if (add % numbers)
                        return false;
                step->loops[k].add[operand] = add / numbers;
        }
        step->at[operand] = base / numbers + (memory && r->state ? r->state->places[b->number] : 0);
        return base % numbers == 0;
}

/* Reads a loop's bounds, which no loop of the nest may change. */
static bool read_loop(struct reading *r, const struct loop_stmt *s, struct flat_step *step)
{
        struct affine start, end;
        const struct loop_stmt *body = s->body->first;
        if (r->count == NEST_MAX || !body || body->next || !read_affine(r, s->a, &start) ||
            !read_affine(r, s->b, &end) || !is_constant(&start) || !is_constant(&end))
                return false;
        step->loops[r->count].count =
                end.base > start.base ? divide_up(end.base - start.base, s->step) : 0;
        step->loops[r->count].kind = s->for_kind;
        r->starts[r->count] = start.base;
        r->steps[r->count] = s->step;
        r->variables[r->count++] = s->variable;
        return true;
}

static bool read_transfer(const struct reading *r, const struct loop_transfer *t,
                          struct flat_step *step)
{
        if (!flat_value(t->rows, r->state, &step->rows) ||
            !flat_value(t->columns, r->state, &step->columns))
                return false;
        for (int k = 0; k < 4; k++)
                if (t->pad[k] && !flat_value(t->pad[k], r->state, &step->pad[k]))
                        return false;
        return true;
}

bool flat_step_read(const struct machine *m, const struct loop_stmt *s,
                    const struct flat_state *state, struct flat_step *step)
{
        struct reading r = { .state = state };
        *step = (struct flat_step){ 0 };
        for (; s->kind == STMT_FOR; s = s->body->first)
                if (!read_loop(&r, s, step))
                        return false;
        if (!loop_is_of_stream(s) || (r.count && !loop_is_step(s)))
                return false;
        step->s = s;
        step->loop_count = r.count;
        const struct loop_expr *const places[] = { s->a, s->b, s->c };
        for (int k = 0; k < OPERANDS; k++)
                if (!read_place(m, &r, flat_operand(s, k), places[k], k, step))
                        return false;
        return s->kind != STMT_TRANSFER || read_transfer(&r, s->transfer, step);
}

/* ---- and back ---- */

static struct loop_expr *write_place(struct arena *arena, const struct flat_step *step, int operand,
                                     int64_t numbers, struct loop_variable *const *variables)
{
        struct loop_expr *at = NULL;
        for (int k = 0; k < step->loop_count; k++) {
                int64_t add = step->loops[k].add[operand] * numbers;
                if (!add)
                        continue;
                struct loop_expr *term = loop_op(arena, LOOP_MUL, loop_use(arena, variables[k]),
                                                 loop_index(arena, add), NULL);
                at = at ? loop_op(arena, LOOP_ADD, at, term, NULL) : term;
        }
        struct loop_expr *base = loop_index(arena, step->at[operand] * numbers);
        return at ? loop_op(arena, LOOP_ADD, at, base, NULL) : base;
}

static struct loop_transfer *write_transfer(struct arena *arena, const struct flat_step *step)
{
        struct loop_transfer *t = ARENA_NEW(arena, struct loop_transfer);
        *t = (struct loop_transfer){ .rows = loop_index(arena, step->rows),
                                     .columns = loop_index(arena, step->columns),
                                     .step = step->s->transfer->step };
        for (int k = 0; k < 4; k++)
                t->pad[k] = step->pad[0] || step->pad[1] || step->pad[2] || step->pad[3]
                                    ? loop_index(arena, step->pad[k])
                                    : NULL;
        return t;
}

static const char *next_name(struct flat_writer *w)
{
        const char *name = arena_printf(w->arena, "%c%d", w->letter, w->number++);
        for (int k = 0; k < w->f->buffer_count; k++)
                if (!strcmp(w->f->buffers[k]->name, name))
                        return next_name(w);
        return name;
}

void flat_step_write(struct flat_writer *w, const struct flat_step *step)
{
        struct arena *arena = w->arena;
        const struct machine *m = w->f->machine;
        struct loop_block *block = w->out;
        struct loop_variable *variables[NEST_MAX];
        for (int k = 0; k < step->loop_count; k++) {
                struct loop_stmt *loop = loop_append(arena, block, STMT_FOR);
                loop->variable = variables[k] =
                        loop_variable_new(arena, next_name(w), LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
                loop->a = loop_index(arena, 0);
                loop->b = loop_index(arena, step->loops[k].count);
                loop->for_kind = step->loops[k].kind;
                block = loop->body;
        }
        struct loop_stmt *s = loop_append(arena, block, step->s->kind), *next = s->next;
        *s = *step->s;
        s->next = next;
        struct loop_buffer **const buffers[] = { &s->buffer, &s->source, &s->weights };
        struct loop_expr **const places[] = { &s->a, &s->b, &s->c };
        for (int k = 0; k < OPERANDS; k++) {
                struct loop_buffer *b = flat_operand(step->s, k);
                if (!b)
                        continue;
                bool memory = b->space == SPACE_MEMORY;
                *buffers[k] = memory ? w->memories[b->memory] : b;
                *places[k] = write_place(
                        arena, step, k,
                        memory ? machine_element_numbers(&m->memories[b->memory]) : 1, variables);
        }
        if (s->kind == STMT_TRANSFER)
                s->transfer = write_transfer(arena, step);
}

bool flat_memories(const struct loop_function *f, struct loop_buffer *memories[MACHINE_MEMORIES])
{
        for (int k = 0; k < MACHINE_MEMORIES; k++)
                memories[k] = NULL;
        for (const struct loop_stmt *s = f->body->first; s; s = s->next) {
                struct loop_buffer *b = s->kind == STMT_ALLOC ? s->buffer : NULL;
                const struct loop_stmt *inner = s;
                while (inner && inner->kind == STMT_FOR)
                        inner = inner->body->first && !inner->body->first->next ? inner->body->first
                                                                                : NULL;
                /* Loops around transfers are run. */
                const bool flat =
                        inner && (inner == s ? loop_is_of_stream(s) : loop_is_step(inner));
                if (b ? memories[b->memory] || b->place_count != 1 || b->places[0] : !flat)
                        return false;
                if (b)
                        memories[b->memory] = b;
        }
        return true;
}

/* ---- what is touched ---- */

/* Visits the elements of one operand, along the loops that move it. */
static void visit_operand(const struct flat_step *step, int operand, int64_t elements, bool writes,
                          const struct flat_visitor *to)
{
        struct nest_loop loops[NEST_MAX];
        int64_t index[NEST_MAX] = { 0 }, at = step->at[operand];
        int count = 0;
        for (int k = 0; k < step->loop_count; k++) {
                if (!step->loops[k].count)
                        return;
                if (step->loops[k].add[operand])
                        loops[count++] = step->loops[k];
        }
        for (int k = 0; k >= 0;) {
                to->visit(to->context, flat_operand(step->s, operand), at, elements, writes);
                for (k = count - 1; k >= 0; k--) {
                        at += loops[k].add[operand];
                        if (++index[k] < loops[k].count)
                                break;
                        at -= loops[k].count * loops[k].add[operand];
                        index[k] = 0;
                }
        }
}

void flat_step_visit(const struct machine *m, const struct flat_step *step,
                     const struct flat_visitor *to)
{
        const struct loop_stmt *s = step->s;
        if (s->kind == STMT_TRANSFER) {
                bool loads = loop_transfer_loads(s);
                int in = loads ? 0 : 1;
                int64_t numbers =
                        machine_element_numbers(&m->memories[flat_operand(s, in)->memory]);
                int64_t width = step->columns + step->pad[2] + step->pad[3],
                        height = step->rows + step->pad[0] + step->pad[1];
                to->visit(to->context, flat_operand(s, in), step->at[in], width * height, loads);
                for (int64_t r = 0; r < step->rows; r++)
                        to->visit(to->context, flat_operand(s, 1 - in),
                                  step->at[1 - in] + r * s->transfer->step, step->columns * numbers,
                                  !loads);
        } else if (loop_is_step(s)) {
                /* An activation with equal bounds reads nothing. */
                const bool given =
                        s->kind == STMT_ACTIVATE && s->activation->low == s->activation->high;
                for (int k = OPERANDS - 1; k >= 0; k--)
                        if (flat_operand(s, k) && (k == 0 || !given))
                                visit_operand(step, k, flat_operand_elements(s, k), k == 0, to);
        }
}
