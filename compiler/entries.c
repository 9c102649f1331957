/* SPDX-License-Identifier: MIT */
/* --entry=NAME[:DIM=N,..] makes one file with several run functions: of several models, one each,
 * or of one model with other dimensions bound. They become functions of one module, so that equal
 * constants and kernels are one, and what they keep as state is one struct. */
#include <stdlib.h>
#include <string.h>

#include "base/store.h"
#include "base/suggest.h"
#include "compiler/driver.h"
#include "front/import.h"

enum { ENTRIES_MAX = 64 };

struct entry { const char *name, *model; struct list dims; };

static bool usage(struct run *run, const char *option, const char *what)
{
        diag_error(&run->diag, EXIT_USAGE, "--entry %s: %s", text_argument(run->arena, option),
                   what);
        return false;
}

/* Takes "step:N=1,P=0..1023" apart. */
static bool read_entry(struct run *run, const char *option, struct entry *e)
{
        char *text = arena_string(run->arena, option), *colon = strchr(text, ':');
        if (colon)
                *colon++ = 0;
        struct names *taken = names_new(run->arena);
        loop_entry_reserve(taken);
        e->name = text;
        if (!text_is_identifier(text) || !names_reserve(taken, text))
                return usage(run, option,
                             "want NAME or NAME:DIM=N,.., a name of letters, digits and _ that "
                             "nothing else of the file has");
        for (int i = 0; i < run->options.dims.count; i++) {
                ARENA_GROW(run->arena, e->dims.items, e->dims.count);
                e->dims.items[e->dims.count++] = run->options.dims.items[i];
        }
        for (char *dim = colon, *next; dim; dim = next) {
                next = strchr(dim, ',');
                if (next)
                        *next++ = 0;
                /* Other likely extents of the dimension in front. */
                if (dim > colon && !strchr(dim, '=') && *dim >= '0' && *dim <= '9') {
                        const char **last = &e->dims.items[e->dims.count - 1];
                        *last = arena_printf(run->arena, "%s,%s", *last, dim);
                        continue;
                }
                if (!strchr(dim, '='))
                        return usage(run, option, "want DIM=N behind the colon, as --dim has it");
                ARENA_GROW(run->arena, e->dims.items, e->dims.count);
                e->dims.items[e->dims.count++] = dim;
        }
        return true;
}

/* Returns how long the option DIM=1..N is without likely extents behind it. */
static size_t range_length(const char *dim)
{
        const char *equals = strrchr(dim, '='), *text = equals ? equals : dim;
        return (size_t)(text - dim) + strcspn(text, ":");
}

/* Checks that a dimension which runs of two entries give has the same bounds in both. */
static bool check_ranges(struct run *run, const struct entry *entries, int count)
{
        for (int a = 0; a < count; a++)
                for (int b = 0; b < a; b++)
                        for (int i = 0; i < entries[a].dims.count; i++)
                                for (int k = 0; k < entries[b].dims.count; k++) {
                                        const char *x = entries[a].dims.items[i],
                                                   *y = entries[b].dims.items[k];
                                        size_t name = strcspn(x, "=");
                                        if (strncmp(x, y, name + 1) || !strstr(x, "..") ||
                                            !strstr(y, "..") ||
                                            (range_length(x) == range_length(y) &&
                                             !strncmp(x, y, range_length(x))))
                                                continue;
                                        return usage(run, entries[a].name,
                                                     arena_printf(run->arena,
                                                                  "%s here and %s in entry %s: "
                                                                  "bounds that a run keeps are one "
                                                                  "for all",
                                                                  text_argument(run->arena, x),
                                                                  text_argument(run->arena, y),
                                                                  entries[b].name));
                                }
        return true;
}

/* Reads the options, and which model each entry is of. */
static struct entry *read_options(struct run *run)
{
        const struct options *o = &run->options;
        const int count = o->entries.count, models = 1 + o->more.count;
        struct entry *entries = arena_array(run->arena, (size_t)count + 1, sizeof *entries);
        if (models != 1 && models != count) {
                diag_error(&run->diag, EXIT_USAGE,
                           "%d models want as many --entry=NAME, one for each in their order",
                           models);
                return NULL;
        }
        if (count > ENTRIES_MAX) {
                diag_error(&run->diag, EXIT_USAGE, "--entry: at most %d", ENTRIES_MAX);
                return NULL;
        }
        for (int i = 0; i < count; i++) {
                if (!read_entry(run, o->entries.items[i], &entries[i]))
                        return NULL;
                entries[i].model = i && models > 1 ? o->more.items[i - 1] : o->model;
                for (int k = 0; k < i; k++)
                        if (!strcmp(entries[k].name, entries[i].name)) {
                                usage(run, o->entries.items[i], "given twice");
                                return NULL;
                        }
        }
        return check_ranges(run, entries, count) ? entries : NULL;
}

