/* SPDX-License-Identifier: MIT */
/* --dim NAME=N and --input NAME=1x3x8 bind the symbols of a module. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "compiler/driver.h"
#include "front/asked.h"

struct binding { struct module *m; struct arena *arena; struct diag *diag; int64_t *extents; };

static const char *safe(const struct binding *b, const char *text)
{
        return text_argument(b->arena, text);
}

static bool bind(struct binding *b, int symbol, int64_t extent)
{
        if (b->extents[symbol] < 0 || b->extents[symbol] == extent) {
                b->extents[symbol] = extent;
                return true;
        }
        diag_error(b->diag, EXIT_USAGE, "dimension '%s' is bound to %" PRId64 " and to %" PRId64,
                   b->m->symbols[symbol].name, b->extents[symbol], extent);
        return false;
}

/* Leaves a symbol to the run, between two bounds. */
static bool bind_range(struct binding *b, int symbol, const char *text, int64_t least, int64_t most)
{
        const struct symbol *s = &b->m->symbols[symbol];
        if (b->extents[symbol] >= 0 || (s->at_run && (s->least != least || s->bound != most)))
                diag_error(b->diag, EXIT_USAGE, "--dim %s: dimension '%s' has another value", 
                           safe(b, text), s->name);
        else if (!dim_at_run(b->m, symbol, least, most))
                diag_error(b->diag, EXIT_USAGE,
                           "--dim %s: dimension '%s' is %" PRId64 " to %" PRId64 " in the model",
                           safe(b, text), s->name, s->least, s->bound);
        else
                return true;
        return false;
}

static bool bind_dim(struct binding *b, const char *text)
{
        const char *equal = strrchr(text, '='), *likely;
        int64_t extent, most;
        for (int s = 0; equal && s < b->m->symbol_count; s++) {
                if (strlen(b->m->symbols[s].name) != (size_t)(equal - text) ||
                    strncmp(b->m->symbols[s].name, text, (size_t)(equal - text)) != 0)
                        continue;
                if (b->m->symbols[s].counted) {
                        diag_error(b->diag, EXIT_USAGE,
                                   "--dim %s: the model itself finds dimension '%s' while it runs",
                                   safe(b, text), b->m->symbols[s].name);
                        return false;
                }
                if (int_parse(equal + 1, &extent) && extent >= 0)
                        return bind(b, s, extent);
                if (int_range_parse(equal + 1, &extent, &most, &likely) && likely) {
                        diag_error(b->diag, EXIT_USAGE,
                                   "--dim %s: likely extents are for .onnx models; a .dnn text has "
                                   "a func for them (likely @main %s = N)",
                                   safe(b, text), b->m->symbols[s].name);
                        return false;
                }
                if (int_range_parse(equal + 1, &extent, &most, &likely))
                        return bind_range(b, s, text, extent, most);
        }
        struct suggest known =
                suggest_new(b->arena, text, equal ? (size_t)(equal - text) : strlen(text));
        for (int s = 0; s < b->m->symbol_count; s++)
                suggest_add(&known, b->m->symbols[s].name);
        diag_error(b->diag, EXIT_USAGE,
                   "--dim wants NAME=N or NAME=1..N with a symbol of the model, not '%s'%s",
                   safe(b, text), suggest_text(&known, true));
        return false;
}

/* Returns the input's type, by the model's own name of it. */
static const struct type *input_type(const struct module *m, const char *name, size_t length)
{
        for (const struct function *f = m->functions; f; f = f->next)
                for (int i = 0; i < f->body.argument_count; i++)
                        if (strlen(f->input_ports[i].name) == length &&
                            !strncmp(f->input_ports[i].name, name, length))
                                return f->body.arguments[i].type;
        return NULL;
}

/* Reads "1x3x8" into dims and returns the rank, or -1 where it is no shape. */
static int parse_shape(const struct binding *b, const char *text, int64_t dims[RANK_MAX])
{
        int rank = 0;
        while (*text) {
                size_t length = strcspn(text, "x");
                char *digits = arena_copy(b->arena, text, length + 1);
                digits[length] = 0;
                if (rank == RANK_MAX || !int_parse(digits, &dims[rank]) || dims[rank++] < 0)
                        return -1;
                text += length;
                if (*text == 'x' && !*++text)
                        return -1;
        }
        return rank;
}

static const char *suggest_input(const struct binding *b, const char *option)
{
        const char *equal = strrchr(option, '=');
        struct suggest known =
                suggest_new(b->arena, option, equal ? (size_t)(equal - option) : strlen(option));
        for (const struct function *f = b->m->functions; f; f = f->next)
                for (int i = 0; i < f->body.argument_count; i++)
                        suggest_add(&known, text_safe(b->arena, f->input_ports[i].name,
                                                      strlen(f->input_ports[i].name)));
        return suggest_text(&known, true);
}

