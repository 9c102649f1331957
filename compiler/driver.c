/* SPDX-License-Identifier: MIT */
#include "compiler/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/suggest.h"
#include "codegen/machines.h"
#include "codegen/targets.h"
#include "compiler/calibrate.h"
#include "compiler/harness.h"
#include "compiler/process.h"
#include "compiler/progress.h"
#include "compiler/trace.h"
#include "kernels/kernels.h"
#include "passes/quantize/quantize.h"
#include "schedule/book.h"

/* ---- options to context ---- */

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
                                   "--limit %s wants a number such as 1000 or 64K: --limit %s=N, not '%s'",
                                   table[i].name, table[i].name, text_argument(run->arena, text));
                        return false;
                }
                *(int64_t *)(void *)((char *)&run->context.limits + table[i].field) = (int64_t)value;
                return true;
        }
        diag_error(&run->diag, EXIT_USAGE,
                   "--limit wants NAME=N with a name from --limit help, not '%s'%s",
                   text_argument(run->arena, text), suggest_text(&known, true));
        return false;
}

/* the machine of --sizes in place of the target's */
static bool resize_machine(struct run *run)
{
        const struct target **target = &run->targets[run->target_count - 1];
        const struct machine *machine = target_accelerator(*target);
        if (run->target_count > 1 || !machine) {
                diag_error(&run->diag, EXIT_USAGE, "--sizes is for one target with a machine, such as vta, not for %s", (*target)->name);
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
        if (!run->targets)
                return false;
        if (o->sizes && !resize_machine(run))
                return false;
        if (run->target_count > 1 && (o->tune || o->emit == EMIT_LOOPS || emits_launches(o))) {
                diag_error(
                        &run->diag, EXIT_USAGE,
                        o->tune ? "--tune is for one target: what it writes holds for the best of a list"
                                : "--emit=loops, vta and program are for one target: its loops are those of no other");
                return false;
        }
        if (o->emit == EMIT_COMMANDS && (run->target_count > 1 || !target_commands(run->targets[0]))) {
                diag_error(&run->diag, EXIT_USAGE, "--emit=commands is for one target that has commands: --target=sections");
                return false;
        }
        if (o->activation_memory >= 0 && o->emit != EMIT_COMMANDS) {
                diag_error(&run->diag, EXIT_USAGE, "--activation-memory is for --emit=commands");
                return false;
        }
        if (o->exact && (o->fast_libm || o->flush_denormals)) {
                diag_error(&run->diag, EXIT_USAGE, "--exact keeps every bit: not with %s",
                           o->fast_libm ? "--fast-libm" : "--flush-denormals");
                return false;
        }
        if (o->runner && !o->bench && !o->tune && !o->calibrate && !o->check && !(runs_model(o) && o->cc)) {
                diag_error(&run->diag, EXIT_USAGE, "--runner=%s runs nothing: it is for what --cc compiles%s",
                           text_argument(run->arena, o->runner),
                           runs_model(o) ? arena_printf(run->arena, ", so %s wants --cc=CMD, too", o->run ? "--run" : "--test")
                                         : ", with --bench, --tune, --test, --run, --check or --calibrate");
                return false;
        }
        if (o->flush_denormals && !target_control(run->targets[run->target_count - 1])) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--flush-denormals wants a target of a processor, as --target=native: plain C has no such state");
                return false;
        }
        o->target = run->targets[0]->name;      /* "native" is no name for another machine, and order does not matter */
        for (int i = 1; i < run->target_count; i++)
                o->target = arena_printf(run->arena, "%s,%s", o->target, run->targets[i]->name);
        return true;
}

static bool prepare_context(struct run *run)
{
        const struct options *o = &run->options;
        struct pass_context *context = &run->context;
        context->diag = &run->diag;
        context->limits = limits_preset;
        context->exact = o->exact;
        context->precision = options_precision(o);
        context->assume_finite = o->assume_finite;
        context->lower = (struct lower_options){ .unchecked = o->unchecked,
                                                 .views = o->level > 0 && !o->no_alias,
                                                 .threads = o->threads };
        context->threads = o->threads;
        if (o->requantize && o->emit == EMIT_ONNX) {
                diag_error(&run->diag, EXIT_USAGE, "--requantize shapes code: not with --emit=onnx");
                return false;
        }
        if (!choose_targets(run))
                return false;
        context->target = run->targets[run->target_count - 1];
        context->least = run->targets[0];
        context->lower.target = context->target;
        context->shifted = target_accelerator(context->target) ? target_accelerator(context->target)->block_out : 0;
        context->lower.scheduler = &kernels_scheduler;
        for (int i = 0; i < o->limits.count; i++)
                if (!set_limit(run, o->limits.items[i]))
                        return false;
        context->memory = o->goal == GOAL_MEMORY;
        context->all_on_machine = o->partition == PARTITION_MACHINE;
        context->narrow_sums = target_commands(context->target) != NULL;
        struct loop_library *library = loop_library_new(run->arena, &run->diag);
        if (library)
                loop_library_machines(library, o->sizes ? machines_with(run->arena, target_accelerator(context->target)) : machines);
        context->library = library;
        return context->library && regions_parse(run) && remarks_prepare(run);
}

