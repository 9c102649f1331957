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

/* An entry of a model: what is loaded is the first one, which has what all of them share. */
struct dnncc_model {
        struct run run;                 /* It has the program, whose constants code reads. */
        pthread_mutex_t running;        /* Who runs the model has it. */
        char *state;                    /* What is kept, as struct PREFIX_state of generated code
                                         * has it (docs/interface.md); or NULL. */
        uint64_t mark;                  /* Its first word, once it has been in use. */
        struct dnncc_model *entries;    /* [p->entry_count - 1], those behind the first one. */

        struct dnncc_model *all;        /* That is the first one. Of each entry: */
        struct loop_program *p;
        int entry;
        struct llvm_jit *jit;
        const struct loop_buffer **inputs, **outputs;     /* Without what is state. */
        const void **given;             /* What code reads and writes: ports and state, in the */
        void **got;                     /* program's order. */
        char **texts;                   /* Of inputs that are texts, copies of all of them. */
        int64_t *extents;               /* [p->extent_count] */
        int own[EXTENTS_MAX];           /* A run's extents have these numbers in the program. */
        struct dnncc_model_2 described;
};

/* ---- what a model is described by ---- */

/* Texts have their room behind their extents. */
static int rank_of(const struct loop_buffer *b)
{
        return b->type ? b->type->rank - b->is_text : 1;
}

static int64_t room_of(const struct loop_buffer *b)
{
        return type_extent(b->type, b->type->rank - 1);
}

static const char *const *symbols_of(struct arena *arena, const struct loop_buffer *b)
{
        if (!b->extents)
                return NULL;
        const char **symbols = arena_array(arena, (size_t)b->type->rank + 1, sizeof *symbols);
        for (int d = 0; d < rank_of(b); d++)
                if (b->extents[d]->op != LOOP_LITERAL)
                        symbols[d] = extent_text(arena, b->extents[d]);
        return symbols;
}

static const int64_t *shape_of(struct arena *arena, const struct loop_buffer *b)
{
        const int rank = rank_of(b);
        int64_t *shape = arena_array(arena, (size_t)rank + 1, sizeof *shape);
        for (int d = 0; d < rank; d++)
                shape[d] = b->type ? type_extent(b->type, d) : b->extent;
        return rank ? shape : NULL;
}

static int32_t type_of(const struct loop_buffer *b)
{
        return element_info[b->is_text ? E_STRING : loop_buffer_element(b)].onnx;
}

static const struct dnncc_tensor_1 *describe(struct arena *arena,
                                             const struct loop_buffer *const *ports, int count)
{
        struct dnncc_tensor_1 *tensors = arena_array(arena, (size_t)count + 1, sizeof *tensors);
        for (int k = 0; k < count; k++) {
                const struct loop_buffer *b = ports[k];
                tensors[k] = (struct dnncc_tensor_1){
                        .name = b->port ? b->port : b->name,
                        .type = type_of(b),
                        .rank = rank_of(b),
                        .shape = shape_of(arena, b),
                        .symbols = symbols_of(arena, b),
                        .bytes = (uint64_t)loop_buffer_bytes(b),
                };
        }
        return tensors;
}

/* Describes arrays of the state, then extents that are state. */
static void describe_state(struct dnncc_model *m, struct arena *arena)
{
        const struct loop_program *p = m->p;
        const int first = loop_first_kept(p);
        struct dnncc_state_2 *states = NULL;
        int count = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (b->space != SPACE_STATE)
                        continue;
                ARENA_GROW(arena, states, count);
                states[count++] = (struct dnncc_state_2){
                        .name = b->port,
                        .next = b->next_port,
                        .type = type_of(b),
                        .rank = rank_of(b),
                        .shape = shape_of(arena, b),
                        .symbols = symbols_of(arena, b),
                        .offset = (uint64_t)loop_state_offset(p, b),
                        .bytes = (uint64_t)loop_buffer_bytes(b),
                };
        }
        for (int i = first; i < p->extent_count; i++) {
                ARENA_GROW(arena, states, count);
                states[count++] = (struct dnncc_state_2){
                        .name = p->extents[i].variable->name,
                        .type = element_info[E_I64].onnx,
                        .offset = (uint64_t)(1 + i - first) * STATE_WORD,
                        .bytes = STATE_WORD,
                };
        }
        struct dnncc_region_1 *region = ARENA_NEW(arena, struct dnncc_region_1);
        *region = (struct dnncc_region_1){ "state", (uint64_t)loop_state_size(p), STATE_ALIGN, 1 };
        m->described.state_count = (uint32_t)count;
        m->described.states = states;
        m->described.model.abi = 2;
        m->described.model.struct_size = sizeof m->described;
        m->described.model.region_count = 1;
        m->described.model.regions = region;
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