bool entries_read(struct run *run)
{
        struct options asked = run->options;
        const char *subject = run->diag.subject;
        struct entry *entries = read_options(run);
        if (!entries)
                return false;
        for (int i = 0; i < asked.entries.count; i++) {
                const struct entry *e = &entries[i];
                run->options.model = e->model;
                run->options.dims = e->dims;
                if (i && asked.more.count)
                        run->diag.subject = text_argument(run->arena, e->model);
                if ((!i || asked.more.count) && !read_bytes(run))
                        return false;
                run->keeps_bytes = i + 1 < asked.entries.count && !asked.more.count;
                if (!import_model(run, NULL, e->name))
                        return false;
        }
        likely_last(run->state.module);
        run->diag.subject = subject;
        asked.states = run->options.states;     /* A format may have some by itself. */
        run->options = asked;
        return true;
}

bool entries_check(struct run *run)
{
        const struct options *o = &run->options;
        const struct module *m = run->state.module;
        const struct loop_program *p = run->state.program;
        if (m ? !module_has_entries(m) : p->entry_count == 1)
                return true;
        const char *what = fixed_target(run) ? "--target"
                           : o->calibrate && o->quantize ? "--quantize with --calibrate"
                                   : options_for_one_entry(o, run->arena);
        if (what)
                diag_error(&run->diag, EXIT_UNSUPPORTED,
                           "several entries: %s is for one; compile that entry alone", what);
        return !what;
}

/* ---- the data of an entry ---- */

int entry_called(const struct loop_program *p, const char *name, size_t length)
{
        int e = p && p->entry_count > 1 ? p->entry_count - 1 : -1;
        while (e >= 0 && (strlen(p->entries[e].name) != length ||
                          strncmp(p->entries[e].name, name, length) != 0))
                e--;
        return e;
}

int entry_named(struct run *run, const char *option, const char **argument)
{
        const struct loop_program *p = run->state.program;
        const char *equal = strchr(*argument, '=');
        const size_t length = equal ? (size_t)(equal - *argument) : 0;
        if (p->entry_count == 1 || !equal || memchr(*argument, '/', length))
                return 0;
        const int entry = entry_called(p, *argument, length);
        if (entry >= 0) {
                *argument = equal + 1;
                return entry;
        }
        struct suggest known = suggest_new(run->arena, *argument, length);
        for (int e = 0; e < p->entry_count; e++)
                suggest_add(&known, p->entries[e].name);
        diag_error(&run->diag, EXIT_USAGE,
                   "%s %s: want DIR or ENTRY=DIR, and no entry is called that%s", option,
                   text_argument(run->arena, *argument), suggest_text(&known, true));
        return -1;
}

const char *test_of_entry(struct run *run)
{
        const struct list *tests = &run->options.tests;
        for (int i = 0; i < tests->count; i++) {
                const char *dir = tests->items[i];
                if (entry_named(run, "--test", &dir) == run->state.program->at)
                        return dir;
        }
        return NULL;
}

void entry_numbers(const struct function *f, struct loop_buffer *const *ports, int count,
                   bool outputs, int *numbers)
{
        int in = 0, out = 0;
        for (int k = 0; k < count; k++) {
                const int input = ports[k]->space == SPACE_STATE
                                          ? function_input(f, ports[k]->port)
                                          : -1;
                while (in < f->body.argument_count && function_next_of(f, in) >= 0)
                        in++;
                while (function_state_of(f, out) >= 0)
                        out++;
                numbers[k] = ports[k]->space == SPACE_INPUT    ? in++
                             : ports[k]->space == SPACE_OUTPUT ? out++
                             : outputs && input >= 0 ? function_next_of(f, input)
                                                     : input;
        }
}
