/* SPDX-License-Identifier: MIT */
/* steps: a run can stop within kernels and between them, and go on (--step).
 *
 *     buffer @t : f32[4096] workspace offset 0     buffer @t : f32[4096] workspace offset 0
 *                                                  buffer @record : i64[9] workspace offset 16384
 *                                                    record 65536 most 9216
 *                                                  buffer @words : i64[6] view @record + 3
 *     main {                                ->     main {
 *                                                    call @begin(@record)
 *       call @conv1(@x, @w, @t)                      call @conv1(@x, @w, @t, @words)
 *       call @relu(@t, @y)                           call @relu(@t, @y)
 *     }                                            }
 *
 * Kernels of more work than half of a step can stop (suspend.c) and take words of the record;
 * others are done in one piece. As main stands here, it runs to the end: the first call says that
 * there is work left without limit. What is done in steps the printer makes of it. The record lies
 * behind everything else in the workspace, because it lasts from the first step to the last.
 *
 * Exact to the bit. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "cost/code.h"
#include "ir/loop/loop_record.h"
#include "passes/pass.h"
#include "passes/suspend.h"

enum { PARTS = 2 };                     /* A part that cannot stop is to be at most one of these of
                                         * a step. */

static void store(struct arena *arena, struct loop_block *out, struct loop_buffer *buffer,
                  struct loop_expr *at, int64_t value)
{
        struct loop_stmt *s = loop_append(arena, out, STMT_STORE);
        s->buffer = buffer;
        s->a = at;
        s->b = loop_int(arena, E_I64, value);
}

/* Returns the kernel that clears a record of so many words. */
static struct loop_function *clearing_kernel(struct loop_program *p, int64_t words)
{
        struct arena *arena = p->arena;
        struct loop_function *kernel = loop_function_new(arena, FUNCTION_KERNEL, "begin");
        struct loop_buffer *record =
                loop_parameter_add(arena, kernel, "record", E_I64, words, ACCESS_OUT);
        struct loop_stmt *loop = loop_append(arena, kernel->body, STMT_FOR);
        loop->variable = loop_variable_new(arena, "i", LOOP_TYPE(E_INDEX), VARIABLE_LOOP);
        loop->a = loop_index(arena, 0);
        loop->b = loop_index(arena, words);
        store(arena, loop->body, record, loop_use(arena, loop->variable), 0);
        store(arena, kernel->body, record, loop_index(arena, RECORD_KERNEL + CELL_LEFT),
              RECORD_UNLIMITED);
        kernel->summary = "clears the record of steps";
        loop_kernel_add(p, kernel);
        return kernel;
}

static void add_argument(struct arena *arena, struct loop_stmt *call, struct loop_buffer *words)
{
        const int at = call->function->buffer_count - 1;
        struct loop_buffer **buffers =
                arena_array(arena, (size_t)at + 1, sizeof(struct loop_buffer *));
        struct loop_expr **offsets = arena_array(arena, (size_t)at + 1, sizeof *offsets);
        for (int i = 0; i < at; i++) {
                buffers[i] = call->buffers[i];
                offsets[i] = call->offsets ? call->offsets[i] : NULL;
        }
        buffers[at] = words;
        call->buffers = buffers;
        call->offsets = call->offsets ? offsets : NULL;
}

struct arguments { struct loop_program *p; struct loop_buffer *record, *words; };

static void pass_words(struct loop_stmt *s, void *context)
{
        struct arguments *a = context;
        if (s->kind != STMT_CALL || s->function->number <= 0)
                return;
        if (!a->words) {
                a->words = loop_buffer_add(a->p, "words", E_I64,
                                           a->record->extent - RECORD_KERNEL, SPACE_VIEW);
                a->words->view_of = a->record;
                a->words->view_offset = RECORD_KERNEL;
        }
        add_argument(a->p->arena, s, a->words);
}

