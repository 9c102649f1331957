/* SPDX-License-Identifier: MIT */
/* The budgets --max-stack and --max-flash, of what codegen/footprint.h knows before a C compiler
 * has seen the code. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/footprint.h"
#include "compiler/report.h"

enum { LARGEST = 5, POINTER = 4 };

struct part { const char *name, *location; int64_t bytes; };

static int larger_first(const void *x, const void *y)
{
        const struct part *a = x, *b = y;
        return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : strcmp(a->name, b->name);
}

/* Returns the largest parts, a line each. */
static const char *lines_of(struct arena *arena, struct part *parts, int count)
{
        const char *lines = "";
        if (count)
                qsort(parts, (size_t)count, sizeof *parts, larger_first);
        for (int i = 0; i < count && i < LARGEST; i++)
                lines = arena_printf(arena, "%s\n  %-9s %s %" PRId64 "%s%s%s", lines,
                                     i ? "" : "largest", parts[i].name, parts[i].bytes,
                                     parts[i].location ? " (" : "",
                                     parts[i].location ? parts[i].location : "",
                                     parts[i].location ? ")" : "");
        return lines;
}

static struct footprint_of printed(const struct run *run)
{
        return (struct footprint_of){ run->state.program, run->context.target,
                                      run->options.weights == WEIGHTS_FILE
                                              ? NULL
                                              : inside_new(run->arena, run->state.program) };
}

/* Returns a part for each kernel: its stack, or its code. */
static struct part *kernels_of(struct run *run, bool stack, int *count)
{
        struct part *parts = NULL;
        const struct footprint_of of = printed(run);
        *count = 0;
        for (const struct loop_function *f = run->state.program->kernels; f; f = f->next) {
                const struct footprint own = footprint_function(&of, f);
                ARENA_GROW(run->arena, parts, *count);
                parts[(*count)++] = (struct part){
                        f->name, f->location, stack ? footprint_stack(own, POINTER) : own.code
                };
        }
        return parts;
}

static void check_stack(struct run *run, struct footprint whole)
{
        const int64_t stack = footprint_stack(whole, POINTER);
        if (run->options.max_stack < 0 || stack <= run->options.max_stack)
                return;
        int count;
        struct part *parts = kernels_of(run, true, &count);
        diag_error(&run->diag, EXIT_BUDGET,
                   "the stack takes up to %" PRId64 " bytes, --max-stack allows %" PRId64
                   "%s\n  %-9s " DIAG_HINT("--max-stack=%" PRId64 ", which is enough"),
                   stack, run->options.max_stack, lines_of(run->arena, parts, count), "try", stack);
}

static void check_flash(struct run *run, struct footprint whole)
{
        const int64_t constants = report_constant_bytes(run->state.program),
                      flash = constants + whole.code;
        if (run->options.max_flash < 0 || flash <= run->options.max_flash)
                return;
        int count;
        struct part *parts = kernels_of(run, false, &count);
        for (const struct loop_buffer *b = run->state.program->buffers; b; b = b->next)
                if (b->space == SPACE_CONSTANT) {
                        ARENA_GROW(run->arena, parts, count);
                        parts[count++] = (struct part){ b->name, NULL, report_buffer_bytes(b) };
                }
        diag_error(&run->diag, EXIT_BUDGET,
                   "constants of %" PRId64 " bytes and code of about %" PRId64
                   " are %" PRId64 " bytes, --max-flash allows %" PRId64
                   "%s\n  %-9s " DIAG_HINT("--max-flash=%" PRId64
                                           ", which is enough; --quantize, --quantize-weights: "
                                           "smaller constants"),
                   constants, whole.code, flash, run->options.max_flash,
                   lines_of(run->arena, parts, count), "try", flash);
}

bool report_footprint(struct run *run)
{
        const struct options *o = &run->options;
        if (o->max_stack < 0 && o->max_flash < 0)
                return true;
        if (target_has_wide_registers(run->context.target) ||
            !harness_is_of_processor(run, o->max_flash >= 0 ? "--max-flash" : "--max-stack",
                                     "is about code that a small processor runs")) {
                if (!run->diag.errors)
                        diag_error(&run->diag, EXIT_USAGE,
                                   "%s wants a target without vectors, as generic, not %s",
                                   o->max_flash >= 0 ? "--max-flash" : "--max-stack",
                                   run->context.target->name);
                return false;
        }
        const struct footprint_of of = printed(run);
        const struct footprint whole = footprint_program(&of);
        check_stack(run, whole);
        check_flash(run, whole);
        return !run->diag.errors;
}