static bool choose_names(struct run *run)
{
        const struct printer *printer = target_printer(run->context.target);
        const char *const suffixes[] = { [EMIT_C] = printer->suffix,
                                         [EMIT_IR] = ".dnn",
                                         [EMIT_LOOPS] = ".loops",
                                         [EMIT_DOT] = ".dot",
                                         [EMIT_JSON] = ".json",
                                         [EMIT_ONNX] = ".onnx",
                                         [EMIT_ASSEMBLY] = ".vta.s",
                                         [EMIT_PROGRAM] = ".vta",
                                         [EMIT_COMMANDS] = ".commands" };
        const struct options *o = &run->options;
        const char *suffix = writes_ranges(o) ? ".ranges" : suffixes[o->emit];
        bool from_stdin = !strcmp(o->model, "-");
        if (!o->output)
                run->output = from_stdin ? arena_printf(run->arena, "model%s", suffix)
                                         : arena_printf(run->arena, "%s%s",
                                                        path_stem(run->arena, o->model, false),
                                                        suffix);
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
        const char *stem = run->output ? path_stem(run->arena, run->output, false)
                           : from_stdin ? "model" : path_stem(run->arena, o->model, false);
        run->prefix = o->name ? o->name
                              : text_identifier(names_new(run->arena), stem, strlen(stem), "model");
        if (!run->output && o->emit == EMIT_C && o->weights > WEIGHTS_INLINE) {
                diag_error(
                        &run->diag, EXIT_USAGE,
                        "--weights=incbin and file write a second file beside the C: not with -o -");
                return false;
        }
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

/* ---- the model ---- */

const struct loop_buffer **run_ports(const struct run *run, struct arena *arena, int space, int *count)
{
        const struct loop_buffer **ports = NULL;
        *count = 0;
        for (const struct loop_buffer *b = run->state.program->buffers; b; b = b->next)
                if ((int)b->space == space) {
                        ARENA_GROW(arena, ports, *count);
                        ports[(*count)++] = b;
                }
        return ports;
}

/* A dump remembers the options it came about by; where it goes on from there with others, both are
 * said. */
static void remember_command(struct run *run)
{
        struct arena *arena =
                run->state.module ? run->state.module->arena : run->state.program->arena;
        const char **command =
                run->state.module ? &run->state.module->command : &run->state.program->command;
        const char *now = options_canonical(run->arena, &run->options);
        if (!**command)
                *command = arena_string(arena, now);
        else if (strcmp(now, OPTIONS_PRESET) && strcmp(now, *command))
                *command = arena_printf(arena, "%s, then %s", *command, now);
}

/* --schedule and --precision that had nothing to say about this model and target */
static void warn_idle(struct run *run)
{
        const struct options *o = &run->options;
        const struct target *t = run->context.target;
        bool silent = !target_has_products(t) || o->exact;
        if (run->context.book && schedule_book_is_idle(run->context.book))
                diag_warning(&run->diag, "--schedule=%s: %s", text_argument(run->arena, o->schedule),
                             !silent   ? "none of its lines is for an operation of this model"
                             : o->exact ? "with --exact no schedules are followed"
                                        : arena_printf(run->arena, "code for %s follows no schedules: it has no vectors", t->name));
        const enum element e = options_precision(o);
        if (e == E_TF32 && !silent && !multiply_for(t, e, e, true))
                diag_warning(&run->diag, "--precision=tf32 changes nothing for %s, which does not multiply such numbers", t->name);
        if (o->precision && silent)
                diag_warning(&run->diag, "--precision=%s changes nothing %s",
                             element_info[e].text,
                             o->exact ? "with --exact"
                                      : arena_printf(run->arena, "for %s, which has no vectors", t->name));
}

/* ---- the run ---- */

static void report_time(const struct run *run, const char *what, double start)
{
        if (run->options.time_passes)
                fprintf(stderr, "time: %-10s %9.3f ms\n", what, 1e3 * (clock_seconds() - start));
}

/* constants of the model as it was read, in bytes */
static double weights_of(const struct module *m)
{
        double bytes = 0;
        for (const struct constant *c = m ? m->constants : NULL; c; c = c->next)
                bytes += c->kind == CONSTANT_DENSE && c->value.uses
                                 ? (double)type_bytes(c->value.type)
                                 : 0;
        return bytes;
}

static void report_whole_time(const struct run *run, double start, double weights)
{
        double seconds = clock_seconds() - start;
        if (run->options.time_passes)
                fprintf(stderr, "time: %-10s %9.3f ms, %.1f MB of weights, %.0f MB/s\n", "whole",
                        1e3 * seconds, weights / 1e6, weights / 1e6 / seconds);
}

struct loop_program *run_program(const struct run *run, int target)
{
        return target + 1 < run->target_count ? run->lesser[target].program : run->state.program;
}

/* sizes for --stats, and the budgets, of each target */
static bool check_sizes(struct run *run)
{
        bool fine = true;
        for (int i = 0; i < run->target_count && fine; i++) {
                struct run own = *run;
                own.state.program = run_program(run, i);
                if (i + 1 < run->target_count)
                        own.context.obstacle = NULL;      /* it is the best one's */
                if (run->options.stats && run->target_count > 1)
                        fprintf(stderr, "stats: target     %s\n", run->targets[i]->name);
                if (run->options.stats)
                        report_stats(&own);
                fine = report_budgets(&own);
                run->diag = own.diag;
        }
        return fine;
}

/* what a machine that can only shift needs, it gets where nobody says otherwise; how much that costs, shift_scales says */
static bool requantizes_by_shifts(const struct run *run)
{
        const struct options *o = &run->options;
        const struct target *t = run->context.target;
        const bool machine = (target_accelerator(t) || target_commands(t)) && !o->exact && !o->passes;
        return o->requantize == REQUANTIZE_SHIFT || (machine && o->requantize == REQUANTIZE_FLOAT);
}

/* Commands are made of Tensor IR as it is before anything is done for kernels; --emit=ir shows what they are made of. */
static bool of_commands(const struct run *run)
{
        const struct options *o = &run->options;
        return (o->emit == EMIT_COMMANDS || o->emit == EMIT_IR) && target_commands(run->context.target) && !o->passes && !runs_model(o);
}

/* the list of passes; NULL: that of -O */
static const char *passes_asked(const struct run *run)
{
        const struct options *o = &run->options;
        bool more = o->passes && *o->passes == '+', is_model = o->emit == EMIT_ONNX && !runs_model(o);
        if (of_commands(run))
                return arena_printf(run->arena, requantizes_by_shifts(run) ? "%s,shift_scales,%s" : "%s", pipeline_calibrated(),
                                    pipeline_calibrated());
        const char *all = is_model && run->context.quantize ? pipeline_model(run->arena, NULL)
                                                  : pipeline_passes(o->level);
        const char *list = more ? passes_with(run->arena, all, o->passes + 1) : o->passes;
        if (writes_ranges(o))
                return pipeline_calibrated();
        if (o->requantize == REQUANTIZE_INTEGER && !is_model)
                list = passes_with(run->arena, list ? list : pipeline_passes(o->level),
                                   "requantize_integer");
        if (requantizes_by_shifts(run) && !is_model)
                list = arena_printf(run->arena, "%s,shift_scales,%s", pipeline_calibrated(),
                                    list ? list : pipeline_passes(o->level));
        return is_model && (more || !list) ? pipeline_model(run->arena, list) : list;
}

/* --tune, and --calibrate unless it gives passes samples, write a file of their own, and nothing else that may be asked for. */
static bool check_alone(struct run *run)
{
        const struct options *o = &run->options;
        enum { RANGES = 1, TUNE = 2, BOTH = 3 };
        const struct { bool given; int not_with; const char *name; } others[] = {
                { o->emit != EMIT_C, BOTH, "--emit" },   { o->tests.count, BOTH, "--test" },     { o->run != NULL, BOTH, "--run" },
                { o->tune, RANGES, "--tune" },           { o->bench != NULL, BOTH, "--bench" },  { o->passes != NULL, RANGES, "--passes" },
                { o->report != NULL, BOTH, "--report" }, { o->output != NULL, TUNE, "-o" },      { o->depfile, TUNE, "-MD" },
                { o->depfile_name != NULL, TUNE, "-MF" },
        };
        int writes = writes_ranges(o) ? RANGES : o->tune ? TUNE : 0;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                if (!others[i].given || !(others[i].not_with & writes))
                        continue;
                diag_error(&run->diag, EXIT_USAGE, writes_ranges(o)
                                   ? "--calibrate writes ranges alone: not with %s, unless --quantize or --quantize-weights takes them"
                                   : "--tune writes schedules alone: not with %s, which --schedule=FILE goes with afterwards",
                           others[i].name);
                return false;
        }
        return true;
}