/* Adds the entry's record behind its workspace, and hands it to the kernels that can stop. */
static void add_record(struct loop_program *p, int entry, struct loop_function *begin,
                       int64_t record_words)
{
        struct loop_entry *e = &p->entries[entry];
        p->at = entry;
        struct loop_buffer *record =
                loop_buffer_add(p, "record", E_I64, record_words, SPACE_WORKSPACE);
        record->offset = storage_bytes(e->workspace_size);
        e->workspace_size = record->offset + storage_bytes(loop_buffer_bytes(record));
        e->live_peak += storage_bytes(loop_buffer_bytes(record));
        e->record = record;
        struct arguments arguments = { p, record, NULL };
        loop_block_walk(e->main->body, pass_words, NULL, &arguments);
        p->at = 0;
        struct loop_stmt *call = ARENA_NEW(p->arena, struct loop_stmt);
        call->kind = STMT_CALL;
        call->step = 1;
        call->function = begin;
        call->buffers = arena_copy(p->arena, &record, sizeof(struct loop_buffer *));
        call->next = e->main->body->first;
        e->main->body->first = call;
        if (!call->next)
                e->main->body->end = &call->next;
}

static void find_float(struct loop_stmt *s, void *context)
{
        if ((s->kind == STMT_LET || s->kind == STMT_VAR) &&
            (s->variable->type.lanes != 1 || element_is_float(s->variable->type.element)))
                *(bool *)context = true;
}

/* Checks that the record can hold all that main keeps while it stops. */
static bool can_stop(const struct loop_program *p, const struct pass_context *context)
{
        bool floats = false;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->is_text) {
                        diag_error(context->diag, EXIT_UNSUPPORTED,
                                   "--step: '%s' is of texts, which a run copies at once; leave "
                                   "out --step",
                                   text_safe(p->arena, b->port, strlen(b->port)));
                        return false;
                }
        loop_walk_mains(p, find_float, NULL, &floats);
        if (floats)
                diag_error(context->diag, EXIT_UNSUPPORTED,
                           "--step: the model's control flow is decided by floats that a step "
                           "cannot keep");
        return !floats;
}

/* Says which kernel is the most work in one piece, where that is more than a step's. */
static void warn(const struct loop_program *p, const struct loop_function *largest, double most,
                 const struct pass_context *context)
{
        if (most > (double)context->step)
                diag_warning(context->diag,
                             "--step=%lld: some steps do as much work as %.0f products: kernel "
                             "'%s' (%s) cannot stop in between",
                             (long long)context->step, most, largest->name,
                             largest->location ? largest->location : p->name);
}

int pass_steps(struct loop_program *p, struct pass_context *context)
{
        int count = 0, words = CELL_FIRST, main_words = 0;
        double most = 1;
        const struct loop_function *largest = p->kernels;
        if (context->step <= 0 || p->entries[0].record)
                return 0;
        if (!can_stop(p, context))
                return -1;
        for (struct loop_function **at = &p->kernels; *at; at = &(*at)->next) {
                (*at)->number = 0;
                if ((*at)->kind != FUNCTION_KERNEL || (*at)->external)
                        continue;
                const struct suspension own =
                        suspend_kernel(p, &at, (double)context->step / PARTS);
                struct loop_function *f = *at;
                f->number = own.words;
                count += own.words > 0;
                words = own.words > words ? own.words : words;
                largest = own.most > most ? f : largest;
                most = fmax(most, own.most);
        }
        for (int i = 0; i < p->entry_count; i++) {
                const int own = record_main_words(p, &p->entries[i]);
                main_words = own > main_words ? own : main_words;
        }
        if (p->workspace_align < (int)sizeof(int64_t))
                p->workspace_align = (int)sizeof(int64_t);
        const int64_t record_words = RECORD_KERNEL + words + main_words;
        struct loop_function *begin = clearing_kernel(p, record_words);
        for (int i = 0; i < p->entry_count; i++) {
                add_record(p, i, begin, record_words);
                p->entries[i].step = context->step;
                p->entries[i].step_most = (int64_t)most;
        }
        warn(p, largest, most, context);
        return count + p->entry_count;
}
