/* SPDX-License-Identifier: MIT */
/* --calibrate runs a model on samples and writes what its tensors held. --merge makes such files
 * one. docs/quantization.md has the file's format. */
#include "compiler/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "compiler/farm.h"
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
        /* Of the samples, `first` and each `step`-th behind it are looked at; `sample` counts
         * these. */
        int64_t sample, first, step;
        struct observed program;
        bool compiled;
        int temporaries;                /* So many were there before it was compiled. */
        struct farmed *farmed;          /* Many processes do it; NULL: this one does. */
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
                const int64_t number = c->first + c->sample * c->step;
                const void *const *inputs;
                if (!c->farmed)
                        progress_step(c->sample, count, "sample %" PRId64 " of %" PRId64,
                                      c->sample + 1, count);
                if (!samples_read(c->samples, number, sample, &inputs) ||
                    !take_inputs(c, inputs))
                        return false;
                if (c->output_count &&
                    !observed_run(o, sample->name, c->samples, inputs, take_output, c))
                        return false;
        }
        return true;
}

static bool compile_observed(struct calibrating *c)
{
        c->observed = &c->program;
        c->compiled = true;
        c->temporaries = temporaries_count();
        return !c->output_count ||
               observed_begin(&c->program, c->run, c->module, c->given, c->output_count);
}

static void end_observed(struct calibrating *c)
{
        if (!c->compiled)
                return;
        c->compiled = false;
        if (c->output_count)
                observed_end(&c->program);
        temporaries_remove(c->temporaries);
}

