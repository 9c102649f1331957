/* SPDX-License-Identifier: MIT */
/* --emit=vta and --emit=program write each call of a stream as a program of its machine, with what
 * memory holds before and after it. Inputs of the model are numbers by chance; the interpreter says
 * all else, which runs main once, part by part: up to a launch, and the launch. */
#include "compiler/emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codegen/machines/machines.h"

/* A program that takes longer may never end. */
#define STEPS_MOST (UINT64_C(1) << 36)

struct launching {
        struct run *run;
        struct arena *arena;
        struct loop_program *p;
        const void **inputs;
        void **memory;                  /* It has the memory of each buffer that is no view and no
                                         * constant, by its number in the program. */
};

/* ---- memory ---- */

static void fill(const struct loop_buffer *b, void *data, uint64_t *random)
{
        for (int64_t k = 0; k < b->extent; k++) {
                uint64_t r = random_next(random) >> 24;
                union scalar value = { .i = b->element == E_BOOL ? (int64_t)(r & 1)
                                                                 : (int64_t)(r % 256) - 128 };
                if (element_is_float(b->element))
                        value.f = (double)((int64_t)(r % 2001) - 1000) / 500;
                element_store(b->element, data, (size_t)k, value);
        }
}

static void make_inputs(struct launching *l)
{
        uint64_t random = RANDOM_START;
        int count = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                count += b->space == SPACE_INPUT;
        l->inputs = arena_array(l->arena, (size_t)count + 1, sizeof *l->inputs);
        count = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                if (b->space == SPACE_INPUT) {
                        void *data = arena_alloc(l->arena, (size_t)loop_buffer_bytes(b) + 1);
                        fill(b, data, &random);
                        l->inputs[count++] = data;
                }
}

static void number_buffers(const struct launching *l)
{
        int count = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                b->number = count++;
}

static bool is_held(const struct loop_buffer *b)
{
        return b->space == SPACE_WORKSPACE || b->space == SPACE_OUTPUT;
}

static void make_memory(struct launching *l)
{
        int count = 0, inputs = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                count++;
        l->memory = arena_array(l->arena, (size_t)count + 1, sizeof *l->memory);
        number_buffers(l);
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                if (is_held(b))
                        l->memory[b->number] =
                                arena_alloc(l->arena, (size_t)loop_buffer_bytes(b) + 1);
                else if (b->space == SPACE_INPUT)
                        l->memory[b->number] = (void *)(uintptr_t)l->inputs[inputs++];
}

/* Runs statements of main on what memory holds: all that is held is an output for that while, so
 * that it stays. */
static bool run_part(struct launching *l, struct loop_stmt *first, struct loop_stmt *behind)
{
        struct loop_block *whole = loop_main(l->p)->body, *part = loop_block_new(l->arena);
        struct loop_stmt *last = NULL;
        int outputs = 0, count = 0;
        for (struct loop_stmt *s = first; s != behind; s = s->next)
                last = s;
        if (!last)
                return true;
        number_buffers(l);
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                count++;
        enum loop_space *spaces = arena_array(l->arena, (size_t)count + 1, sizeof *spaces);
        void **given = arena_array(l->arena, (size_t)count + 1, sizeof *given);
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next) {
                spaces[b->number] = b->space;
                if (is_held(b)) {
                        b->space = SPACE_OUTPUT;
                        given[outputs++] = l->memory[b->number];
                }
        }
        part->first = first;
        last->next = NULL;
        loop_main(l->p)->body = part;
        struct interp *interp = interp_new(l->p, false, 0, &l->run->diag);
        const int code =
                interp ? interp_run(interp, l->inputs, given, STEPS_MOST, NULL) : INTERP_OK;
        if (interp && code)
                diag_error(&l->run->diag, EXIT_INVALID,
                           "the program ends with code %d before its launches are done", code);
        interp_free(interp);
        last->next = behind;
        loop_main(l->p)->body = whole;
        number_buffers(l);
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                b->space = spaces[b->number];
        return interp && !code;
}

