/* SPDX-License-Identifier: MIT */
/* --check: what a module or program computes on random inputs is compared before and after every
 * pass.
 *
 * Inputs are the same for every pass, drawn by chance (ir/tensor/drawn.h), indices in range where
 * it is known of what. Where a run-time index is out of range both sides must fail with the same
 * code. The state's canonical lowering (without views or fusion beyond what the state itself says)
 * runs in the interpreter, or, where that would take more than --limit check_steps, as C that the
 * system's compiler compiles (--cc). That C is for the target or, on a processor that cannot run
 * code for it, for the nearest target that it can run; legalize then writes out operations that the
 * target alone has. A state that can be run neither way is skipped, with a message.
 *
 * Passes of class E, integers, and everything under --exact are compared bit by bit; a NaN equals
 * any NaN. Passes of class R may differ by tolerance(), times the largest magnitude of an output.
 * Passes of class A are not compared, but those after them are. The first pass that differs is the
 * culprit; the state before it is written to dnncc-check-PASS.dnn (or .loops), and the command that
 * shows the difference again is printed. */
#include "passes/observe.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ir/tensor/drawn.h"

struct port_data { const char *name; enum element element; int64_t elements; void *data; };
struct result {
        struct arena *arena;
        int code;                       /* The run ended with this code. */
        int input_count, output_count;
        struct port_data *inputs, *outputs;
        int64_t *extents;               /* The program's extents have these values. */
        const char *entry;              /* It is of this one of several entries, or "". */
        struct result *next;            /* Of the next run, or entry. */
};

/* The extents that inputs choose indices from, one for each input; a .loops text has none. */
struct choices { int64_t *extents; int count; };

/* The extents of a run that has code of its own (struct function: likely), by their names. */
struct likely_run {
        const char *entry;
        const char **names;
        int64_t *extents;
        int count;
        struct likely_run *next;
};

struct check {
        struct arena *arena;
        struct likely_run *likely;      /* These runs are compared as well. */
        const struct pipeline_options *options;
        struct pass_context *context;
        struct result *before;          /* NULL: the last state could not be run. */
        struct snapshot snapshot;
        double epsilon;                 /* Epsilon is half the distance from 1 to the next number,
                                         * in the coarsest type met so far. */
        bool compile;                   /* The interpreter has taken too long once. */
        struct choices *choices;        /* Of each entry. */
        int choice_count;
};

/* Notes the likely extents of the model. */
static void note_likely(struct check *c, const struct module *m)
{
        for (const struct function *f = m ? m->functions : NULL; f; f = f->next) {
                if (!f->general)
                        continue;
                struct likely_run *run = ARENA_NEW(c->arena, struct likely_run);
                *run = (struct likely_run){
                        .entry = arena_string(c->arena, f->general->name),
                        .names = arena_array(c->arena, (size_t)f->likely_count,
                                             sizeof *run->names),
                        .extents = arena_array(c->arena, (size_t)f->likely_count,
                                               sizeof *run->extents),
                        .count = f->likely_count, .next = c->likely
                };
                for (int i = 0; i < f->likely_count; i++) {
                        run->names[i] =
                                arena_string(c->arena, m->symbols[f->likely[i].symbol].name);
                        run->extents[i] = f->likely[i].extent;
                }
                c->likely = run;
        }
}

/* ---- tolerance ---- */

static void note_element(struct check *c, enum element e)
{
        double epsilon = e == E_F16 || e == E_TF32 ? 0x1p-11 : e == E_BF16 ? 0x1p-8 : 0x1p-24;
        if (element_is_float(e) && epsilon > c->epsilon)
                c->epsilon = epsilon;
}

static void note_state(struct check *c, const struct pipeline_state *state)
{
        if (state->program) {
                for (const struct loop_buffer *b = state->program->buffers; b; b = b->next)
                        note_element(c, b->element);
                return;
        }
        for (const struct function *f = state->module->functions; f; f = f->next)
                for (struct op *op = region_walk_all(&f->body, NULL); op;
                     op = region_walk_all(&f->body, op))
                        for (int i = 0; i < op->result_count; i++)
                                note_element(c, op->results[i].type->element);
}

