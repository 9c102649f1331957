#include "passes/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"

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

/* Splits a comma list into passes; checks that levels only go from `level` through lower to loop. */
static int parse_list(const char *list, enum pass_level level, const struct pass **out, struct diag *diag)
{
        int count = 0;
        for (const char *p = list; *p;) {
                size_t length = strcspn(p, ",");
                char name[32] = "";
                if (length < sizeof name)
                        memcpy(name, p, length);
                const struct pass *pass = pass_find(name);
                struct arena *scratch = arena_new();
                const char *safe = text_safe(scratch, p, length);
                bool wrong = true;
                if (!pass)
                        diag_error(diag, EXIT_USAGE, "no pass is called '%s': see --help-passes", safe);
                else if (count == PASSES_MAX)
                        diag_error(diag, EXIT_USAGE, "--passes lists more than %d passes", PASSES_MAX);
                else if (pass->level < level || (pass->level == LEVEL_LOOP && level == LEVEL_TENSOR) ||
                         (pass->level == LEVEL_LOWER && level == LEVEL_LOWER))
                        diag_error(diag, EXIT_USAGE, "pass '%s' cannot stand here: tensor passes, then lower, then loop passes",
                                   pass->name);
                else
                        wrong = false;
                arena_free(scratch);
                if (wrong)
                        return -1;
                level = pass->level;
                out[count++] = pass;
                p += length + (p[length] == ',');
        }
        return count;
}

/* ---- looking inside ---- */

static void print_state(struct text *out, const struct pipeline_state *state, const struct tensor_print *options)
{
        if (state->program)
                loop_print(out, state->program, options);
        else
                tensor_print(out, state->module, options);
}

static bool selected(const char *choice, const char *name)
{
        return choice && (!strcmp(choice, "all") || !strcmp(choice, name));
}

static void print_to_stderr(const struct pipeline_state *state, const char *when, const char *pass)
{
        struct text text = { 0 };
        struct tensor_print elide = { .elide = true };
        print_state(&text, state, &elide);
        fprintf(stderr, "; %s %s\n%s\n", when, pass, text.data ? text.data : "");
        text_free(&text);
}

static bool write_bytes(const char *path, const char *data, size_t length, struct diag *diag)
{
        FILE *file = fopen(path, "wb");
        bool fine = file && fwrite(data, 1, length, file) == length;
        if (file && fclose(file))
                fine = false;
        if (!fine)
                diag_error(diag, EXIT_IO, "cannot write %s: %s", path, strerror(errno));
        return fine;
}

/* DIR/03-cse.dnn, its big constants in DIR/03-cse.dnn.bin */
static bool dump(const struct pipeline_state *state, const char *dir, int number, const char *name, struct diag *diag)
{
        struct arena *arena = arena_new();
        const char *file = arena_printf(arena, "%02d-%s.%s", number, name, state->program ? "loops" : "dnn");
        const char *blob_name = arena_printf(arena, "%s.bin", file);
        struct text text = { 0 }, blob = { 0 };
        struct tensor_print options = { .blob = &blob, .file_name = blob_name };
        print_state(&text, state, &options);
        bool fine = (mkdir(dir, 0777) == 0 || errno == EEXIST);
        if (!fine)
                diag_error(diag, EXIT_IO, "cannot make folder %s: %s", dir, strerror(errno));
        fine = fine && write_bytes(arena_printf(arena, "%s/%s", dir, file), text.data, text.length, diag);
        if (fine && blob.length)
                fine = write_bytes(arena_printf(arena, "%s/%s", dir, blob_name), blob.data, blob.length, diag);
        text_free(&text);
        text_free(&blob);
        arena_free(arena);
        return fine;
}

static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int count_ops(const struct region *region)
{
        int n = 0;
        for (const struct op *op = region->first; op; op = op->next) {
                n++;
                for (int i = 0; i < op->region_count; i++)
                        n += count_ops(op->regions[i]);
        }
        return n;
}

static int count_state(const struct pipeline_state *state)
{
        int n = 0;
        if (state->program)
                for (const struct loop_function *k = state->program->kernels; k; k = k->next)
                        n++;
        else
                for (const struct function *f = state->module->functions; f; f = f->next)
                        n += count_ops(&f->body);
        return n;
}

/* ---- running ---- */

static bool verify(const struct pipeline_state *state, const char *pass, struct diag *diag)
{
        const char *subject = diag->subject;
        char label[64];
        snprintf(label, sizeof label, "bug in pass %s", pass);
        diag->subject = label;
        bool fine = state->program ? loop_verify(state->program, diag) : tensor_verify(state->module, diag);
        diag->subject = subject;
        return fine;
}

static const char *with_pass(struct arena *arena, const char *done, const struct pass *pass)
{
        return arena_printf(arena, "%s%s%s", done, *done ? "," : "", pass->name);
}

