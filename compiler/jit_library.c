/* SPDX-License-Identifier: MIT */
/* libdnncc_jit: models are compiled and run in the process of a program (runtime/dnncc_jit.h).
 *
 * The compiler is not made for several threads, so one model is loaded at a time. Where memory runs
 * out the compiler ends the process: here it leaves dnncc_load. */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/extent_text.h"
#include "codegen/targets.h"
#include "compiler/jit.h"
#include "ir/loop/loop_build.h"
#include "ir/loop/fail_codes.h"
#include "ir/tensor/types.h"
#include "runtime/dnncc_jit.h"

enum { OPTIONS_MOST = 1000 };

struct dnncc_model {
        struct run run;                 /* It has the program, whose constants code reads. */
        const struct loop_program *p;
        struct llvm_jit *jit;
        pthread_mutex_t running;        /* Who runs the model has it. */
        const struct loop_buffer **inputs, **outputs;
        int64_t *extents;               /* [p->extent_count] */
        int own[EXTENTS_MAX];           /* A run's extents have these numbers in the program. */
        struct dnncc_model_1 described;
};

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* ---- errors ---- */

static void say(struct dnncc_error *error, enum exit_code code, const char *text)
{
        if (!error)
                return;
        error->code = (int)code;
        snprintf(error->text, sizeof error->text, "%s", text);
}

/* Says the first error of what the compiler has said: "model.onnx: error: .." and more lines. */
static void say_first(struct dnncc_error *error, enum exit_code code, char *said)
{
        static const char mark[] = "error: ";
        char *at = said ? strstr(said, mark) : NULL;
        if (!at) {
                say(error, code, "the model cannot be loaded");
                return;
        }
        at += sizeof mark - 1;
        at[strcspn(at, "\n")] = 0;
        say(error, code, at);
}

/* ---- what a model is described by ---- */

static const char *const *symbols_of(struct arena *arena, const struct loop_buffer *b)
{
        if (!b->extents)
                return NULL;
        const char **symbols = arena_array(arena, (size_t)b->type->rank + 1, sizeof *symbols);
        for (int d = 0; d < b->type->rank; d++)
                if (b->extents[d]->op != LOOP_LITERAL)
                        symbols[d] = extent_text(arena, b->extents[d]);
        return symbols;
}

static const struct dnncc_tensor_1 *describe(struct arena *arena,
                                             const struct loop_buffer *const *ports, int count)
{
        struct dnncc_tensor_1 *tensors = arena_array(arena, (size_t)count + 1, sizeof *tensors);
        for (int k = 0; k < count; k++) {
                const struct loop_buffer *b = ports[k];
                const int rank = b->type ? b->type->rank : 1;
                int64_t *shape = arena_array(arena, (size_t)rank + 1, sizeof *shape);
                for (int d = 0; d < rank; d++)
                        shape[d] = b->type ? type_extent(b->type, d) : b->extent;
                tensors[k] = (struct dnncc_tensor_1){
                        .name = b->port ? b->port : b->name,
                        .type = element_info[loop_buffer_element(b)].onnx,
                        .rank = rank,
                        .shape = rank ? shape : NULL,
                        .symbols = symbols_of(arena, b),
                        .bytes = (uint64_t)loop_buffer_bytes(b),
                };
        }
        return tensors;
}

/* Are these options about what dnncc does, and not about what code is? */
static bool is_other(const struct options *o)
{
        return o->bench || o->tests.count || o->output || o->emit != options_preset.emit ||
               o->cost || o->info || o->check || o->help || o->short_help || o->version ||
               o->merge.count || o->depfile || o->depfile_name || o->passes;
}

/* What has no run here yet, or NULL. */
static const char *obstacle_of(const struct loop_program *p)
{
        if (p->entry_count > 1)
                return "a model of several entries is not loaded yet: leave out --entry";
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space == SPACE_STATE)
                        return "a model that keeps state is not loaded yet: leave out --state";
                if (b->is_text)
                        return "a model whose inputs or outputs are texts is not loaded yet";
        }
        return NULL;
}

/* ---- loading ---- */

/* Returns the best of the targets that this processor is for; without one, the best. */
static int target_here(const struct run *run)
{
        for (int i = run->target_count - 1; i >= 0; i--)
                if (target_runs_here(run->targets[i]))
                        return i;
        return run->target_count - 1;
}

/* Describes and compiles the program that was made. */
static bool finish(struct dnncc_model *m)
{
        struct run *run = &m->run;
        struct arena *arena = run->arena;
        const int target = target_here(run);
        const char *obstacle = obstacle_of(run->state.program);
        int in, out;
        if (obstacle) {
                diag_error(&run->diag, EXIT_UNSUPPORTED, "%s", obstacle);
                return false;
        }
        m->p = run_program(run, target);
        m->inputs = run_ports(run, arena, false, &in);
        m->outputs = run_ports(run, arena, true, &out);
        m->extents = arena_array(arena, (size_t)m->p->extent_count + 1, sizeof *m->extents);
        m->described = (struct dnncc_model_1){
                .abi = 1,
                .struct_size = sizeof m->described,
                .name = run->prefix,
                .input_count = (uint32_t)in,
                .output_count = (uint32_t)out,
                .extent_count = (uint32_t)loop_entry_extents(m->p, m->own),
                .inputs = describe(arena, m->inputs, in),
                .outputs = describe(arena, m->outputs, out),
        };
        m->jit = jit_new(run, m->p, run->targets[target]);
        return m->jit != NULL;
}

static bool begins(const char *word, const char *with)
{
        return !strncmp(word, with, strlen(with));
}

/* The command line that these options are: those of --jit --run go with them, or there is an error
 * that says so. Returns the number of its words. */
