/* SPDX-License-Identifier: MIT */
/* Streams (ir/loop/stream.h) as instructions.
 *
 *     transfer %fifo[0] = %w[0] ..                            read_weights count=2 host=@w         blocks that follow each other
 *     transfer %fifo[65536] = %w[65536] ..
 *     await host 1 in multiply                                sync unit=multiply on=host done=1
 *     for %y = 0 to 32 count { for %x = 0 to 32 count {
 *       product %acc[..] = %ub[..] * %fifo[0] } }             multiply next size=32,32 in=0,34,1 sum=0,32,1
 */
#include <inttypes.h>
#include <string.h>

#include "codegen/unified/unified_encode.h"
#include "ir/loop/stream_flat.h"

/* instructions of a unit, and how many of them its first so many statements took */
struct unit { int64_t instructions, *after, statements; };

struct encoding {
        const struct isa *isa;
        const struct loop_function *f;
        const int64_t *addresses;
        struct arena *arena;
        struct unified_instruction *out;
        int64_t count;
        struct unit units[UNIFIED_STAGES];
        int64_t weights;                /* the last read_weights, +1; 0: none */
        const struct loop_buffer *weights_of;     /* that it reads */
        int64_t block;                  /* place in the FIFO of what the array holds; -1: nothing */
        struct diag *diag;
        bool failed;
};

static void fail(struct encoding *e, const char *what)
{
        if (!e->failed)
                diag_error(e->diag, EXIT_UNSUPPORTED, "stream %s: %s", e->f->name, what);
        e->failed = true;
}

static void put(struct encoding *e, struct unified_instruction i)
{
        const struct instruction all = unified_any(&i);
        const struct code_field *misfit = isa_misfit(e->isa, &all, isa_form(e->isa, &all));
        const int unit = unified_set.order(&all).stage;
        if (misfit)
                fail(e, arena_printf(e->arena, "no instruction has %s = %" PRId64, misfit->name, all.numbers[misfit - e->isa->fields]));
        ARENA_GROW(e->arena, e->out, e->count);
        e->out[e->count++] = i;
        if (unit >= 0)
                e->units[unit].instructions++;
}

static int64_t address_of(const struct encoding *e, const struct loop_buffer *b, int64_t at)
{
        return e->addresses[b->number] + at * element_info[b->element].bytes;
}

/* ---- statements ---- */

static void put_weights(struct encoding *e, const struct flat_step *t)
{
        const int64_t from = address_of(e, t->s->source, t->at[1]), bytes = UNIFIED_BLOCK;
        struct unified_instruction *last = e->weights ? &e->out[e->weights - 1] : NULL;
        if (last && e->weights_of == t->s->source && last->from + last->blocks * bytes == from && last->blocks < UINT16_MAX) {
                last->blocks++;
                return;
        }
        put(e, (struct unified_instruction){ .opcode = UNIFIED_READ_WEIGHTS_CODE, .blocks = 1, .from = from });
        e->weights = e->count;
        e->weights_of = t->s->source;
}

static void put_transfer(struct encoding *e, const struct flat_step *t)
{
        const bool loads = loop_transfer_loads(t->s);
        const int in = loads ? 0 : 1, memory = flat_operand(t->s, in)->memory;
        if (memory == UNIFIED_FIFO) {
                put_weights(e, t);
                return;
        }
        const bool one = t->s->transfer->step == t->columns * machine_element_numbers(&machine_unified.memories[memory]);
        const int64_t rows = one ? 1 : t->rows, count = one ? t->rows * t->columns : t->columns;
        for (int64_t y = 0; y < rows; y++)
                put(e, (struct unified_instruction){ .opcode = loads ? UNIFIED_READ_HOST_CODE : UNIFIED_WRITE_HOST_CODE, .par = memory == UNIFIED_PAR,
                                                     .local = t->at[in] + y * count, .count = count,
                                                     .host = address_of(e, flat_operand(t->s, 1 - in), t->at[1 - in] + y * t->s->transfer->step) });
}

/* the two counters of a nest: count, and what each adds to an operand */
struct counters { int64_t counts[2], add[2][OPERANDS]; };