/* what compiles and runs code, where no commands are run */
static bool check_commands(struct run *run)
{
        const struct options *o = &run->options;
        const char *runs = o->bench ? "--bench" : o->tune && run->context.limits.tune_seconds ? "--tune" : o->cc ? "--cc" : o->runner ? "--runner" : NULL;
        if (o->cc && runs_model(o) && target_accelerator(run->context.target) && !harness_runs(run, "--cc"))
                return false;
        if (!runs || process_commands)
                return true;
        diag_error(&run->diag, EXIT_UNSUPPORTED, "%s runs commands of a POSIX shell, and dnncc for Windows runs none: --test, --run and --check "
                                                 "do without, by the interpreter", runs);
        return false;
}

static bool check_calibration(struct run *run)
{
        const struct options *o = &run->options;
        if (!o->calibrate && (o->samples || o->channels)) {
                diag_error(&run->diag, EXIT_USAGE, "%s wants --calibrate",
                           o->samples ? "--samples" : "--channels");
                return false;
        }
        if (o->calibrate && !run->state.module) {
                diag_error(&run->diag, EXIT_USAGE, "--calibrate looks at Tensor IR, and this is Loop IR");
                return false;
        }
        run->context.sampler = o->calibrate && !writes_ranges(o) ? sampler_new(run) : NULL;
        return true;
}

