/* SPDX-License-Identifier: MIT */
/* Inputs of the graph have the types that the file declares, with symbols bound by --dim and
 * --input. After this every input has a static shape, or the user has been told which options would
 * give it one. */
#include "front/onnx/onnx_model.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"
#include "front/asked.h"
#include "front/onnx/onnx_texts.h"

/* ---- options ---- */

static bool usage(struct onnx_import *im, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static bool usage(struct onnx_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        diag_error(im->diag, EXIT_USAGE, "%s", arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

/* Returns an option NAME=VALUE as it can be printed. */
static const char *safe(struct onnx_import *im, const char *option)
{
        return text_argument(im->arena, option);
}

/* Binds a symbol, or checks that it was bound to the same extent. */
static bool bind(struct onnx_import *im, const char *symbol, size_t length, int64_t extent,
                 int64_t least, const char *origin)
{
        struct onnx_binding *b = map_get(im->model->dims, symbol, length);
        if (b && (b->at_run || b->term || least < extent))
                return usage(im, "dimension '%s' has two values: by %s and by %s",
                             text_safe(im->arena, symbol, length), b->origin, origin);
        if (b && b->extent != extent)
                return usage(im, "dimension '%s' is %" PRId64 " by %s and %" PRId64 " by %s",
                             text_safe(im->arena, symbol, length), b->extent, b->origin, extent,
                             origin);
        if (!b) {
                b = ARENA_NEW(im->arena, struct onnx_binding);
                *b = (struct onnx_binding){ .extent = extent, .least = least,
                                            .at_run = least < extent, .origin = origin };
                map_set(im->model->dims, symbol, length, b);
        }
        return true;
}

/* Does the text begin as a term does, and not as a number? */
static bool is_term(const char *text)
{
        return isalpha((unsigned char)*text) || *text == '_' || *text == '(' ||
               (isdigit((unsigned char)*text) && strpbrk(text, "+-*/("));
}

/* Binds a symbol to a term, which is read when all options are known. */
static bool bind_term(struct onnx_import *im, const char *option, const char *equals)
{
        if (!bind(im, option, (size_t)(equals - option), 0, 0,
                  arena_printf(im->arena, "--dim %s", safe(im, option))))
                return false;
        struct onnx_binding *b = map_get(im->model->dims, option, (size_t)(equals - option));
        b->term = equals + 1;
        return true;
}

/* Checks that terms are made of what other options bind. */
static bool check_terms(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        for (int i = 0; i < o->dim_count; i++) {
                const size_t length = (size_t)(strrchr(o->dims[i], '=') - o->dims[i]);
                const struct onnx_binding *b = map_get(im->model->dims, o->dims[i], length);
                if (b->term && dim_equal(onnx_bound_dim(im, o->dims[i], length, 0), DIM_NONE))
                        return usage(im,
                                     "--dim %s: want NAME=N, NAME=1..N, or a term (+ - * / max min) "
                                     "over names that another --dim binds",
                                     safe(im, o->dims[i]));
        }
        return true;
}

bool onnx_read_options(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        for (int i = 0; i < o->dim_count; i++) {
                const char *equals = strrchr(o->dims[i], '=');
                int64_t extent, least;
                bool named = equals && equals > o->dims[i];
                bool range = named && int_range_parse(equals + 1, &least, &extent, NULL);
                if (named && is_term(equals + 1)) {
                        if (!bind_term(im, o->dims[i], equals))
                                return false;
                        continue;
                }
                if (!named || (!range && (!int_parse(equals + 1, &extent) || extent < 0 ||
                                          extent > INT32_MAX)))
                        return usage(im,
                                     "--dim %s: want NAME=N, or NAME=1..N (and :A,B, likely "
                                     "extents between these), with N from 0 to %d",
                                     safe(im, o->dims[i]), INT32_MAX);
                if (!bind(im, o->dims[i], (size_t)(equals - o->dims[i]), extent,
                          range ? least : extent,
                          arena_printf(im->arena, "--dim %s", safe(im, o->dims[i]))))
                        return false;
        }
        for (int i = 0; i < o->input_count; i++) {
                const char *equals = strrchr(o->inputs[i], '=');
                if (!equals || equals == o->inputs[i])
                        return usage(im, "--input %s: want NAME=1x3x224x224",
                                     safe(im, o->inputs[i]));
                if (map_get(im->model->shapes, o->inputs[i], (size_t)(equals - o->inputs[i])))
                        return usage(im, "--input %s: given twice", safe(im, o->inputs[i]));
                map_set(im->model->shapes, o->inputs[i], (size_t)(equals - o->inputs[i]),
                        arena_string(im->arena, o->inputs[i]));
        }
        return check_terms(im);
}

/* Reads "1x3x224x224", or "scalar". Returns false where the text is neither. */
static bool shape_parse(struct arena *arena, const char *text, int64_t *dims, int *rank)
{
        *rank = 0;
        if (!strcmp(text, "scalar"))
                return true;
        char *copy = arena_string(arena, text);
        for (char *at = copy, *next; at; at = next) {
                next = strchr(at, 'x');
                if (next)
                        *next++ = 0;
                if (*rank == RANK_MAX || !int_parse(at, &dims[*rank]) || dims[*rank] < 0 ||
                    dims[*rank] > INT32_MAX)
                        return false;
                ++*rank;
        }
        return true;
}

/* ---- graph inputs ---- */

/* This is the type of a sequence or an optional, taken apart; tensor is NULL where it is another
 * one. */
struct list_type { bool optional, sequence; const Onnx__TypeProto__Tensor *tensor; };

static struct list_type list_type(const Onnx__ValueInfoProto *v)
{
        const Onnx__TypeProto *t = v->type;
        struct list_type l = { 0 };
        if (t && (l.optional = t->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE))
                t = t->optional_type->elem_type;
        if (t && (l.sequence = t->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE))
                t = t->sequence_type->elem_type;
        l.tensor = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
                                   (l.optional || l.sequence)
                           ? t->tensor_type
                           : NULL;
        return l;
}

/* Returns the --input option of this name, or NULL. */
static const char *option_of(struct onnx_import *im, bytes_t name)
{
        return name.len ? map_get(im->model->shapes, (const char *)name.data, name.len) : NULL;
}

/* Applies an option --input: the given shape must fit the declared one, and binds its symbols. */
static bool apply_option(struct onnx_import *im, const Onnx__ValueInfoProto *v, const char *option)
{
        int64_t dims[RANK_MAX];
        int rank;
        if (list_type(v).tensor)
                return true;            /* It is read where its items become inputs. */
        if (!shape_parse(im->arena, strrchr(option, '=') + 1, dims, &rank))
                return usage(im, "--input %s: want NAME=1x3x224x224", safe(im, option));
        const Onnx__TypeProto__Tensor *t = onnx_tensor_type(v);
        if (!t || !t->shape)
                return true;
        if (t->shape->n_dim != (size_t)rank)
                return usage(im, "--input %s: the input has rank %zu", safe(im, option),
                             t->shape->n_dim);
        for (int i = 0; i < rank; i++) {
                const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
                if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                    d->dim_param.len) {
                        if (!bind(im, (const char *)d->dim_param.data, d->dim_param.len, dims[i],
                                  dims[i], arena_printf(im->arena, "--input %s", safe(im, option))))
                                return false;
                } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                           d->dim_value >= 0 && d->dim_value != dims[i])
                        return usage(im, "--input %s: dimension %d of the input is %" PRId64,
                                     safe(im, option), i, d->dim_value);
        }
        return true;
}

static const struct onnx_entry *initializer_of(const struct onnx_scope *scope, bytes_t name)
{
        const struct onnx_entry *e =
                name.len ? map_get(scope->names, (const char *)name.data, name.len) : NULL;
        return e && e->initializer ? e : NULL;
}

static const char *symbol_of(struct onnx_import *im, const Onnx__TensorShapeProto__Dimension *d)
{
        bool named = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                     d->dim_param.len;
        return named ? SAFE(im, d->dim_param) : NULL;
}

static bool is_bound(struct onnx_import *im, const Onnx__TensorShapeProto__Dimension *d)
{
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
                return d->dim_value >= 0;
        return symbol_of(im, d) &&
               !dim_equal(onnx_bound_dim(im, (const char *)d->dim_param.data, d->dim_param.len, 0),
                          DIM_NONE);
}

const char *onnx_type_text(struct onnx_import *im, const Onnx__ValueInfoProto *v)
{
        const Onnx__TypeProto__Tensor *t = onnx_tensor_type(v);
        enum element e;
        struct text text = { 0 };
        if (!t)
                return v->type ? onnx_kind_text(v->type) : "no type";
        text_add(&text, "%s <", element_from_onnx(t->elem_type, &e) ? element_info[e].text : "?");
        for (size_t i = 0; t->shape && i < t->shape->n_dim; i++) {
                const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
                const char *symbol = symbol_of(im, d);
                text_add(&text, "%s", i ? " x " : "");
                if (!symbol && is_bound(im, d))
                        text_add(&text, "%" PRId64, d->dim_value);
                else
                        text_add(&text, "%s", symbol ? symbol : "?");
        }
        text_add(&text, t->shape ? ">" : "...>");
        char *copy = arena_string(im->arena, text.data);
        text_free(&text);
        return copy;
}

/* ---- the command that would bind what is open ---- */

struct asking { struct onnx_import *im; struct asked asked; struct map *symbols; };

/* Asks for --input of the whole shape, where a dimension has no name or there is no shape; else for
 * --dim of each symbol. */
static void ask_for_input(struct asking *a, const Onnx__ValueInfoProto *v)
{
        const Onnx__TypeProto__Tensor *t = onnx_tensor_type(v);
        struct onnx_import *im = a->im;
        struct text shape = { 0 };
        bool whole = !t->shape, open = whole;
        for (size_t i = 0; t->shape && i < t->shape->n_dim; i++) {
                const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
                open |= !is_bound(im, d);
                whole |= !is_bound(im, d) && !symbol_of(im, d);
                text_add(&shape, "%s%" PRId64, i ? "x" : "",
                         d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                                         d->dim_value >= 0
                                 ? d->dim_value
                                 : 1);
        }
        if (whole)
                asked_add(&a->asked, "--input",
                          arena_printf(im->arena, "%s=%s", SAFE(im, v->name),
                                       shape.length ? shape.data : "1"));
        for (size_t i = 0; open && !whole && i < t->shape->n_dim; i++) {
                const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
                if (is_bound(im, d) ||
                    map_get(a->symbols, (const char *)d->dim_param.data, d->dim_param.len))
                        continue;
                map_set(a->symbols, (const char *)d->dim_param.data, d->dim_param.len, a);
                asked_add(&a->asked, "--dim", arena_printf(im->arena, "%s=1", symbol_of(im, d)));
        }
        text_free(&shape);
}

bool onnx_is_initializer(const struct onnx_scope *scope, bytes_t name)
{
        return initializer_of(scope, name) != NULL;
}

const char *onnx_binding_command(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        const Onnx__GraphProto *g = im->model->proto->graph;
        if (im->model->command)
                return im->model->command;
        struct asking a = { im, asked_begin(im->arena, o->path), map_new(im->arena) };
        asked_given(&a.asked, "--dim", o->dims, o->dim_count);
        asked_given(&a.asked, "--input", o->inputs, o->input_count);
        for (size_t i = 0; i < g->n_input; i++)
                if (onnx_tensor_type(g->input[i]) &&
                    !initializer_of(im->scope, g->input[i]->name) &&
                    !option_of(im, g->input[i]->name))
                        ask_for_input(&a, g->input[i]);
        return im->model->command = asked_end(&a.asked);
}

/* Tells which option is missing, each symbol once. */
static void ask_for_option(struct onnx_import *im, const Onnx__ValueInfoProto *v,
                           const struct onnx_declaration *d)
{
        const char *port = arena_printf(im->arena, "%s: %s", SAFE(im, v->name),
                                        onnx_type_text(im, v)),
                   *command = onnx_binding_command(im);
        if (d->rank < 0) {
                onnx_error(im,
                           "input '%s' has no shape: %s, add --input %s=1x3x224x224 with its "
                           "extents, as in: " DIAG_HINT("%s"),
                           SAFE(im, v->name), port, SAFE(im, v->name), command);
                return;
        }
        for (int i = 0; i < d->rank; i++) {
                const Onnx__TensorShapeProto__Dimension *dim = onnx_tensor_type(v)->shape->dim[i];
                if (d->dims[i] >= 0)
                        continue;
                if (!symbol_of(im, dim)) {
                        onnx_error(im,
                                   "input '%s' has an open dimension %d: %s, add --input with its "
                                   "%d extents, as in: " DIAG_HINT("%s"),
                                   SAFE(im, v->name), i, port, d->rank, command);
                        return;
                }
                if (map_get(im->model->asked, (const char *)dim->dim_param.data,
                            dim->dim_param.len))
                        continue;
                map_set(im->model->asked, (const char *)dim->dim_param.data, dim->dim_param.len,
                        im);
                onnx_error(im,
                           "input '%s' has an open dimension '%s': %s, add --dim %s=.. (a number, or "
                           "1..512 and each run gives one), as in: " DIAG_HINT("%s"),
                           SAFE(im, v->name), symbol_of(im, dim), port, symbol_of(im, dim),
                           command);
        }
}

static bool is_open(const struct onnx_declaration *d)
{
        bool open = d->rank < 0;
        for (int i = 0; i < d->rank; i++)
                open |= d->dims[i] < 0 && (!d->symbols || dim_equal(d->symbols[i], DIM_NONE));
        return open;
}

const char *onnx_kind_text(const Onnx__TypeProto *t)
{
        switch (t->value_case) {
        case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE: return "a tensor";
        case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE: return "a sequence";
        case ONNX__TYPE_PROTO__VALUE_MAP_TYPE: return "a map";
        case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE: return "an optional";
        case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE: return "a sparse tensor";
        case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE: return "an opaque value";
        default: return "nothing";
        }
}

/* Returns the type that d declares, or NULL after an error: it is too large. */
static const struct type *bounded_type(struct onnx_import *im, const char *what,
                                       const struct onnx_declaration *d)
{
        int64_t limit = im->context->limits.tensor_bytes;
        const int bytes = d->element == E_STRING ? 1 : element_info[d->element].bytes;
        const struct type *type = onnx_bound_type(im, d);
        if (type && type_most_elements(im->m, type) <= limit / bytes)
                return type;
        onnx_over_limit(im,
                        arena_printf(im->arena, "%s: bytes of %s", what, onnx_declared_text(im, d)),
                        "tensor_bytes", limit);
        return NULL;
}

/* Returns the static type of one input. Where it is NULL, *skipped says that the input is listed as
 * unsupported; else there was an error. */
static const struct type *input_type(struct onnx_import *im, const Onnx__ValueInfoProto *v,
                                     bool *skipped)
{
        const char *what = arena_printf(im->arena, "input '%s'", SAFE(im, v->name)),
                   *option = option_of(im, v->name);
        struct onnx_declaration d = { .rank = -1 };
        *skipped = v->type && v->type->value_case && !onnx_tensor_type(v);
        if (*skipped) {
                onnx_list(im, "%s is %s, which is not supported", what, onnx_kind_text(v->type));
                return NULL;
        }
        if (!onnx_tensor_type(v)) {
                onnx_error(im, "%s has no type", what);
                return NULL;
        }
        if (!onnx_read_tensor_type(im, what, onnx_tensor_type(v), &d))
                return NULL;
        *skipped = !element_is_stored(d.element) && d.element != E_STRING;
        if (*skipped) {
                onnx_list(im, "%s has element type %s, which is not supported", what,
                          element_info[d.element].text);
                return NULL;
        }
        if (option) {
                int64_t *dims = arena_array(im->arena, RANK_MAX, sizeof *dims);
                shape_parse(im->arena, strrchr(option, '=') + 1, dims, &d.rank);
                d.dims = dims;
                d.symbols = NULL;
                d.type = onnx_static_type(im, &d);
        }
        if (is_open(&d)) {
                ask_for_option(im, v, &d);
                return NULL;
        }
        *skipped = d.element == E_STRING && !d.type;
        if (*skipped) {
                onnx_list(im, "%s is of texts, and an extent of it is that of a run, which is not "
                              "supported; bind it to a number with --dim", what);
                return NULL;
        }
        return bounded_type(im, what, &d);
}

/* Checks an initializer that is listed as an input too: it is a constant. */
static bool check_initializer(struct onnx_import *im, const struct onnx_entry *e,
                              const Onnx__ValueInfoProto *v)
{
        struct onnx_declaration d = { .binding = true };
        const char *what = arena_printf(im->arena, "initializer '%s'", SAFE(im, v->name));
        if (option_of(im, v->name))
                return usage(im, "--input %s: '%s' is a constant of the model",
                             safe(im, option_of(im, v->name)), SAFE(im, v->name));
        if (!e->value || !onnx_tensor_type(v))
                return true;
        return onnx_read_tensor_type(im, what, onnx_tensor_type(v), &d) &&
               onnx_check_declared(im, "initializer", v->name, &d, e->value->type);
}

/* Marks bound symbols as used, and adds all to those that are known. */
static void note_symbols(struct onnx_import *im, Onnx__ValueInfoProto *const *values, size_t count,
                         struct map *seen, struct suggest *known)
{
        for (size_t i = 0; i < count; i++) {
                const Onnx__TypeProto__Tensor *t = onnx_tensor_type(values[i])
                                                           ? onnx_tensor_type(values[i])
                                                           : list_type(values[i]).tensor;
                for (size_t k = 0; t && t->shape && k < t->shape->n_dim; k++) {
                        const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[k];
                        if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ||
                            !d->dim_param.len)
                                continue;
                        struct onnx_binding *b =
                                map_get(im->model->dims, (const char *)d->dim_param.data,
                                        d->dim_param.len);
                        if (b)
                                b->used = true;
                        onnx_bound_dim(im, (const char *)d->dim_param.data, d->dim_param.len, 0);
                        if (known &&
                            !map_get(seen, (const char *)d->dim_param.data, d->dim_param.len))
                                suggest_add(known, SAFE(im, d->dim_param));
                        map_set(seen, (const char *)d->dim_param.data, d->dim_param.len, im);
                }
        }
}