static struct counters counters_of(struct encoding *e, const struct flat_step *n)
{
        struct counters c = { .counts = { 1, 1 } };
        if (n->loop_count > 2)
                fail(e, "an instruction has two counters");
        for (int k = 0; k < 2 && k < n->loop_count; k++) {      /* the innermost is the last */
                const struct nest_loop *loop = &n->loops[n->loop_count - 1 - k];
                c.counts[1 - k] = loop->count;
                memcpy(c.add[1 - k], loop->add, sizeof loop->add);
        }
        return c;
}

static void put_product(struct encoding *e, const struct flat_step *n)
{
        const struct counters c = counters_of(e, n);
        put(e, (struct unified_instruction){ .opcode = UNIFIED_MULTIPLY_CODE, .next = n->at[2] != e->block, .add = !n->s->code, .rows = c.counts[0],
                                             .columns = c.counts[1], .in = n->at[1], .in_row = c.add[0][1], .in_column = c.add[1][1],
                                             .sum = n->at[0], .sum_row = c.add[0][0], .sum_column = c.add[1][0] });
        e->block = n->at[2];
}

static void put_activation(struct encoding *e, const struct flat_step *n)
{
        const struct counters c = counters_of(e, n);
        const struct loop_activation *a = n->s->activation;
        if (c.add[0][2] || c.add[1][2])
                fail(e, "parameters of an instruction stay the same");
        put(e, (struct unified_instruction){ .opcode = UNIFIED_ACTIVATE_CODE, .to_sums = n->s->buffer->memory == UNIFIED_ACC,
                                             .by = n->s->weights != NULL, .lanes = a->lanes, .shift = a->shift, .height = c.counts[0],
                                             .width = c.counts[1], .parameters = n->at[2], .of = n->at[1], .of_row = c.add[0][1],
                                             .of_column = c.add[1][1], .out = n->at[0], .out_row = c.add[0][0], .out_column = c.add[1][0],
                                             .plus = a->add, .low = a->low, .high = a->high });
}

static void put_await(struct encoding *e, const struct loop_stmt *s)
{
        const struct unit *on = &e->units[s->queue.from];
        if (s->step > on->statements) {
                fail(e, "an await is for a statement that does not stand before it");
                return;
        }
        put(e, (struct unified_instruction){ .opcode = UNIFIED_SYNC_CODE, .unit = s->queue.to, .on = s->queue.from, .done = on->after[s->step - 1] });
}

static void put_statement(struct encoding *e, const struct loop_stmt *s)
{
        struct flat_step step;
        if (s->kind == STMT_ALLOC)
                return;
        if (!flat_step_read(e->f->machine, s, NULL, &step)) {
                fail(e, "a statement is not flat");
                return;
        }
        switch (step.s->kind) {
        case STMT_TRANSFER: put_transfer(e, &step); break;
        case STMT_PRODUCT: put_product(e, &step); break;
        case STMT_ACTIVATE: put_activation(e, &step); break;
        case STMT_AWAIT: put_await(e, step.s); return;
        default: fail(e, "a statement that the machine has no instruction for"); return;
        }
        struct unit *u = &e->units[loop_stage_of(e->f->machine, step.s)];
        ARENA_GROW(e->arena, u->after, u->statements);
        u->after[u->statements++] = u->instructions;
}

bool unified_encode_stream(const struct isa *isa, const struct loop_function *stream, const int64_t *addresses, int64_t lists,
                           struct arena *arena, struct machine_code *code, struct diag *diag)
{
        struct encoding e = { .isa = isa, .f = stream, .addresses = addresses, .arena = arena, .block = -1, .diag = diag };
        (void)lists;
        for (int k = 0; k < stream->buffer_count; k++)
                stream->buffers[k]->number = k;
        for (const struct loop_stmt *s = stream->body->first; s && !e.failed; s = s->next)
                put_statement(&e, s);
        put(&e, (struct unified_instruction){ .opcode = UNIFIED_HALT_CODE });
        if (!e.failed && e.count * (int64_t)UNIFIED_BYTES >= PROGRAM_CODE_MOST) {
                diag_error(diag, EXIT_BUDGET, "stream %s: its instructions take more than a launch may have", stream->name);
                return false;
        }
        *code = (struct machine_code){ .instructions = arena_alloc(arena, (size_t)e.count * UNIFIED_BYTES), .count = e.count };
        for (int64_t k = 0; k < e.count && !e.failed; k++) {
                const struct instruction all = unified_any(&e.out[k]);
                isa_encode(isa, &all, code->instructions + k * UNIFIED_BYTES);
        }
        return !e.failed;
}