/* for pipeline_options.begin, with --check */
static void tell_check(void *runner, const struct pass *pass, int number, int count)
{
        (void)runner;
        progress_step(number - 1, count, "pass %d of %d, %s", number, count, pass->name);
}

static bool compile_checked(struct run *run, const struct pipeline_options *pipeline)
{
        if (pipeline->check)
                progress_begin("check", &run->diag);
        bool fine = compile_within(run, pipeline);
        progress_end();
        return fine;
}

static bool compile_as_asked(struct run *run)
{
        const struct options *o = &run->options;
        double start = clock_seconds();
        if (!check_alone(run) || !check_commands(run) || !trace_is_possible(run) ||
            !read_model(run) || !read_schedules(run) || !check_calibration(run) ||
            !quantization_read(run) || !report_read_against(run))
                return false;
        remember_command(run);
        report_time(run, "import", start);
        double weights = weights_of(run->state.module);
        const char *list = quantization_passes(run, passes_asked(run));
        if (run->diag.errors)
                return false;
        struct pipeline_options pipeline = {
                .passes = list,
                .level = o->level,
                .print_after = o->print_after,
                .print_before = o->print_before,
                .dump_dir = o->dump_dir,
                .neutral = run->context.quantize || o->calibrate || requantizes_by_shifts(run) ? target_at(0) : NULL,
                .verify = !o->no_verify,
                .check = o->check,
                .time = o->time_passes,
                .stats = o->stats,
                .part = (emits_tensors(o) && !runs_model(o)) || o->tune || writes_ranges(o) ? PIPELINE_TENSOR
                                                                                            : PIPELINE_WHOLE,
                .nearest_target = target_nearest,
                .run_compiled = compiled_check,
                .observe = o->report ? report_observe : NULL,
                .begin = o->check ? tell_check : NULL,
                .runner = run,
        };
        if (!compile_checked(run, &pipeline))
                return false;
        warn_idle(run);
        if (!remarks_put(run))
                return false;
        if (writes_ranges(o))
                return calibrate(run);
        if (o->tune)
                return tune(run);
        if (!report_machine_has_work(run) || (run->state.program && !check_sizes(run)))
                return false;
        if (o->bench)
                return bench(run);
        if (runs_model(o))
                return (!o->tests.count || test_all(run)) && (!o->run || test_write(run, o->run));
        double print_start = clock_seconds();
        bool fine = emit_outputs(run);
        report_time(run, "print", print_start);
        report_whole_time(run, start, weights);
        return fine;
}

