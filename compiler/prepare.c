/* SPDX-License-Identifier: MIT */
/* Passes and printers are told what the command line says: targets, limits, the context of passes,
 * names of outputs. */
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "codegen/machines/machines.h"
#include "codegen/sections/sections.h"
#include "codegen/targets.h"
#include "compiler/driver.h"
#include "compiler/files.h"
#include "kernels/kernels.h"

/* ---- limits ---- */

static bool set_limit(struct run *run, const char *text)
{
        static const struct { const char *name; size_t field; } table[] = {
#define LIMIT(name, preset, doc) { #name, offsetof(struct limits, name) },
#include "passes/limits.def"
        };
        enum { COUNT = sizeof table / sizeof *table };
        size_t length = strcspn(text, "=");
        struct suggest known = suggest_new(run->arena, text, length);
        for (size_t i = 0; i < COUNT; i++) {
                uint64_t value;
                suggest_add(&known, table[i].name);
                if (strlen(table[i].name) != length || strncmp(table[i].name, text, length))
                        continue;
                if (!text[length] || !size_parse(text + length + 1, &value)) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--limit %s wants a number such as 1000 or 64K: --limit %s=N, "
                                   "not '%s'",
                                   table[i].name, table[i].name, text_argument(run->arena, text));
                        return false;
                }
                *(int64_t *)(void *)((char *)&run->context.limits + table[i].field) =
                        (int64_t)value;
                return true;
        }
        diag_error(&run->diag, EXIT_USAGE,
                   "--limit wants NAME=N with a name from --limit help, not '%s'%s",
                   text_argument(run->arena, text), suggest_text(&known, true));
        return false;
}

bool set_limits(struct run *run)
{
        run->context.limits = limits_preset;
        for (int i = 0; i < run->options.limits.count; i++)
                if (!set_limit(run, run->options.limits.items[i]))
                        return false;
        return true;
}

/* Puts the machine of --sizes in place of the target's. */
static bool resize_machine(struct run *run)
{
        const struct target **target = &run->targets[run->target_count - 1];
        const struct machine *machine = target_accelerator(*target);
        if (run->target_count == 1 && target_commands(*target)) {
                const struct overlay *overlay =
                        overlay_sized(run->arena, run->options.sizes, &run->diag);
                struct target *sized = arena_copy(run->arena, *target, sizeof **target);
                sized->commands = overlay;
                *target = sized;
                return overlay != NULL;
        }
        if (run->target_count > 1 || !machine) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--sizes is for one target with a machine, such as vta, not for %s",
                           (*target)->name);
                return false;
        }
        machine = machine_sized(run->arena, machine, run->options.sizes, &run->diag);
        *target = machine ? target_with(run->arena, *target, machine, &run->diag) : NULL;
        return *target != NULL;
}

static bool choose_targets(struct run *run)
{
        struct options *o = &run->options;
        run->targets = target_list(run->arena, o->target, &run->target_count, &run->diag);
        if (!run->targets || !options_agree(o, run->target_count, run->arena, &run->diag))
                return false;
        if (o->sizes && !resize_machine(run))
                return false;
        if (o->emit == EMIT_COMMANDS && !target_commands(run->targets[0])) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--emit=commands wants a target that has commands: --target=sections");
                return false;
        }
        if (o->flush_denormals && !target_control(run->targets[run->target_count - 1])) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--flush-denormals wants a target of a processor, as --target=native: "
                           "plain C has no such state");
                return false;
        }
        /* "native" is no name for another machine, and order does not matter. */
        o->target = run->targets[0]->name;
        for (int i = 1; i < run->target_count; i++)
                o->target = arena_printf(run->arena, "%s,%s", o->target, run->targets[i]->name);
        return true;
}

enum { STEP_WORK = 65536 };             /* --step alone asks for steps of so many products. */

static bool set_step(struct run *run)
{
        const char *text = run->options.step;
        int64_t work = STEP_WORK;
        if (!text)
                return true;
        if (*text && (!int_parse(text, &work) || work < 1 || work > INT32_MAX / 4)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--step wants products of a step, from 1 to %d, not '%s'",
                           INT32_MAX / 4, text_argument(run->arena, text));
                return false;
        }
        const struct target *device = device_target(run);
        if (device) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--step wants a target of a processor, as --target=generic: %s does a "
                           "run at once",
                           device->name);
                return false;
        }
        run->context.step = work;
        return true;
}