/* Finds the entry's ports, without what is state. */
static const struct loop_buffer **ports_of(const struct dnncc_model *m, struct arena *arena,
                                           enum loop_space space, int *count)
{
        const struct loop_buffer **ports = NULL;
        *count = 0;
        for (const struct loop_buffer *b = m->p->buffers; b; b = b->next)
                if (b->space == space && b->entry == m->entry) {
                        ARENA_GROW(arena, ports, *count);
                        ports[(*count)++] = b;
                }
        return ports;
}

/* Gives texts memory of the model's, and finds how much code reads and writes. */
static void place_ports(struct dnncc_model *m, struct arena *arena, int in, int out)
{
        int states = 0;
        for (const struct loop_buffer *b = m->p->buffers; b; b = b->next)
                states += b->space == SPACE_STATE;
        m->given = arena_array(arena, (size_t)(in + states) + 1, sizeof *m->given);
        m->got = arena_array(arena, (size_t)(out + states) + 1, sizeof *m->got);
        m->texts = arena_array(arena, (size_t)in + 1, sizeof *m->texts);
        for (int k = 0; k < in; k++)
                if (m->inputs[k]->is_text)
                        m->texts[k] = arena_alloc(arena,
                                                  (size_t)loop_buffer_bytes(m->inputs[k]) + 1);
}

/* Describes and compiles an entry. */
static bool begin_entry(struct dnncc_model *m, struct run *run, int entry, const struct target *t)
{
        struct arena *arena = run->arena;
        int in, out;
        m->entry = m->p->at = entry;
        m->inputs = ports_of(m, arena, SPACE_INPUT, &in);
        m->outputs = ports_of(m, arena, SPACE_OUTPUT, &out);
        place_ports(m, arena, in, out);
        m->extents = arena_array(arena, (size_t)m->p->extent_count + 1, sizeof *m->extents);
        m->described.model = (struct dnncc_model_1){
                .abi = 1,
                .struct_size = sizeof m->described.model,
                .name = entry_symbol(run, run->prefix),
                .input_count = (uint32_t)in,
                .output_count = (uint32_t)out,
                .extent_count = (uint32_t)loop_entry_extents(m->p, m->own),
                .inputs = describe(arena, m->inputs, in),
                .outputs = describe(arena, m->outputs, out),
        };
        if (m->all->state)
                describe_state(m, arena);
        m->jit = jit_new(run, m->p, t);
        return m->jit != NULL;
}

static void free_entries(void *model)
{
        struct dnncc_model *m = model;
        for (int e = 1; m->p && m->entries && e < m->p->entry_count; e++)
                if (m->entries[e - 1].jit)
                        llvm_jit_free(m->entries[e - 1].jit);
        if (m->jit)
                llvm_jit_free(m->jit);
        m->jit = NULL;
        m->entries = NULL;
}

/* Describes and compiles the program that was made. */
static bool finish(struct run *run, void *model)
{
        struct dnncc_model *m = model;
        const int target = target_here(run);
        m->all = m;
        m->p = run_program(run, target);
        const int64_t state = loop_state_size(m->p);
        m->entries = arena_array(run->arena, (size_t)m->p->entry_count, sizeof *m->entries);
        m->mark = loop_state_mark(m->p, DNNCC_VERSION);
        if (state) {
                char *bytes = arena_alloc(run->arena, (size_t)state + STATE_ALIGN);
                m->state = bytes + (STATE_ALIGN - (uintptr_t)bytes % STATE_ALIGN) % STATE_ALIGN;
        }
        bool fine = begin_entry(m, run, 0, run->targets[target]);
        for (int e = 1; e < m->p->entry_count && fine; e++) {
                m->entries[e - 1] = (struct dnncc_model){ .all = m, .p = m->p };
                fine = begin_entry(&m->entries[e - 1], run, e, run->targets[target]);
        }
        m->p->at = 0;
        if (!fine)
                free_entries(m);
        return fine;
}

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
                library_close(&m->run, free_entries, m);
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
        return &model->described.model;
}

struct dnncc_model *dnncc_entry(struct dnncc_model *model, const char *name)
{
        const int entry = model && name ? entry_called(model->all->p, name, strlen(name)) : -1;
        return entry < 0 ? NULL : entry ? &model->all->entries[entry - 1] : model->all;
}

