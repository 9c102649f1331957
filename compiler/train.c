/* SPDX-License-Identifier: MIT */
/* --train=OPTIMIZER makes three functions of a model, which share its weights as state:
 *
 *      train   a step: forward, the derivatives of the loss by the weights, and the optimizer's
 *              update of them; it returns the loss
 *      infer   the model's outputs but for the loss, by the weights or their means (--ema)
 *      init    sets the weights to those of the model, and all else that steps keep to 0
 *
 *      main(x, labels) -> loss, y        train(x, labels; w, w.m, step) -> loss; w, w.m, step
 *        constants w                ->   infer(x; w) -> y; w
 *                                        init() -> w, w.m, step
 *
 * A node in training (struct import_mode) is one thing in train and another in infer; the moments
 * of normalizations in training are state, too.
 *
 * It does so before all passes, so that everything that follows sees three ordinary functions. */
#include "compiler/train.h"

#include <math.h>
#include <string.h>

#include "ir/adjoint/adjoint.h"

/* ---- names ---- */

/* Returns the name, with a number behind it where an input or output has it already. */
static const char *name_apart(struct training *t, const char *name)
{
        const char *made = name;
        for (int i = 2; map_get(t->names, made, strlen(made)); i++)
                made = arena_printf(t->m->arena, "%s.%d", name, i);
        map_set(t->names, made, strlen(made), t);
        return made;
}

static struct kept name_state(struct training *t, const char *name)
{
        name = name_apart(t, name);
        return (struct kept){ name, name_apart(t, arena_printf(t->m->arena, "%s.next", name)) };
}

static struct kept name_state_of(struct training *t, const struct trained *w, const char *what)
{
        return name_state(t, arena_printf(t->m->arena, "%s.%s", w->own.name, what));
}

/* Is v an input that the import added for the step alone? */
static bool is_of_step(const struct training *t, const struct value *v)
{
        return v == t->nodes->on || v == t->nodes->step;
}

static void name_all(struct training *t)
{
        t->names = map_new(t->arena);
        for (int i = 0; i < t->f->body.argument_count; i++)
                if (!is_of_step(t, &t->f->body.arguments[i]))
                        map_set(t->names, t->f->input_ports[i].name,
                                strlen(t->f->input_ports[i].name), t);
        for (int i = 0; i < t->f->output_count; i++)
                map_set(t->names, t->f->output_ports[i].name, strlen(t->f->output_ports[i].name),
                        t);
        if (t->loss.output < 0)
                t->loss.name = name_apart(t, t->loss.name);
        for (int i = 0; i < t->weight_count; i++)
                t->weights[i].own = name_state(t, t->weights[i].own.name);
        for (int i = 0; i < t->moment_count; i++)
                t->moments[i].own = name_state(t, t->moments[i].own.name);
        /* State of a constant's name is that constant: who sets weights by name relies on it. */
        for (const struct constant *c = t->m->constants; c; c = c->next)
                if (c->name)
                        map_set(t->names, c->name, strlen(c->name), t);
        for (int i = 0; i < t->weight_count; i++) {
                struct trained *w = &t->weights[i];
                for (int n = 0; n < t->states; n++)
                        w->states[n] = name_state_of(t, w, t->o.row->states[n]);
                if (!isnan(t->ema))
                        w->mean = name_state_of(t, w, "mean");
                if (t->accumulate > 1)
                        w->sum = name_state_of(t, w, "sum");
        }
        t->step = name_state(t, "step");
        t->rate_name = name_apart(t, "rate");
}

/* ---- functions ---- */

/* A function that is being made: its ports and what it yields. */
struct making {
        struct training *t;
        struct function *f;
        struct builder b;
        struct value **yielded;
        struct port *ports;
        int count;
};

static struct making begin(struct training *t, const char *name)
{
        struct function *f = function_new(t->m, name);
        return (struct making){ .t = t,
                                .f = f,
                                .b = { .m = t->m, .region = &f->body, .diag = &t->run->diag } };
}

static void yield_as(struct making *k, const char *name, struct value *v)
{
        ARENA_GROW(k->t->m->arena, k->ports, k->count);
        ARENA_GROW(k->t->arena, k->yielded, k->count);
        k->ports[k->count] = (struct port){ .name = name };
        k->yielded[k->count++] = v;
}

static bool end(struct making *k)
{
        for (int i = 0; i < k->count; i++)
                if (!k->yielded[i])
                        return false;
        k->f->output_ports = k->ports;
        k->f->output_count = k->count;
        return build_yield(&k->b, k->yielded, k->count) != NULL;
}

