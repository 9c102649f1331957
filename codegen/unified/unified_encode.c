/* SPDX-License-Identifier: MIT */
/* Encodes streams (ir/loop/stream.h) as instructions.
 *
 *     transfer %fifo[0] = %w[0] ..              read_weights count=2 host=@w
 *     transfer %fifo[65536] = %w[65536] ..
 *     await host 1 in multiply                  sync unit=multiply on=host done=1
 *     for %y = 0 to 32 count {
 *       for %x = 0 to 32 count {
 *         product %acc[..] =
 *             %ub[..] * %fifo[0] } }            multiply next size=32,32 in=0,34,1 sum=0,32,1
 *
 * Blocks of weights that follow each other are one instruction. */
#include "codegen/machines/stream_encoder.h"
#include "codegen/unified/unified.h"

struct encoding {
        struct stream_encoder e;
        int64_t weights;                /* The last read_weights has this number, +1; 0: there is
                                         * none. */
        const struct loop_buffer *weights_of;     /* It reads this parameter. */
        int64_t block;                  /* The array holds the block from this place in the FIFO;
                                         * -1: none. */
};

static void put(struct encoding *e, struct unified_instruction i)
{
        encoder_put(&e->e, unified_any(&i));
}

/* ---- statements ---- */

static void put_weights(struct encoding *e, const struct flat_step *t)
{
        const int64_t from = encoder_address(&e->e, t->s->source, t->at[1]), bytes = UNIFIED_BLOCK;
        struct unified_instruction *last =
                e->weights ? (struct unified_instruction *)(void *)&e->e.out[e->weights - 1] : NULL;
        if (last && e->weights_of == t->s->source && last->from + last->blocks * bytes == from &&
            last->blocks < UINT16_MAX) {
                last->blocks++;
                return;
        }
        put(e, (struct unified_instruction){ .opcode = UNIFIED_OPCODE_READ_WEIGHTS, .blocks = 1,
                                             .from = from });
        e->weights = e->e.count;
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
        const bool one = t->s->transfer->step ==
                         t->columns * machine_element_numbers(&machine_unified.memories[memory]);
        const int64_t rows = one ? 1 : t->rows, count = one ? t->rows * t->columns : t->columns;
        for (int64_t y = 0; y < rows; y++)
                put(e,
                    (struct unified_instruction){
                            .opcode = loads ? UNIFIED_OPCODE_READ_HOST : UNIFIED_OPCODE_WRITE_HOST,
                            .par = memory == UNIFIED_PAR,
                            .local = t->at[in] + y * count,
                            .count = count,
                            .host = encoder_address(&e->e, flat_operand(t->s, 1 - in),
                                                    t->at[1 - in] + y * t->s->transfer->step) });
}

static void put_product(struct encoding *e, const struct flat_step *n)
{
        const struct step_counters c = encoder_counters(&e->e, n, n->loop_count);
        put(e, (struct unified_instruction){ .opcode = UNIFIED_OPCODE_MULTIPLY,
                                             .next = n->at[2] != e->block, .add = !n->s->code,
                                             .rows = c.counts[0], .columns = c.counts[1],
                                             ENCODER_ROWS(in, n, c, 1),
                                             ENCODER_ROWS(sum, n, c, 0) });
        e->block = n->at[2];
}

static void put_activation(struct encoding *e, const struct flat_step *n)
{
        const struct step_counters c = encoder_counters(&e->e, n, n->loop_count);
        const struct loop_activation *a = n->s->activation;
        if (c.add[0][2] || c.add[1][2])
                encoder_fail(&e->e, EXIT_UNSUPPORTED, "parameters of an instruction stay the same");
        put(e, (struct unified_instruction){ .opcode = UNIFIED_OPCODE_ACTIVATE,
                                             .to_sums = n->s->buffer->memory == UNIFIED_ACC,
                                             .by = n->s->weights != NULL, .lanes = a->lanes,
                                             .shift = a->shift, .height = c.counts[0],
                                             .width = c.counts[1], .parameters = n->at[2],
                                             ENCODER_ROWS(of, n, c, 1), ENCODER_ROWS(out, n, c, 0),
                                             .plus = a->add, .low = a->low, .high = a->high });
}

static void put_statement(struct stream_encoder *encoder, const struct flat_step *step)
{
        struct encoding *e = (struct encoding *)(void *)encoder;
        switch (step->s->kind) {
        case STMT_TRANSFER: put_transfer(e, step); break;
        case STMT_PRODUCT: put_product(e, step); break;
        case STMT_ACTIVATE: put_activation(e, step); break;
        case STMT_AWAIT:
                put(e, (struct unified_instruction){ .opcode = UNIFIED_OPCODE_SYNC,
                                                     .unit = step->s->queue.to,
                                                     .on = step->s->queue.from,
                                                     .done = encoder_awaited(encoder, step->s) });
                break;
        default:
                encoder_fail(encoder, EXIT_UNSUPPORTED,
                             "a statement that the machine has no instruction for");
        }
}

static bool encode(const struct isa *isa, const struct loop_function *stream,
                   const int64_t *addresses, int64_t lists, struct arena *arena,
                   struct machine_code *code, struct diag *diag)
{
        struct encoding e = { .e = { .isa = isa, .f = stream, .addresses = addresses,
                                     .arena = arena, .diag = diag }, .block = -1 };
        (void)lists;
        *code = (struct machine_code){ .count = 0 };
        encoder_statements(&e.e, put_statement);
        put(&e, (struct unified_instruction){ .opcode = UNIFIED_OPCODE_HALT });
        return encoder_write(&e.e, code);
}

const struct machine_driver unified_driver = { .encode = encode, .align = ISA_GRANULE };