static void note_all_symbols(struct onnx_import *im, const Onnx__GraphProto *g,
                             struct suggest *known)
{
        struct map *seen = map_new(im->arena);
        note_symbols(im, g->input, g->n_input, seen, known);
        note_symbols(im, g->output, g->n_output, seen, known);
        note_symbols(im, g->value_info, g->n_value_info, seen, known);
}

/* Starts suggestions for the name in an option NAME=VALUE. */
static struct suggest suggest_for(struct onnx_import *im, const char *option)
{
        return suggest_new(im->arena, option, (size_t)(strrchr(option, '=') - option));
}

static bool no_such_input(struct onnx_import *im, const Onnx__GraphProto *g, const char *option)
{
        struct suggest known = suggest_for(im, option);
        for (size_t i = 0; i < g->n_input; i++)
                if (g->input[i]->name.len && !initializer_of(im->scope, g->input[i]->name))
                        suggest_add(&known, SAFE(im, g->input[i]->name));
        return usage(im, "--input %s: the model has no such input%s", safe(im, option),
                     suggest_text(&known, true));
}

static bool no_such_dim(struct onnx_import *im, const Onnx__GraphProto *g, const char *option)
{
        struct suggest known = suggest_for(im, option);
        note_all_symbols(im, g, &known);
        return usage(im, "--dim %s: the model has no such dimension%s", safe(im, option),
                     suggest_text(&known, true));
}

