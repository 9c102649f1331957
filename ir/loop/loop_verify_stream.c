/* SPDX-License-Identifier: MIT */
/* The verifier of Loop IR checks statements of streams, one by one (ir/loop/stream.h).
 * loop_verify_flat.c checks where they lie and in which order they run. */
#include "ir/loop/loop_verify.h"
#include "ir/loop/stream.h"

/* Indices of a stream are known when it is made: they are of loops' variables, lets and
 * literals. */
static void find_memory(struct loop_expr *e, void *found)
{
        *(bool *)found |= e->op == LOOP_LOAD || e->op == LOOP_CALL || e->op == LOOP_TILE_ENTRY;
}

static bool check_index(struct verifier *v, const struct loop_expr *e)
{
        bool found = false;
        if (!verify_expr(v, e, LOOP_TYPE(E_INDEX), "an index"))
                return false;
        loop_expr_walk((struct loop_expr *)(uintptr_t)e, find_memory, &found);
        return !found || verify_error(v, "an index of a stream reads memory");
}

/* Checks that b lies in that memory of the machine (-1: in none), and that its place is known. */
static bool check_place(struct verifier *v, const struct loop_buffer *b, int memory,
                        enum loop_access access, const struct loop_expr *at)
{
        if (!verify_buffer(v, b, access) || !check_index(v, at))
                return false;
        if (memory < 0)
                return b->space == SPACE_PARAMETER ||
                       verify_error(v, "%s is not outside of the machine", b->name);
        return (b->space == SPACE_MEMORY && b->memory == memory) ||
               verify_error(v, "%s is not in %s", b->name,
                            v->function->machine->memories[memory].name);
}

static bool check_transfer(struct verifier *v, const struct loop_stmt *s)
{
        const struct machine *m = v->function->machine;
        const struct loop_transfer *t = s->transfer;
        if (!t || !s->buffer || !s->source)
                return verify_error(v, "a transfer lacks an operand");
        bool loads = loop_transfer_loads(s);
        const struct loop_buffer *memory = loads ? s->buffer : s->source,
                                 *other = loads ? s->source : s->buffer;
        if (loads && (m->memories[memory->memory].loader < 0 || memory->memory == m->lists ||
                      (memory->memory == m->stored && m->stored != m->leaves)))
                return verify_error(v, "nothing is loaded into %s",
                                    m->memories[memory->memory].name);
        if (!check_place(v, s->buffer, loads ? memory->memory : -1, ACCESS_OUT, s->a) ||
            !check_place(v, s->source, loads ? -1 : m->leaves, ACCESS_IN, s->b))
                return false;
        if (other->element != (loads ? memory->element : loop_memory_element(m, m->stored)))
                return verify_error(v, "%s holds other numbers than %s", other->name, memory->name);
        const struct loop_expr *const counts[] = { t->rows,   t->columns, t->pad[0],
                                                   t->pad[1], t->pad[2],  t->pad[3] };
        for (int i = 0; i < 6; i++) {
                if (i > 1 && !loads && counts[i])
                        return verify_error(v, "what leaves the machine has no padding");
                if ((i < 2 || counts[i]) && !check_index(v, counts[i]))
                        return false;
        }
        return t->step >= 0 || verify_error(v, "a bad step");
}

static bool check_apply(struct verifier *v, const struct loop_stmt *s)
{
        const struct machine *m = v->function->machine;
        int64_t immediate, most = (INT64_C(1) << (m->limits.immediate_bits - 1)) - 1;
        bool shift = s->code == LOOP_SHR || s->code == LOOP_SHL;
        if (m->activates || !loop_apply_word(s->code) ||
            !check_place(v, s->buffer, m->sums, ACCESS_INOUT, s->a))
                return verify_error(v, "a bad operation");
        if (s->source)
                return shift ? verify_error(v, "a shift is by a literal")
                             : check_place(v, s->source, m->sums, ACCESS_IN, s->b);
        if (!s->b || !loop_type_same(s->b->type, LOOP_TYPE(E_I32)) ||
            !loop_is_int(s->b, &immediate))
                return verify_error(v,
                                    "an operation's second operand is neither sums nor a literal");
        if (shift ? immediate < 0 || immediate > m->limits.shift
                  : immediate > most || immediate < -most - 1)
                return verify_error(v, "%s cannot %s by %lld", m->name, loop_apply_word(s->code),
                                    (long long)immediate);
        return true;
}

