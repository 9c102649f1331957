/* SPDX-License-Identifier: MIT */
/* Passes get the samples of --calibrate (passes/calibrate/sampler.h): copies of their modules
 * become programs (observed.c), and run on the samples. */
#include <inttypes.h>
#include <string.h>

#include "compiler/calibrate.h"
#include "compiler/progress.h"
#include "compiler/samples.h"

struct sampled {
        struct run *run;
        struct module *module;          /* It is a copy. */
        struct samples *samples;
        struct observed program;
        int temporaries;                /* So many temporaries were there before. */
        /* One run uses these. */
        int64_t sample;
        sampled_take take;
        void *context;
};

/* ---- copies ---- */

/* Returns a copy of the module. Where the module has been through other passes than those of
 * --calibrate, all of -O2 follow. */
static struct module *copy_of(const struct module *m)
{
        struct module *copy = module_copy(m);
        if (strcmp(m->passes_done, pipeline_calibrated()) != 0)
                copy->passes_done = "";
        return copy;
}

/* Finds those of values[count] that are among `made`: their twins are among `copies`. */
static void pair(const struct value *made, struct value *copies, int made_count,
                 struct value *const *values, int count, struct value **twins)
{
        for (int i = 0; i < count; i++)
                if (values[i] >= made && values[i] < made + made_count)
                        twins[i] = &copies[values[i] - made];
}

/* Finds the copy's values that these are: both have the same operations in the same order. */
static void find_twins(const struct module *m, struct module *copy, struct value *const *values,
                       int count, struct value **twins)
{
        const struct region *body = &module_entry(m)->body;
        struct region *own = &module_entry(copy)->body;
        struct op *twin = region_walk(own, NULL);
        pair(body->arguments, own->arguments, body->argument_count, values, count, twins);
        for (struct op *op = region_walk(body, NULL); op;
             op = region_walk(body, op), twin = region_walk(own, twin)) {
                pair(op->results, twin->results, op->result_count, values, count, twins);
                for (int r = 0; r < op->region_count; r++)
                        pair(op->regions[r]->arguments, twin->regions[r]->arguments,
                             op->regions[r]->argument_count, values, count, twins);
        }
}

/* ---- a program ---- */

static void end(struct sampled *s)
{
        if (!s)
                return;
        observed_end(&s->program);
        temporaries_remove(s->temporaries);
        samples_close(s->samples);
        module_free(s->module);
        progress_end();
}

static struct sampled *begin(void *runner, const struct module *m, struct value *const *values,
                             int count)
{
        struct run *run = runner;
        struct sampled *s = ARENA_NEW(run->arena, struct sampled);
        struct value **twins = arena_array(run->arena, (size_t)count, sizeof *twins);
        *s = (struct sampled){ .run = run,
                               .module = copy_of(m),
                               .temporaries = temporaries_count() };
        find_twins(m, s->module, values, count, twins);
        s->samples =
                samples_open(run, run->options.calibrate, module_entry(m), run->options.samples);
        progress_begin("calibrate", &run->diag);
        progress_step(0, 0, "compiling %d tensors, %" PRId64 " samples", count,
                      s->samples ? samples_count(s->samples) : 0);
        if (s->samples && observed_begin(&s->program, run, s->module, twins, count))
                return s;
        if (!s->samples)                /* No program was begun. */
                s->program = (struct observed){ .user = run };
        end(s);
        return NULL;
}

static bool take_output(void *context, int output, int64_t from, const void *data, int64_t count)
{
        struct sampled *s = context;
        return s->take(s->context, s->sample, output, observed_elements(&s->program, output), from,
                       data, count);
}

static bool run_samples(struct sampled *s, sampled_take take, void *context)
{
        int64_t count = samples_count(s->samples);
        s->take = take;
        s->context = context;
        for (s->sample = 0; s->sample < count; s->sample++) {
                struct sample sample;
                const void *const *inputs;
                progress_step(s->sample, count, "sample %" PRId64 " of %" PRId64, s->sample + 1,
                              count);
                if (!samples_read(s->samples, s->sample, &sample, &inputs) ||
                    !observed_run(&s->program, sample.name, s->samples, inputs, take_output, s))
                        return false;
        }
        return true;
}

static int64_t count(const struct sampled *s) { return samples_count(s->samples); }

static const struct calibration *ranges(void *runner, const struct module *m)
{
        struct module *copy = copy_of(m);
        const struct calibration *c = calibrate_module(runner, copy);
        module_free(copy);
        return c;
}

const struct sampler *sampler_new(struct run *run)
{
        struct sampler *s = ARENA_NEW(run->arena, struct sampler);
        *s = (struct sampler){ .runner = run, .begin = begin, .count = count, .run = run_samples,
                               .end = end, .ranges = ranges };
        return s;
}
