/* --quantize: the file of ranges, and what else the pass quantize is asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "compiler/report.h"
#include "passes/quantize/quantize.h"

static const char *const observers[] = {
#define OBSERVER(id, name, function, argument, doc) name,
#include "passes/quantize/observers.def"
};
static const char *const steps[] = {
#define STEP(id, preset, doc) #id,
#include "passes/quantize/quantize_steps.def"
};

/* names: those there are */
static bool is_unknown(struct run *run, const char *option, const char *name,
                       const char *const *names, int count)
{
        size_t length = strcspn(name, ",");
        diag_error(&run->diag, EXIT_USAGE, "%s: nothing is called '%s'%s (%s=help says more)",
                   option, text_argument_part(run->arena, name, length),
                   suggest_of(run->arena, name, length, names, count), option);
        return false;
}

static bool read_choices(struct run *run, struct quantize_policy *p)
{
        const struct options *o = &run->options;
        const char *name = o->quantize_steps;
        p->grid = (struct grid){ .to = o->activations ? E_I8 : E_U8,
                                 .symmetric = o->activations == ACTIVATIONS_S8_SYMMETRIC };
        p->kept = o->report ? report_keep_float : NULL;
        p->runner = run;
        quantize_steps_preset(p->steps);
        if (name && !quantize_steps_parse(name, p->steps, &name))
                return is_unknown(run, "--quantize-steps", name, steps,
                                  sizeof steps / sizeof *steps);
        if (o->observer && !observer_from_text(o->observer, &p->observer))
                return is_unknown(run, "--observer", o->observer, observers,
                                  sizeof observers / sizeof *observers);
        const char **names = arena_array(run->arena, (size_t)o->keep_float.count + 1, sizeof *names);
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

/* options that say how, without the one that says that */
static const char *orphan(const struct options *o)
{
        return o->keep_float.count ? "--keep-float" : o->observer ? "--observer"
               : o->activations ? "--activations" : o->quantize_steps ? "--quantize-steps" : NULL;
}

bool quantization_read(struct run *run)
{
        const struct options *o = &run->options;
        struct quantize_policy *p = ARENA_NEW(run->arena, struct quantize_policy);
        unsigned char *bytes;
        size_t length;
        if (!o->quantize && orphan(o)) {
                diag_error(&run->diag, EXIT_USAGE, "%s wants --quantize=FILE", orphan(o));
                return false;
        }
        if (!o->quantize)
                return true;
        if (o->exact) {
                diag_error(&run->diag, EXIT_USAGE, "--quantize approximates: not with --exact");
                return false;
        }
        if (!run->state.module) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--quantize works on Tensor IR, and this is Loop IR");
                return false;
        }
        if (!read_choices(run, p) ||
            !file_read(o->quantize, run->context.limits.file_bytes, &bytes, &length, &run->diag))
                return false;
        const char *subject = run->diag.subject;
        run->diag.subject = text_argument(run->arena, o->quantize);
        p->calibration = calibration_read(run->arena, (const char *)bytes, length, &run->diag);
        run->diag.subject = subject;
        free(bytes);
        run_depends(run, o->quantize);
        run->context.quantize = p;
        return p->calibration != NULL;
}

static bool has_quantize(const char *list)
{
        bool found = false;
        while (*list && !found) {
                const struct pass *pass = pass_next(&list);
                found = pass && !strcmp(pass->name, "quantize");
        }
        return found;
}

const char *quantization_passes(struct run *run, const char *list)
{
        const char *asked = run->options.passes;
        const char *done = run->state.module ? run->state.module->passes_done : "";
        if (!run->context.quantize)
                return list;
        bool exact = asked && *asked != '+';
        if (asked && exact != has_quantize(asked + !exact)) {
                diag_error(&run->diag, EXIT_USAGE,
                           exact ? "--quantize wants the pass quantize in the list of --passes"
                                 : "--quantize has put the pass quantize where it belongs: leave it out of --passes");
                return NULL;
        }
        if (exact)
                return list;
        const char *before = pipeline_calibrated();
        bool there = !strcmp(done, before);
        return arena_printf(run->arena, "%s%squantize,%s", there ? "" : before, there ? "" : ",",
                            list ? list : pipeline_passes(run->options.level));
}