void *dnncc_state(struct dnncc_model *model) { return model->all->state; }

void dnncc_free(struct dnncc_model *model)
{
        if (!model || model != model->all)
                return;
        pthread_mutex_destroy(&model->running);
        library_close(&model->run, free_entries, model);
        free(model);
}

/* ---- running ---- */

/* Checks addresses as generated code does. */
static int check(const struct loop_buffer *const *ports, uint32_t count, const void *const *at)
{
        for (uint32_t k = 0; k < count; k++) {
                const size_t align = ports[k]->is_text && ports[k]->space == SPACE_INPUT
                                             ? sizeof(char *)
                                             : (size_t)element_info[ports[k]->element].bytes;
                if (!at || !at[k])
                        return FAIL_NULL;
                if ((uintptr_t)at[k] % align)
                        return FAIL_ALIGNMENT;
        }
        return 0;
}

/* Takes what a run is given of its extents. */
static int take_extents(struct dnncc_model *m, const int64_t *extents)
{
        for (uint32_t i = 0; i < m->described.model.extent_count; i++) {
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

/* Copies texts, each to its room, with zeros behind it. */
static int copy_texts(const struct loop_buffer *b, const char *const *texts, char *to)
{
        const size_t room = (size_t)room_of(b), count = (size_t)b->extent / room;
        for (size_t i = 0; i < count; i++, to += room) {
                if (!texts[i])
                        return FAIL_NULL;
                const size_t length = strnlen(texts[i], room);
                if (length == room)
                        return FAIL_TEXT;
                memset(to, 0, room);
                memcpy(to, texts[i], length);
        }
        return 0;
}

/* Reads the extents that are state. */
static int take_state(struct dnncc_model *m)
{
        const int first = loop_first_kept(m->p);
        int64_t *words = (int64_t *)(void *)m->all->state;
        if (!words)
                return 0;
        if (words[0] && (uint64_t)words[0] != m->all->mark)
                return FAIL_STATE;
        for (int i = first; i < m->p->extent_count; i++) {
                m->extents[i] = words[1 + i - first];
                if (m->extents[i] < 0 || m->extents[i] > m->p->extents[i].variable->high)
                        return FAIL_FULL;
        }
        words[0] = (int64_t)m->all->mark;
        return 0;
}

static void keep_state(struct dnncc_model *m)
{
        const int first = loop_first_kept(m->p);
        int64_t *words = (int64_t *)(void *)m->all->state;
        m->p->at = m->entry;
        loop_next_extents(m->p, m->extents, m->extents);
        for (int i = first; i < m->p->extent_count && words; i++)
                words[1 + i - first] = m->extents[i];
}

/* Puts ports and state into the program's order. */
static int place_run(struct dnncc_model *m, const void *const *inputs, void *const *outputs)
{
        int in = 0, out = 0, own_in = 0, own_out = 0, code = 0;
        for (const struct loop_buffer *b = m->p->buffers; b && !code; b = b->next) {
                if (b->space == SPACE_STATE) {
                        m->got[out++] = m->all->state + loop_state_offset(m->p, b);
                        m->given[in++] = m->got[out - 1];
                } else if (b->space == SPACE_INPUT && b->entry == m->entry) {
                        char *copy = m->texts[own_in];
                        const void *given = inputs[own_in++];
                        code = copy ? copy_texts(b, given, copy) : 0;
                        m->given[in++] = copy ? copy : given;
                } else if (b->space == SPACE_OUTPUT && b->entry == m->entry) {
                        m->got[out++] = outputs[own_out++];
                }
        }
        return code;
}

int dnncc_run(struct dnncc_model *model, const void *const *inputs, void *const *outputs,
              int64_t *extents)
{
        const struct dnncc_model_1 *d = &model->described.model;
        int code = check(model->inputs, d->input_count, inputs);
        if (!code)
                code = check(model->outputs, d->output_count, (const void *const *)outputs);
        if (code)
                return code;
        pthread_mutex_lock(&model->all->running);
        code = take_extents(model, extents);
        if (!code)
                code = place_run(model, inputs, outputs);
        if (!code)
                code = take_state(model);
        if (!code)
                code = llvm_jit_run(model->jit, model->extents, model->given, model->got);
        for (uint32_t i = 0; i < d->extent_count && !code; i++)
                extents[i] = model->extents[model->own[i]];
        if (!code)
                keep_state(model);
        pthread_mutex_unlock(&model->all->running);
        return code;
}