/* Adds the state, and returns its value when a run begins. */
static struct value *add_state(struct making *k, const struct kept *state, const struct type *type)
{
        struct value *v = function_add_input(k->f, state->name, type);
        k->f->input_ports[k->f->body.argument_count - 1].next = state->next;
        return v;
}

/* ---- copies of the model ---- */

static const struct import_mode *mode_of(const struct training *t, const struct value *v)
{
        return map_get(t->modes, (const char *)&v, sizeof v);
}

/* Returns the value that v is in a step of training, or in inference. */
static struct value *in_mode(const struct training *t, struct value *v, bool trains)
{
        const struct import_mode *m;
        while ((m = mode_of(t, v)) != NULL)
                v = trains ? m->trained : m->inferred;
        return v;
}

static void set_needed(const struct training *t, struct map *needed, struct value *v, bool trains)
{
        v = in_mode(t, v, trains);
        map_set(needed, (const char *)&v, sizeof v, needed);
}

/* Returns the values of the model that these need. */
static struct map *needed_by(const struct training *t, struct value *const *values, int count,
                             bool trains)
{
        struct map *needed = map_new(t->arena);
        for (int i = 0; i < count; i++)
                set_needed(t, needed, values[i], trains);
        for (const struct op *op = t->f->body.last->previous; op; op = op->previous) {
                bool wanted = false;
                for (int i = 0; i < op->result_count; i++) {
                        const struct value *v = &op->results[i];
                        wanted = wanted || map_get(needed, (const char *)&v, sizeof v);
                }
                int inside = 0;
                struct value **captures =
                        wanted && op->region_count ? op_captures(t->arena, op, &inside) : NULL;
                for (int i = 0; wanted && i < op->operand_count + inside; i++) {
                        struct value *v = i < op->operand_count ? op_operand(op, i)
                                                                : captures[i - op->operand_count];
                        if (v)
                                set_needed(t, needed, v, trains);
                }
        }
        return needed;
}

static bool is_needed(struct map *needed, const struct value *v)
{
        return map_get(needed, (const char *)&v, sizeof v) != NULL;
}

static struct value *copy_of(struct value *v) { return v->scratch ? v->scratch : v; }

/* Which copy of the model a function has. */
struct copy {
        struct map *needed;
        bool trains, means;             /* It is a step's; weights are their means. */
        struct value *step;             /* The number of the step. */
};

/* Copies the inputs that are needed, and sets scratch of each to its copy. */
static void copy_inputs(struct making *k, const struct copy *c)
{
        const struct function *f = k->t->f;
        for (int i = 0; i < f->body.argument_count; i++) {
                struct value *v = &f->body.arguments[i];
                if (!is_needed(c->needed, v) || is_of_step(k->t, v))
                        continue;
                v->scratch = function_add_input(k->f, f->input_ports[i].name, v->type);
                k->f->input_ports[k->f->body.argument_count - 1].is_text =
                        f->input_ports[i].is_text;
        }
}

/* Copies what the values of the model need, with the weights, or their means, as state, and sets
 * scratch of each value to its copy. */
static void copy_model(struct making *k, struct copy *c, struct value **weights)
{
        const struct training *t = k->t;
        copy_inputs(k, c);
        for (int i = 0; i < t->weight_count; i++) {
                const struct trained *w = &t->weights[i];
                w->value->scratch = weights[i] =
                        add_state(k, c->means ? &w->mean : &w->own, w->value->type);
        }
        for (int i = 0; i < t->moment_count; i++)
                if (is_needed(c->needed, t->moments[i].value))
                        t->moments[i].value->scratch = add_state(k, &t->moments[i].own,
                                                                 t->moments[i].value->type);
        if (is_needed(c->needed, t->nodes->on))
                t->nodes->on->scratch = build_scalar(&k->b, E_BOOL, c->trains);
        if (is_needed(c->needed, t->nodes->step)) {
                c->step = c->trains ? add_state(k, &t->step, t->nodes->step->type) : NULL;
                t->nodes->step->scratch = c->trains ? c->step : build_scalar(&k->b, E_I64, 0);
        }
        for (struct op *op = t->f->body.first; op != t->f->body.last; op = op->next) {
                bool wanted = false;
                for (int i = 0; i < op->result_count; i++)
                        wanted = wanted || is_needed(c->needed, &op->results[i]);
                struct op *copy = wanted ? op_clone(&k->b, op) : NULL;
                for (int i = 0; copy && i < op->result_count; i++)
                        op->results[i].scratch = &copy->results[i];
                for (int i = 0; i < op->result_count; i++)
                        if (mode_of(t, &op->results[i]))
                                op->results[i].scratch =
                                        copy_of(in_mode(t, &op->results[i], c->trains));
        }
}

