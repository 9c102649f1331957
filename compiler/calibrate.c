/* SPDX-License-Identifier: MIT */
/* --calibrate runs a model on samples and writes what its tensors held. --merge makes such files
 * one. docs/quantization.md has the file's format. */
#include "compiler/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "compiler/progress.h"
#include "compiler/samples.h"

struct calibrating {
        struct run *run;
        struct module *module;          /* It becomes the program. */
        struct function *entry;         /* This one is calibrated. */
        struct calibration *calibration;
        struct samples *samples;
        const char *path;               /* Its samples are there. */
        const struct observed *observed;
        struct calibrated *values;
        int count;
        int *outputs;                   /* They are the values that the program gives, in its
                                         * order. */
        struct value **given;           /* They are the values themselves, until the module becomes
                                         * the program. */
        int output_count;
        struct range *one;              /* It is the range of one tensor of one sample. */
        struct range *none;             /* It has no numbers: `one` starts from it. */
        int64_t dims[RANK_MAX];         /* The tensor that is looked at has this shape. */
        int64_t sample;
};

static int64_t elements_now(const struct calibrating *c, int value)
{
        int64_t count = 1;
        for (int d = 0; d < c->values[value].value->type->rank; d++)
                count *= c->dims[d];
        return count;
}

static bool fail(struct calibrating *c, int value, int64_t index, double number)
{
        const struct calibrated *v = &c->values[value];
        diag_error(&c->run->diag, EXIT_INVALID,
                   "sample %s: tensor %s is %s at element %" PRId64 " of %" PRId64,
                   c->calibration->samples[c->sample].name, v->name,
                   isnan(number) ? "NaN" : "infinite", index, elements_now(c, value));
        return false;
}

/* ---- one tensor of one sample ---- */

static void begin_tensor(struct calibrating *c)
{
        uint64_t *bins = c->one->bins;
        *c->one = *c->none;
        c->one->bins = memset(bins, 0, RANGE_BINS * sizeof *bins);
}

/* Returns the dimension that has the channels of a tensor, of which all samples have as many. */
static int channel_axis(const struct calibrating *c, const struct type *t)
{
        const int axis = calibration_axis(c->calibration->axis, t);
        return axis >= 0 && dim_is_static(t->dims[axis]) ? axis : -1;
}

/* Adds elements from number `from` on to the extents of their channels. */
static void add_channels(struct calibrating *c, int value, int64_t from, const void *data,
                         int64_t count)
{
        const struct type *t = c->values[value].value->type;
        int axis = channel_axis(c, t);
        struct range *r = c->calibration->ranges[value];
        int64_t inner = 1;
        for (int d = axis + 1; d < t->rank && axis >= 0; d++)
                inner *= c->dims[d];
        for (int64_t i = 0; i < count && axis >= 0; i++) {
                float x = (float)element_load(t->element, data, (size_t)i).f + 0.0f;
                struct extent *e = &r->channels[(from + i) / inner % r->channel_count];
                if (isfinite(x))
                        *e = extent_join(*e, (struct extent){ x, x });
        }
}

static bool add_elements(struct calibrating *c, int value, int64_t from, const void *data,
                         int64_t count)
{
        int64_t wrong = range_add(c->one, c->values[value].value->type->element, data, count);
        if (wrong >= 0)
                return fail(c, value, from + wrong, NAN);
        if (c->calibration->axis != CHANNELS_NONE)
                add_channels(c, value, from, data, count);
        return true;
}

static bool end_tensor(struct calibrating *c, int value)
{
        struct range *r = c->calibration->ranges[value];
        r->samples[c->sample] = extent_join(r->samples[c->sample], c->one->all);
        if (range_merge(r, c->one))
                return true;
        diag_error(&c->run->diag, EXIT_INVALID, "tensor %s: its numbers are too many to count",
                   r->name);
        return false;
}

/* Takes what the program gives (observed_take): what lies within loops is a tensor for each
 * time. */
static bool take_output(void *context, int output, int64_t from, const void *data, int64_t count)
{
        struct calibrating *c = context;
        int value = c->outputs[output];
        if (!from) {
                const struct type *t = c->values[value].value->type;
                begin_tensor(c);
                if (type_is_static(t))  /* In a loop it has this shape at a time. */
                        dims_extents(c->dims, t->rank, t->dims);
                else
                        observed_shape(c->observed, output, c->dims);
        }
        return add_elements(c, value, from, data, count) &&
               (from + count < elements_now(c, value) || end_tensor(c, value));
}

static int64_t first_infinite(const struct type *t, const void *data)
{
        int64_t i = 0;
        while (isfinite((float)element_load(t->element, data, (size_t)i).f))
                i++;
        return i;
}

