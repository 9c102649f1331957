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
#include "codegen/machines/machines.h"
#include "codegen/targets.h"
#include "compiler/cache.h"
#include "compiler/batch.h"
#include "compiler/calibrate.h"
#include "compiler/farm.h"
#include "compiler/harness.h"
#include "compiler/jit.h"
#include "compiler/process.h"
#include "compiler/progress.h"
#include "compiler/trace.h"
#include "kernels/kernels.h"
#include "passes/quantize/quantize.h"
#include "schedule/book.h"

/* ---- the model ---- */

const struct loop_buffer **run_ports(const struct run *run, struct arena *arena, bool outputs,
                                     int *count)
{
        const struct loop_buffer **ports = NULL;
        *count = 0;
        const struct loop_program *p = run->state.program;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (loop_port_is_of(p, b) && (outputs ? loop_is_output(b) : loop_is_input(b))) {
                        ARENA_GROW(arena, ports, *count);
                        ports[(*count)++] = b;
                }
        return ports;
}

struct function *run_function(const struct run *run)
{
        struct function *f = run->state.module ? run->state.module->functions : NULL;
        const int at = run->state.program ? run->state.program->at : 0;
        for (int i = 0; i < at && f; i++)
                f = f->next;
        return f;
}

const char *entry_symbol(const struct run *run, const char *prefix)
{
        const struct loop_program *p = run->state.program;
        return !p || p->entry_count == 1
                       ? prefix
                       : arena_printf(run->arena, "%s_%s", prefix, loop_entry_at(p)->name);
}

/* Remembers the options that a dump came about by; where it goes on from there with others, both
 * are said. */
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

/* Warns of --schedule and --precision that had nothing to say about this model and target. */
static void warn_idle(struct run *run)
{
        const struct options *o = &run->options;
        const struct target *t = run->context.target;
        bool vectors = target_engine(t)->float_schedules, silent = !vectors || o->exact;
        if (run->context.book && schedule_book_is_idle(run->context.book))
                diag_warning(&run->diag, "--schedule=%s: %s",
                             text_argument(run->arena, o->schedule),
                             o->exact && vectors
                                     ? "with --exact no schedules are followed"
                                     : "none of its lines is for an operation of this model");
        const enum element e = o->precision;
        if (e == E_TF32 && !silent && !multiply_for(t, e, e, true))
                diag_warning(&run->diag,
                             "--precision=tf32 changes nothing for %s, which does not multiply "
                             "such numbers",
                             t->name);
        if (e != options_preset.precision && silent)
                diag_warning(&run->diag, "--precision=%s changes nothing %s", element_info[e].text,
                             o->exact ? "with --exact"
                                      : arena_printf(run->arena, "for %s, which has no vectors",
                                                     t->name));
}

/* ---- the run ---- */

static void report_time(const struct run *run, const char *what, double start)
{
        if (run->options.time_passes)
                fprintf(stderr, "time: %-10s %9.3f ms\n", what, 1e3 * (clock_seconds() - start));
}

