/* SPDX-License-Identifier: MIT */
/* quantize: layers multiply bytes, with steps from calibration (static quantization after
 * training).
 *
 *   %1 = convolve(%0, @w)               %1 = (u8(round(%0 / sx)) - zx) * sx      ; as Q and DQ nodes write it
 *   %2 = add(%1, @bias)         ->      %2 = convolve(%1, i8(@w) * sw)           ; sw of each output
 *   %3 = max(%2, 0.0)                   %3 = add(%2, whole(@bias) * sx * sw)
 *                                       %4 = (u8(round(%3 / sy)) - zy) * sy
 *
 * It builds the operations that the importer builds for QuantizeLinear and DequantizeLinear
 * (ir/tensor/affine_numbers.h), so that the rules of simplify treat them like those of quantized
 * models: sums of whole numbers, one rounding behind them, moves of bytes, tables. A model that is
 * quantized already has no layers of floats, and stays as it is.
 *
 *   prepare     which layers can be quantized, with --keep-float; their ranges from the calibration
 *   bytes       which values are kept in bytes             (quantize_bytes.c)
 *   scales      in which steps, and the bytes themselves   (quantize_scales.c)
 *   layers      weights, biases                            (quantize_layers.c)
 *
 * Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
 * Inference, 2018; Nagel et al., A White Paper on Neural Network Quantization, 2021. */
#include "passes/quantize/equalize.h"

#include <string.h>

/* ---- steps ---- */

static const struct { const char *name, *doc; bool preset, learns; } steps[] = {
#define STEP(id, preset_, learns_, doc_) { #id, doc_, preset_, learns_ },
#include "passes/quantize/quantize_steps.def"
};

void quantize_steps_preset(bool chosen[STEP_COUNT])
{
        for (int i = 0; i < STEP_COUNT; i++)
                chosen[i] = steps[i].preset;
}

static int step_find(const char *name, size_t length)
{
        int i = 0;
        while (i < STEP_COUNT &&
               !(strlen(steps[i].name) == length && !strncmp(steps[i].name, name, length)))
                i++;
        return i;
}

bool quantize_steps_parse(const char *list, bool chosen[STEP_COUNT], const char **name)
{
        for (const char *p = list; *p;) {
                size_t length = strcspn(p, ",");
                bool add = *p == '+', take = *p == '-';
                int i = step_find(p + (add || take), length - (add || take));
                *name = p;
                if (i == STEP_COUNT)
                        return false;
                if (p == list && !add && !take)
                        memset(chosen, 0, STEP_COUNT * sizeof *chosen);
                chosen[i] = !take;
                p += length + (p[length] == ',');
        }
        return true;
}

const char *quantize_steps_learning(const char *list)
{
        bool asked[STEP_COUNT] = { false };
        const char *name;
        int i = quantize_steps_parse(list, asked, &name) ? 0 : STEP_COUNT;
        while (i < STEP_COUNT && !(asked[i] && steps[i].learns))
                i++;
        return i < STEP_COUNT ? steps[i].name : NULL;
}

void quantize_steps_help(void)
{
        for (int i = 0; i < STEP_COUNT; i++)
                printf("%-10s %s%s%s\n", steps[i].name, steps[i].doc,
                       steps[i].learns ? "; learns from samples" : "",
                       steps[i].preset ? " (default)" : "");
}

/* ---- values and their numbers ---- */

static bool is_site(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && v->type->element == E_F32 &&
               (!type_is_static(v->type) || type_elements(v->type) > 0);
}

static void add_site(struct quantizing *q, struct value *v)
{
        if (!is_site(v))
                return;
        struct site *s = &q->sites[q->site_count++];
        *s = (struct site){ .value = v };
        v->scratch = s;
}

/* Finds the sites, in the order of calibrated_values. */
static void find_sites(struct quantizing *q)
{
        const struct region *body = &q->f->body;
        size_t count = (size_t)body->argument_count + 1;
        for (const struct op *op = region_walk(body, NULL); op; op = region_walk(body, op)) {
                count += (size_t)op->result_count;
                for (int r = 0; r < op->region_count; r++)
                        count += (size_t)op->regions[r]->argument_count;
        }
        q->sites = arena_array(q->arena, count, sizeof *q->sites);
        for (int i = 0; i < body->argument_count; i++)
                add_site(q, &body->arguments[i]);
        for (const struct op *op = region_walk(body, NULL); op; op = region_walk(body, op)) {
                for (int i = 0; i < op->result_count; i++)
                        add_site(q, &op->results[i]);
                for (int r = 0; r < op->region_count; r++)
                        for (int i = 0; i < op->regions[r]->argument_count; i++)
                                add_site(q, &op->regions[r]->arguments[i]);
        }
}

void quantize_remember_sites(struct quantizing *q)
{
        for (int i = 0; i < q->site_count; i++)
                q->sites[i].value->scratch = &q->sites[i];
}

static const struct range *range_of(struct quantizing *q, const char *name)
{
        return calibration_find(q->calibration, calibration_name(q->arena, q->f, name));
}