static bool is_input(const struct value *v)
{
        return v->kind == VALUE_ARGUMENT && !v->region->owner;
}

/* Takes inputs, which are of the user's making: there an infinite number is an error. */
static bool take_inputs(struct calibrating *c, const void *const *inputs)
{
        for (int v = 0; v < c->count; v++) {
                const struct value *x = c->values[v].value;
                if (!is_input(x))
                        break;          /* They come first. */
                begin_tensor(c);
                memcpy(c->dims, samples_shape(c->samples, x->index),
                       (size_t)x->type->rank * sizeof *c->dims);
                if (!add_elements(c, v, 0, inputs[x->index], elements_now(c, v)))
                        return false;
                if (c->one->infinite)
                        return fail(c, v, first_infinite(x->type, inputs[x->index]), INFINITY);
                if (!end_tensor(c, v))
                        return false;
        }
        return true;
}

/* ---- all samples ---- */

static bool run_samples(struct calibrating *c, struct observed *o)
{
        int64_t count = c->calibration->sample_count;
        for (c->sample = 0; c->sample < count; c->sample++) {
                struct sample *sample = &c->calibration->samples[c->sample];
                const void *const *inputs;
                progress_step(c->sample, count, "sample %" PRId64 " of %" PRId64, c->sample + 1,
                              count);
                if (!samples_read(c->samples, c->sample, sample, &inputs) ||
                    !take_inputs(c, inputs))
                        return false;
                if (c->output_count &&
                    !observed_run(o, sample->name, c->samples, inputs, take_output, c))
                        return false;
        }
        return true;
}

static bool run_observed(struct calibrating *c)
{
        struct observed o = { 0 };
        int temporaries = temporaries_count();
        c->observed = &o;
        progress_begin("calibrate", &c->run->diag);
        progress_step(0, 0, "compiling %d tensors, %" PRId64 " samples", c->output_count,
                      c->calibration->sample_count);
        bool fine = !c->output_count ||
                    observed_begin(&o, c->run, c->module, c->given, c->output_count);
        fine = fine && run_samples(c, &o);
        if (c->output_count)
                observed_end(&o);
        temporaries_remove(temporaries);
        progress_end();
        return fine;
}

/* ---- before and after ---- */

/* Keeps what the values were, which is asked for later: passes will change them. */
static void keep_types(struct calibrating *c)
{
        for (int i = 0; i < c->count; i++) {
                struct value *v = arena_copy(c->run->arena, c->values[i].value, sizeof *v);
                c->values[i].value = v;
        }
}

static struct range *new_range(struct calibrating *c, const struct calibrated *v)
{
        struct arena *arena = c->run->arena;
        struct range *r = range_new(arena, v->name);
        int axis = channel_axis(c, v->value->type);
        r->sample_count = c->calibration->sample_count;
        r->samples = arena_array(arena, (size_t)r->sample_count, sizeof *r->samples);
        for (int64_t k = 0; k < r->sample_count; k++)
                r->samples[k] = extent_none;
        r->channel_count = axis < 0 ? 0 : type_extent(v->value->type, axis);
        r->channels = arena_array(arena, (size_t)r->channel_count, sizeof *r->channels);
        for (int64_t k = 0; k < r->channel_count; k++)
                r->channels[k] = extent_none;
        return r;
}

/* Leaves out all other entries. */
static void keep_entry(struct module *m, struct function *entry)
{
        for (struct function *f = m->functions; f; f = f->next)
                while (f != entry && f->body.last)
                        op_erase(f->body.last);
        m->functions = entry;
        entry->next = NULL;
}

/* Finds the entry that --calibrate=ENTRY=PATH names, and where its samples are. Without a name it
 * is the first one. */
static bool find_entry(struct calibrating *c)
{
        const struct run *run = c->run;
        const char *path = run->options.calibrate, *equal = strchr(path, '=');
        const size_t length = equal ? (size_t)(equal - path) : 0;
        c->entry = module_entry(c->module);
        c->path = path;
        if (!module_has_entries(c->module) || !equal || memchr(path, '/', length))
                return true;
        struct suggest known = suggest_new(run->arena, path, length);
        for (struct function *f = c->module->functions; f; f = f->next) {
                if (strlen(f->name) == length && !strncmp(f->name, path, length)) {
                        c->entry = f;
                        c->path = equal + 1;
                        return true;
                }
                suggest_add(&known, f->name);
        }
        diag_error(&c->run->diag, EXIT_USAGE,
                   "--calibrate %s: want PATH or ENTRY=PATH, and no entry is called that%s",
                   text_argument(run->arena, path), suggest_text(&known, true));
        return false;
}