/* Returns the bytes of constants of the model as it was read. */
static double weights_of(const struct module *m)
{
        double bytes = 0;
        for (const struct constant *c = m ? m->constants : NULL; c; c = c->next)
                bytes += c->kind != CONSTANT_SPLAT && c->value.uses ? (double)constant_held_bytes(c)
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

/* Prints sizes for --stats, and checks the budgets, of each target. */
static bool check_sizes(struct run *run)
{
        bool fine = true;
        for (int i = 0; i < run->target_count && fine; i++) {
                struct run own = *run;
                own.state.program = run_program(run, i);
                if (i + 1 < run->target_count)
                        own.context.obstacle = NULL;      /* It is the best one's. */
                if (run->options.stats && run->target_count > 1)
                        fprintf(stderr, "stats: target     %s\n", run->targets[i]->name);
                if (run->options.stats)
                        report_stats(&own);
                fine = report_budgets(&own);
                run->diag = own.diag;
        }
        return fine;
}

/* Returns whether scales become shifts: a machine that can only shift gets what it needs where the
 * user says nothing else; shift_scales says how much that costs. */
static bool requantizes_by_shifts(const struct run *run)
{
        const struct options *o = &run->options;
        const struct target *t = run->context.target;
        const bool machine =
                (target_accelerator(t) || target_commands(t)) && !o->exact && !o->passes;
        return o->requantize == REQUANTIZE_SHIFT || (machine && o->requantize == REQUANTIZE_AUTO);
}

/* Returns whether bytes are made by integers alone. */
static bool requantizes_by_integers(const struct run *run)
{
        const struct options *o = &run->options;
        const bool small = target_integers(run->context.target) && !o->exact && !o->passes &&
                           o->level > 0 && run->state.module &&
                           !*run->state.module->passes_done;
        return o->requantize == REQUANTIZE_INTEGER || (small && o->requantize == REQUANTIZE_AUTO);
}

/* Returns whether commands are made, which is done of Tensor IR as it is before anything is done
 * for kernels; --emit=ir shows what they are made of. */
static bool of_commands(const struct run *run)
{
        const struct options *o = &run->options;
        return (o->emit == EMIT_COMMANDS || o->emit == EMIT_IR) &&
               target_commands(run->context.target) && !o->passes && !runs_model(o);
}

/* Returns the list of passes; NULL stands for that of -O. */
static const char *passes_asked(const struct run *run)
{
        const struct options *o = &run->options;
        bool more = o->passes && *o->passes == '+',
             is_model = o->emit == EMIT_ONNX && !runs_model(o);
        /* What goes on from a dump with the passes that are left gets the others where code is
         * written. */
        const bool is_new = o->passes || (run->state.module && !*run->state.module->passes_done);
        if (of_commands(run))
                return arena_printf(run->arena,
                                    requantizes_by_shifts(run) ? "%s,shift_scales,%s" : "%s",
                                    pipeline_calibrated(), pipeline_calibrated());
        const char *all = is_model && run->context.quantize ? pipeline_model(run->arena, NULL)
                                                  : pipeline_passes(o->level);
        const char *list = more ? passes_with(run->arena, all, o->passes + 1) : o->passes;
        if (writes_ranges(o))
                return pipeline_calibrated();
        if (run->context.step && !is_model && is_new)
                list = passes_with(run->arena, list ? list : pipeline_passes(o->level), "steps");
        if (o->libraries && !is_model && is_new)
                list = passes_with(run->arena, list ? list : pipeline_passes(o->level),
                                   "libraries");
        if (requantizes_by_integers(run) && !is_model)
                list = passes_with(run->arena, list ? list : pipeline_passes(o->level),
                                   "requantize_integer");
        if (requantizes_by_shifts(run) && !is_model)
                list = arena_printf(run->arena, "%s,shift_scales,%s", pipeline_calibrated(),
                                    list ? list : pipeline_passes(o->level));
        return is_model && (more || !list) ? pipeline_model(run->arena, list) : list;
}

/* Checks what compiles and runs code, where no commands are run. */
static bool check_commands(struct run *run)
{
        const struct options *o = &run->options;
        const char *runs = o->bench                                      ? "--bench"
                           : o->tune && run->context.limits.tune_seconds ? "--tune"
                           : o->cc                                       ? "--cc"
                           : o->runner                                   ? "--runner"
                                                                         : NULL;
        if (o->cc && runs_model(o) && target_accelerator(run->context.target) &&
            !harness_runs(run, "--cc"))
                return false;
        if (!runs || process_commands)
                return true;
        diag_error(&run->diag, EXIT_UNSUPPORTED,
                   "%s runs commands of a POSIX shell, and dnncc for Windows runs none: --test, "
                   "--run and --check "
                   "do without, by the interpreter",
                   runs);
        return false;
}

static bool check_calibration(struct run *run)
{
        const struct options *o = &run->options;
        if (o->calibrate && !run->state.module) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--calibrate looks at Tensor IR, and this is Loop IR");
                return false;
        }
        if (run->quantized)
                return true;            /* Samples have been looked at. */
        const struct function *f = o->calibrate ? module_entry(run->state.module) : NULL;
        for (int i = 0; f && i < f->body.argument_count; i++)
                if (f->input_ports[i].grows) {
                        diag_error(&run->diag, EXIT_UNSUPPORTED,
                                   "--calibrate: input '%s' is state that grows, of which samples "
                                   "have rows for --quantize alone; leave out --state or "
                                   "--calibrate",
                                   text_safe(run->arena, f->input_ports[i].name,
                                             strlen(f->input_ports[i].name)));
                        return false;
                }
        run->context.sampler = o->calibrate && !writes_ranges(o) ? sampler_new(run) : NULL;
        return true;
}