static void forget_copies(const struct training *t)
{
        for (int i = 0; i < t->f->body.argument_count; i++)
                t->f->body.arguments[i].scratch = NULL;
        for (int i = 0; i < t->weight_count; i++)
                t->weights[i].value->scratch = NULL;
        for (int i = 0; i < t->moment_count; i++)
                t->moments[i].value->scratch = NULL;
        for (struct op *op = t->f->body.first; op; op = op->next)
                for (int i = 0; i < op->result_count; i++)
                        op->results[i].scratch = NULL;
}

/* ---- train ---- */

/* Builds the step's number, its rate, and whether weights change in it: *due is NULL where they do
 * in each. */
static bool begin_step(struct making *k, struct value *step, struct optimizer *o,
                       struct value **due)
{
        struct builder *b = &k->b;
        const int64_t every = k->t->accumulate;
        if (isnan(k->t->rate))
                o->rate = build_cast(b, function_add_input(k->f, k->t->rate_name,
                                                           type_scalar(b->m, E_F32)),
                                     E_F64);
        else
                o->rate = build_scalar(b, E_F64, k->t->rate);
        step = build_binary(b, OP_add, step, build_like(b, step, 1));
        struct value *number = step, *n = build_like(b, step, (double)every);
        *due = NULL;
        if (every > 1) {
                number = build_binary(b, OP_max, build_binary(b, OP_div, step, n),
                                      build_like(b, step, 1));
                *due = build_binary(b, OP_eq, build_binary(b, OP_rem, step, n),
                                    build_like(b, step, 0));
        }
        o->t = build_cast(b, number, E_F64);
        yield_as(k, k->t->step.next, step);
        return o->rate && o->t && optimizer_begin(b, o);
}

/* Returns x where the weights change in this step, else y. */
static struct value *when(struct builder *b, struct value *due, struct value *x, struct value *y)
{
        if (!due || !x || !y)
                return x;
        return build_select(b,
                            build_broadcast(b, due, type_with_element(b->m, x->type, E_BOOL), NULL),
                            x, y);
}

/* Adds the gradients to their sums of the steps since the last change, and makes means of these. */
static void accumulate(struct making *k, struct value *due, struct value **gradients)
{
        struct builder *b = &k->b;
        for (int i = 0; i < k->t->weight_count && due; i++) {
                const struct kept *sum = &k->t->weights[i].sum;
                struct value *g = build_binary(b, OP_add, add_state(k, sum, gradients[i]->type),
                                               gradients[i]);
                yield_as(k, sum->next, when(b, due, build_like(b, g, 0), g));
                gradients[i] = build_binary(b, OP_div, g,
                                            build_like(b, g, (double)k->t->accumulate));
        }
}

/* Builds the new weight i and its states, in a step whose gradient is g. */
static bool update(struct making *k, const struct optimizer *o, int i, struct value *w,
                   struct value *g, struct value *due)
{
        struct training *t = k->t;
        struct builder *b = &k->b;
        const struct trained *kept = &t->weights[i];
        struct value *states[OPTIMIZER_STATES_MAX], *next[1 + OPTIMIZER_STATES_MAX];
        for (int n = 0; n < t->states; n++)
                states[n] = add_state(k, &kept->states[n], w->type);
        if (!optimizer_step(b, o, w, g, states, next))
                return false;
        yield_as(k, kept->own.next, when(b, due, next[0], w));
        for (int n = 0; n < t->states; n++)
                yield_as(k, kept->states[n].next, when(b, due, next[1 + n], states[n]));
        if (!kept->mean.name)
                return true;
        struct value *mean = add_state(k, &kept->mean, w->type);
        struct value *kept_part = build_binary(b, OP_mul, mean, build_like(b, w, t->ema));
        struct value *moved = build_binary(b, OP_mul, next[0], build_like(b, w, 1 - t->ema));
        moved = build_binary(b, OP_add, kept_part, moved);
        yield_as(k, kept->mean.next, when(b, due, moved, mean));
        return moved != NULL;
}

