/* SPDX-License-Identifier: MIT */
/* --quantize and --quantize-weights say what the passes quantize, quantize_products and
 * store_weights are asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "codegen/targets.h"
#include "compiler/calibrate.h"
#include "compiler/report.h"
#include "passes/quantize/quantize.h"

static const char *const observers[] = {
#define OBSERVER(id, name, function, argument, doc) name,
#include "passes/calibrate/observers.def"
};
static const char *const steps[] = {
#define STEP(id, ...) #id,
#include "passes/quantize/quantize_steps.def"
};

static bool is_dynamic(const struct options *o)
{
        return o->quantize && !strcmp(o->quantize, QUANTIZE_DYNAMIC);
}

static const char *const types[] = {
#define WEIGHTS(name, ...) #name,
#include "passes/quantize/weights_types.def"
};

/* Reports a name that is none of `names`. */
static bool is_unknown(struct run *run, const char *option, const char *name,
                       const char *const *names, int count)
{
        size_t length = strcspn(name, ",:");
        diag_error(&run->diag, EXIT_USAGE,
                   "%s: nothing is called '%s'%s (" DIAG_HINT("%s=help says more") ")", option,
                   text_argument_part(run->arena, name, length),
                   suggest_of(run->arena, name, length, names, count), option);
        return false;
}

/* Reads the weights of layers that multiply bytes. */
static bool read_layer_weights(struct run *run, struct quantize_policy *p, const char *behind)
{
        bool whole = p->weights->element == E_I8 || p->weights->element == E_I4;
        p->one_step = whole && !strcmp(behind, ":layer");
        /* Floats have a message of their own. */
        if ((whole && (!*behind || p->one_step)) || weights_are_floats(p->weights))
                return true;
        diag_error(&run->diag, EXIT_USAGE,
                   "--quantize-weights=%s with --quantize: want s8 or s4, a step for each output "
                   "of a layer, or s8:layer, s4:layer, one for all of it",
                   text_argument(run->arena, run->options.quantize_weights));
        return false;
}

/* Reads TYPE or TYPE:BLOCK. */
static bool read_weights(struct run *run, struct quantize_policy *p)
{
        const char *text = run->options.quantize_weights;
        size_t length = strcspn(text, ":");
        p->weights = weights_type_find(text, length);
        if (!p->weights)
                return is_unknown(run, "--quantize-weights", text, types,
                                  sizeof types / sizeof *types);
        p->block = p->weights->block;
        if (p->layers)
                return read_layer_weights(run, p, text + length);
        if (!text[length])
                return true;
        if (weights_are_floats(p->weights)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--quantize-weights=%s: %s has no blocks: want %s alone",
                           text_argument(run->arena, text), p->weights->name, p->weights->name);
                return false;
        }
        if (int_parse(text + length + 1, &p->block) && p->block >= BLOCK_LEAST &&
            p->block <= BLOCK_MOST && !(p->block & (p->block - 1)))
                return true;
        diag_error(&run->diag, EXIT_USAGE,
                   "--quantize-weights=%s: a block is a power of two from %d to %d, as in %s:32",
                   text_argument(run->arena, text), BLOCK_LEAST, BLOCK_MOST, p->weights->name);
        return false;
}