/* Tells how many passes have run (pipeline_options.begin), with --check. */
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

/* Returns whether --check stands with nothing that says what to write: it is a question, whose
 * answer is what it says. */
static bool checks_alone(const struct options *o)
{
        return o->check && !o->output && !o->depfile && !o->depfile_name &&
               o->emit == options_preset.emit;
}

const struct target *fixed_target(const struct run *run)
{
        for (int i = 0; i < run->target_count; i++)
                if (target_engine(run->targets[i])->fixed)
                        return run->targets[i];
        return NULL;
}

const struct target *device_target(const struct run *run)
{
        for (int i = 0; i < run->target_count; i++)
                if (target_engine(run->targets[i])->fixed ||
                    target_engine(run->targets[i])->launches)
                        return run->targets[i];
        return NULL;
}

/* Returns a target whose code is for extents that are numbers or, where `counted`, that its host
 * knows before anything runs on the device; or NULL. */
static const struct target *target_without_extents(const struct run *run, bool counted)
{
        for (int i = 0; i < run->target_count; i++) {
                const struct engine *e = target_engine(run->targets[i]);
                if (e->fixed || (counted && e->launches))
                        return run->targets[i];
        }
        return NULL;
}

/* Reports targets whose code is for numbers alone, where a run gives extents. */
static bool check_extents(struct run *run)
{
        const struct module *m = run->state.module;
        for (int i = 0; m && module_has_extents(m) && i < m->symbol_count; i++) {
                const bool counted = m->symbols[i].counted;
                const struct target *other = target_without_extents(run, counted);
                const char *name =
                        text_safe(run->arena, m->symbols[i].name, strlen(m->symbols[i].name));
                if (!other)
                        continue;
                if (counted)
                        diag_error(&run->diag, EXIT_UNSUPPORTED,
                                   "the data of a run say dimension '%s': target %s wants a "
                                   "number; declare the shape in the model (value_info)",
                                   name, other->name);
                else
                        diag_error(&run->diag, EXIT_UNSUPPORTED,
                                   "dimension '%s' is the run's: target %s wants a number; bind "
                                   "it with --dim %s=N",
                                   name, other->name, name);
                return false;
        }
        return true;
}

static bool has_state(const struct run *run)
{
        const struct function *f = run->state.module ? module_entry(run->state.module) : NULL;
        bool any = false;
        for (int i = 0; f && i < f->body.argument_count; i++)
                any |= f->input_ports[i].next != NULL;
        for (const struct loop_buffer *b = f ? NULL : run->state.program->buffers; b; b = b->next)
                any |= b->space == SPACE_STATE;
        return any;
}

/* Reports targets whose code keeps no state. */
static bool check_state(struct run *run)
{
        const struct target *other = has_state(run) ? fixed_target(run) : NULL;
        if (other)
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--state is not for target %s, whose code keeps none", other->name);
        return !other;
}

