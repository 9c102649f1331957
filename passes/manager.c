/* SPDX-License-Identifier: MIT */
#include "passes/manager.h"

#include <string.h>

#include "base/clock.h"
#include "base/store.h"
#include "base/suggest.h"
#include "base/text.h"
#include "passes/observe.h"

#define PASS_TENSOR(name) .run_tensor = pass_##name
#define PASS_LOOP(name)   .run_loop = pass_##name
#define PASS_LOWER(name)  .run_loop = NULL
const struct pass passes[] = {
#define PASS(name_, level_, class_, doc_) \
        { .name = #name_, .doc = doc_, .level = LEVEL_##level_, .class = CLASS_##class_, PASS_##level_(name_) },
#include "passes/passes.def"
};
const int pass_count = sizeof passes / sizeof *passes;

static const char *const pipelines[] = {
#define PASS(...)
#define PIPELINE(level, list) [level] = list,
#include "passes/passes.def"
};

const char *pipeline_passes(int level) { return pipelines[level]; }

static const char calibrated[] =
#define PASS(...)
#define PIPELINE(...)
#define CALIBRATED(list) list
#include "passes/passes.def"
        ;

const char *pipeline_calibrated(void) { return calibrated; }

static const char model[] =
#define PASS(...)
#define PIPELINE(...)
#define MODEL(list) list
#include "passes/passes.def"
        ;

static const char *const of_machine[] = {
#define PASS(...)
#define PIPELINE(...)
#define OF_MACHINE(name) #name,
#include "passes/passes.def"
        NULL
};

static const char *const of_model[] = {
#define PASS(...)
#define PIPELINE(...)
#define OF_MODEL(name) #name,
#include "passes/passes.def"
        NULL
};

static const char *const of_target[] = {
#define PASS(...)
#define PIPELINE(...)
#define OF_TARGET(name) #name,
#include "passes/passes.def"
        NULL
};

static const char *const of_budget[] = {
#define PASS(...)
#define PIPELINE(...)
#define OF_BUDGET(name) #name,
#include "passes/passes.def"
        NULL
};

const struct limits limits_preset = {
#define LIMIT(name, preset, doc) .name = preset,
#include "passes/limits.def"
};

const struct pass *pass_find(const char *name)
{
        for (int i = 0; i < pass_count; i++)
                if (!strcmp(passes[i].name, name))
                        return &passes[i];
        return NULL;
}

/* ---- the list ---- */

enum { PASSES_MAX = 256 };

static void unknown_pass(const char *name, size_t length, const char *what, struct diag *diag)
{
        struct arena *scratch = arena_new();
        struct suggest known = suggest_new(scratch, name, length);
        for (int i = 0; i < pass_count; i++)
                suggest_add(&known, passes[i].name);
        diag_error(diag, EXIT_USAGE,
                   "no pass is called '%s'%s%s (" DIAG_HINT("--help-passes lists them") ")",
                   text_argument_part(scratch, name, length), what, suggest_text(&known, true));
        arena_free(scratch);
}

/* Splits a comma-separated list into passes, which must be able to follow each other on this state.
 * Returns their number, or -1 after an error. */
static int parse_list(const char *list, const struct pipeline_state *state, bool exact,
                      const struct pass **out, struct diag *diag)
{
        struct history history = history_of(state);
        for (int count = 0;; count++) {
                const char *name = list, *after;
                if (!*list)
                        return count;
                const struct pass *pass = pass_next(&list);
                if (!pass) {
                        unknown_pass(name, strcspn(name, ","), "", diag);
                        return -1;
                }
                if (count == PASSES_MAX) {
                        diag_error(diag, EXIT_USAGE, "--passes lists more than %d passes",
                                   PASSES_MAX);
                        return -1;
                }
                const char *why = history_objection(&history, pass, &after);
                if (why) {
                        diag_error(diag, EXIT_USAGE, "pass %s cannot run%s%s: %s", pass->name,
                                   after ? " after " : " here", after ? after : "", why);
                        return -1;
                }
                if (exact && pass->class == CLASS_A) {
                        diag_error(diag, EXIT_USAGE, "pass %s approximates: not with --exact",
                                   pass->name);
                        return -1;
                }
                history_add(&history, pass);
                out[count] = pass;
        }
}

static bool selected(const char *choice, const char *name)
{
        return choice && (!strcmp(choice, "all") || !strcmp(choice, name));
}

/* Checks the value of --print-ir-after= or --print-ir-before=. */
static bool is_choice(const char *choice, struct diag *diag)
{
        if (!choice || !strcmp(choice, "all") || pass_find(choice))
                return true;
        unknown_pass(choice, strlen(choice), " to print the IR at", diag);
        return false;
}

/* ---- running ---- */

static bool verify(const struct pipeline_state *state, const char *pass, struct diag *diag)
{
        const char *subject = diag->subject;
        char label[64];
        snprintf(label, sizeof label, "bug in pass %s", pass);
        diag->subject = label;
        bool fine = state->program ? loop_verify(state->program, diag)
                                   : tensor_verify(state->module, diag);
        diag->subject = subject;
        return fine;
}

static const char *with_pass(struct arena *arena, const char *done, const struct pass *pass)
{
        return arena_printf(arena, "%s%s%s", done, *done ? "," : "", pass->name);
}

static int run_loop_pass(struct pipeline_state *state, const struct pass *pass,
                         struct pass_context *context)
{
        int rewrites;
        const char *done =
                state->program ? state->program->passes_done : state->module->passes_done;
        if (pass->level == LEVEL_LOOP) {
                rewrites = pass->run_loop(state->program, context);
        } else {
                store_trim(state->module->store);
                state->program = lower_module(state->module, NULL,
                                              context->library, &context->lower, context->diag);
                rewrites = state->program ? state_size(state) : -1;
        }
        if (state->program)
                state->program->passes_done = with_pass(state->program->arena, done, pass);
        return rewrites;
}

static int run_pass(struct pipeline_state *state, const struct pass *pass,
                    struct pass_context *context)
{
        if (pass->level != LEVEL_TENSOR)
                return run_loop_pass(state, pass, context);
        int rewrites = 0;
        for (struct function *f = state->module->functions; f; f = f->next) {
                int n = pass->run_tensor(f, context);
                if (n < 0)
                        return -1;
                rewrites += n;
        }
        struct module *m = state->module;
        module_settle_constants(m);     /* Constants are then as reading a dump would leave them. */
        module_sweep_constants(m);
        m->passes_done = with_pass(m->arena, m->passes_done, pass);
        return rewrites;
}

static bool is_of_model(const struct pass *pass)
{
        bool found = false;
        for (int k = 0; of_model[k]; k++)
                found |= !strcmp(pass->name, of_model[k]);
        return found;
}

/* Returns what was done behind the last of these passes. */
static const char *behind_model(const char *done)
{
        const char *behind = done;
        for (const char *rest = done; *rest;) {
                const struct pass *pass = pass_next(&rest);
                behind = pass && is_of_model(pass) ? rest : behind;
        }
        return behind;
}

static bool list_has(const char *list, const struct pass *pass)
{
        bool found = false;
        while (*list && !found)
                found = pass_next(&list) == pass;
        return found;
}

/* Returns what is left of the list behind the passes that are done, among which options may have
 * added some that the list has not; NULL: these are not its first ones. */
static const char *list_behind(const char *list, const char *done)
{
        const char *left = list;
        while (*done) {
                const char *rest = left;
                const struct pass *pass = pass_next(&done);
                if (pass && *left && pass_next(&rest) == pass)
                        left = rest;
                else if (!pass || is_of_model(pass) || list_has(list, pass))
                        return NULL;
        }
        return left == list ? NULL : left;
}

static const char *remaining(const struct pipeline_state *state,
                             const struct pipeline_options *options)
{
        const char *list = pipelines[options->level];
        const char *all_done = state->program ? state->program->passes_done
                                              : state->module->passes_done,
                   *both[] = { all_done, behind_model(all_done) };
        for (int k = 0; k < 2; k++) {
                const char *left = list_behind(list, both[k]);
                if (left)
                        return left;
        }
        if (!state->program)
                return list;
        /* The state may have been written by hand. */
        struct history history = history_of(state);
        const char *after;
        if (history_objection(&history, pass_find("legalize"), &after))
                return state->program->planned ? "registers,prune,outline,keep,pointers,barriers,"
                                                 "dependent_launch,vector_access"
                                               : "registers,plan,prune,outline,keep,pointers,"
                                                 "barriers,dependent_launch,vector_access";
        return state->program->planned ? "legalize,registers,prune,outline,keep,pointers,barriers,"
                                         "dependent_launch,vector_access"
                                       : "legalize,registers,plan,prune,outline,keep,pointers,"
                                         "barriers,dependent_launch,vector_access";
}

/* ---- parts ---- */

/* Is the pass one of these, or `lower`, or one that comes behind `lower`? */
static bool is_behind(const struct pass *pass, const char *const *names)
{
        bool found = pass->level != LEVEL_TENSOR;
        for (; *names && !found; names++)
                found = !strcmp(*names, pass->name);
        return found;
}

/* Returns how many passes of the list a part runs. */
static int part_of(enum pipeline_part part, const struct pass **list, int count)
{
        static const char *const none[] = { NULL };
        int end = 0;
        if (part == PIPELINE_WHOLE || part == PIPELINE_OF_TARGET)
                return count;
        const char *const *behind = part == PIPELINE_SHARED   ? of_target
                                    : part == PIPELINE_COMMON ? of_budget
                                                              : none;
        while (end < count && !is_behind(list[end], behind))
                end++;
        return end;
}

/* Returns a list of the user's without the part that an earlier run has done. */
static const char *rest_of(const char *list, const char *const *names)
{
        const char *rest = list;
        while (*list) {
                const struct pass *pass = pass_next(&rest);
                if (!pass || is_behind(pass, names))
                        break;
                list = rest;
        }
        return list;
}

const char *pipeline_model(struct arena *arena, const char *list)
{
        const char *rest = list ? rest_of(list, of_machine) : NULL;
        if (!list)
                return model;
        int length = (int)(rest - list);
        return arena_printf(arena, "%.*s", length - (length && *rest), list);
}

/* Has none of these passes run, nor `lower`? */
static bool is_before(const struct pipeline_state *state, const char *const *names)
{
        const char *done = state->program ? "" : state->module->passes_done;
        bool before = !state->program;
        while (*done && before) {
                const struct pass *pass = pass_next(&done);
                before = !pass || !is_behind(pass, names);
        }
        return before;
}

bool pipeline_is_common(const struct pipeline_state *state) { return is_before(state, of_budget); }

/* Checks that the state does not come from a text that is for one target. */
static bool can_be_shared(const struct pipeline_state *state, struct diag *diag)
{
        bool fine = is_before(state, of_target);
        if (!fine)
                diag_error(diag, EXIT_USAGE,
                           "this is for one target already: compile it for that one, or a text "
                           "from before %s",
                           of_target[0]);
        return fine;
}

static int passes_before(const struct pipeline_state *state, const struct pipeline_options *options)
{
        int count = 0;
        for (const char *done = options->resumed ? state->module->passes_done : ""; *done; count++)
                pass_next(&done);
        return count;
}

/* Returns how many passes of the list run for options->neutral. */
static int neutral_passes(const struct pipeline_state *state,
                          const struct pipeline_options *options, const struct pass *const *list,
                          int count)
{
        const char *done =
                state->program ? state->program->passes_done : state->module->passes_done;
        int end = 0;
        for (int i = 0; i < count; i++)
                for (int k = 0; of_model[k]; k++)
                        end = strcmp(list[i]->name, of_model[k]) ? end : i + 1;
        bool none = !options->neutral || (!end && behind_model(done) != done);
        return none ? 0 : end ? end : count;
}

/* ---- all of them ---- */

/* Runs one pass, with all that the options ask for around it. */
static bool step(struct pipeline_state *state, const struct pass *pass, int number,
                 const struct pipeline_options *options, struct check *check,
                 struct pass_context *context)
{
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", pass->name, options->label ? "-" : "",
                 options->label ? options->label : "");
        if (selected(options->print_before, pass->name))
                state_show(state, "before", name);
        if (check)
                check_before(check, state, pass);
        int before = options->stats ? state_size(state) : 0;
        struct text notes = { 0 };
        context->notes = options->stats ? &notes : NULL;
        double start = clock_seconds();
        int rewrites = run_pass(state, pass, context);
        context->notes = NULL;
        if (rewrites < 0)
                return false;
        double end = clock_seconds();
        if (options->stats)
                diag_say(context->diag, "stats: %-10s %d rewrites, %d -> %d %s%s%s\n", name,
                         rewrites, before, state_size(state),
                         state->program ? "kernels" : "operations", notes.length ? ": " : "",
                         notes.length ? notes.data : "");
        text_free(&notes);
        if (selected(options->print_after, pass->name))
                state_show(state, "after", name);
        if (options->observe)
                options->observe(options->runner, state, pass, rewrites);
        if (options->dump_dir && !state_dump(state, options->dump_dir, number, name, context->diag))
                return false;
        double verifier_start = clock_seconds();
        bool fine = !options->verify || verify(state, pass->name, context->diag);
        if (options->time)
                diag_say(context->diag, "time: %-10s %9.3f ms, verifier %9.3f ms\n", name,
                        1e3 * (end - start), 1e3 * (clock_seconds() - verifier_start));
        if (!fine && check)
                check_reproduce(check, pass);
        return fine && (!check || check_after(check, state, pass));
}