static bool prepare(struct calibrating *c)
{
        struct run *run = c->run;
        struct module *m = c->module;
        struct arena *arena = run->arena;
        c->values = calibrated_values(arena, c->entry, &c->count);
        for (int i = 0; i < c->count; i++)
                c->values[i].name = calibration_name(arena, c->entry, c->values[i].name);
        if (!c->count) {
                diag_error(
                        &run->diag, EXIT_UNSUPPORTED,
                        "there is nothing to calibrate: no tensor of floats depends on an input");
                return false;
        }
        c->calibration = calibration_new(arena, run->options.channels);
        calibration_digest(m, c->calibration->digest);
        keep_entry(m, c->entry);
        c->samples = samples_open(run, c->path, c->entry, run->options.samples);
        if (!c->samples)
                return false;
        c->calibration->sample_count = samples_count(c->samples);
        c->calibration->samples =
                arena_array(arena, (size_t)c->calibration->sample_count, sizeof(struct sample));
        c->outputs = arena_array(arena, (size_t)c->count, sizeof *c->outputs);
        c->given = arena_array(arena, (size_t)c->count, sizeof *c->given);
        for (int i = 0; i < c->count; i++) {
                calibration_add(c->calibration, arena, new_range(c, &c->values[i]));
                bool shared = c->values[i].same >= 0 && c->calibration->axis == CHANNELS_NONE;
                if (!is_input(c->values[i].value) && !shared) {
                        c->given[c->output_count] = c->values[i].value;
                        c->outputs[c->output_count++] = i;
                }
        }
        keep_types(c);
        c->one = range_new(arena, NULL);
        c->none = range_new(arena, NULL);
        return true;
}

/* Copies what other values have as well, in other places. */
static void share(struct calibrating *c)
{
        for (int i = 0; i < c->count && c->calibration->axis == CHANNELS_NONE; i++)
                if (c->values[i].same >= 0) {
                        struct range *r = c->calibration->ranges[i];
                        const char *name = r->name;
                        *r = *c->calibration->ranges[c->values[i].same];
                        r->name = name;
                }
}

static bool are_different(struct calibrating *c)
{
        for (int64_t i = 1; i < c->calibration->sample_count; i++) {
                const struct sample *s = &c->calibration->samples[i];
                if (sample_order(s - 1, s) < 0)
                        continue;
                diag_error(&c->run->diag, EXIT_INVALID, "two samples are called %s", s->name);
                return false;
        }
        return true;
}

static FILE *open_output(struct run *run)
{
        return run->output ? outputs_open(run->outputs, run->output, &run->diag) : stdout;
}

/* Observes the samples, when there is a place to write to. */
static bool observe_samples(struct calibrating *c)
{
        bool fine = run_observed(c) && are_different(c);
        if (fine)
                share(c);
        return fine;
}

const struct calibration *calibrate_module(struct run *run, struct module *m)
{
        struct calibrating c = { .run = run, .module = m };
        bool fine = find_entry(&c) && prepare(&c) && observe_samples(&c);
        samples_close(c.samples);
        return fine ? c.calibration : NULL;
}

bool calibrate(struct run *run)
{
        struct calibrating c = { .run = run, .module = run->state.module };
        FILE *out = NULL;
        bool fine = find_entry(&c) && prepare(&c) && (out = open_output(run)) &&
                    observe_samples(&c);
        samples_close(c.samples);
        if (!fine)
                return false;
        calibration_write(c.calibration, out);
        return emit_depfile(run, NULL) && outputs_commit(run->outputs, &run->diag);
}

/* ---- --merge ---- */

static struct calibration *read_ranges(struct run *run, const char *path)
{
        unsigned char *bytes;
        size_t length;
        run->diag.subject = text_argument(run->arena, path);
        if (!file_read(path, run->context.limits.file_bytes, &bytes, &length, &run->diag))
                return NULL;
        struct calibration *c =
                calibration_read(run->arena, (const char *)bytes, length,
                                 run->context.limits.range_bytes, &run->diag);
        free(bytes);
        run_depends(run, path);
        return c;
}

bool merge_ranges(struct run *run)
{
        const struct list *files = &run->options.merge;
        struct calibration *all = read_ranges(run, files->items[0]);
        for (int i = 1; i < files->count && all; i++) {
                const struct calibration *c = read_ranges(run, files->items[i]);
                if (!c || !calibration_merge(all, c, run->arena, &run->diag))
                        all = NULL;
        }
        FILE *out = all ? open_output(run) : NULL;
        if (out)
                calibration_write(all, out);
        return out && emit_depfile(run, NULL) && outputs_commit(run->outputs, &run->diag);
}