/* Checks that every --dim and --input names something of the graph. */
static bool check_options_used(struct onnx_import *im, const Onnx__GraphProto *g)
{
        const struct import_options *o = im->options;
        struct map *names = map_new(im->arena);
        bool ok = true;
        for (size_t i = 0; i < g->n_input && o->input_count; i++)
                if (g->input[i]->name.len)
                        map_set(names, (const char *)g->input[i]->name.data, g->input[i]->name.len,
                                im);
        for (int i = 0; i < o->input_count; i++)
                if (!map_get(names, o->inputs[i],
                             (size_t)(strrchr(o->inputs[i], '=') - o->inputs[i])))
                        ok = no_such_input(im, g, o->inputs[i]);
        if (o->dim_count)
                note_all_symbols(im, g, NULL);
        for (int i = 0; i < o->dim_count; i++) {
                const struct onnx_binding *b =
                        map_get(im->model->dims, o->dims[i],
                                (size_t)(strrchr(o->dims[i], '=') - o->dims[i]));
                if (!b->used && !b->at_run)
                        ok = no_such_dim(im, g, o->dims[i]);
        }
        return ok;
}

bool onnx_check_dims_used(struct onnx_import *im)
{
        const struct import_options *o = im->options;
        bool ok = true;
        for (int i = 0; i < o->dim_count && !im->unsupported_count; i++) {
                const struct onnx_binding *b =
                        map_get(im->model->dims, o->dims[i],
                                (size_t)(strrchr(o->dims[i], '=') - o->dims[i]));
                if (!b->used)
                        ok = no_such_dim(im, im->model->proto->graph, o->dims[i]);
        }
        return ok;
}