static void find_ranges(struct quantizing *q, const struct calibrated *known, int count)
{
        for (int i = 0; i < count; i++) {
                struct site *s = site_of(known[i].value);
                int from = i;
                const struct range *r = range_of(q, known[i].name);
                while (!r && known[from].same >= 0) {     /* Another value has the same numbers. */
                        from = known[from].same;
                        r = range_of(q, known[from].name);
                }
                if (!s)
                        continue;
                s->name = known[i].name;
                s->range = r;
                s->unfit = r && r->infinite;
                s->unseen = value_region(s->value)->owner && !(r && (r->count || r->infinite));
        }
}

/* Finds the calibration: the file's, if it is of this model; else what the samples show. */
static bool find_calibration(struct quantizing *q)
{
        const struct sampler *sampler = q->context->sampler;
        char digest[65];
        q->calibration = q->policy->calibration;
        if (!q->calibration) {
                q->calibration = sampler->ranges(sampler->runner, q->m);
                return q->calibration != NULL;
        }
        if (q->f != module_entry(q->m))
                return true;            /* The first entry has found it so. */
        calibration_digest(q->m, digest);
        if (!strcmp(digest, q->calibration->digest))
                return true;
        diag_error(q->context->diag, EXIT_INVALID,
                   "the ranges are of another model: they are for %.12s.., and this is %.12s..; "
                   "calibrate this one (options that change what is computed count)",
                   q->calibration->digest, digest);
        return false;
}

/* ---- layers ---- */

/* Returns why a layer cannot be quantized; NULL: it can. */
static const char *obstacle_of(const struct layer *l, const struct scheme *g)
{
        const char *why = quantize_obstacle(l, g);
        const struct site *w = !why && l->both ? site_of(op_operand(l->op, 1)) : NULL;
        if (why)
                return why;
        if (l->x->unfit || (w && w->unfit))
                return "what it multiplies is not always finite";
        return l->x->unseen || (w && w->unseen)
                       ? "it lies within a loop or branch that no sample ran"
                       : NULL;
}

static bool is_product(const struct op *op)
{
        return (op->code == OP_convolve || op->code == OP_dot) && site_of_op(op);
}

static void find_layers(struct quantizing *q)
{
        const struct region *body = &q->f->body;
        int count = 0;
        for (const struct op *op = region_walk(body, NULL); op; op = region_walk(body, op))
                count += is_product(op);
        q->layers = arena_array(q->arena, (size_t)count + 1, sizeof *q->layers);
        for (struct op *op = region_walk(body, NULL); op; op = region_walk(body, op)) {
                if (!is_product(op))
                        continue;
                bool both = !value_is_constant(op_operand(op, 0)) &&
                            !value_is_constant(op_operand(op, 1));
                if (both && (!q->policy->steps[STEP_products] || op->code != OP_dot))
                        continue;
                struct layer *l = &q->layers[q->layer_count++];
                *l = (struct layer){ .op = op, .x = site_of(op_operand(op, 0)), .both = both };
                l->obstacle = obstacle_of(l, &q->policy->scheme);
                site_of_op(op)->layer = l;
        }
}

static void keep_ends(struct quantizing *q)
{
        struct layer *first = NULL, *last = NULL;
        for (int i = 0; i < q->layer_count; i++) {
                struct layer *l = &q->layers[i];
                if (l->obstacle || l->both)
                        continue;
                first = first ? first : l;
                last = l;
        }
        if (first && q->policy->first)
                first->obstacle = "it is the first one, which is kept so";
        if (last && q->policy->last)
                last->obstacle = "it is the last one, which is kept so";
}

static const char kept[] = "--keep-float says so";

/* Keeps a site in floats; where it is an input, all layers that read it, too. */
static void keep_site(struct site *s)
{
        s->keep = true;
        if (s->layer && !s->layer->obstacle)
                s->layer->obstacle = kept;
        for (const struct use *u = s->value->kind == VALUE_ARGUMENT ? s->value->uses : NULL; u;
             u = u->next) {
                struct layer *l = layer_of(u->user);
                if (l && !l->obstacle)
                        l->obstacle = kept;
        }
}

static bool keep_named(struct quantizing *q, const struct calibrated *known, int count)
{
        const bool *keep = keep_float_find(q->arena, q->policy, known, count, q->context->diag);
        if (!keep)
                return false;
        for (int i = 0; i < count; i++)
                if (keep[i] && site_of(known[i].value))
                        keep_site(site_of(known[i].value));
        return true;
}

/* ---- what became of it ---- */

static void report_kept(const struct quantizing *q, const struct op *op, const char *why)
{
        diag_note(q->context->diag, "%s (%s) stays in floats: %s",
                  op->location ? op->location : "a layer", op_info[op->code].name, why);
        if (q->policy->kept)
                q->policy->kept(q->policy->runner, op, why);
}

static void report(const struct quantizing *q)
{
        int whole = 0;
        for (int i = 0; i < q->layer_count; i++) {
                const struct layer *l = &q->layers[i];
                whole += !l->obstacle;
                if (l->obstacle)
                        report_kept(q, l->op, l->obstacle);
        }
        if (q->context->notes)
                text_add(q->context->notes, "%d of %d layers in bytes, %d values", whole,
                         q->layer_count, q->byte_count);
}

