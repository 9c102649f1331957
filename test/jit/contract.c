/* SPDX-License-Identifier: MIT */
/* Says all that a caller sees of generated code: what describes it, results of runs, one after the other on the same state, and codes of calls that are
 * wrong. Linked with the C and with an object of the same model it prints the same.
 *
 *     -D'ENTRIES=ENTRY(model_describe)'   the functions
 *     contract [WEIGHTS]                  the file, where the model has one */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"

struct dnncc_state_2 {
        const char *name, *next;
        int32_t type, rank;
        const int64_t *shape;
        const char *const *symbols;
        uint64_t offset, bytes;
};
struct dnncc_model_2 {
        struct dnncc_model_1 model;
        uint32_t state_count;
        const struct dnncc_state_2 *states;
};

#define ENTRY(name) const struct dnncc_model_1 *name(void);
ENTRIES
#undef ENTRY

enum { MOST = 32 };

struct call {
        const struct dnncc_model_1 *model;
        void *regions[MOST], *outputs[MOST];
        const void *inputs[MOST];
        int64_t extents[MOST];
};

static void *memory(uint64_t bytes, uint64_t align)
{
        void *block = aligned_alloc(4096, (size_t)((bytes + align + 8191) / 4096 * 4096));
        if (!block)
                exit(2);
        memset(block, 0, (size_t)(bytes + 64));
        return block;
}

static uint64_t hash(const void *data, uint64_t bytes)
{
        const unsigned char *p = data;
        uint64_t sum = 14695981039346656037u;
        for (uint64_t i = 0; i < bytes; i++)
                sum = (sum ^ p[i]) * 1099511628211u;
        return sum;
}

/* Numbers by chance, which are small in any type. */
static void fill(void *data, const struct dnncc_tensor_1 *t, int round)
{
        uint64_t random = hash(t->name, strlen(t->name)) + (uint64_t)round;
        unsigned char *bytes = data;
        for (uint64_t i = 0; i < t->bytes; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                bytes[i] = (unsigned char)(random >> 60);
        }
        for (uint64_t i = 0; t->type == 1 && i < t->bytes / 4; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                ((float *)data)[i] = (float)(int)(random >> 58) / 32 - 1;
        }
        for (uint64_t i = 0; t->type == 7 && i < t->bytes / 8; i++)
                ((int64_t *)data)[i] = (int64_t)i % 3;
}

static void say_tensors(const char *what, const struct dnncc_tensor_1 *t, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++, t++) {
                printf("%s %s type %d rank %d bytes %" PRIu64 ":", what, t->name, (int)t->type, (int)t->rank, t->bytes);
                for (int d = 0; d < t->rank; d++)
                        printf(" %" PRId64 "%s%s", t->shape[d], t->symbols && t->symbols[d] ? " " : "",
                               t->symbols && t->symbols[d] ? t->symbols[d] : "");
                puts(t->symbols ? " dynamic" : "");
        }
}

static void say_states(const struct dnncc_model_1 *m)
{
        const struct dnncc_model_2 *two = (const void *)m;
        if (m->abi < 2)
                return;
        for (uint32_t i = 0; i < two->state_count; i++) {
                const struct dnncc_state_2 *s = &two->states[i];
                printf("state %s next %s type %d rank %d at %" PRIu64 " bytes %" PRIu64 ":", s->name, s->next ? s->next : "-", (int)s->type,
                       (int)s->rank, s->offset, s->bytes);
                for (int d = 0; d < s->rank; d++)
                        printf(" %" PRId64 " %s", s->shape[d], s->symbols && s->symbols[d] ? s->symbols[d] : "");
                puts("");
        }
}

static void say(const struct dnncc_model_1 *m)
{
        printf("model %s abi %u size %u extents %u\n", m->name, (unsigned)m->abi, (unsigned)m->struct_size, (unsigned)m->extent_count);
        for (uint32_t i = 0; i < m->region_count; i++)
                printf("region %s size %" PRIu64 " align %" PRIu64 " kind %d\n", m->regions[i].name, m->regions[i].size, m->regions[i].align,
                       (int)m->regions[i].kind);
        say_tensors("input", m->inputs, m->input_count);
        say_tensors("output", m->outputs, m->output_count);
        say_states(m);
}