static bool run_observed(struct calibrating *c)
{
        progress_begin("calibrate", &c->run->diag);
        progress_step(0, 0, "compiling %d tensors, %" PRId64 " samples", c->output_count,
                      c->calibration->sample_count);
        bool fine = compile_observed(c) && run_samples(c, &c->program);
        end_observed(c);
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

/* Begins ranges of so many samples. */
static void begin_calibration(struct calibrating *c, const char *digest, int64_t sample_count)
{
        struct arena *arena = c->run->arena;
        c->calibration = calibration_new(arena, c->run->options.channels);
        strcpy(c->calibration->digest, digest);
        c->calibration->sample_count = sample_count;
        c->calibration->samples = arena_array(arena, (size_t)sample_count, sizeof(struct sample));
        for (int i = 0; i < c->count; i++)
                calibration_add(c->calibration, arena, new_range(c, &c->values[i]));
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
        char digest[65];
        calibration_digest(m, digest);
        keep_entry(m, c->entry);
        c->samples = samples_open(run, c->path, c->entry, run->options.samples);
        if (!c->samples)
                return false;
        c->step = 1;
        begin_calibration(c, digest, samples_count(c->samples));
        c->outputs = arena_array(arena, (size_t)c->count, sizeof *c->outputs);
        c->given = arena_array(arena, (size_t)c->count, sizeof *c->given);
        for (int i = 0; i < c->count; i++) {
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

/* ---- in many processes ---- */

/* A piece is each `pieces`-th sample; ranges are the same in whichever order they are joined. The
 * result is "ranges" and, from the next line on, the file of these samples or, where one of them is
 * wrong, "error SAMPLE CODE" and what is said of it: of several the first in order is reported, as
 * one process does. */
struct farmed {
        int64_t pieces, done;
        struct calibration *all;
        bool refused;                   /* This process has said why it cannot run samples. */
        int64_t wrong;                  /* The first sample that is wrong; -1: none is. */
        int code;
        char *said;
};
enum { PIECES_OF_WORKER = 4 };          /* So one that is slow, or lost, holds up others less. */

static bool propose_samples(void *context, int64_t piece, struct text *out)
{
        struct calibrating *c = context;
        if (piece == 0) {
                progress_begin("calibrate", &c->run->diag);
                progress_step(0, 0, "%" PRId64 " pieces of samples", c->farmed->pieces);
        }
        text_add(out, "%" PRId64, c->farmed->pieces);
        return piece < c->farmed->pieces;
}

/* Looks at the samples of a piece; *said is what there was to say of a wrong one, *code its exit
 * code. */
static bool observe_piece(struct calibrating *c, char **said, int *code)
{
        struct diag *diag = &c->run->diag, *own = &c->program.run.diag;
        size_t length;
        FILE *before = diag->stream, *aside = open_memstream(said, &length);
        if (!aside)
                memory_exhausted();
        diag->stream = own->stream = aside;
        bool fine = run_samples(c, &c->program);
        diag->stream = own->stream = before;
        fclose(aside);
        *code = diag->errors ? (int)diag->code : (int)own->code;
        diag->errors = own->errors = 0; /* The next piece may be right. */
        return fine;
}

static void put_ranges(const struct calibration *calibration, struct text *result)
{
        char *bytes = NULL;
        size_t length;
        FILE *out = open_memstream(&bytes, &length);
        if (!out)
                memory_exhausted();
        calibration_write(calibration, out);
        fclose(out);
        text_add(result, "ranges\n");
        text_add_bytes(result, bytes, length);
        free(bytes);
}

static bool make_samples(void *context, int64_t piece, const char *bytes, size_t length,
                         struct text *result)
{
        struct calibrating *c = context;
        const int64_t count = samples_count(c->samples);
        char *said = NULL;
        int code;
        c->step = length ? strtoll(bytes, NULL, 10) : 0;
        c->first = piece;
        if (c->step < 1 || piece >= count)
                return false;
        if (!c->compiled && !compile_observed(c))
                return !(c->farmed->refused = true);
        begin_calibration(c, c->calibration->digest, (count - piece - 1) / c->step + 1);
        if (observe_piece(c, &said, &code)) {
                share(c);
                put_ranges(c->calibration, result);
        } else {
                text_add(result, "error %" PRId64 " %d\n%s", c->first + c->sample * c->step, code,
                         said);
        }
        free(said);
        return !process_stopped();
}

static void leave_samples(void *context)
{
        struct calibrating *c = context;
        struct command *own = &c->program.program;
        if (farm_is_open())
                end_observed(c);
        else if (own->in) {             /* Its files are the coordinator's. */
                command_close(own);
                own->in = NULL;
        }
}

/* Reports a sample that two pieces have. */
static void report_twin(struct calibrating *c, const struct calibration *other)
{
        const struct calibration *all = c->farmed->all;
        for (int64_t i = 0; i < all->sample_count; i++)
                for (int64_t k = 0; k < other->sample_count; k++)
                        if (!sample_order(&all->samples[i], &other->samples[k])) {
                                diag_error(&c->run->diag, EXIT_INVALID,
                                           "two samples are called %s", all->samples[i].name);
                                return;
                        }
        diag_error(&c->run->diag, EXIT_INTERNAL, "ranges of two workers do not fit together");
}

static bool join_ranges(struct calibrating *c, const char *text, size_t length)
{
        struct farmed *f = c->farmed;
        struct run *run = c->run;
        struct diag silent = { .silent = true };
        struct calibration *one = calibration_read(run->arena, text, length,
                                                   run->context.limits.range_bytes, &run->diag);
        if (!one || !f->all)
                f->all = one;
        else if (!calibration_merge(f->all, one, run->arena, &silent))
                report_twin(c, one);
        return !run->diag.errors;
}

static bool take_samples(void *context, int64_t piece, const char *result, size_t length)
{
        struct calibrating *c = context;
        struct farmed *f = c->farmed;
        const char *end = result ? memchr(result, '\n', length) : NULL;
        int64_t wrong;
        int code;
        (void)piece;
        f->done++;
        progress_step(f->done, f->pieces, "%" PRId64 " of %" PRId64 " pieces of samples", f->done,
                      f->pieces);
        if (!end) {
                if (!f->refused)
                        diag_error(&c->run->diag, EXIT_INTERNAL,
                                   "workers were lost at some of the samples, which are left out: "
                                   "nothing is written");
                return false;
        }
        if (sscanf(result, "error %" SCNd64 " %d", &wrong, &code) == 2) {
                if (f->wrong < 0 || wrong < f->wrong) {
                        f->wrong = wrong;
                        f->code = code;
                        f->said = arena_printf(c->run->arena, "%.*s",
                                               (int)(length - (size_t)(end + 1 - result)), end + 1);
                }
                return true;
        }
        return f->wrong >= 0 || join_ranges(c, end + 1, length - (size_t)(end + 1 - result));
}

static bool compile_first(struct calibrating *c)
{
        progress_begin("calibrate", &c->run->diag);
        progress_step(0, 0, "compiling %d tensors, %" PRId64 " samples", c->output_count,
                      samples_count(c->samples));
        bool fine = compile_observed(c);
        progress_end();
        if (!fine)
                end_observed(c);
        return fine;
}

/* Returns whether this process is to write what was found. */
static bool observe_in_many(struct calibrating *c, bool *fine)
{
        const int64_t count = samples_count(c->samples);
        struct run *run = c->run;
        const int jobs = run->options.jobs < count ? run->options.jobs : (int)count;
        struct farmed f = { .wrong = -1 };
        const struct farm_work work = { c, propose_samples, make_samples, take_samples, true,
                                        leave_samples };
        f.pieces = (int64_t)PIECES_OF_WORKER * farm_workers(jobs);
        f.pieces = f.pieces < count ? f.pieces : count;
        c->farmed = &f;
        /* Children of this process have what it compiled; other processes compile for
         * themselves. */
        if (!farm_is_open() && !compile_first(c))
                return *fine = false;
        const enum farm_end end = farm_run(&work, jobs, &run->diag);
        progress_end();
        end_observed(c);
        if (end == FARM_DONE && f.wrong >= 0) {
                run->diag.errors++;
                run->diag.code = (enum exit_code)f.code;
                diag_say_again(&run->diag, f.said);
        }
        *fine = end == FARM_SERVED || (end == FARM_DONE && f.wrong < 0);
        c->calibration = f.all;
        return end != FARM_SERVED;
}

bool calibrate(struct run *run)
{
        struct calibrating c = { .run = run, .module = run->state.module };
        FILE *out = NULL;
        bool fine = find_entry(&c) && prepare(&c) &&
                    (farm_is_worker() || (out = open_output(run)));
        bool writes = true;
        if (fine && (run->options.jobs > 1 || farm_is_open()))
                writes = observe_in_many(&c, &fine);
        else
                fine = fine && observe_samples(&c);
        samples_close(c.samples);
        if (!fine || !writes)
                return fine;
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