/* ---- layers, with what samples show of them ---- */

static bool is_learning(const struct quantizing *q, const struct layer *l)
{
        return q->context->sampler && q->policy->steps[STEP_round] && !l->obstacle && !l->both &&
               moments_possible(l->op);
}

/* Begins the moments of layers that learn, on the function as it is before bytes are put in.
 * Returns NULL if there are no such layers, or after an error. */
static struct moments_run *begin_moments(struct quantizing *q)
{
        struct op **ops = arena_array(q->arena, (size_t)q->layer_count + 1, sizeof(struct op *));
        int count = 0;
        for (int i = 0; i < q->layer_count; i++)
                if (is_learning(q, &q->layers[i]))
                        ops[count++] = q->layers[i].op;
        struct moments_run *r = moments_begin(q->context, ops, count, true);
        quantize_remember_sites(q);
        return r;
}

static bool quantize_layers(struct quantizing *q, struct moments_run *r)
{
        int seen = 0;
        for (int i = 0; i < q->layer_count; i++) {
                struct layer *l = &q->layers[i];
                const struct moments *m = r && is_learning(q, l) ? moments_of(r, seen++) : NULL;
                if (q->context->diag->errors ||
                    (!l->obstacle && !l->both && !quantize_layer(q, l, m)))
                        return false;
        }
        return true;
}

/* Finds the values and layers of the function as it is. */
static bool prepare(struct quantizing *q)
{
        int count;
        const struct calibrated *known = calibrated_values(q->arena, q->f, &count);
        q->site_count = q->layer_count = 0;
        find_sites(q);
        find_ranges(q, known, count);
        find_layers(q);
        if (!keep_named(q, known, count))
                return false;
        keep_ends(q);
        for (int i = 0; i < q->scaled_count; i++)
                site_of(q->scaled[i])->keep = true;
        quantize_find_norms(q);
        return true;
}

/* Scales channels; where it did, the samples are run again for the ranges of the changed values. */
static bool equalize(struct quantizing *q)
{
        const struct sampler *sampler = q->context->sampler;
        if (!sampler || !(q->policy->steps[STEP_equalize] || q->policy->steps[STEP_smooth]))
                return true;
        int scaled = quantize_equalize(q);
        if (scaled > 0) {
                q->calibration = sampler->ranges(sampler->runner, q->m);
                if (q->context->notes)
                        text_add(q->context->notes, "channels of %d values scaled, ", scaled);
        }
        return scaled >= 0 && q->calibration && (!scaled || prepare(q));
}

/* ---- inputs and outputs by ranges ---- */

static void choose_port(struct quantizing *q, const char *name, const struct value *v, bool output)
{
        const struct port_choice *c = port_choice_find(q->policy->ports, name);
        struct site *s = c && c->steps == PORT_RANGES ? site_of(v) : NULL;
        if (!s || !s->range || s->unfit)
                return;
        const struct scheme scheme = { .to = c->to };
        /* The port has these steps anyway. */
        bool same = s->bytes && c->to == q->policy->scheme.to;
        port_affine_add(
                q->m->arena, q->policy->ports,
                (struct port_affine){
                        name, output, c->to,
                        same ? *quantize_affine(s)
                             : affine_of(observe_extent(s->range, q->policy->observer, &scheme),
                                         &scheme) });
}

static void choose_ports(struct quantizing *q)
{
        const struct function *f = q->f;
        for (int i = 0; i < f->body.argument_count; i++)
                choose_port(q, f->input_ports[i].name, &f->body.arguments[i], false);
        for (int i = 0; i < f->output_count; i++)
                choose_port(q, f->output_ports[i].name, op_operand(f->body.last, i), true);
}

static bool quantize(struct quantizing *q)
{
        if (!prepare(q) || !equalize(q))
                return false;
        quantize_choose_bytes(q);
        if (!quantize_choose_scales(q))
                return false;
        choose_ports(q);
        struct moments_run *r = begin_moments(q);
        bool fine = !q->context->diag->errors && quantize_insert(q) && quantize_layers(q, r);
        moments_end(r);
        if (fine)
                report(q);
        return fine;
}

int pass_quantize(struct function *f, struct pass_context *context)
{
        struct quantizing q = { .f = f, .m = f->module, .context = context,
                                .policy = context->quantize };
        if (!q.policy || !q.policy->layers || !(q.policy->calibration || context->sampler)) {
                diag_error(context->diag, EXIT_USAGE,
                           "pass quantize wants ranges: --quantize=FILE, which --calibrate writes");
                return -1;
        }
        if (f->general)
                return 0;
        if (!find_calibration(&q))
                return -1;
        q.arena = arena_new();
        bool fine = quantize(&q);
        for (int i = 0; i < q.site_count; i++)
                q.sites[i].value->scratch = NULL;
        arena_free(q.arena);
        if (fine)
                pass_dce(f, context);
        return fine ? q.byte_count : -1;
}