/* Other orders of sums in f32 differ by far less than 1e-4 of the largest result, a wrong rewrite
 * by far more. Where numbers of 16 bits are on the way, a few of their roundings may differ. */
static double tolerance(const struct check *c)
{
        return fmax(1e-4, 16 * c->epsilon);
}

/* ---- running ---- */

/* Returns the program itself, or one made for this run when the state is at the tensor level. */
static struct loop_program *program_of(const struct check *c, const struct pipeline_state *state)
{
        struct lower_options plain = { .unchecked = c->context->lower.unchecked };
        return state->program ? state->program
                              : lower_module(state->module, NULL, c->context->library, &plain,
                                             c->context->diag);
}

/* Is b, a port of the entry at p->at, given to a run, or left behind by it? */
static bool is_given(const struct loop_program *p, const struct loop_buffer *b)
{
        return loop_is_input(b) && loop_port_is_of(p, b);
}
static bool is_left(const struct loop_program *p, const struct loop_buffer *b)
{
        return loop_is_output(b) && loop_port_is_of(p, b);
}

static const struct port_data *add_port(struct result *r, const struct loop_program *p,
                                        const struct loop_buffer *b, struct port_data *ports, int k)
{
        size_t bytes = (size_t)b->extent * (size_t)element_info[b->element].bytes;
        ports[k] = (struct port_data){ arena_string(r->arena, b->name), b->element,
                                       loop_port_elements(p, b, r->extents),
                                       arena_alloc(r->arena, bytes) };
        return &ports[k];
}

/* Fills the input of this number, counted from 1. */
static void fill_input(const struct choices *c, const struct loop_buffer *b,
                       const struct port_data *port, int number)
{
        const uint64_t start = RANDOM_START + (uint64_t)number;
        if (b->is_text)
                drawn_texts(port->data, b->extent, type_extent(b->type, b->type->rank - 1), start);
        else
                drawn_fill(b->element, port->data, b->extent,
                           number <= c->count ? c->extents[number - 1] : 0, start);
}

/* Draws the inputs of a run of the entry at p->at, with likely extents or, where `likely` is NULL,
 * others. */
static struct result *result_new(const struct check *c, const struct loop_program *p,
                                 const struct likely_run *likely)
{
        static const struct choices none;
        struct result *r = memory_alloc(sizeof *r);
        *r = (struct result){ .arena = arena_new() };
        r->entry = p->entry_count > 1 ? arena_string(r->arena, loop_entry_at(p)->name) : "";
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                r->input_count += is_given(p, b);
                r->output_count += is_left(p, b);
        }
        r->inputs = arena_array(r->arena, (size_t)r->input_count, sizeof *r->inputs);
        r->outputs = arena_array(r->arena, (size_t)r->output_count, sizeof *r->outputs);
        r->extents = arena_array(r->arena, (size_t)p->extent_count + 1, sizeof *r->extents);
        for (int i = 0; i < p->extent_count; i++) {
                /* At the bounds, a stride of the bound would be the right one by chance. */
                const struct loop_variable *v = p->extents[i].variable;
                r->extents[i] = v->high - (v->high - v->low) / 3;
                r->extents[i] -= r->extents[i] == v->high && v->high > v->low;
                for (int k = 0; likely && k < likely->count; k++)
                        if (!strcmp(p->extents[i].name, likely->names[k]))
                                r->extents[i] = likely->extents[k];
        }
        int in = 0, out = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next) {
                if (is_given(p, b)) {
                        const struct port_data *port = add_port(r, p, b, r->inputs, in++);
                        fill_input(p->at < c->choice_count ? &c->choices[p->at] : &none, b, port,
                                   in);
                }
                if (is_left(p, b))
                        add_port(r, p, b, r->outputs, out++);
        }
        return r;
}

