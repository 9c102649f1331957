/* SPDX-License-Identifier: MIT */
/* Copies a module, so that one can change without the other. Names, types and the data of constants
 * are those of the first. */
#include "base/store.h"
#include "base/text.h"
#include "ir/tensor/tensor.h"

static void copy_constants(const struct module *m, struct module *copy)
{
        for (struct constant *c = m->constants; c; c = c->next) {
                struct constant *own = ARENA_NEW(copy->arena, struct constant);
                *own = *c;
                own->next = NULL;
                own->value.constant = own;
                own->value.uses = NULL;
                if (own->name)
                        names_reserve(copy->constant_names, own->name);
                c->value.scratch = &own->value;
                *copy->constants_end = own;
                copy->constants_end = &own->next;
        }
}

static void copy_function(const struct function *f, struct module *copy)
{
        struct function *own = function_new(copy, f->name);
        own->input_ports = arena_copy(copy->arena, f->input_ports,
                                      (size_t)f->body.argument_count * sizeof *own->input_ports);
        own->output_ports = f->output_ports;
        own->output_count = f->output_count;
        own->next_extents = f->next_extents;
        own->next_count = f->next_count;
        own->likely = f->likely;
        own->likely_count = f->likely_count;
        for (struct function *g = copy->functions; f->general && !own->general; g = g->next)
                own->general = strcmp(g->name, f->general->name) ? NULL : g;
        /* Passes may add some. */
        region_reserve(&own->body, 2 * f->body.argument_count);
        region_clone(&(struct builder){ .m = copy }, &f->body, &own->body);
}

/* Copies the arrays of symbols and terms: they may grow, so each module has its own. */
static void copy_dims(const struct module *m, struct module *copy)
{
        copy->symbols = NULL;
        copy->dims = NULL;
        for (int i = 0; i < m->symbol_count; i++) {
                ARENA_GROW(copy->arena, copy->symbols, i);
                copy->symbols[i] = m->symbols[i];
        }
        for (int i = 0; i < m->dim_count; i++) {
                ARENA_GROW(copy->arena, copy->dims, i);
                copy->dims[i] = m->dims[i];
        }
        copy->types = map_copy(copy->arena, m->types);
}

struct module *module_copy(const struct module *m)
{
        struct arena *arena = arena_new();
        struct module *copy = arena_copy(arena, m, sizeof *m);
        store_pin(m->store);
        copy->arena = arena;
        copy->store = store_new();
        copy->tables = NULL;            /* They are of the first module. */
        copy->functions = NULL;
        copy->functions_end = &copy->functions;
        copy->constants = NULL;
        copy->constants_end = &copy->constants;
        copy->constant_names = names_new(arena);
        copy_dims(m, copy);
        copy_constants(m, copy);
        for (const struct function *f = m->functions; f; f = f->next)
                copy_function(f, copy);
        for (struct constant *c = m->constants; c; c = c->next)
                c->value.scratch = NULL;
        return copy;
}