/* Returns a new input of f, or NULL after an error. */
static struct value *add_input(struct onnx_import *im, struct function *f, const char *name,
                               const struct type *type)
{
        if (f->body.argument_count < PORTS_MAX)
                return function_add_input(f, name, type);
        diag_error(im->diag, EXIT_UNSUPPORTED, "more than %d inputs", PORTS_MAX);
        return NULL;
}

/* Returns a new input of texts, or NULL after an error. */
static struct value *add_texts(struct onnx_import *im, struct function *f, const char *name,
                               const struct type *type)
{
        dim_t dims[RANK_MAX];
        int64_t bytes;
        if (type->rank >= RANK_MAX) {
                diag_error(im->diag, EXIT_UNSUPPORTED, "texts of rank %d, at most %d is supported",
                           type->rank, RANK_MAX - 1);
                return NULL;
        }
        if (!onnx_texts_width(im, name, &bytes))
                return NULL;
        memcpy(dims, type->dims, (size_t)type->rank * sizeof *dims);
        dims[type->rank] = dim_of(bytes);
        const struct type *t = type_tensor(im->m, E_U8, type->rank + 1, dims);
        if (!type_is_sound(im->m, t) || type_elements(t) > im->context->limits.tensor_bytes) {
                onnx_over_limit(im,
                                arena_printf(im->arena, "input '%s': bytes of texts",
                                             text_safe(im->arena, name, strlen(name))),
                                "tensor_bytes", im->context->limits.tensor_bytes);
                return NULL;
        }
        struct value *value = add_input(im, f, name, t);
        if (value)
                f->input_ports[value->index].is_text = true;
        return onnx_texts_new(im, value);
}