static int run(struct call *c) { return c->model->run(c->regions, c->inputs, c->outputs, c->extents); }

static void say_run(struct call *c, int round)
{
        for (uint32_t i = 0; i < c->model->input_count; i++)
                fill((void *)(uintptr_t)c->inputs[i], &c->model->inputs[i], round);
        printf("run %d:", run(c));
        for (uint32_t i = 0; i < c->model->output_count; i++)
                printf(" %016" PRIx64, hash(c->outputs[i], c->model->outputs[i].bytes));
        for (uint32_t i = 0; i < c->model->extent_count; i++)
                printf(" extent %" PRId64, c->extents[i]);
        for (uint32_t i = 0; i < c->model->region_count; i++)
                if (c->model->regions[i].kind == 1)
                        printf(" state %016" PRIx64, hash(c->regions[i], c->model->regions[i].size));
        puts("");
}

/* Says the code of a call with one pointer replaced. */
static void with(struct call *c, const char *what, void **place, void *value)
{
        void *kept = *place;
        *place = value;
        printf("%s: %d\n", what, run(c));
        *place = kept;
}

static void say_wrong(struct call *c)
{
        const struct dnncc_model_1 *m = c->model;
        for (uint32_t i = 0; i < m->region_count; i++) {
                with(c, "no region", &c->regions[i], NULL);
                with(c, "region out of place", &c->regions[i], (char *)c->regions[i] + 4);
                if (m->regions[i].kind == 2 || m->regions[i].kind == 1)
                        for (int word = 0; word < 3; word++) {
                                uint64_t *at = (uint64_t *)c->regions[i] + word, kept = *at;
                                *at ^= (uint64_t)1 << 40;
                                printf("word %d damaged: %d\n", word, run(c));
                                *at = kept;
                        }
        }
        for (uint32_t i = 0; i < m->input_count; i++) {
                void **place = (void **)(uintptr_t)&c->inputs[i];
                with(c, "no input", place, NULL);
                with(c, "input out of place", place, (char *)(uintptr_t)c->inputs[i] + 1);
        }
        for (uint32_t i = 0; i < m->output_count; i++) {
                with(c, "no output", &c->outputs[i], NULL);
                with(c, "output out of place", &c->outputs[i], (char *)c->outputs[i] + 1);
        }
        for (uint32_t i = 0; i < m->extent_count; i++) {
                const int64_t kept = c->extents[i], tried[] = { -1, 0, 1, 1000000, INT64_MAX };
                for (int k = 0; k < 5; k++) {
                        c->extents[i] = tried[k];
                        printf("extent %d: %d\n", k, run(c));
                }
                c->extents[i] = kept;
        }
}

static void *weights_of(const char *path, uint64_t bytes)
{
        void *data = memory(bytes, 64);
        FILE *file = fopen(path, "rb");
        if (!file || fread(data, 1, (size_t)bytes, file) != bytes)
                exit(2);
        fclose(file);
        return data;
}

static void try(const struct dnncc_model_1 *m, const char *weights)
{
        struct call c = { .model = m };
        say(m);
        for (uint32_t i = 0; i < m->region_count; i++)
                c.regions[i] = m->regions[i].kind == 2 ? weights_of(weights, m->regions[i].size) : memory(m->regions[i].size, m->regions[i].align);
        for (uint32_t i = 0; i < m->input_count; i++)
                c.inputs[i] = memory(m->inputs[i].bytes, 64);
        for (uint32_t i = 0; i < m->output_count; i++)
                c.outputs[i] = memory(m->outputs[i].bytes, 64);
        for (uint32_t i = 0; i < m->extent_count; i++)
                c.extents[i] = 3;
        for (int round = 0; round < 3; round++)
                say_run(&c, round);
#ifndef UNCHECKED
        say_wrong(&c);
#endif
        say_run(&c, 3);
}

int main(int argc, char **argv)
{
        const char *weights = argc > 1 ? argv[1] : "";
#define ENTRY(name) try(name(), weights);
        ENTRIES
        return 0;
}
