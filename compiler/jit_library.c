/* SPDX-License-Identifier: MIT */
/* libdnncc_jit: models are compiled and run in the process of a program (runtime/dnncc_jit.h). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/extent_text.h"
#include "codegen/targets.h"
#include "compiler/jit.h"
#include "compiler/library.h"
#include "ir/loop/loop_build.h"
#include "ir/loop/fail_codes.h"
#include "ir/tensor/types.h"
#include "runtime/dnncc_jit.h"

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
static bool finish(struct run *run, void *model)
{
        struct dnncc_model *m = model;
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

static void free_code(void *jit) { llvm_jit_free(jit); }

static struct dnncc_model *load(const struct library_model *model, struct dnncc_error *error)
{
        static const char *const first[] = { "--run=zeros", NULL },
                          *const preset[] = { "--target=native", "--jit", NULL };
        struct dnncc_model *m = calloc(1, sizeof *m);
        if (!m) {
                library_say(error, EXIT_BUDGET, "out of memory");
        } else if (library_open(&m->run, model, &(struct library_words){ first, preset }, finish,
                                m, error)) {
                if (!pthread_mutex_init(&m->running, NULL))
                        return m;
                library_say(error, EXIT_BUDGET, "out of memory");
                library_close(&m->run, free_code, m->jit);
        }
        free(m);
        return NULL;
}

struct dnncc_model *dnncc_load(const char *path, const char *const *options,
                               struct dnncc_error *error)
{
        if (path && strcmp(path, "-"))
                return load(&(struct library_model){ path, NULL, 0, options }, error);
        library_say(error, EXIT_USAGE, "a path is wanted: bytes are for dnncc_load_memory");
        return NULL;
}

struct dnncc_model *dnncc_load_memory(const void *bytes, size_t length, const char *const *options,
                                      struct dnncc_error *error)
{
        if (bytes)
                return load(&(struct library_model){ "-", bytes, length, options }, error);
        library_say(error, EXIT_USAGE, "the model's bytes are NULL");
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
        library_close(&model->run, free_code, model->jit);
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
