/* SPDX-License-Identifier: MIT */
/* flatten: executes the loops of a stream, because machines have none; what remains are transfers
 * and nests of loops around one step, at places in whole memories.
 *
 *     for %r = 0 to 2 {                            alloc %acc : i32[32768] in acc at 0
 *       alloc %s : i32[6272] in acc at 0, 392  ->  for %n0 = 0 to 392 { reset %acc[%n0 * 16] }
 *       for %p = 0 to 392 { reset %s[%p * 16] }    transfer %y[0] = %acc[0] rows 14 by 28 step 448
 *       transfer %y[%r * 6272] = %s[0] ..          for %n0 = 0 to 392 {
 *     }                                              reset %acc[%n0 * 16 + 6272] }
 *                                                  transfer %y[6272] = %acc[6272] rows 14 by 28 ..
 *
 * A nest stays one nest where its bounds and places are affine in its variables. A buffer that has
 * no place yet gets one (the pass overlap gives several). */
#include "engines/stream/stream_passes.h"

enum { STATEMENTS_MOST = 1 << 20 };

struct flattening {
        const struct machine *m;
        struct flat_writer to;
        struct flat_state state;
        int *turns;                     /* It counts how often each alloc was executed. */
        int64_t filled;                 /* This many elements have gone into a FIFO. */
        int64_t left;
        const char *failed;
};

static void flatten_block(struct flattening *f, const struct loop_block *block);

static void put(struct flattening *f, struct flat_step *step)
{
        int kept = 0;
        if (--f->left < 0) {
                f->failed = "takes more than a million instructions";
                return;
        }
        for (int k = 0; k < step->loop_count; k++) {
                if (!step->loops[k].count)
                        return;
                if (step->loops[k].count > 1)
                        step->loops[kept++] = step->loops[k];
        }
        step->loop_count = kept;
        if (step->s->kind == STMT_TRANSFER && (step->rows <= 0 || step->columns <= 0) &&
            (step->rows + step->pad[0] + step->pad[1]) *
                            (step->columns + step->pad[2] + step->pad[3]) <=
                    0)
                return;
        flat_step_write(&f->to, step);
}

static int64_t value(struct flattening *f, const struct loop_expr *e)
{
        int64_t number = 0;
        if (!flat_value(e, &f->state, &number))
                f->failed = "has an index that is not known";
        return number;
}

static void flatten_for(struct flattening *f, const struct loop_stmt *s)
{
        int64_t end = value(f, s->b);
        for (int64_t i = value(f, s->a); i < end && !f->failed; i += s->step) {
                if (--f->left < 0)
                        f->failed = "takes more than a million iterations";
                f->state.values[s->variable->number] = i;
                flatten_block(f, s->body);
        }
}

static void flatten_statement(struct flattening *f, const struct loop_stmt *s)
{
        struct flat_step step;
        switch (s->kind) {
        case STMT_FOR:
                if (flat_step_read(f->m, s, &f->state, &step))
                        put(f, &step);
                else
                        flatten_for(f, s);
                break;
        case STMT_IF: flatten_block(f, value(f, s->a) ? s->body : s->other); break;
        case STMT_LET: f->state.values[s->variable->number] = value(f, s->a); break;
        case STMT_ALLOC: {
                struct loop_buffer *b = s->buffer;
                const struct machine_memory *memory = &f->m->memories[b->memory];
                if (memory->fifo) {
                        f->state.places[b->number] = f->filled++ % machine_depth(memory);
                        break;
                }
                f->state.places[b->number] = b->places[f->turns[b->number]++ % b->place_count];
                break;
        }
        default:
                if (flat_step_read(f->m, s, &f->state, &step))
                        put(f, &step);
                else
                        f->failed = "has a place that is no multiple of an element";
        }
}

static void flatten_block(struct flattening *f, const struct loop_block *block)
{
        for (const struct loop_stmt *s = block ? block->first : NULL; s && !f->failed; s = s->next)
                flatten_statement(f, s);
}

static void count_buffers(struct loop_stmt *s, void *count)
{
        *(int *)count += s->kind == STMT_ALLOC;
}

static void declare_memory(struct loop_stmt *s, void *context)
{
        struct flattening *f = context;
        if (s->kind != STMT_ALLOC || f->to.memories[s->buffer->memory])
                return;
        int k = s->buffer->memory;
        const struct machine_memory *memory = &f->m->memories[k];
        struct loop_buffer *b = loop_memory_alloc(f->to.arena, f->to.out, memory->name, f->m, k,
                                                  machine_depth(memory));
        b->place_count = 1;
        b->places = arena_array(f->to.arena, 1, sizeof *b->places);
        f->to.memories[k] = b;
}

static bool flatten(struct loop_program *p, struct loop_function *stream, struct diag *diag)
{
        struct flattening f = { .m = stream->machine,
                                .left = STATEMENTS_MOST,
                                .to = { .arena = p->arena,
                                        .f = stream,
                                        .out = loop_block_new(p->arena),
                                        .letter = 'n' } };
        int variables = loop_number_variables(stream), buffers = stream->buffer_count;
        struct arena *scratch = arena_new();
        loop_block_walk(stream->body, count_buffers, NULL, &buffers);
        f.state.values = arena_array(scratch, (size_t)variables + 1, sizeof *f.state.values);
        f.state.places = arena_array(scratch, (size_t)buffers + 1, sizeof *f.state.places);
        f.turns = arena_array(scratch, (size_t)buffers + 1, sizeof *f.turns);
        loop_block_walk(stream->body, declare_memory, NULL, &f);
        flatten_block(&f, stream->body);
        arena_free(scratch);
        stream->body = f.to.out;
        if (f.failed)
                diag_error(diag, EXIT_UNSUPPORTED, "stream %s %s", stream->name, f.failed);
        return !f.failed;
}

int pass_flatten(struct loop_program *p, struct pass_context *context)
{
        int count = 0;
        for (struct loop_function *f = p->kernels; f; f = f->next) {
                struct loop_buffer *memories[MACHINE_MEMORIES];
                if (f->kind != FUNCTION_STREAM ||
                    (stream_is_placed(f) && flat_memories(f, memories)))
                        continue;
                if ((!stream_is_placed(f) && stream_place(p->arena, f, 1, context->diag) < 0) ||
                    !flatten(p, f, context->diag))
                        return -1;
                count++;
        }
        return count;
}