static bool read_choices(struct run *run, struct quantize_policy *p)
{
        const struct options *o = &run->options;
        const char *name = o->quantize_steps;
        p->scheme = (struct scheme){ .to = E_U8 };
        p->kept = o->report ? report_keep_float : NULL;
        p->runner = run;
        p->dynamic = is_dynamic(o);
        p->layers = o->quantize && !p->dynamic;
        quantize_steps_preset(p->steps);
        if (name && !quantize_steps_parse(name, p->steps, &name))
                return is_unknown(run, "--quantize-steps", name, steps,
                                  sizeof steps / sizeof *steps);
        if (o->quantize_steps && !o->calibrate && quantize_steps_learning(o->quantize_steps)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--quantize-steps: %s learns from samples: --calibrate=PATH beside it",
                           quantize_steps_learning(o->quantize_steps));
                return false;
        }
        if (o->quantize_weights && !read_weights(run, p))
                return false;
        if (o->observer && !observer_from_text(o->observer, &p->observer))
                return is_unknown(run, "--observer", o->observer, observers,
                                  sizeof observers / sizeof *observers);
        if (o->activations && !scheme_from_text(o->activations, &p->scheme)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--activations=%s: want u8, s8, u16, s16, u4 or s4, with -symmetric "
                           "behind it, or -powers, or -symmetric-powers (" DIAG_HINT(
                                   "--activations=help says more") ")",
                           text_argument(run->arena, o->activations));
                return false;
        }
        const char **names =
                arena_array(run->arena, (size_t)o->keep_float.count + 1, sizeof *names);
        for (int i = 0; i < o->keep_float.count; i++) {
                const char *item = o->keep_float.items[i];
                p->first |= !strcmp(item, "first");
                p->last |= !strcmp(item, "last");
                if (strcmp(item, "first") && strcmp(item, "last"))
                        names[p->keep_float_count++] = item;
        }
        p->keep_float = names;
        return true;
}

static bool read_ports(struct run *run, struct quantize_policy *p)
{
        const struct list *asked = &run->options.quantize_ports;
        struct quantized_ports *ports =
                asked->count ? ARENA_NEW(run->arena, struct quantized_ports) : NULL;
        p->ports = ports;
        if (!ports)
                return true;
        for (int i = 0; i < asked->count; i++) {
                ARENA_GROW(run->arena, ports->choices, ports->choice_count);
                struct port_choice *c = &ports->choices[ports->choice_count++];
                if (!port_choice_parse(run->arena, asked->items[i], c)) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--quantize-port=%s: want NAME=rows, NAME=f16 or bf16, "
                                   "NAME=u8,SCALE,ZERO (a "
                                   "normal number, and one that u8, s8, u16 or s16 has), or "
                                   "NAME=u8 with --quantize",
                                   text_argument(run->arena, asked->items[i]));
                        return false;
                }
                if (c->steps == PORT_RANGES && !p->layers) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--quantize-port=%s wants ranges: --quantize=FILE, or a scale, "
                                   "as in NAME=u8,0.0078125,128",
                                   text_argument(run->arena, asked->items[i]));
                        return false;
                }
        }
        return true;
}

static bool read_ranges(struct run *run, struct quantize_policy *p)
{
        const char *file = run->options.quantize, *subject = run->diag.subject;
        unsigned char *bytes;
        size_t length;
        if (!file_read(file, run->context.limits.file_bytes, &bytes, &length, &run->diag))
                return false;
        run->diag.subject = text_argument(run->arena, file);
        p->calibration = calibration_read(run->arena, (const char *)bytes, length,
                                          run->context.limits.range_bytes, &run->diag);
        run->diag.subject = subject;
        free(bytes);
        run_depends(run, file);
        return p->calibration != NULL;
}

bool quantization_read(struct run *run)
{
        const struct options *o = &run->options;
        struct quantize_policy *p = ARENA_NEW(run->arena, struct quantize_policy);
        const char *option = o->quantize           ? "--quantize"
                             : o->quantize_weights ? "--quantize-weights"
                                                   : "--quantize-port";
        if ((!o->quantize && !o->quantize_weights && !o->quantize_ports.count) ||
            run->context.quantize)
                return true;
        if (!run->state.module) {
                diag_error(&run->diag, EXIT_USAGE, "%s works on Tensor IR, and this is Loop IR",
                           option);
                return false;
        }
        if (!read_choices(run, p) || !read_ports(run, p))
                return false;
        if (o->quantize && p->weights && weights_are_floats(p->weights)) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--quantize-weights=%s keeps floats: not with --quantize, which "
                           "multiplies integers",
                           p->weights->name);
                return false;
        }
        run->context.quantize = p;
        return !p->layers || !*o->quantize || read_ranges(run, p);
}

/* Quantizes layers, while inputs that become state are inputs, of which samples tell as many rows
 * as they have. */