/* ---- inputs that are sequences or optionals ---- */

/* Returns an input of `shape`, which fits what is declared of it, or NULL after an error. */
static struct value *add_item(struct onnx_import *im, struct function *f, const struct list_type *l,
                              const char *option, const char *name, const char *shape)
{
        const char *what =
                arena_printf(im->arena, "input '%s'", text_safe(im->arena, name, strlen(name)));
        struct onnx_declaration d = { .dims = arena_array(im->arena, RANK_MAX, sizeof *d.dims) },
                                declared = { 0 };
        if (!onnx_read_tensor_type(im, what, l->tensor, &declared))
                return NULL;
        d.element = declared.element;
        bool fits = shape_parse(im->arena, shape, d.dims, &d.rank) &&
                    (declared.rank < 0 || declared.rank == d.rank);
        for (int i = 0; fits && i < declared.rank; i++)
                fits = declared.dims[i] < 0 || declared.dims[i] == d.dims[i];
        if (!fits) {
                usage(im, "--input %s: '%s' is no shape of %s", safe(im, option), shape,
                      onnx_declared_text(im, &declared));
                return NULL;
        }
        if (!element_is_stored(d.element)) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "%s has element type %s, which is not supported", what,
                           element_info[d.element].text);
                return NULL;
        }
        d.type = onnx_static_type(im, &d);
        const struct type *type = bounded_type(im, what, &d);
        return type ? add_input(im, f, name, type) : NULL;
}