static bool check_activate(struct verifier *v, const struct loop_stmt *s)
{
        const struct machine *m = v->function->machine;
        const struct loop_activation *a = s->activation;
        if (!m->activates || !a || !s->buffer)
                return verify_error(v, "%s does not activate", m->name);
        const bool bytes = s->buffer->memory != m->sums;
        if (!check_place(v, s->buffer, bytes ? m->inputs : m->sums, ACCESS_OUT, s->a) ||
            !check_place(v, s->source, m->sums, ACCESS_IN, s->b) ||
            (s->weights && !check_place(v, s->weights, m->parameters, ACCESS_IN, s->c)))
                return false;
        const int64_t low = bytes ? INT8_MIN : INT32_MIN, high = bytes ? INT8_MAX : INT32_MAX;
        return (a->shift >= 0 && a->shift <= m->limits.shift &&
                (!a->lanes || (s->weights && !a->shift)) && a->add >= INT32_MIN &&
                a->add <= INT32_MAX && a->low >= low && a->low <= a->high && a->high <= high) ||
               verify_error(v, "numbers of an activation that %s has not", m->name);
}

static bool check_await(struct verifier *v, const struct loop_stmt *s)
{
        const struct machine *m = v->function->machine;
        const struct loop_queue q = s->queue;
        return (m->awaits && q.from >= 0 && q.to >= 0 && q.from < m->stage_count &&
                q.to < m->stage_count && q.from != q.to && s->step > 0) ||
               verify_error(v, "a stage of %s does not wait so", m->name);
}

static bool check_queue(struct verifier *v, struct loop_queue q)
{
        int count = v->function->machine->stage_count;
        if (v->function->machine->awaits)
                return verify_error(v, "%s has no tokens", v->function->machine->name);
        bool good = q.from >= 0 && q.to >= 0 && q.from < count && q.to < count &&
                    (q.from == q.to + 1 || q.to == q.from + 1);
        return good || verify_error(v, "tokens go from a stage to its neighbour");
}

bool verify_memory(struct verifier *v, const struct loop_buffer *b)
{
        const struct machine *m = v->function->machine;
        if (b->memory < 0 || b->memory >= MACHINE_MEMORIES || b->memory == m->lists ||
            !m->memories[b->memory].bytes || (b->memory == m->stored && m->stored != m->leaves))
                return verify_error(v, "%s is in no memory that holds numbers", b->name);
        const struct machine_memory *memory = &m->memories[b->memory];
        if (b->element != loop_memory_element(m, b->memory) ||
            b->extent % machine_element_numbers(memory) ||
            b->extent / machine_element_numbers(memory) > machine_depth(memory))
                return verify_error(v, "%s does not fit into %s", b->name, memory->name);
        if (memory->fifo && b->extent != machine_element_numbers(memory) && !b->place_count)
                return verify_error(v, "%s is not one element of %s, which is filled one by one",
                                    b->name, memory->name);
        for (int i = 0; i < b->place_count; i++)
                if (b->places[i] < 0 || b->places[i] + b->extent / machine_element_numbers(memory) >
                                                machine_depth(memory))
                        return verify_error(v, "%s at %lld is not within %s", b->name,
                                            (long long)b->places[i], memory->name);
        return true;
}

bool verify_stream_statement(struct verifier *v, const struct loop_stmt *s)
{
        const struct machine *m = v->function->machine;
        switch (s->kind) {
        case STMT_TRANSFER: return check_transfer(v, s);
        case STMT_RESET:
                return m->activates ? verify_error(v, "%s has no resets", m->name)
                                    : check_place(v, s->buffer, m->sums, ACCESS_OUT, s->a);
        case STMT_PRODUCT:
                if (s->code && !m->activates)
                        return verify_error(v, "products of %s add up", m->name);
                return check_place(v, s->buffer, m->sums, s->code ? ACCESS_OUT : ACCESS_INOUT,
                                   s->a) &&
                       check_place(v, s->source, m->inputs, ACCESS_IN, s->b) &&
                       check_place(v, s->weights, m->weights, ACCESS_IN, s->c);
        case STMT_APPLY: return check_apply(v, s);
        case STMT_ACTIVATE: return check_activate(v, s);
        case STMT_AWAIT: return check_await(v, s);
        default: return check_queue(v, s->queue);
        }
}