static void result_free(struct result *r)
{
        while (r) {
                struct result *next = r->next;
                arena_free(r->arena);
                free(r);
                r = next;
        }
}

/* Returns the data of each port, as the interpreter and compiled code want them. */
static void **data_of(struct arena *arena, const struct port_data *ports, int count)
{
        void **data = arena_array(arena, (size_t)count, sizeof *data);
        for (int i = 0; i < count; i++)
                data[i] = ports[i].data;
        return data;
}

static bool read_blob(void *context, const char *name, const void **bytes, size_t *length)
{
        const struct text *blob = context;
        (void)name;
        *bytes = blob->data;
        *length = blob->length;
        return true;
}

/* Returns the target that C is compiled for here. */
static const struct target *compiled_for(const struct check *c)
{
        const struct target *t = c->context->target;
        return c->options->nearest_target ? c->options->nearest_target(t) : t;
}

/* Returns a copy that can be printed as C: legal for the target that it is compiled for, with its
 * buffers placed. */
static struct loop_program *printable(const struct check *c, struct arena *arena,
                                      const struct loop_program *p)
{
        struct pass_context context = *c->context;
        context.target = compiled_for(c);
        context.least = NULL;
        context.notes = NULL;
        struct text text = { 0 }, blob = { 0 };
        loop_print(&text, p, &(struct tensor_print){ .blob = &blob, .file_name = "blob" });
        struct text kept = { .data = arena_copy(arena, blob.data, blob.length),
                             .length = blob.length };
        struct loop_program *copy =
                loop_parse(arena, arena_string(arena, text.data), text.length, read_blob, &kept,
                           c->context->library, c->context->diag);
        text_free(&text);
        text_free(&blob);
        if (copy)
                copy->at = 0;
        if (!copy || pass_legalize(copy, &context) < 0 ||
            (!copy->planned && pass_plan(copy, &context) < 0))
                return NULL;
        copy->at = p->at;
        return copy;
}

static void say_compiled(const struct check *c)
{
        const char *wanted = c->context->target->name, *name = compiled_for(c)->name;
        if (c->options->run_compiled && strcmp(name, wanted))
                diag_say(c->context->diag, "check: compiled for %s: this processor has no %s\n",
                         name, wanted);
}

/* Notes how many elements outputs have in a run that has told its extents. */
static void count_outputs(const struct loop_program *p, struct result *r)
{
        int out = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                if (b->space == SPACE_OUTPUT && loop_port_is_of(p, b))
                        r->outputs[out++].elements = loop_port_elements(p, b, r->extents);
}

/* Runs the program, and fills in code and outputs. Returns NULL, or why it could not be run. */
static const char *run_state(struct check *c, const struct loop_program *p, struct result *r)
{
        static const char *const no_program = "it cannot be interpreted";
        void **in = data_of(r->arena, r->inputs, r->input_count),
             **out = data_of(r->arena, r->outputs, r->output_count);
        if (!c->compile) {
                struct interp *interp =
                        interp_new(p, false, (uint64_t)c->context->limits.tensor_bytes,
                                   c->context->diag);
                if (!interp)
                        return no_program;
                interp_set_extents(interp, r->extents);
                r->code = interp_run(interp, (const void *const *)in, out,
                                     (uint64_t)c->context->limits.check_steps, NULL);
                interp_get_extents(interp, r->extents);
                count_outputs(p, r);
                interp_free(interp);
                c->compile = r->code == INTERP_OUT_OF_STEPS;
                if (c->compile)
                        say_compiled(c);
        }
        if (!c->compile)
                return NULL;
        if (!c->options->run_compiled)
                return "it takes more interpreter steps than --limit check_steps";
        struct loop_program *copy = printable(c, r->arena, p);
        const char *why = copy ? c->options->run_compiled(c->options->runner, copy,
                                                          compiled_for(c), r->extents,
                                                          (const void *const *)in, out, &r->code)
                               : no_program;
        if (!why)
                count_outputs(p, r);
        return why;
}