/* Compiles the model as far as the options ask for; *weights: so many bytes of constants it had. */
static bool compile_passes(struct run *run, double start, double *weights)
{
        const struct options *o = &run->options;
        if (!check_commands(run) || !trace_is_possible(run) || !gradients_parse(run) ||
            !train_parse(run) || !read_model(run) || !train_build(run) || !entries_check(run) ||
            !gradients_add(run) ||
            !quantization_of_state(run) ||
            /* Ranges are of the model whose past the samples have. */
            (!writes_ranges(o) && !state_bind(run)) ||
            !check_state(run) || !check_extents(run) ||
            !read_schedules(run) || !check_calibration(run) ||
            !quantization_read(run) || !port_layouts_check(run) || !report_read_against(run))
                return false;
        remember_command(run);
        report_time(run, "import", start);
        *weights = weights_of(run->state.module);
        const char *list = quantization_passes(run, passes_asked(run));
        if (run->diag.errors)
                return false;
        struct pipeline_options pipeline = {
                .passes = list,
                .level = o->level,
                .print_after = o->print_after,
                .print_before = o->print_before,
                .dump_dir = o->dump_dir,
                .neutral = run->context.quantize || run->context.port_layouts || o->calibrate ||
                                           requantizes_by_shifts(run)
                                   ? target_at(0)
                                   : NULL,
                .verify = !o->no_verify,
                .check = o->check,
                .time = o->time_passes,
                .stats = o->stats,
                .part = (emits_tensors(o) && !runs_model(o)) || o->tune || writes_ranges(o)
                                ? PIPELINE_TENSOR
                                : PIPELINE_WHOLE,
                .nearest_target = target_nearest,
                .run_compiled = o->jit ? jit_check : compiled_check,
                .observe = o->report ? report_observe : NULL,
                .begin = o->check ? tell_check : NULL,
                .runner = run,
        };
        if (!compile_checked(run, &pipeline))
                return false;
        warn_idle(run);
        return remarks_put(run);
}

/* Compiles the model, or finds what became of it before. */
static bool compile_or_find(struct run *run, double start, double *weights)
{
        bool found;
        *weights = 0;
        if (!cache_open(run, &found) || (!found && !compile_passes(run, start, weights)))
                return false;
        if (!found)
                cache_keep(run);
        return true;
}

static bool compile_as_asked(struct run *run)
{
        const struct options *o = &run->options;
        double start = clock_seconds(), weights = 0;
        if (!compile_or_find(run, start, &weights))
                return false;
        if (writes_ranges(o))
                return calibrate(run);
        if (o->tune)
                return tune(run);
        if (!report_machine_has_work(run) || (run->state.program && !check_sizes(run)))
                return false;
        if (o->cost)
                return costs_put(run);
        if (o->bench)
                return bench(run);
        if (runs_model(o) && !run->state.program) {
                diag_error(&run->diag, EXIT_USAGE, "%s", emit_not_lowered);
                return false;
        }
        if (runs_model(o))
                return (!o->tests.count || test_all(run)) && (!o->run || test_write(run, o->run));
        double print_start = clock_seconds();
        bool fine = checks_alone(o) ? emit_report(run) && outputs_commit(run->outputs, &run->diag)
                                    : emit_outputs(run);
        report_time(run, "print", print_start);
        report_whole_time(run, start, weights);
        return fine;
}

/* Prints what is asked for, and returns whether there was any help to print; *fine says that it is
 * there. */
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
                scheme_help();
        else if (help_observers)
                observer_help();
        else if (!strcmp(o->target, "help"))
                target_help();
        else
                return false;
        return true;
}

/* Does what is left to do when options and names are known. */
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
        cache_close(run);
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
        *run = (struct run){ .arena = arena_new(), .diag = { .subject = "dnncc" } };
        run->outputs = outputs_new(run->arena);
}