static const void *constant_of(struct launching *l, const struct loop_buffer *b)
{
        size_t bytes = (size_t)element_info[b->element].bytes;
        if (!b->splat)
                return b->data;
        char *data = arena_array(l->arena, (size_t)b->extent + 1, bytes);
        for (int64_t k = 0; k < b->extent; k++)
                memcpy(data + (size_t)k * bytes, b->data, bytes);
        return data;
}

/* Returns where an argument's bytes lie in what its root holds, or NULL after an error. */
static const void *part_of(struct launching *l, const struct loop_stmt *call, int argument)
{
        int64_t offset, moved = 0;
        const struct loop_buffer *root = loop_buffer_root(call->buffers[argument], &offset);
        const struct loop_expr *moves = call->offsets ? call->offsets[argument] : NULL;
        const char *base =
                root->space == SPACE_CONSTANT ? constant_of(l, root) : l->memory[root->number];
        if (moves && !loop_is_int(moves, &moved)) {
                diag_error(&l->run->diag, EXIT_UNSUPPORTED,
                           "launch of '%s': where argument %d lies is known only at run time",
                           call->function->name, argument + 1);
                return NULL;
        }
        return base ? base + (offset + moved) * element_info[root->element].bytes : NULL;
}

static bool write_launch(struct launching *l, struct loop_stmt *call, FILE *out)
{
        const struct loop_function *f = call->function;
        struct launch_argument *arguments =
                arena_array(l->arena, (size_t)f->buffer_count + 1, sizeof *arguments);
        struct text text = { 0 };
        for (int k = 0; k < f->buffer_count; k++) {
                arguments[k].constant =
                        loop_buffer_root(call->buffers[k], NULL)->space == SPACE_CONSTANT;
                const void *content =
                        f->buffers[k]->access & ACCESS_IN ? part_of(l, call, k) : NULL;
                arguments[k].content =
                        arguments[k].constant || !content
                                ? content
                                : arena_copy(l->arena, content,
                                             (size_t)loop_buffer_bytes(f->buffers[k]) + 1);
        }
        bool after = !l->run->diag.errors && run_part(l, call, call->next);
        for (int k = 0; k < f->buffer_count && after; k++)
                if (f->buffers[k]->access & ACCESS_OUT)
                        arguments[k].expect = part_of(l, call, k);
        bool fine = after && !l->run->diag.errors &&
                    machine_launch_write(f, arguments, l->run->options.emit == EMIT_ASSEMBLY, &text,
                                         &l->run->diag);
        if (fine)
                fwrite(text.data, 1, text.length, out);
        text_free(&text);
        return fine;
}

/* Returns the file of a launch: the first goes to the output itself, others beside it, as model.vta
 * and model_2.vta. */
static FILE *file_of(struct run *run, int number, FILE *out)
{
        if (number == 1)
                return out;
        if (!run->output) {
                diag_error(&run->diag, EXIT_USAGE,
                           "there are several launches, each a file of its own: name the first by "
                           "-o FILE");
                return NULL;
        }
        const char *dot = strchr(path_base(run->output), '.');
        size_t stem = dot ? (size_t)(dot - run->output) : strlen(run->output);
        return outputs_open(run->outputs,
                            arena_printf(run->arena, "%.*s_%d%s", (int)stem, run->output, number,
                                         dot ? dot : ""),
                            &run->diag);
}

bool write_launches(struct run *run, const struct emit_files *files)
{
        struct launching l = { .run = run, .arena = run->arena, .p = run->state.program };
        int number = 0;
        bool fine = true;
        /* These statements have not run. */
        struct loop_stmt *from = loop_main(l.p)->body->first;
        make_inputs(&l);
        make_memory(&l);
        for (struct loop_stmt *s = from; s && fine; s = s->next) {
                if (s->kind != STMT_CALL || s->function->kind != FUNCTION_STREAM)
                        continue;
                FILE *file = file_of(run, ++number, files->out);
                fine = file && run_part(&l, from, s) && write_launch(&l, s, file);
                from = s->next;
        }
        if (fine && !number)
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "nothing of the program runs on a machine: main calls no stream");
        return fine && number;
}
