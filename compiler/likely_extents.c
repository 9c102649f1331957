/* SPDX-License-Identifier: MIT */
/* --dim N=1..512:1,16 says which extents of a dimension that runs give are likely. The model is
 * imported once more for each of these, as the code of its function for such runs; of several
 * dimensions with likely extents each may have one of them or any extent at all. */
#include <string.h>

#include "base/size.h"
#include "compiler/driver.h"

enum { LIKELY_MAX = 32 };

struct likely_dim { const char *name; const char *range; int64_t values[LIKELY_MAX]; int count; };

/* Returns the number of the symbol of this name, or -1. */
static int symbol_named(const struct module *m, const char *name)
{
        int i = m->symbol_count - 1;
        while (i >= 0 && strcmp(m->symbols[i].name, name) != 0)
                i--;
        return i;
}

/* Adds the likely extents of a list to a dimension. Returns false after an error. */
static bool read_extents(struct run *run, struct likely_dim *d, const char *list)
{
        while (list) {
                int64_t extent;
                int_list_next(&list, &extent);
                for (int i = 0; i < d->count; i++)
                        if (d->values[i] == extent) {
                                diag_error(&run->diag, EXIT_USAGE, "--dim %s: %lld given twice",
                                           text_argument(run->arena, d->range), (long long)extent);
                                return false;
                        }
                if (d->count == LIKELY_MAX) {
                        diag_error(&run->diag, EXIT_USAGE, "--dim %s: at most %d likely extents",
                                   text_argument(run->arena, d->range), LIKELY_MAX);
                        return false;
                }
                d->values[d->count++] = extent;
        }
        return true;
}

/* Reads the options of --dim into items, those with likely extents alone. Returns how many there
 * are, or -1 after an error. */
static int read_dims(struct run *run, struct likely_dim *items)
{
        const struct list *dims = &run->options.dims;
        int count = 0;
        for (int i = 0; i < dims->count; i++) {
                const char *equals = strrchr(dims->items[i], '='), *likely = NULL;
                int64_t least, most;
                if (!equals || !int_range_parse(equals + 1, &least, &most, &likely) || !likely)
                        continue;
                const char *name = arena_printf(run->arena, "%.*s",
                                                (int)(equals - dims->items[i]), dims->items[i]);
                if (symbol_named(run->state.module, name) < 0)
                        continue;       /* The model does not have it. */
                struct likely_dim *d = &items[count++];
                *d = (struct likely_dim){ .name = name, .range = dims->items[i] };
                if (!read_extents(run, d, likely))
                        return -1;
        }
        return count;
}

/* Adds a case whose dimension k has its likely extent of number which[k], or any where that is
 * count. */
static void add_case(struct run *run, struct likely *l, const struct likely_dim *dims, int count,
                     const int *which)
{
        struct likely_case *c = &l->cases[l->count++];
        *c = (struct likely_case){ .names = arena_array(run->arena, (size_t)count,
                                                        sizeof *c->names),
                                   .extents = arena_array(run->arena, (size_t)count,
                                                          sizeof *c->extents) };
        for (int i = 0; i < run->options.dims.count; i++) {
                const char *dim = run->options.dims.items[i];
                for (int k = 0; k < count; k++) {
                        if (dims[k].range != dim || which[k] == dims[k].count)
                                continue;
                        dim = arena_printf(run->arena, "%s=%lld", dims[k].name,
                                           (long long)dims[k].values[which[k]]);
                        c->names[c->count] = dims[k].name;
                        c->extents[c->count++] = dims[k].values[which[k]];
                        break;
                }
                ARENA_GROW(run->arena, c->dims.items, c->dims.count);
                c->dims.items[c->dims.count++] = dim;
        }
}

/* Is the model imported for likely extents, too? What is found out about values by samples, or
 * written of the model itself, is of the general function alone. */
static bool are_wanted(const struct options *o)
{
        return o->emit != EMIT_ONNX && !o->tune && !o->calibrate &&
               (!o->quantize || !strcmp(o->quantize, "dynamic"));
}

bool likely_read(struct run *run, struct likely *l)
{
        struct likely_dim *dims = arena_array(run->arena, (size_t)run->options.dims.count + 1,
                                              sizeof *dims);
        const int count = read_dims(run, dims);
        *l = (struct likely){ 0 };
        if (count <= 0)
                return !count;
        if (!are_wanted(&run->options)) {
                if (run->options.quantize)
                        diag_warning(&run->diag,
                                     "--dim %s: with --quantize=FILE likely extents have no code "
                                     "of their own",
                                     text_argument(run->arena, dims[0].range));
                return true;
        }
        int64_t total = 1;
        for (int k = 0; k < count && total <= LIKELY_MAX + 1; k++)
                total *= dims[k].count + 1;
        if (total > LIKELY_MAX + 1) {
                diag_error(&run->diag, EXIT_USAGE,
                           "--dim %s: likely extents of all dimensions combine to more than %d "
                           "ways",
                           text_argument(run->arena, dims[count - 1].range), LIKELY_MAX);
                return false;
        }
        l->cases = arena_array(run->arena, (size_t)total, sizeof *l->cases);
        int *which = arena_array(run->arena, (size_t)count, sizeof *which);
        for (int bound = count; bound > 0; bound--)
                for (int64_t way = 0; way < total; way++) {
                        int own = 0;
                        int64_t rest = way;
                        for (int k = 0; k < count; k++) {
                                which[k] = (int)(rest % (dims[k].count + 1));
                                rest /= dims[k].count + 1;
                                own += which[k] < dims[k].count;
                        }
                        if (own == bound)
                                add_case(run, l, dims, count, which);
                }
        return true;
}

const char *likely_name(struct run *run, const struct function *general,
                        const struct likely_case *c)
{
        struct names *names = names_new(run->arena);
        for (const struct function *f = run->state.module->functions; f; f = f->next)
                names_reserve(names, f->name);
        const char *name = general->name;
        for (int i = 0; i < c->count; i++)
                name = arena_printf(run->arena, "%s_%s%lld", name, c->names[i],
                                    (long long)c->extents[i]);
        return text_identifier(names, name, strlen(name), "likely");
}

void likely_bind(struct run *run, struct function *general, const struct likely_case *c)
{
        struct module *m = run->state.module;
        struct function *f = general;
        while (f->next)
                f = f->next;
        for (int i = 0; i < c->count; i++)
                function_expect(f, general, symbol_named(m, c->names[i]), c->extents[i]);
}

void likely_last(struct module *m)
{
        struct function *entries = NULL, **end = &entries, *likely = NULL, **last = &likely;
        for (struct function *f = m->functions; f; f = f->next) {
                struct function ***to = f->general ? &last : &end;
                **to = f;
                *to = &f->next;
        }
        *end = likely;
        *last = NULL;
        m->functions = entries;
        m->functions_end = likely ? last : end;
}