bool pipeline_run(struct pipeline_state *state, const struct pipeline_options *options,
                  struct pass_context *context)
{
        const struct pass *list[PASSES_MAX];
        const char *names =
                !options->passes ? remaining(state, options)
                : options->resumed
                        ? rest_of(options->passes,
                                  options->part == PIPELINE_OF_TARGET ? of_target : of_budget)
                        : options->passes;
        int count = parse_list(names, state, context->exact, list, context->diag);
        if (count < 0 || !is_choice(options->print_before, context->diag) ||
            !is_choice(options->print_after, context->diag))
                return false;
        if (options->verify && !verify(state, state->program ? "input" : "import", context->diag))
                return false;
        if (state->module) {
                module_settle_constants(state->module);
                module_sweep_constants(state->module);
        }
        if (options->part == PIPELINE_SHARED && !can_be_shared(state, context->diag))
                return false;
        int end = part_of(options->part, list, count), number = passes_before(state, options);
        if (options->dump_dir && !options->resumed &&
            !state_dump(state, options->dump_dir, 0, "import", context->diag))
                return false;
        if (options->observe && !options->resumed)
                options->observe(options->runner, state, NULL, 0);
        struct check *check = options->check ? check_begin(state, options, context) : NULL;
        bool fine = true;
        double start = clock_seconds();
        const struct target *target = context->target, *least = context->least;
        const int neutral = options->resumed ? 0 : neutral_passes(state, options, list, end);
        for (int i = 0; i < end && fine; i++) {
                context->target = i < neutral ? options->neutral : target;
                context->least = i < neutral ? options->neutral : least;
                if (options->begin)
                        options->begin(options->runner, list[i], i + 1, end);
                fine = step(state, list[i], ++number, options, check, context);
        }
        context->target = target;
        context->least = least;
        if (fine && options->time)
                diag_say(context->diag, "time: %-10s %9.3f ms\n", "all passes",
                        1e3 * (clock_seconds() - start));
        if (check)
                check_end(check);
        return fine;
}