/* Makes inputs of --input NAME=2x3:2x3, which is an input "NAME.0", "NAME.1" for each item; of
 * NAME=empty, which is no item; or of NAME=none, which is an optional without a value. Returns NULL
 * after an error. */
static struct value *add_list(struct onnx_import *im, struct function *f, const struct list_type *l,
                              const char *name, const char *option)
{
        char *shapes = arena_string(im->arena, strrchr(option, '=') + 1);
        enum element e;
        struct value **items = NULL;
        int count = 0;
        if (!element_from_onnx(l->tensor->elem_type, &e)) {
                onnx_error(im, "input '%s': unknown element type %d",
                           text_safe(im->arena, name, strlen(name)), (int)l->tensor->elem_type);
                return NULL;
        }
        if (l->optional && !strcmp(shapes, "none"))
                return onnx_absent_new(im, e, l->sequence);
        if (!l->sequence)
                return add_item(im, f, l, option, name, shapes);
        for (char *at = strcmp(shapes, "empty") ? shapes : NULL, *next; at; at = next) {
                if ((next = strchr(at, ':')))
                        *next++ = 0;
                ARENA_GROW(im->arena, items, count);
                items[count] = add_item(im, f, l, option,
                                        arena_printf(im->m->arena, "%s.%d", name, count), at);
                if (!items[count++])
                        return NULL;
        }
        return onnx_sequence_new(im, e, items, count);
}