static int run_loop_pass(struct pipeline_state *state, const struct pass *pass, struct pass_context *context)
{
        int rewrites;
        const char *done = state->program ? state->program->passes_done : state->module->passes_done;
        if (pass->level == LEVEL_LOOP) {
                rewrites = pass->run_loop(state->program, context);
        } else {
                state->program = lower_module(state->module, state->module->functions, context->library,
                                              &context->lower, context->diag);
                rewrites = state->program ? count_state(state) : -1;
        }
        if (state->program)
                state->program->passes_done = with_pass(state->program->arena, done, pass);
        return rewrites;
}

static int run_pass(struct pipeline_state *state, const struct pass *pass, struct pass_context *context)
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
        module_settle_constants(m);     /* as reading a dump would leave them */
        m->passes_done = with_pass(m->arena, m->passes_done, pass);
        return rewrites;
}

/* false after the culprit was reported; *before becomes the result after the pass */
/* lowering rounds otherwise only where there are scheduled kernels */
static bool is_exact(const struct pass *pass, const struct pass_context *context)
{
        return pass->class == CLASS_E || context->exact ||
               (pass->level == LEVEL_LOWER && target_lanes(context->target, E_F32) == 1);
}

static bool check_pass(const struct pipeline_state *state, const struct pass *pass, struct check_result **before,
                       const struct text *reproducer, struct pass_context *context)
{
        const char *skipped = NULL;
        struct check_result *after = check_run(state, context, &skipped);
        char *what = NULL;
        bool fine = true;
        if (!after || !*before) {
                fprintf(stderr, "check: %s: skipped: %s\n", pass->name, skipped ? skipped : "no result before it");
        } else if (!check_equal(*before, after, is_exact(pass, context), &what)) {
                diag_error(context->diag, EXIT_INTERNAL, "bug in pass %s: --check: %s; reproducer: dnncc-check-%s.dnn",
                           pass->name, what, pass->name);
                char path[64];
                snprintf(path, sizeof path, "dnncc-check-%s.dnn", pass->name);
                write_bytes(path, reproducer->data, reproducer->length, context->diag);
                fine = false;
        } else {
                fprintf(stderr, "check: %s: equal\n", pass->name);
        }
        free(what);
        if (after) {
                check_free(*before);
                *before = after;
        }
        return fine;
}

static const char *remaining(const struct pipeline_state *state, const struct pipeline_options *options)
{
        const char *list = pipelines[options->level];
        const char *passes_done = state->program ? state->program->passes_done : state->module->passes_done;
        size_t done = strlen(passes_done);
        if (done && !strncmp(list, passes_done, done) && (!list[done] || list[done] == ','))
                return list + done + (list[done] == ',');
        if (!state->program)
                return list;
        return state->program->planned ? "legalize" : "legalize,plan";    /* written by hand, say */
}

bool pipeline_run(struct pipeline_state *state, const struct pipeline_options *options, struct pass_context *context)
{
        const struct pass *list[PASSES_MAX];
        const char *names = options->passes ? options->passes : remaining(state, options);
        int count = parse_list(names, state->program ? LEVEL_LOWER : LEVEL_TENSOR, list, context->diag);
        if (count < 0)
                return false;
        if (options->verify && !verify(state, state->program ? "input" : "import", context->diag))
                return false;
        if (state->module)
                module_settle_constants(state->module);
        if (options->dump_dir && !dump(state, options->dump_dir, 0, "import", context->diag))
                return false;
        const char *skipped = NULL;
        struct check_result *result = options->check ? check_run(state, context, &skipped) : NULL;
        if (skipped)
                fprintf(stderr, "check: skipped: %s\n", skipped);
        bool fine = true;
        for (int i = 0; i < count && fine; i++) {
                const struct pass *pass = list[i];
                if (options->stop_before_lower && pass->level != LEVEL_TENSOR)
                        break;
                if (selected(options->print_before, pass->name))
                        print_to_stderr(state, "before", pass->name);
                struct text reproducer = { 0 };
                if (options->check)
                        print_state(&reproducer, state, &(struct tensor_print){ 0 });
                double start = seconds();
                int before = options->stats ? count_state(state) : 0;
                int rewrites = run_pass(state, pass, context);
                double elapsed = seconds() - start;
                fine = rewrites >= 0;
                if (fine && options->time)
                        fprintf(stderr, "time: %-10s %9.3f ms\n", pass->name, 1e3 * elapsed);
                if (fine && options->stats)
                        fprintf(stderr, "stats: %-10s %d rewrites, %d -> %d %s\n", pass->name, rewrites, before,
                                count_state(state), state->program ? "kernels" : "operations");
                if (fine && selected(options->print_after, pass->name))
                        print_to_stderr(state, "after", pass->name);
                fine = fine && (!options->dump_dir || dump(state, options->dump_dir, i + 1, pass->name, context->diag));
                fine = fine && (!options->verify || verify(state, pass->name, context->diag));
                fine = fine && (!options->check || check_pass(state, pass, &result, &reproducer, context));
                text_free(&reproducer);
        }
        if (result)
                check_free(result);
        return fine;
}