/* Returns the sum of squares of x, an f64. */
static struct value *sum_of_squares(struct builder *b, struct value *x)
{
        int64_t axes[RANK_MAX];
        for (int d = 0; d < x->type->rank; d++)
                axes[d] = d;
        x = build_reduce(b, REDUCE_sum, build_binary(b, OP_mul, x, x), axes, x->type->rank);
        return build_cast(b, x, E_F64);
}

/* Returns g between -bound and bound. */
static struct value *clip_value(struct builder *b, struct value *g, double bound)
{
        g = build_binary(b, OP_max, g, build_like(b, g, -bound));
        return g ? build_binary(b, OP_min, g, build_like(b, g, bound)) : NULL;
}

/* Returns what gradients of a norm above the bound are multiplied by, else 1, an f64: bound / norm,
 * with 1e-6 for a divisor that is not 0 (as torch.nn.utils has it). */
static struct value *factor_of_norm(struct builder *b, struct value *const *gradients, int count,
                                    double bound)
{
        struct value *norm = build_scalar(b, E_F64, 0), *one = build_scalar(b, E_F64, 1);
        for (int i = 0; i < count; i++)
                norm = build_binary(b, OP_add, norm, sum_of_squares(b, gradients[i]));
        norm = build_unary(b, OP_sqrt, norm);
        norm = build_binary(b, OP_add, norm, build_scalar(b, E_F64, 1e-6));
        struct value *factor = build_binary(b, OP_div, build_scalar(b, E_F64, bound), norm);
        return build_select(b, build_binary(b, OP_gt, factor, one), one, factor);
}

static bool clip(struct making *k, struct value **gradients, int count)
{
        struct builder *b = &k->b;
        const double bound = k->t->bound;
        const bool by_norm = k->t->clip == CLIP_NORM;
        struct value *factor = by_norm ? factor_of_norm(b, gradients, count, bound) : NULL;
        for (int i = 0; i < count; i++) {
                struct value *g = gradients[i];
                struct value *own = build_cast(b, factor, g->type->element);
                own = own ? build_broadcast(b, own, g->type, NULL) : NULL;
                gradients[i] = by_norm ? build_binary(b, OP_mul, g, own) : clip_value(b, g, bound);
                if (!gradients[i])
                        return false;
        }
        return true;
}

/* Returns what a step needs of the model: the loss, and the new moments. */
static struct map *needed_by_step(const struct training *t)
{
        struct value **values = arena_array(t->arena, (size_t)t->moment_count + 1, sizeof *values);
        values[0] = t->loss.value;
        for (int i = 0; i < t->moment_count; i++)
                values[1 + i] = t->moments[i].next;
        return needed_by(t, values, 1 + t->moment_count, true);
}

static bool make_train(struct training *t)
{
        struct making k = begin(t, "train");
        struct value *loss = t->loss.value;
        const size_t count = (size_t)t->weight_count;
        struct value **weights = arena_array(t->arena, count, sizeof *weights),
                     **made = arena_array(t->arena, count, sizeof *made);
        struct copy copy = { .needed = needed_by_step(t), .trains = true };
        copy_model(&k, &copy, weights);
        loss = copy_of(in_mode(t, loss, true));
        yield_as(&k, t->loss.name, loss);
        for (int i = 0; i < t->moment_count; i++)
                yield_as(&k, t->moments[i].own.next, copy_of(t->moments[i].next));
        forget_copies(t);
        struct value *seed = build_like(&k.b, loss, 1);
        struct sweep s = { .b = &k.b, .arena = t->arena, .replaces = true };
        const struct gradient g = { .ys = &loss,
                                    .seeds = &seed,
                                    .y_count = 1,
                                    .xs = weights,
                                    .x_count = t->weight_count,
                                    .made = made };
        if (!gradient_build(&s, &g))
                return gradient_refused(t->run, &s);
        struct optimizer o = t->o;
        struct value *due;
        if (!copy.step)
                copy.step = add_state(&k, &t->step, type_scalar(t->m, E_I64));
        if (!begin_step(&k, copy.step, &o, &due))
                return false;
        accumulate(&k, due, made);
        if (t->clip && !clip(&k, made, t->weight_count))
                return false;
        for (int i = 0; i < t->weight_count; i++)
                if (!update(&k, &o, i, weights[i], made[i], due))
                        return false;
        return end(&k);
}

/* ---- infer and init ---- */

