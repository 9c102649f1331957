/* SPDX-License-Identifier: MIT */
#include "codegen/machines/stream_encoder.h"

#include <inttypes.h>
#include <string.h>

void encoder_fail(struct stream_encoder *e, enum exit_code code, const char *what)
{
        if (!e->failed)
                diag_error(e->diag, code, "stream %s: %s", e->f->name, what);
        e->failed = true;
}

void encoder_put(struct stream_encoder *e, struct instruction i)
{
        const struct code_field *misfit = isa_misfit(e->isa, &i, isa_form(e->isa, &i));
        if (misfit)
                encoder_fail(e, EXIT_UNSUPPORTED,
                             arena_printf(e->arena, "no instruction has %s = %" PRId64,
                                          misfit->name,
                                                               i.numbers[misfit - e->isa->fields]));
        const int stage = e->isa->set->order(&i).stage;
        ARENA_GROW(e->arena, e->out, e->count);
        e->out[e->count++] = i;
        if (stage >= 0)
                e->stages[stage].instructions++;
}

int64_t encoder_address(const struct stream_encoder *e, const struct loop_buffer *b, int64_t at)
{
        return e->addresses[b->number] + at * element_info[b->element].bytes;
}

static void note_statement(struct stream_encoder *e, const struct loop_stmt *s)
{
        struct encoder_stage *stage = &e->stages[loop_stage_of(e->f->machine, s)];
        ARENA_GROW(e->arena, stage->after, stage->statements);
        stage->after[stage->statements++] = stage->instructions;
}

int64_t encoder_awaited(struct stream_encoder *e, const struct loop_stmt *await)
{
        const struct encoder_stage *on = &e->stages[await->queue.from];
        if (await->step <= on->statements)
                return on->after[await->step - 1];
        encoder_fail(e, EXIT_UNSUPPORTED,
                     "an await is for a statement that does not stand before it");
        return 0;
}

void encoder_statements(struct stream_encoder *e,
                        void (*put)(struct stream_encoder *e, const struct flat_step *step))
{
        for (int k = 0; k < e->f->buffer_count; k++)
                e->f->buffers[k]->number = k;
        for (const struct loop_stmt *s = e->f->body->first; s && !e->failed; s = s->next) {
                struct flat_step step;
                if (s->kind == STMT_ALLOC)
                        continue;
                if (!flat_step_read(e->f->machine, s, NULL, &step)) {
                        encoder_fail(e, EXIT_UNSUPPORTED, "a statement is not flat");
                        return;
                }
                put(e, &step);
                if (e->isa->machine.awaits && step.s->kind != STMT_AWAIT)
                        note_statement(e, step.s);
        }
}

struct step_counters encoder_counters(struct stream_encoder *e, const struct flat_step *step,
                                      int loops)
{
        struct step_counters c = { .counts = { 1, 1 } };
        if (loops > 2)
                encoder_fail(e, EXIT_UNSUPPORTED, "an instruction has two counters");
        for (int k = 0; k < 2 && k < loops; k++) {      /* The innermost loop is the last
                                                         * counter. */
                const struct nest_loop *loop = &step->loops[loops - 1 - k];
                c.counts[1 - k] = loop->count;
                memcpy(c.add[1 - k], loop->add, sizeof loop->add);
        }
        return c;
}

bool encoder_write(struct stream_encoder *e, struct machine_code *code)
{
        const int bytes = e->isa->set->bytes;
        if (!e->failed && e->count * bytes >= PROGRAM_CODE_MOST)
                encoder_fail(e, EXIT_BUDGET, "its instructions take more than a launch may have");
        if (e->failed)
                return false;
        code->instructions = arena_alloc(e->arena, (size_t)e->count * (size_t)bytes);
        code->count = e->count;
        for (int64_t k = 0; k < e->count; k++)
                isa_encode(e->isa, &e->out[k], code->instructions + k * bytes);
        return true;
}