/* Notes the extents that inputs choose from. Passes do not change these, but one may give the model
 * other inputs. */
static void note_inputs(struct check *c, struct module *m)
{
        int entry = 0;
        for (struct function *f = m->functions; f; f = f->next, entry++) {
                if (entry == c->choice_count) {
                        c->choices = memory_resize(c->choices,
                                                   (size_t)++c->choice_count * sizeof *c->choices);
                        c->choices[entry] = (struct choices){ .count = -1 };
                }
                struct choices *own = &c->choices[entry];
                if (own->count == f->body.argument_count)
                        continue;
                own->count = f->body.argument_count;
                own->extents = memory_resize(own->extents,
                                             ((size_t)own->count + 1) * sizeof *own->extents);
                drawn_extents(f, own->extents);
        }
}

/* Returns the results of a state; NULL: it was skipped, with a message. */
static struct result *compute(struct check *c, const struct pipeline_state *state, const char *when)
{
        if (state->module)
                note_inputs(c, state->module);
        struct loop_program *p = program_of(c, state);
        struct result *r = NULL, **end = &r;
        const char *skipped = p ? NULL : "it cannot be lowered";
        for (int e = 0; p && e < p->entry_count && !skipped; e++) {
                p->at = e;
                *end = result_new(c, p, NULL);
                skipped = run_state(c, p, *end);
                end = &(*end)->next;
                for (const struct likely_run *l = c->likely; l && !skipped; l = l->next) {
                        if (p->entry_count > 1 && strcmp(l->entry, loop_entry_at(p)->name) != 0)
                                continue;
                        *end = result_new(c, p, l);
                        skipped = run_state(c, p, *end);
                        end = &(*end)->next;
                }
        }
        if (p)
                p->at = 0;
        if (!skipped)
                return r;
        diag_say(c->context->diag, "check: %s: skipped: %s\n", when, skipped);
        result_free(r);
        return NULL;
}

/* ---- comparing ---- */

static double as_number(const struct port_data *p, int64_t i)
{
        union scalar s = element_load(p->element, p->data, (size_t)i);
        return element_is_float(p->element)                   ? s.f
               : element_info[p->element].class == CLASS_SINT ? (double)s.i
                                                              : (double)s.u;
}

/* Returns the first element of y that differs from x's, or -1. */
static int64_t first_difference(const struct port_data *x, const struct port_data *y,
                                double allowed)
{
        size_t bytes = (size_t)element_info[x->element].bytes;
        bool bits = allowed == 0 || !element_is_float(x->element);
        double largest = 0;
        for (int64_t i = 0; i < x->elements && !bits; i++) {
                double v = fabs(as_number(x, i));
                if (isfinite(v) && v > largest)
                        largest = v;
        }
        for (int64_t i = 0; i < x->elements; i++) {
                const char *p = x->data, *q = y->data;
                if (!memcmp(p + (size_t)i * bytes, q + (size_t)i * bytes, bytes))
                        continue;
                double v = as_number(x, i), w = as_number(y, i);
                if ((isnan(v) && isnan(w)) || (!bits && fabs(v - w) <= allowed * (largest + 0.01)))
                        continue;
                return i;
        }
        return -1;
}

/* Returns where two results of an entry differ first, as text in arena; NULL: they are equal. */
static const char *entry_difference(struct arena *arena, const struct result *a,
                                    const struct result *b, double allowed)
{
        if (a->code != b->code || a->output_count != b->output_count)
                return arena_printf(arena, "the run ended with code %d before and %d after",
                                    a->code, b->code);
        for (int o = 0; a->code == INTERP_OK && o < a->output_count; o++) {
                const struct port_data *x = &a->outputs[o], *y = &b->outputs[o];
                if (x->element != y->element || x->elements != y->elements)
                        return arena_printf(arena, "output '%s' has another type after it",
                                            x->name);
                int64_t i = first_difference(x, y, allowed);
                if (i >= 0)
                        return arena_printf(arena,
                                            "output '%s' element %" PRId64
                                            " is %.9g before and %.9g after",
                                            x->name, i, as_number(x, i), as_number(y, i));
        }
        return NULL;
}