static int command_line(char *argv[], const char *path, const char *const *options)
{
        static char *const own[] = { "dnncc", "--run=zeros" };
        int count = 0;
        bool target = false, jit = false;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
                argv[count++] = own[i];
        for (; options && *options && count < OPTIONS_MOST; options++) {
                target |= begins(*options, "--target");
                jit |= begins(*options, "--jit");
                argv[count++] = (char *)(uintptr_t)*options;
        }
        if (!target)
                argv[count++] = "--target=native";
        if (!jit)
                argv[count++] = "--jit";
        argv[count++] = "--";
        argv[count++] = (char *)(uintptr_t)path;
        return count;
}

static bool load(struct dnncc_model *m, const char *path, const void *bytes, size_t length,
                 const char *const *options, FILE *errors)
{
        char *argv[OPTIONS_MOST + 8];
        const int argc = command_line(argv, path, options);
        if (!driver_open(&m->run, argc, argv, bytes, length, errors))
                return false;
        if (!is_other(&m->run.options))
                return finish(m);
        diag_error(&m->run.diag, EXIT_USAGE, "options are those that shape code: dnncc itself "
                                             "writes, tests and times it");
        return false;
}

/* Loads a model where the compiler's ways out lead here. Returns false where it took one: what it
 * had made is lost. */
static bool load_watched(struct dnncc_model *m, const char *path, const void *bytes, size_t length,
                         const char *const *options, FILE *errors, volatile bool *fine)
{
        jmp_buf out;
        jmp_buf *const memory = memory_watch(&out), *const extents = dim_watch(&out);
        const bool is_out = setjmp(out) != 0;
        if (!is_out)
                *fine = load(m, path, bytes, length, options, errors);
        memory_watch(memory);
        dim_watch(extents);
        return !is_out;
}

static struct dnncc_model *load_any(const char *path, const void *bytes, size_t length,
                                    const char *const *options, struct dnncc_error *error)
{
        char *said = NULL;
        size_t size;
        volatile bool fine = false;
        struct dnncc_model *m = calloc(1, sizeof *m);
        FILE *errors = open_memstream(&said, &size);
        if (!m || !errors) {
                say(error, EXIT_BUDGET, "out of memory");
                free(m);
                if (errors)
                        fclose(errors);
                free(said);
                return NULL;
        }
        pthread_mutex_lock(&loading);
        const bool whole = load_watched(m, path, bytes, length, options, errors, &fine);
        fclose(errors);
        m->run.diag.stream = NULL;
        if (!whole) {
                say(error, EXIT_BUDGET, "out of memory, or an extent that only a run knows");
        } else if (!fine) {
                say_first(error, m->run.diag.code ? m->run.diag.code : EXIT_INTERNAL, said);
                driver_close(&m->run);
        }
        pthread_mutex_unlock(&loading);
        free(said);
        if (fine && whole && !pthread_mutex_init(&m->running, NULL))
                return m;
        free(m);
        return NULL;
}

struct dnncc_model *dnncc_load(const char *path, const char *const *options,
                               struct dnncc_error *error)
{
        if (path && strcmp(path, "-"))
                return load_any(path, NULL, 0, options, error);
        say(error, EXIT_USAGE, "a path is wanted: bytes are for dnncc_load_memory");
        return NULL;
}

struct dnncc_model *dnncc_load_memory(const void *bytes, size_t length, const char *const *options,
                                      struct dnncc_error *error)
{
        if (bytes)
                return load_any("-", bytes, length, options, error);
        say(error, EXIT_USAGE, "the model's bytes are NULL");
        return NULL;
}

const struct dnncc_model_1 *dnncc_describe(const struct dnncc_model *model)
{
        return &model->described;
}

void dnncc_free(struct dnncc_model *model)
{
        if (!model)
                return;
        pthread_mutex_destroy(&model->running);
        pthread_mutex_lock(&loading);
        llvm_jit_free(model->jit);
        driver_close(&model->run);
        pthread_mutex_unlock(&loading);
        free(model);
}

/* ---- running ---- */

/* Checks addresses as generated code does. */
static int check(const struct loop_buffer *const *ports, uint32_t count, const void *const *at)
{
        for (uint32_t k = 0; k < count; k++) {
                if (!at || !at[k])
                        return FAIL_NULL;
                if ((uintptr_t)at[k] % (uintptr_t)element_info[ports[k]->element].bytes)
                        return FAIL_ALIGNMENT;
        }
        return 0;
}

/* Takes what a run is given of its extents. */
static int take_extents(struct dnncc_model *m, const int64_t *extents)
{
        for (uint32_t i = 0; i < m->described.extent_count; i++) {
                const struct loop_extent *e = &m->p->extents[m->own[i]];
                if (!extents)
                        return FAIL_NULL;
                if (!e->counted &&
                    (extents[i] < e->variable->low || extents[i] > e->variable->high))
                        return FAIL_EXTENT;
                m->extents[m->own[i]] = extents[i];
        }
        return 0;
}

int dnncc_run(struct dnncc_model *model, const void *const *inputs, void *const *outputs,
              int64_t *extents)
{
        const struct dnncc_model_1 *d = &model->described;
        int code = check(model->inputs, d->input_count, inputs);
        if (!code)
                code = check(model->outputs, d->output_count, (const void *const *)outputs);
        if (code)
                return code;
        pthread_mutex_lock(&model->running);
        code = take_extents(model, extents);
        if (!code)
                code = llvm_jit_run(model->jit, model->extents, inputs, outputs);
        for (uint32_t i = 0; i < d->extent_count && !code; i++)
                extents[i] = model->extents[model->own[i]];
        pthread_mutex_unlock(&model->running);
        return code;
}
