/* SPDX-License-Identifier: MIT */
/* --gradient=LOSS:NAME,.. adds outputs d_NAME: how the output LOSS, one number, changes with each
 * element of the inputs and initializers of these names (ir/adjoint/adjoint.h). It does so before
 * all passes, so that everything that follows sees an ordinary model. */
#include "ir/adjoint/adjoint.h"

#include <string.h>

#include "base/suggest.h"
#include "compiler/driver.h"
#include "front/import.h"

struct adding {
        struct run *run;
        struct arena *arena;
        struct function *f;
        const char *option;             /* It is the argument at hand. */
        struct value **values;          /* The outputs, with those that are added. */
        struct port *ports;
        int count;
};

static const char *safe(const struct adding *a, const char *name)
{
        return text_safe(a->arena, name, strlen(name));
}

static bool usage(const struct adding *a, const char *text)
{
        diag_error(&a->run->diag, EXIT_USAGE, "--gradient=%s: %s",
                   text_argument(a->arena, a->option), text);
        return false;
}

/* ---- which initializers stay as they are while the model is read ---- */

static const char all_of[] = "all";

static void add_name(struct run *run, const char *name, size_t length)
{
        struct import_weights *w = run->weights;
        const char **names = (const char **)w->names;
        w->all = w->all || (length == strlen(all_of) && !memcmp(name, all_of, length));
        ARENA_GROW(run->arena, names, w->name_count);
        names[w->name_count++] = arena_printf(run->arena, "%.*s", (int)length, name);
        w->names = names;
}

/* Names may have a colon themselves, so what stands behind any of them may be one. */
bool gradients_parse(struct run *run)
{
        const struct list *asked = &run->options.gradients;
        if (!asked->count)
                return true;
        run->weights = ARENA_NEW(run->arena, struct import_weights);
        for (int i = 0; i < asked->count; i++) {
                const char *colon = strchr(asked->items[i], ':');
                if (!colon || colon == asked->items[i] || !colon[1]) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--gradient=%s: want LOSS:NAME,..: an output of one number, "
                                   "and inputs and initializers, or all",
                                   text_argument(run->arena, asked->items[i]));
                        return false;
                }
                for (; colon; colon = strchr(colon + 1, ':'))
                        for (const char *at = colon + 1; *at;) {
                                size_t length = strcspn(at, ",");
                                add_name(run, at, length);
                                at += length + (at[length] == ',');
                        }
        }
        return true;
}

/* ---- the loss ---- */

static bool is_one_float(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && element_is_float(v->type->element) &&
               type_has_one(v->type);
}

/* Returns the output that the option's text begins with, and what follows; -1 after an error. */
static int find_loss(const struct adding *a, const char **rest)
{
        struct suggest known = suggest_new(a->arena, a->option, strcspn(a->option, ":"));
        const struct op *yield = a->f->body.last;
        for (int i = 0; i < a->f->output_count; i++) {
                const char *name = a->f->output_ports[i].name;
                size_t length = strlen(name);
                if (is_one_float(op_operand(yield, i)))
                        suggest_add(&known, safe(a, name));
                if (strncmp(a->option, name, length) != 0 || a->option[length] != ':')
                        continue;
                *rest = a->option + length + 1;
                if (is_one_float(op_operand(yield, i)))
                        return i;
                usage(a, arena_printf(a->arena, "output '%s' is %s: want one number, a float",
                                      safe(a, name),
                                      type_text(a->arena, a->f->module,
                                                op_operand(yield, i)->type)));
                return -1;
        }
        usage(a, arena_printf(a->arena,
                              "no output of that name, with one number, a float%s; --keep makes "
                              "an output of any value",
                              suggest_text(&known, true)));
        return -1;
}

/* ---- by what ---- */

struct wanted { struct value **values; const char **names; int count; };

static void want(const struct adding *a, struct wanted *w, const char *name, struct value *v)
{
        for (int i = 0; i < w->count; i++)
                if (w->values[i] == v)
                        return;
        ARENA_GROW(a->arena, w->values, w->count);
        ARENA_GROW(a->arena, w->names, w->count);
        w->values[w->count] = v;
        w->names[w->count++] = name;
}

/* Returns the input or constant of this name; NULL: there is none. *known: those that there are. */
static struct value *find_value(const struct adding *a, const char *name, struct suggest *known)
{
        struct function *f = a->f;
        const struct import_weights *w = a->run->weights;
        struct value *found = NULL;
        for (int i = 0; i < f->body.argument_count; i++) {
                suggest_add(known, safe(a, f->input_ports[i].name));
                if (!strcmp(f->input_ports[i].name, name))
                        found = &f->body.arguments[i];
        }
        for (int i = 0; i < w->found_count; i++)
                if (!strcmp(w->found[i].name, name))
                        found = w->found[i].value;
        for (struct constant *c = f->module->constants; c; c = c->next) {
                if (!c->name || !element_is_float(c->value.type->element))
                        continue;
                suggest_add(known, c->name);
                if (!found && !strcmp(c->name, name))
                        found = &c->value;
        }
        return found;
}