static bool bind_input(struct binding *b, const char *text)
{
        const char *equal = strrchr(text, '=');
        const struct type *type = equal ? input_type(b->m, text, (size_t)(equal - text)) : NULL;
        int64_t dims[RANK_MAX];
        int rank = type ? parse_shape(b, equal + 1, dims) : -1;
        if (rank < 0 || rank != type->rank) {
                diag_error(b->diag, EXIT_USAGE,
                           "--input wants NAME=1x3x8 with an input of the model and its rank, not "
                           "'%s'%s",
                           safe(b, text), type ? "" : suggest_input(b, text));
                return false;
        }
        for (int i = 0; i < rank; i++) {
                dim_t d = type->dims[i];
                if (!dim_is_static(d) && dim_term(b->m, d)->kind == DIM_SYMBOL) {
                        if (!bind(b, dim_term(b->m, d)->symbol, dims[i]))
                                return false;
                } else if (dim_is_static(d) && !dim_is(d, dims[i])) {
                        diag_error(b->diag, EXIT_USAGE,
                                   "--input %s: extent %d is %" PRId64 " in the model",
                                   safe(b, text), i, dim_extent(d));
                        return false;
                }
        }
        return true;
}

/* ---- what is open ---- */

/* Returns the user's options, and those that would bind all that is open. */
static const char *binding_command(const struct binding *b, const struct options *o)
{
        struct asked a = asked_begin(b->arena, o->model);
        asked_given(&a, "--dim", o->dims.items, o->dims.count);
        asked_given(&a, "--input", o->inputs.items, o->inputs.count);
        for (int i = 0; i < b->m->symbol_count; i++)
                if (b->extents[i] < 0 && !b->m->symbols[i].at_run)
                        asked_add(&a, "--dim",
                                  arena_printf(b->arena, "%s=1", b->m->symbols[i].name));
        return asked_end(&a);
}

/* Returns "x: <N x 4 x f32>, " of the first input that has the symbol, or "". */
static const char *reader_of(const struct binding *b, int symbol)
{
        for (const struct function *f = b->m->functions; f; f = f->next)
                for (int i = 0; i < f->body.argument_count; i++) {
                        const struct type *t = f->body.arguments[i].type;
                        for (int d = 0; t->kind == TYPE_TENSOR && d < t->rank; d++)
                                if (!dim_is_static(t->dims[d]) &&
                                    dim_term(b->m, t->dims[d])->kind == DIM_SYMBOL &&
                                    dim_term(b->m, t->dims[d])->symbol == symbol)
                                        return arena_printf(
                                                b->arena, "%s: %s, ",
                                                text_safe(b->arena, f->input_ports[i].name,
                                                          strlen(f->input_ports[i].name)),
                                                type_text(b->arena, b->m, t));
                }
        return "";
}

bool bind_symbols(struct module *m, const struct options *options, struct arena *arena,
                  struct diag *diag)
{
        struct binding b = { m, arena, diag,
                             arena_array(arena, (size_t)m->symbol_count + 1, sizeof *b.extents) };
        for (int i = 0; i < m->symbol_count; i++)
                b.extents[i] = -1;
        for (int i = 0; i < options->dims.count; i++)
                if (!bind_dim(&b, options->dims.items[i]))
                        return false;
        for (int i = 0; i < options->inputs.count; i++)
                if (!bind_input(&b, options->inputs.items[i]))
                        return false;
        if (options->outputs.count || options->keep.count) {
                diag_error(diag, EXIT_USAGE, "--output and --keep are for .onnx models");
                return false;
        }
        if (options->defines.count) {
                diag_error(diag, EXIT_USAGE, "--define is for .onnx models");
                return false;
        }
        int open = 0;
        const char *command = NULL;
        for (int i = 0;
             i < m->symbol_count && (!emits_tensors(options) || options->emit == EMIT_ONNX); i++) {
                if (b.extents[i] >= 0 || m->symbols[i].at_run)
                        continue;
                if (!open)
                        command = binding_command(&b, options);
                open++;
                diag_error(diag, EXIT_INVALID,
                           "dimension '%s' is open: %sadd --dim %s=.. (a number, or 1..512 "
                           "and each run gives one), as in: " DIAG_HINT("%s"),
                           m->symbols[i].name, open <= ASKED_MAX ? reader_of(&b, i) : "",
                           m->symbols[i].name, command);
        }
        bool any = options->dims.count || options->inputs.count;
        return !open && (!any || module_bind(m, b.extents, diag));
}