/* Makes the inputs "NAME.keys" and "NAME.values" of a map with so many entries, by --input NAME=N.
 * Returns false after an error. */
static bool bind_map(struct onnx_import *im, struct function *f, const Onnx__ValueInfoProto *v,
                     struct value **value)
{
        const Onnx__TypeProto__Map *map = v->type->map_type;
        const Onnx__TypeProto *of = map->value_type;
        const char *option = option_of(im, v->name), *name = onnx_string(im->m->arena, v->name);
        const char *shown = SAFE(im, v->name), *parts[2] = { "keys", "values" };
        struct value *made[2];
        enum element e[2];
        int64_t dims[RANK_MAX];
        int rank;

        if (!of || of->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
            !element_from_onnx(map->key_type, &e[0]) ||
            !element_from_onnx(of->tensor_type->elem_type, &e[1]) ||
            (e[0] != E_I64 && e[0] != E_STRING) ||
            (e[1] != E_I64 && e[1] != E_F32 && e[1] != E_F64 && e[1] != E_STRING)) {
                onnx_list(im, "input '%s' is a map of other types than are supported", shown);
                return true;
        }
        if (!option) {
                onnx_list(im,
                          "input '%s' is a map, which is supported where it is stated how many "
                          "entries it has: add --input %s=3",
                          shown, shown);
                return true;
        }
        if (!shape_parse(im->arena, strrchr(option, '=') + 1, dims, &rank) || rank != 1)
                return usage(im, "--input %s: want NAME=N, so many entries of a map",
                             safe(im, option));
        for (int i = 0; i < 2; i++) {
                struct onnx_declaration d = { .rank = 1, .dims = dims, .element = e[i] };
                const char *port = arena_printf(im->m->arena, "%s.%s", name, parts[i]);
                d.type = onnx_static_type(im, &d);
                const struct type *type =
                        bounded_type(im, arena_printf(im->arena, "input '%s'", shown), &d);
                made[i] = !type              ? NULL
                          : e[i] == E_STRING ? add_texts(im, f, port, type)
                                             : add_input(im, f, port, type);
                if (!made[i])
                        return false;
        }
        return (*value = onnx_map_new(im, made[0], made[1])) != NULL;
}