/* Makes the function of all outputs but the loss, where there are others. */
static bool make_infer(struct training *t)
{
        struct value **outputs = arena_array(t->arena, (size_t)t->f->output_count, sizeof *outputs);
        int count = 0;
        for (int i = 0; i < t->f->output_count; i++)
                if (i != t->loss.output)
                        outputs[count++] = op_operand(t->f->body.last, i);
        if (!count)
                return true;
        const bool means = !isnan(t->ema);
        struct making k = begin(t, "infer");
        struct value **weights = arena_array(t->arena, (size_t)t->weight_count, sizeof *weights);
        struct copy copy = { .needed = needed_by(t, outputs, count, false), .means = means };
        copy_model(&k, &copy, weights);
        for (int i = 0; i < t->f->output_count; i++)
                if (i != t->loss.output)
                        yield_as(&k, t->f->output_ports[i].name,
                                 copy_of(in_mode(t, op_operand(t->f->body.last, i), false)));
        for (int i = 0; i < t->moment_count; i++)
                if (t->moments[i].value->scratch)
                        yield_as(&k, t->moments[i].own.next, t->moments[i].value->scratch);
        forget_copies(t);
        for (int i = 0; i < t->weight_count; i++)
                yield_as(&k, means ? t->weights[i].mean.next : t->weights[i].own.next, weights[i]);
        return end(&k);
}

static void init_state(struct making *k, const struct kept *state, struct value *first)
{
        add_state(k, state, first->type);
        yield_as(k, state->next, first);
}

static bool make_init(struct training *t)
{
        struct making k = begin(t, "init");
        init_state(&k, &t->step, build_scalar(&k.b, E_I64, 0));
        for (int i = 0; i < t->moment_count; i++)
                init_state(&k, &t->moments[i].own, t->moments[i].value);
        for (int i = 0; i < t->weight_count; i++) {
                struct value *v = t->weights[i].value;
                init_state(&k, &t->weights[i].own, v);
                if (t->weights[i].mean.name)
                        init_state(&k, &t->weights[i].mean, v);
                if (t->weights[i].sum.name)
                        init_state(&k, &t->weights[i].sum, constant_number(t->m, v->type, 0));
                for (int n = 0; n < t->states; n++)
                        init_state(&k, &t->weights[i].states[n],
                                   constant_number(t->m, v->type, 0));
        }
        return end(&k);
}

/* Lists the moments of normalizations in training that the loss depends on. */
static void find_moments(struct training *t)
{
        struct map *needed = needed_by(t, &t->loss.value, 1, true), *listed = map_new(t->arena);
        const struct import_weights *w = t->run->weights;
        for (int i = 0; i < t->nodes->mode_count; i++) {
                const struct import_mode *m = &t->nodes->modes[i];
                for (int k = 0; k < 2 && m->moments[k] && is_needed(needed, m->trained); k++)
                        if (m->trained != m->inferred)
                                map_set(listed, (const char *)&m->moments[k],
                                        sizeof m->moments[k], m->next[k]);
        }
        for (int i = 0; i < w->found_count; i++) {
                struct value *v = w->found[i].value, *next;
                if (!(next = map_get(listed, (const char *)&v, sizeof v)))
                        continue;
                ARENA_GROW(t->arena, t->moments, t->moment_count);
                t->moments[t->moment_count++] = (struct trained){
                        .value = v, .next = next, .own.name = w->found[i].name
                };
        }
}

bool train_build(struct run *run)
{
        struct module *m = run->state.module;
        struct training t = { .run = run, .arena = run->arena, .m = m, .nodes = run->training };
        if (!run->options.train)
                return true;
        if (!m)
                return train_usage(&t, "--train", "it works on Tensor IR, and this is Loop IR");
        const struct target *device = device_target(run);
        if (device) {
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "--train makes code for processors: it has nothing for %s",
                           device->name);
                return false;
        }
        t.f = module_entry(m);
        for (int i = 0; i < t.f->body.argument_count; i++)
                if (t.f->input_ports[i].next || t.f->next)
                        return train_usage(&t, "--train",
                                           "it is for one function, without state and likely "
                                           "extents");
        if (t.nodes->nodes == TRAINING_ALL && !t.nodes->mode_count)
                return train_usage(&t, "--training-mode=all",
                                   "the model has no BatchNormalization and no Dropout");
        if (!train_read_options(&t) || !loss_find(run, t.f, &t.loss) ||
            !train_find_weights(&t))
                return false;
        find_moments(&t);
        name_all(&t);
        m->functions = NULL;
        m->functions_end = &m->functions;
        if (!make_train(&t) || !make_infer(&t) || !make_init(&t))
                return false;
        while (t.f->body.last)
                op_erase(t.f->body.last);
        return true;
}