static bool compile_model(struct run *run)
{
        const char *model = run->options.model;
        run->diag.subject =
                strcmp(model, "-") ? text_argument(run->arena, model) : "standard input";
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

/* Does --merge, for which there is no model. */
static bool merge_files(struct run *run)
{
        const struct options *o = &run->options;
        if (o->model) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--merge joins files of ranges, without a model: '%s' is one too many",
                           text_argument(run->arena, o->model));
                return false;
        }
        if (!options_agree(o, 0, run->arena, &run->diag) || !set_limits(run))
                return false;
        run->output = strcmp(o->output, "-") ? o->output : NULL;
        return merge_ranges(run);
}

/* Compiles the model as far as to a planned program. */
static bool compile_program(struct run *run)
{
        double weights;
        return prepare_context(run) && choose_names(run) &&
               compile_or_find(run, clock_seconds(), &weights) && run->state.program;
}

bool driver_compile(struct run *run, const struct options *options)
{
        start(run);
        run->options = *options;
        run->diag.verbosity = options->verbose - options->quiet;
        return compile_program(run);
}

bool driver_open(struct run *run, int argc, char **argv, const void *bytes, size_t length,
                 FILE *errors)
{
        start(run);
        run->diag.stream = errors;
        if (!options_parse(&run->options, argc, argv, run->arena, &run->diag))
                return false;
        run->diag.verbosity = -1;
        run->diag.subject = strcmp(run->options.model, "-")
                                    ? text_argument(run->arena, run->options.model)
                                    : "model";
        if (bytes) {
                run->bytes = memory_alloc(length + 1);
                memcpy(run->bytes, bytes, length);
                run->length = length;
                run->given = true;
        }
        return compile_program(run) && check_sizes(run);
}

enum exit_code driver_close(struct run *run) { return finish(run, !run->diag.errors); }

enum exit_code driver_run(const struct options *options)
{
        struct run run;
        process_begin();
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
        struct diag diag = { .subject = "dnncc" };
        signal(SIGPIPE, SIG_IGN);       /* Writing to a closed pipe is an error, not a silent
                                         * death. */
        signal(SIGXFSZ, SIG_IGN);       /* So is a file larger than the caller allows. */
        const bool entered = farm_enter(argc, argv, farm_option(argc, argv), &diag);
        const enum exit_code code = entered ? driver_command(argc, argv) : diag.code;
        farm_leave();
        return code;
}

/* Returns whether a command has pieces for the workers of a farm. */
static bool has_pieces(const struct options *o)
{
        return o->batch || writes_ranges(o);
}

enum exit_code driver_command(int argc, char **argv)
{
        struct run run;
        process_begin();
        start(&run);
        choose_color(&(struct options){ .color = COLOR_AUTO });
        diag_json = asks_for_json(argc, argv);          /* Errors in options are JSON, too. */
        bool fine = options_parse(&run.options, argc, argv, run.arena, &run.diag);
        run.diag.verbosity = run.options.verbose - run.options.quiet;
        choose_color(&run.options);
        diag_json = run.options.error_format == MESSAGES_JSON;
        bool help = fine && print_help(&run, &fine);
        if (fine && farm_is_worker() && (help || !has_pieces(&run.options)))
                return finish(&run, true);      /* The coordinator does it alone. */
        if (fine && !help && run.options.batch)
                return finish(&run, batch(&run, argc, argv));
        if (fine && !help && run.options.merge.count)
                return finish(&run, merge_files(&run));
        if (fine && !help && !run.options.model) {
                diag_error(&run.diag, EXIT_USAGE,
                           "no model given: dnncc [options] MODEL, see --help");
                fine = false;
        }
        if (fine && !help && run.options.cost) {
                run.diag.code = costs_all(&run);
                return finish(&run, run.diag.code == EXIT_OK);
        }
        return finish(&run, fine && !help ? compile_model(&run) : fine);
}