static bool bind_list(struct onnx_import *im, struct function *f, const Onnx__ValueInfoProto *v,
                      struct value **value)
{
        struct list_type l = list_type(v);
        const char *option = option_of(im, v->name), *name = SAFE(im, v->name);
        if (v->type->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE)
                return bind_map(im, f, v, value);
        if (!l.tensor)
                onnx_list(im, "input '%s' is %s, which is not supported", name,
                          onnx_kind_text(v->type));
        else if (!option)
                onnx_list(im,
                          "input '%s' is %s, which is supported where its shapes are stated: add "
                          "--input %s=%s%s",
                          name, onnx_kind_text(v->type), name, l.sequence ? "2x3:2x3" : "2x3",
                          l.optional ? " or =none" : "");
        else
                return (*value = add_list(im, f, &l, onnx_string(im->m->arena, v->name), option)) !=
                       NULL;
        return true;
}

static bool bind_input(struct onnx_import *im, struct onnx_scope *scope, struct function *f,
                       const Onnx__ValueInfoProto *v, bool wanted)
{
        bool ok = true, named = v->name.len && !memchr(v->name.data, 0, v->name.len);
        struct onnx_declaration unused;
        struct value *value = NULL;
        if (wanted && named && v->type && v->type->value_case && !onnx_tensor_type(v)) {
                ok = bind_list(im, f, v, &value);
        } else if (wanted) {
                bool skipped;
                const struct type *type = input_type(im, v, &skipped);
                ok = type || skipped;
                if (type && named) {
                        const char *name = onnx_string(im->m->arena, v->name);
                        value = type->element == E_STRING ? add_texts(im, f, name, type)
                                                          : add_input(im, f, name, type);
                        ok = value != NULL;
                }
        } else if (onnx_tensor_type(v))
                ok = onnx_read_tensor_type(im, "an input", onnx_tensor_type(v), &unused);
        struct onnx_entry entry = { .state = value ? NAME_KNOWN : NAME_UNKNOWN, .value = value };
        return onnx_scope_define(im, scope, v->name, entry, "input", NULL) && ok;
}

bool onnx_bind_inputs(struct onnx_import *im, struct onnx_scope *scope, struct function *f,
                      const Onnx__GraphProto *g, struct map *needed)
{
        bool ok = true;
        if (!check_options_used(im, g))
                return false;
        for (size_t i = 0; i < g->n_input; i++) {
                const char *option = option_of(im, g->input[i]->name);
                if (option && !initializer_of(scope, g->input[i]->name) &&
                    !apply_option(im, g->input[i], option))
                        return false;
        }
        if (!onnx_declare(im, scope, g->value_info, g->n_value_info) ||
            !onnx_declare(im, scope, g->output, g->n_output))
                return false;
        for (size_t i = 0; i < g->n_input; i++) {
                const Onnx__ValueInfoProto *v = g->input[i];
                const struct onnx_entry *initializer = initializer_of(scope, v->name);
                bool wanted = !needed || (v->name.len &&
                                          map_get(needed, (const char *)v->name.data, v->name.len));
                ok &= initializer ? check_initializer(im, initializer, v)
                                  : bind_input(im, scope, f, v, wanted);
        }
        return ok;
}

bool onnx_bind_seed(struct onnx_import *im, struct onnx_scope *scope, struct function *f)
{
        const char *seed = im->options->seed;
        int64_t number = 0;
        if (!seed || strcmp(seed, "input")) {
                if (seed && (!int_parse(seed, &number) || number < 0))
                        return usage(im, "--seed %s: want a number from 0 on, or input",
                                     safe(im, seed));
                im->model->seed = compose_integer(im->c, E_U64, number);
                return true;
        }
        if (onnx_scope_find(scope, onnx_bytes("seed")))
                return usage(im, "--seed input: the model has a value 'seed' of its own");
        struct value *value = add_input(im, f, "seed", type_tensor(im->m, E_I64, 0, NULL));
        im->model->seed = compose_as_bits(im->c, value, E_U64);
        return im->model->seed != NULL;
}

bool onnx_check_seed_used(struct onnx_import *im)
{
        return !im->options->seed || im->model->draws || im->unsupported_count ||
               usage(im, "--seed %s: no node of the model draws random numbers",
                     safe(im, im->options->seed));
}
