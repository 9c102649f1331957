/* SPDX-License-Identifier: MIT */
/* libdnncc_cost: what models cost, predicted in the process of a program (runtime/dnncc_cost.h). */
#include <stdlib.h>
#include <string.h>

#include "compiler/library.h"
#include "compiler/report.h"
#include "runtime/dnncc_cost.h"

/* Copies what the run found into memory of the caller's: the cost, its kernels and their texts
 * behind each other. */
static bool take_cost(struct run *run, void *context)
{
        struct dnncc_cost **taken = context, *cost;
        const struct calls calls = report_calls(run);
        struct call_cost *found = arena_array(run->arena, (size_t)calls.count + 1, sizeof *found);
        size_t texts = 0;
        for (int i = 0; i < calls.count; i++) {
                report_call_cost(run, calls.items[i], &found[i]);
                texts += strlen(found[i].computes) + 1;
        }
        const size_t kernels = (size_t)calls.count * sizeof(struct dnncc_kernel_cost);
        cost = *taken = memory_alloc(sizeof *cost + kernels + texts);
        struct dnncc_kernel_cost *kernel = (struct dnncc_kernel_cost *)(cost + 1);
        char *text = (char *)kernel + kernels;
        *cost = (struct dnncc_cost){ .operations = calls.flops,
                                     .constants = report_constant_bytes(run->state.program),
                                     .workspace = report_ram(run->state.program),
                                     .kernel_count = (size_t)calls.count,
                                     .kernels = kernel };
        for (int i = 0; i < calls.count; i++, kernel++) {
                const struct call_cost *c = &found[i];
                const size_t length = strlen(c->computes) + 1;
                *kernel = (struct dnncc_kernel_cost){ text,    calls.times[i], c->cycles, c->flops,
                                                      c->read, c->constants,   c->written };
                cost->cycles += calls.times[i] * c->cycles;
                memcpy(text, c->computes, length);
                text += length;
        }
        return true;
}

static struct dnncc_cost *cost_of(const struct library_model *model, struct dnncc_error *error)
{
        static const char *const first[] = { "--cost", NULL };
        struct run run;
        struct dnncc_cost *cost = NULL;
        if (library_open(&run, model, &(struct library_words){ first, NULL }, take_cost, &cost,
                         error))
                library_close(&run, NULL, NULL);
        return cost;
}

struct dnncc_cost *dnncc_cost(const char *path, const char *const *options,
                              struct dnncc_error *error)
{
        if (path && strcmp(path, "-") != 0 && *path != '@')
                return cost_of(&(struct library_model){ path, NULL, 0, options }, error);
        library_say(error, EXIT_USAGE, "a path is wanted: bytes are for dnncc_cost_memory");
        return NULL;
}

struct dnncc_cost *dnncc_cost_memory(const void *bytes, size_t length, const char *const *options,
                                     struct dnncc_error *error)
{
        if (bytes)
                return cost_of(&(struct library_model){ "-", bytes, length, options }, error);
        library_say(error, EXIT_USAGE, "the model's bytes are NULL");
        return NULL;
}

void dnncc_cost_free(struct dnncc_cost *cost) { free(cost); }