static bool quantize_layers(struct run *run)
{
        const struct options *o = &run->options;
        struct quantize_policy policy;
        if (!quantization_read(run))
                return false;
        policy = *run->context.quantize;
        policy.state_results = state_outputs(run);
        if (!policy.state_results)
                return false;
        run->context.quantize = arena_copy(run->arena, &policy, sizeof policy);
        run->context.sampler = o->calibrate ? sampler_new(run) : NULL;
        const struct pipeline_options pipeline = {
                .passes = arena_printf(run->arena, "%s,quantize", pipeline_calibrated()),
                .neutral = target_at(0),
                .verify = !o->no_verify
        };
        if (!pipeline_run(&run->state, &pipeline, &run->context))
                return false;
        return run->quantized = true;
}

bool quantization_of_state(struct run *run)
{
        const struct options *o = &run->options;
        if (!o->states.count || !run->state.module)
                return true;
        if (o->quantize && !is_dynamic(o) && !o->passes && !quantize_layers(run))
                return false;
        if (!o->quantize_ports.count)
                return true;
        if (!quantization_read(run))
                return false;
        struct quantized_ports *ports = run->context.quantize->ports;
        for (int i = 0; i < ports->choice_count; i++)
                if (ports->choices[i].steps == PORT_RANGES) {
                        diag_error(&run->diag, EXIT_UNSUPPORTED,
                                   "--quantize-port=%s: with --state want rows, f16, bf16 or a "
                                   "scale, as in NAME=u8,0.0078125,128",
                                   text_argument(run->arena, ports->choices[i].option));
                        return false;
                }
        if (!state_ports(run, ports))
                return false;
        for (struct function *f = run->state.module->functions; f; f = f->next)
                if (pass_quantize_ports(f, &run->context) < 0)
                        return false;
        return ports->done = true;
}

static bool has_pass(const char *list, const char *name)
{
        bool found = false;
        while (*list && !found) {
                const struct pass *pass = pass_next(&list);
                found = pass && !strcmp(pass->name, name);
        }
        return found;
}

/* Lists the passes that the options stand for, in order, and each with its option; returns how many
 * there are. */
static int passes_of(const struct run *run, const char *names[], const char *options[])
{
        const struct quantize_policy *p = run->context.quantize;
        const bool floats = p && p->weights && weights_are_floats(p->weights);
        int count = 0;
        if (p && (p->layers || p->dynamic || p->weights) && !run->quantized) {
                options[count] = run->options.quantize ? "--quantize" : "--quantize-weights";
                names[count++] = p->layers ? "quantize"
                                 : floats  ? "store_weights"
                                           : "quantize_products";
        }
        if (p && p->ports && !p->ports->done) {
                options[count] = "--quantize-port";
                names[count++] = "quantize_ports";
        }
        if (run->context.port_layouts) {
                options[count] = "--port";
                names[count++] = "port_layouts";
        }
        return count;
}

const char *quantization_passes(struct run *run, const char *list)
{
        const char *asked = run->options.passes, *names[3], *options[3];
        const char *done = run->state.module ? run->state.module->passes_done : "";
        const int count = passes_of(run, names, options);
        if (!count)
                return list;
        bool exact = asked && *asked != '+';
        for (int i = 0; i < count; i++)
                if (asked && exact != has_pass(asked + !exact, names[i])) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   exact ? "%s wants the pass %s in the list of --passes"
                                         : "%s has put the pass %s where it belongs: leave it out "
                                           "of --passes",
                                   options[i], names[i]);
                        return NULL;
                }
        if (exact)
                return list;
        int left = 0;                   /* A dump of what they made goes on from there. */
        for (int i = 0; i < count; i++)
                if (!has_pass(done, names[i]))
                        names[left++] = names[i];
                else
                        diag_warning(
                                &run->diag,
                                "%s: %s was done before this was written, and is not done again",
                                options[i], names[i]);
        if (!left)
                return list;
        const char *before = pipeline_calibrated(),
                   *all = left < count || !strcmp(done, before)
                                  ? ""
                                  : arena_printf(run->arena, "%s,", before);
        for (int i = 0; i < left; i++)
                all = arena_printf(run->arena, "%s%s,", all, names[i]);
        return arena_printf(run->arena, "%s%s", all,
                            list ? list : pipeline_passes(run->options.level));
}