/* *fine: what was asked for is there */
static bool print_help(struct run *run, bool *fine)
{
        const struct options *o = &run->options;
        bool help_steps = o->quantize_steps && !strcmp(o->quantize_steps, "help");
        bool help_observers = o->observer && !strcmp(o->observer, "help");
        bool help_activations = o->activations && !strcmp(o->activations, "help");
        bool help_weights = o->quantize_weights && !strcmp(o->quantize_weights, "help");
        bool help_limits = o->limits.count && !strcmp(o->limits.items[0], "help");
        if (o->help && !strcmp(o->help, "json"))
                options_json();
        else if (o->help || o->short_help)
                *fine = options_help(o->help ? o->help : "", run->arena, &run->diag);
        else if (o->version)
                puts("dnncc " DNNCC_VERSION);
        else if (o->help_passes)
                report_passes();
        else if (o->help_ops)
                report_operations();
        else if (help_limits)
                report_limits();
        else if (help_steps)
                quantize_steps_help();
        else if (help_weights)
                weights_types_help();
        else if (help_activations)
                grid_help();
        else if (help_observers)
                observer_help();
        else if (!strcmp(o->target, "help"))
                target_help();
        else
                return false;
        return true;
}

/* what is left to do when options and names are known */
static enum exit_code finish(struct run *run, bool fine)
{
        if (fine && (fflush(stdout) || ferror(stdout))) {
                diag_error(&run->diag, EXIT_IO, "cannot write standard output: %s",
                           strerror(errno));
                fine = false;
        }
        outputs_discard(run->outputs);
        report_forget(run, 0);
        compile_forget(run);
        free(run->bytes);
        enum exit_code code = fine ? EXIT_OK : run->diag.code ? run->diag.code : EXIT_INTERNAL;
        arena_free(run->arena);
        return code;
}

static void choose_color(const struct options *o)
{
        const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");
        bool fit = isatty(2) && !(no && *no) && !(kind && !strcmp(kind, "dumb"));
        diag_color = o->color == COLOR_ALWAYS || (o->color == COLOR_AUTO && fit);
}

static void start(struct run *run)
{
        process_begin();
        *run = (struct run){ .arena = arena_new(), .diag = { .subject = "dnncc" } };
        run->outputs = outputs_new(run->arena);
}

static bool compile_model(struct run *run)
{
        const char *model = run->options.model;
        run->diag.subject = strcmp(model, "-") ? text_argument(run->arena, model) : "standard input";
        if (strcmp(model, "-") != 0 && process_reads_pipe(model))
                run->options.model = "-";
        if (run->options.if_changed)
                outputs_if_changed(run->outputs);
        if (!prepare_context(run))
                return false;
        if (run->options.info)
                return model_info(run);
        return choose_names(run) && compile_as_asked(run);
}

/* --merge: there is no model */
static bool merge_files(struct run *run)
{
        const struct options *o = &run->options;
        if (o->model || !o->output) {
                diag_error(&run->diag, EXIT_USAGE,
                           o->model ? "--merge joins files of ranges, without a model: '%s' is one too many"
                                    : "--merge wants -o FILE.ranges%s",
                           o->model ? text_argument(run->arena, o->model) : "");
                return false;
        }
        run->output = strcmp(o->output, "-") ? o->output : NULL;
        run->context.limits = limits_preset;
        for (int i = 0; i < o->limits.count; i++)
                if (!set_limit(run, o->limits.items[i]))
                        return false;
        return merge_ranges(run);
}

enum exit_code driver_run(const struct options *options)
{
        struct run run;
        start(&run);
        run.options = *options;
        run.diag.verbosity = options->verbose - options->quiet;
        return finish(&run, compile_model(&run));
}

static bool asks_for_json(int argc, char **argv)
{
        bool json = false;
        for (int i = 1; i < argc; i++)
                json |= !strcmp(argv[i], "--error-format=json") ||
                        (i + 1 < argc && !strcmp(argv[i], "--error-format") &&
                         !strcmp(argv[i + 1], "json"));
        return json;
}

enum exit_code driver_main(int argc, char **argv)
{
        signal(SIGPIPE, SIG_IGN);       /* write errors, not silent deaths: a closed pipe, */
        signal(SIGXFSZ, SIG_IGN);       /* a file larger than the caller allows */
        struct run run;
        start(&run);
        choose_color(&(struct options){ .color = COLOR_AUTO });
        diag_json = asks_for_json(argc, argv);          /* of errors in options, too */
        bool fine = options_parse(&run.options, argc, argv, run.arena, &run.diag);
        run.diag.verbosity = run.options.verbose - run.options.quiet;
        choose_color(&run.options);
        diag_json = run.options.error_format;
        bool help = fine && print_help(&run, &fine);
        if (fine && !help && run.options.merge.count)
                return finish(&run, merge_files(&run));
        if (fine && !help && !run.options.model) {
                diag_error(&run.diag, EXIT_USAGE,
                           "no model given: dnncc [options] MODEL, see --help");
                fine = false;
        }
        return finish(&run, fine && !help ? compile_model(&run) : fine);
}
