/* SPDX-License-Identifier: MIT */
/* Two threads run one model at the same time, each with memory of its own: link it with model.c and a dnncc_parallel.
 *
 *   callers RUNS       exit 0: all runs gave the bits of the first one */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#ifdef WITH_RUNTIME
#include "dnncc_runtime.h"
#endif

enum { PORTS_MAX = 16 };
struct memory { void *regions[1], *inputs[PORTS_MAX], *outputs[PORTS_MAX]; };

static const struct dnncc_model_1 *model;
static struct memory first;
static int runs;

static void *block(uint64_t bytes)
{
        void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
        if (!p)
                exit(2);
        memset(p, 0x5a, bytes);
        return p;
}

static struct memory memory_new(void)
{
        struct memory m;
        m.regions[0] = block(model->regions[0].size);
        for (uint32_t k = 0; k < model->input_count; k++) {
                uint64_t bytes = model->inputs[k].bytes;
                m.inputs[k] = block(bytes);
                for (uint64_t i = 0; i < bytes / 4; i++)
                        ((float *)m.inputs[k])[i] = (float)((i * 7919 + k) % 1009) / 512 - 1;
        }
        for (uint32_t k = 0; k < model->output_count; k++)
                m.outputs[k] = block(model->outputs[k].bytes);
        return m;
}

static void memory_free(struct memory *m)
{
        free(m->regions[0]);
        for (uint32_t k = 0; k < model->input_count; k++)
                free(m->inputs[k]);
        for (uint32_t k = 0; k < model->output_count; k++)
                free(m->outputs[k]);
}

static int run(struct memory *m)
{
        return model->run(m->regions, (const void *const *)m->inputs, m->outputs, NULL);
}

static void *call_often(void *different)
{
        struct memory m = memory_new();
        for (int i = 0; i < runs; i++) {
                if (run(&m))
                        *(int *)different = 1;
                for (uint32_t k = 0; k < model->output_count; k++)
                        if (memcmp(m.outputs[k], first.outputs[k], model->outputs[k].bytes))
                                *(int *)different = 1;
        }
        memory_free(&m);
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t other;
        int different[2] = { 0, 0 };
        model = model_describe();
        runs = argc > 1 ? atoi(argv[1]) : 1;
        first = memory_new();
        if (run(&first) || pthread_create(&other, NULL, call_often, &different[0]))
                return 2;
        call_often(&different[1]);
        pthread_join(other, NULL);
        memory_free(&first);
#ifdef WITH_RUNTIME
        dnncc_threads_shutdown();
#endif
        if (different[0] || different[1])
                fprintf(stderr, "two runs differ\n");
        return different[0] || different[1];
}