static bool want_named(const struct adding *a, struct wanted *w, const struct value *loss,
                       const char *name)
{
        struct suggest known = suggest_new(a->arena, name, strlen(name));
        struct value *v = find_value(a, name, &known);
        if (!v)
                return usage(a, arena_printf(a->arena, "no input or initializer is called '%s'%s",
                                             safe(a, name), suggest_text(&known, true)));
        if (!element_is_float(v->type->element))
                return usage(a, arena_printf(a->arena, "'%s' is %s: want floats", safe(a, name),
                                             type_text(a->arena, a->f->module, v->type)));
        if (!gradient_reaches(a->arena, loss, v))
                return usage(a, arena_printf(a->arena, "the output does not depend on '%s'",
                                             safe(a, name)));
        want(a, w, name, v);
        return true;
}

/* Adds what `all` stands for. */
static bool want_all(const struct adding *a, struct wanted *w, const struct value *loss)
{
        const struct import_weights *weights = a->run->weights;
        for (int i = 0; i < weights->found_count; i++)
                if (gradient_reaches(a->arena, loss, weights->found[i].value))
                        want(a, w, weights->found[i].name, weights->found[i].value);
        for (struct constant *c = a->f->module->constants; c && !weights->found_count; c = c->next)
                if (c->name && element_is_float(c->value.type->element) &&
                    gradient_reaches(a->arena, loss, &c->value))
                        want(a, w, c->name, &c->value);
        return w->count || usage(a, "the output depends on no initializer of floats");
}

static bool read_wanted(const struct adding *a, const struct value *loss, const char *rest,
                        struct wanted *w)
{
        struct suggest unused = suggest_new(a->arena, rest, strlen(rest));
        if (find_value(a, rest, &unused))         /* A name may have commas. */
                return want_named(a, w, loss, rest);
        while (*rest) {
                size_t length = strcspn(rest, ",");
                const char *name = arena_printf(a->arena, "%.*s", (int)length, rest);
                if (!strcmp(name, all_of) && !find_value(a, name, &unused)) {
                        if (!want_all(a, w, loss))
                                return false;
                } else if (!want_named(a, w, loss, name)) {
                        return false;
                }
                rest += length + (rest[length] == ',');
        }
        return true;
}

/* ---- adding ---- */

bool gradient_refused(struct run *run, const struct sweep *s)
{
        for (int i = 0; i < s->obstacle_count; i++) {
                const struct op *op = s->obstacles[i].op;
                diag_error(&run->diag, EXIT_UNSUPPORTED, "node '" DIAG_NODE("%s")
                           "': operation %s has no derivative: %s",
                           op->location ? op->location : "", op_info[op->code].name,
                           s->obstacles[i].why);
        }
        return false;
}

static bool add_output(struct adding *a, const char *name, struct value *v)
{
        for (int i = 0; i < a->count; i++)
                if (!strcmp(a->ports[i].name, name))
                        return usage(a, arena_printf(a->arena, "there is an output '%s' already",
                                                     safe(a, name)));
        ARENA_GROW(a->f->module->arena, a->ports, a->count);
        ARENA_GROW(a->arena, a->values, a->count);
        a->ports[a->count] = (struct port){ .name = name };
        a->values[a->count++] = v;
        return true;
}

static bool add_derivatives(struct adding *a)
{
        struct op *yield = a->f->body.last;
        const char *rest;
        struct wanted w = { 0 };
        int output = find_loss(a, &rest);
        if (output < 0 || !read_wanted(a, op_operand(yield, output), rest, &w))
                return false;
        struct builder b = builder_before(yield, &a->run->diag);
        struct value *loss = op_operand(yield, output), *seed = build_like(&b, loss, 1);
        struct sweep s = { .b = &b, .arena = a->arena, .replaces = true };
        struct value **made = arena_array(a->arena, (size_t)w.count, sizeof *made);
        const struct gradient g = { .ys = &loss,
                                    .seeds = &seed,
                                    .y_count = 1,
                                    .xs = w.values,
                                    .x_count = w.count,
                                    .made = made };
        if (!gradient_build(&s, &g))
                return gradient_refused(a->run, &s);
        for (int i = 0; i < w.count; i++)
                if (!add_output(a, arena_printf(a->f->module->arena, "d_%s", w.names[i]), made[i]))
                        return false;
        return true;
}

/* Replaces the outputs by those and the ones that were added. */
static bool yield_all(struct adding *a)
{
        struct function *f = a->f;
        struct op *yield = f->body.last;
        struct builder b = { .m = f->module, .region = &f->body, .diag = &a->run->diag };
        for (int i = 0; i < yield->operand_count; i++)    /* A loop may have been replaced. */
                a->values[i] = op_operand(yield, i);
        op_erase(yield);
        f->output_ports = a->ports;
        return build_yield(&b, a->values, a->count) != NULL;
}

bool gradients_add(struct run *run)
{
        const struct list *asked = &run->options.gradients;
        struct module *m = run->state.module;
        if (!asked->count)
                return true;
        struct adding a = { .run = run, .arena = run->arena, .f = m ? module_entry(m) : NULL };
        a.option = asked->items[0];
        if (!m)
                return usage(&a, "it works on Tensor IR, and this is Loop IR");
        if (a.f->next)
                return usage(&a, "it is for one function, without likely extents");
        for (int i = 0; i < a.f->output_count; i++) {
                ARENA_GROW(m->arena, a.ports, a.count);
                ARENA_GROW(a.arena, a.values, a.count);
                a.ports[a.count++] = a.f->output_ports[i];
        }
        for (int i = 0; i < asked->count; i++) {
                a.option = asked->items[i];
                if (!add_derivatives(&a))
                        return false;
        }
        for (struct constant *c = m->constants; c; c = c->next)
                c->varies = false;
        return yield_all(&a);
}
