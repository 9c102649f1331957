/* SPDX-License-Identifier: MIT */
/* --emit=vta, --emit=program: each call of a stream as a program of its machine, with what memory holds before and after it. Inputs of
 * the model are numbers by chance; all else the interpreter says, which runs main up to a call and then up to the next. */
#include "compiler/emit_launches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "codegen/machines.h"

/* a program that takes longer may never end */
#define STEPS_MOST (UINT64_C(1) << 36)

struct launching {
        struct run *run;
        struct arena *arena;
        struct loop_program *p;
        const void **inputs;
        int call;                       /* number of the call in main */
};

/* ---- memory ---- */

static int64_t bytes_of(const struct loop_buffer *b) { return b->extent * element_info[b->element].bytes; }

static void fill(const struct loop_buffer *b, void *data, uint64_t *random)
{
        for (int64_t k = 0; k < b->extent; k++) {
                uint64_t r = random_next(random) >> 24;
                union scalar value = { .i = b->element == E_BOOL ? (int64_t)(r & 1) : (int64_t)(r % 256) - 128 };
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
                        void *data = arena_alloc(l->arena, (size_t)bytes_of(b) + 1);
                        fill(b, data, &random);
                        l->inputs[count++] = data;
                }
}

/* What buffers hold before call number `before`, by b->number; the arguments of one call are outputs for that while. */
static void **hold_after(struct launching *l, const struct loop_stmt *arguments_of, int before)
{
        struct loop_block *whole = l->p->main->body, *part = loop_block_new(l->arena);
        struct loop_stmt *last = NULL, *rest = whole->first;
        int count = 0, n = arguments_of->function->buffer_count, outputs = 0;
        enum loop_space *spaces = arena_array(l->arena, (size_t)n + 1, sizeof *spaces);
        for (int k = 0; k < before; k++, rest = rest->next)
                last = rest;
        if (last)
                last->next = NULL;
        part->first = last ? whole->first : NULL;
        l->p->main->body = part;
        for (int k = 0; k < n; k++) {
                struct loop_buffer *root = loop_buffer_root(arguments_of->buffers[k], NULL);
                spaces[k] = root->space;
                if (root->space == SPACE_WORKSPACE)
                        root->space = SPACE_OUTPUT;
        }
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                b->number = count++;
        void **all = arena_array(l->arena, (size_t)count + 1, sizeof *all), **given = arena_array(l->arena, (size_t)count + 1, sizeof *given);
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next)
                if (b->space == SPACE_OUTPUT)
                        all[b->number] = given[outputs++] = arena_alloc(l->arena, (size_t)bytes_of(b) + 1);
        struct interp *interp = interp_new(l->p, false, 0, &l->run->diag);
        int code = interp ? interp_run(interp, l->inputs, given, STEPS_MOST, NULL) : INTERP_OK;
        if (interp && code)
                diag_error(&l->run->diag, EXIT_INVALID, "the program ends with code %d before its launch", code);
        interp_free(interp);
        for (int k = n - 1; k >= 0; k--)
                loop_buffer_root(arguments_of->buffers[k], NULL)->space = spaces[k];
        if (last)
                last->next = rest;
        l->p->main->body = whole;
        count = outputs = 0;
        for (struct loop_buffer *b = l->p->buffers; b; b = b->next) {
                b->number = count++;
                if (b->space == SPACE_INPUT)
                        all[b->number] = (void *)(uintptr_t)l->inputs[outputs++];
        }
        return interp && !code ? all : NULL;
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

/* where an argument's bytes lie in what its root holds; NULL: nobody knows */
static const void *part_of(struct launching *l, const struct loop_stmt *call, int argument, void *const *all)
{
        int64_t offset, moved = 0;
        const struct loop_buffer *root = loop_buffer_root(call->buffers[argument], &offset);
        const struct loop_expr *moves = call->offsets ? call->offsets[argument] : NULL;
        const char *base = root->space == SPACE_CONSTANT ? constant_of(l, root) : all[root->number];
        if (moves && !loop_is_int(moves, &moved)) {
                diag_error(&l->run->diag, EXIT_UNSUPPORTED, "launch of '%s': where argument %d lies is known only at run time",
                           call->function->name, argument + 1);
                return NULL;
        }
        return base ? base + (offset + moved) * element_info[root->element].bytes : NULL;
}

static bool write_launch(struct launching *l, const struct loop_stmt *call, FILE *out)
{
        const struct loop_function *f = call->function;
        struct launch_argument *arguments = arena_array(l->arena, (size_t)f->buffer_count + 1, sizeof *arguments);
        void **before = hold_after(l, call, l->call), **after = before ? hold_after(l, call, l->call + 1) : NULL;
        struct text text = { 0 };
        for (int k = 0; k < f->buffer_count && after; k++) {
                arguments[k].constant = loop_buffer_root(call->buffers[k], NULL)->space == SPACE_CONSTANT;
                if (f->buffers[k]->access & ACCESS_IN)
                        arguments[k].content = part_of(l, call, k, before);
                if (f->buffers[k]->access & ACCESS_OUT)
                        arguments[k].expect = part_of(l, call, k, after);
        }
        bool fine = after && !l->run->diag.errors &&
                    machine_launch_write(f, arguments, l->run->options.emit == EMIT_ASSEMBLY, &text, &l->run->diag);
        if (fine)
                fwrite(text.data, 1, text.length, out);
        text_free(&text);
        return fine;
}

/* the first launch goes to the output itself, others beside it: model.vta, model_2.vta */
static FILE *file_of(struct run *run, int number, FILE *out)
{
        if (number == 1)
                return out;
        if (!run->output) {
                diag_error(&run->diag, EXIT_USAGE, "there are several launches, each a file of its own: name the first by -o FILE");
                return NULL;
        }
        const char *dot = strchr(path_base(run->output), '.');
        size_t stem = dot ? (size_t)(dot - run->output) : strlen(run->output);
        return outputs_open(run->outputs, arena_printf(run->arena, "%.*s_%d%s", (int)stem, run->output, number, dot ? dot : ""), &run->diag);
}

bool emit_launches(struct run *run, FILE *out)
{
        struct launching l = { .run = run, .arena = run->arena, .p = run->state.program };
        int number = 0;
        bool fine = true;
        make_inputs(&l);
        for (struct loop_stmt *s = l.p->main->body->first; s && fine; s = s->next, l.call++) {
                if (s->kind != STMT_CALL || s->function->kind != FUNCTION_STREAM)
                        continue;
                FILE *file = file_of(run, ++number, out);
                fine = file && write_launch(&l, s, file);
        }
        if (fine && !number)
                diag_error(&run->diag, EXIT_UNSUPPORTED, "nothing of the program runs on a machine: main calls no stream");
        return fine && number;
}