/* Checks the names of --libraries. */
static bool set_libraries(struct run *run)
{
        static const char *const known[] = {
#define LIBRARY(name, function, doc) #name,
#include "passes/libraries.def"
        };
        enum { COUNT = sizeof known / sizeof *known };
        const char *text = run->options.libraries;
        if (!text)
                return true;
        const size_t length = strcspn(text, ":");
        const char *shown = text_argument(run->arena, text);
        struct suggest s = suggest_new(run->arena, text, length);
        bool found = false;
        for (int i = 0; i < COUNT; i++) {
                suggest_add(&s, known[i]);
                found |= strlen(known[i]) == length && !strncmp(known[i], text, length);
        }
        if (!found) {
                diag_error(&run->diag, EXIT_USAGE, "--libraries: there is no library '%.*s'%s",
                           (int)strcspn(shown, ":"), shown, suggest_text(&s, true));
                return false;
        }
        if (!text[length]) {
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--libraries chooses nothing by time yet: want --libraries=%s:always",
                           shown);
                return false;
        }
        if (strcmp(text + length, ":always") != 0) {
                diag_error(&run->diag, EXIT_USAGE, "--libraries wants NAME:always, not '%s'",
                           shown);
                return false;
        }
        const struct target *device = device_target(run);
        if (device)
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--libraries=%s is for processors: it has nothing for %s", shown,
                           device->name);
        return !device;
}

bool prepare_context(struct run *run)
{
        const struct options *o = &run->options;
        struct pass_context *context = &run->context;
        context->diag = &run->diag;
        context->exact = o->exact;
        context->precision = o->precision;
        context->assume_finite = o->assume_finite;
        context->lower = (struct lower_options){ .unchecked = o->unchecked,
                                                 .views = o->level > 0 && !o->no_alias,
                                                 .threads = o->threads };
        context->threads = o->threads;
        if (!choose_targets(run) || !set_step(run) || !set_libraries(run))
                return false;
        context->target = run->targets[run->target_count - 1];
        context->least = run->targets[0];
        context->lower.target = context->target;
        context->names_floats = o->requantize == REQUANTIZE_INTEGER || o->passes;
        context->shifted = target_accelerator(context->target)
                                   ? target_accelerator(context->target)->block_out
                                   : 0;
        context->lower.scheduler = &kernels_scheduler;
        if (!set_limits(run))
                return false;
        context->memory = o->goal == GOAL_MEMORY;
        context->strip_percent = context->memory ? STRIP_PERCENT_MOST : 0;
        context->compact = o->goal == GOAL_SIZE;
        context->all_on_machine = o->partition == PARTITION_MACHINE;
        context->narrow_sums = target_commands(context->target) != NULL;
        struct loop_library *library = loop_library_new(run->arena, &run->diag);
        if (library)
                loop_library_machines(
                        library,
                        o->sizes && target_accelerator(context->target)
                                ? machines_with(run->arena, target_accelerator(context->target))
                                 : machines);
        context->library = library;
        return context->library && regions_parse(run) && port_layouts_parse(run) &&
               remarks_prepare(run);
}

bool choose_names(struct run *run)
{
        const struct printer *printer = target_printer(run->context.target);
        const struct options *o = &run->options;
        const char *suffix = writes_ranges(o) ? ".ranges"
                             : emit_suffix(o) ? emit_suffix(o)
                                              : printer->suffix;
        bool from_stdin = !strcmp(o->model, "-");
        if (!o->output)
                run->output =
                        from_stdin ? arena_printf(run->arena, "model%s", suffix)
                                   : arena_printf(run->arena, "%s%s",
                                                  path_stem(run->arena, o->model, false), suffix);
        else
                run->output = strcmp(o->output, "-") ? o->output : NULL;
        if (o->name && !text_is_identifier(o->name)) {
                diag_error(
                        &run->diag, EXIT_USAGE,
                        "--name wants a C identifier of at most 31 characters that is no reserved "
                        "word, not '%s'",
                        text_argument(run->arena, o->name));
                return false;
        }
        const char *stem = run->output  ? path_stem(run->arena, run->output, false)
                           : from_stdin ? "model"
                                        : path_stem(run->arena, o->model, false);
        run->prefix = o->name ? o->name
                              : text_identifier(names_new(run->arena), stem, strlen(stem), "model");
        if (run->output && o->emit == EMIT_C && !writes_ranges(o)) {
                size_t length = strlen(run->output), tail = strlen(printer->suffix);
                if (length <= tail || strcmp(run->output + length - tail, printer->suffix)) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "the output is %s: its name must end in %s, not '%s'",
                                   printer->language, printer->suffix,
                                   text_argument(run->arena, run->output));
                        return false;
                }
        }
        return true;
}