/* Returns where the results of two states differ first. */
static const char *difference(struct arena *arena, const struct result *a, const struct result *b,
                              double allowed)
{
        const char *what = NULL;
        for (; a && b && !what; a = a->next, b = b->next) {
                what = entry_difference(arena, a, b, allowed);
                if (what && *a->entry)
                        what = arena_printf(arena, "entry %s: %s", a->entry, what);
        }
        return what;
}

/* ---- around a pass ---- */

struct check *check_begin(const struct pipeline_state *state,
                          const struct pipeline_options *options, struct pass_context *context)
{
        struct check *c = memory_alloc(sizeof *c);
        *c = (struct check){ .options = options, .context = context, .arena = arena_new() };
        note_state(c, state);
        note_likely(c, state->program ? NULL : state->module);
        c->before = compute(c, state, "the model");
        return c;
}

void check_before(struct check *c, const struct pipeline_state *state, const struct pass *pass)
{
        char stem[64];
        snprintf(stem, sizeof stem, "dnncc-check-%s", pass->name);
        snapshot_take(&c->snapshot, state, stem);
}

void check_reproduce(struct check *c, const struct pass *pass)
{
        const struct pass_context *context = c->context;
        if (!snapshot_write(&c->snapshot, ".", context->diag))
                return;
        diag_say(context->diag,
                 "check: to see it again: dnncc %s --passes=%s --check --emit=%s -o -",
                 c->snapshot.file, pass->name, pass->level == LEVEL_TENSOR ? "ir" : "loops");
        if (strcmp(context->target->name, "generic"))
                diag_say(context->diag, " --target=%s", context->target->name);
        if (context->threads > 1)
                diag_say(context->diag, " --threads=%d", context->threads);
        diag_say(context->diag, "%s%s\n", context->exact ? " --exact" : "",
                 context->assume_finite ? " --assume-finite" : "");
}

/* Is the pass exact? Lowering rounds otherwise only where there are scheduled kernels. */
static bool is_exact(const struct pass *pass, const struct pass_context *context)
{
        return pass->class == CLASS_E || context->exact ||
               (pass->level == LEVEL_LOWER && !target_engine(context->target)->float_schedules);
}

bool check_after(struct check *c, const struct pipeline_state *state, const struct pass *pass)
{
        note_state(c, state);
        struct result *after = compute(c, state, pass->name);
        double allowed = is_exact(pass, c->context) ? 0 : tolerance(c);
        bool compared = after && c->before && pass->class != CLASS_A;
        const char *what = compared ? difference(after->arena, c->before, after, allowed) : NULL;
        if (what) {
                diag_error(c->context->diag, EXIT_INTERNAL,
                           "bug in pass %s: --check: %s; the state before it: %s", pass->name, what,
                           c->snapshot.file);
                check_reproduce(c, pass);
        } else if (compared) {
                diag_say(c->context->diag, "check: %s: equal\n", pass->name);
        } else if (after) {
                diag_say(c->context->diag, "check: %s: skipped: %s\n", pass->name,
                        c->before ? "it approximates on purpose"
                                  : "nothing before it to compare with");
        }
        result_free(c->before);
        c->before = after;
        return !what;
}

void check_end(struct check *c)
{
        result_free(c->before);
        snapshot_free(&c->snapshot);
        for (int i = 0; i < c->choice_count; i++)
                free(c->choices[i].extents);
        free(c->choices);
        arena_free(c->arena);
        free(c);
}
