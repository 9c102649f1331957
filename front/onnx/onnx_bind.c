/* SPDX-License-Identifier: MIT */
/* Inputs of the graph have the types that the file declares, with symbols bound by --dim and
 * --input. After this every input has a static shape, or the user has been told which options would
 * give it one. */
#include "front/onnx/onnx_options.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "front/asked.h"
#include "front/compose/compose_random.h"
#include "front/onnx/onnx_texts.h"

/* ---- graph inputs ---- */

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

struct asking {
        struct onnx_import *im;
        struct asked asked;
        struct map *symbols;
};

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
        return onnx_initializer(scope, name) != NULL;
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
                    !onnx_initializer(im->scope, g->input[i]->name) &&
                    !onnx_option_of(im, g->input[i]->name))
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
                                   "%d extents (each a number, or a name that --dim binds), as "
                                   "in: " DIAG_HINT("%s"),
                                   SAFE(im, v->name), i, port, d->rank, command);
                        return;
                }
                if (map_get(im->model->asked, (const char *)dim->dim_param.data,
                            dim->dim_param.len))
                        continue;
                map_set(im->model->asked, (const char *)dim->dim_param.data, dim->dim_param.len,
                        im);
                onnx_error(
                        im,
                        "input '%s' has an open dimension '%s': %s, add --dim %s=.. (a number, or "
                        "1..512 and each run gives one), as in: " DIAG_HINT("%s"),
                        SAFE(im, v->name), symbol_of(im, dim), port, symbol_of(im, dim), command);
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
                   *option = onnx_option_of(im, v->name);
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
                onnx_shape_parse(im->arena, strrchr(option, '=') + 1, dims, &d.rank);
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
                onnx_list(im,
                          "%s is of texts, and an extent of it is that of a run, which is not "
                          "supported; bind it to a number with --dim",
                          what);
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
        if (onnx_option_of(im, v->name))
                return onnx_usage(im, "--input %s: '%s' is a constant of the model",
                                  onnx_option_text(im, onnx_option_of(im, v->name)),
                                  SAFE(im, v->name));
        if (!e->value || !onnx_tensor_type(v))
                return true;
        return onnx_read_tensor_type(im, what, onnx_tensor_type(v), &d) &&
               onnx_check_declared(im, "initializer", v->name, &d, e->value->type);
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
static struct value *add_item(struct onnx_import *im, struct function *f,
                              const struct onnx_list_type *l, const char *option, const char *name,
                              const char *shape)
{
        const char *what =
                arena_printf(im->arena, "input '%s'", text_safe(im->arena, name, strlen(name)));
        struct onnx_declaration d = { .dims = arena_array(im->arena, RANK_MAX, sizeof *d.dims) },
                                declared = { 0 };
        if (!onnx_read_tensor_type(im, what, l->tensor, &declared))
                return NULL;
        d.element = declared.element;
        bool fits = onnx_shape_parse(im->arena, shape, d.dims, &d.rank) &&
                    (declared.rank < 0 || declared.rank == d.rank);
        for (int i = 0; fits && i < declared.rank; i++)
                fits = declared.dims[i] < 0 || declared.dims[i] == d.dims[i];
        if (!fits) {
                onnx_usage(im, "--input %s: '%s' is no shape of %s", onnx_option_text(im, option),
                           shape, onnx_declared_text(im, &declared));
                return NULL;
        }
        if (!element_is_stored(d.element) && d.element != E_STRING) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "%s has element type %s, which is not supported", what,
                           element_info[d.element].text);
                return NULL;
        }
        d.type = onnx_static_type(im, &d);
        const struct type *type = bounded_type(im, what, &d);
        return !type                    ? NULL
               : d.element == E_STRING ? add_texts(im, f, name, type)
                                        : add_input(im, f, name, type);
}

/* Makes inputs of --input NAME=2x3:2x3, which is an input "NAME.0", "NAME.1" for each item; of
 * NAME=empty, which is no item; or of NAME=none, which is an optional without a value. Returns NULL
 * after an error. */
static struct value *add_list(struct onnx_import *im, struct function *f,
                              const struct onnx_list_type *l, const char *name, const char *option)
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
        const char *option = onnx_option_of(im, v->name),
                   *name = onnx_string(im->m->arena, v->name);
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
        if (!onnx_shape_parse(im->arena, strrchr(option, '=') + 1, dims, &rank) || rank != 1)
                return onnx_usage(im, "--input %s: want NAME=N, so many entries of a map",
                                  onnx_option_text(im, option));
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
        struct onnx_list_type l = onnx_list_type(v);
        const char *option = onnx_option_of(im, v->name), *name = SAFE(im, v->name);
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
        if (!onnx_name_dims(im, g) || !onnx_check_options_used(im, g))
                return false;
        for (size_t i = 0; i < g->n_input; i++) {
                const char *option = onnx_option_of(im, g->input[i]->name);
                if (option && !onnx_initializer(scope, g->input[i]->name) &&
                    !onnx_apply_option(im, g->input[i], option))
                        return false;
        }
        if (!onnx_declare(im, scope, g->value_info, g->n_value_info) ||
            !onnx_declare(im, scope, g->output, g->n_output))
                return false;
        for (size_t i = 0; i < g->n_input; i++) {
                const Onnx__ValueInfoProto *v = g->input[i];
                const struct onnx_entry *initializer = onnx_initializer(scope, v->name);
                bool wanted = !needed || (v->name.len &&
                                          map_get(needed, (const char *)v->name.data, v->name.len));
                ok &= initializer ? check_initializer(im, initializer, v)
                                  : bind_input(im, scope, f, v, wanted);
        }
        return ok;
}

bool onnx_bind_step(struct onnx_import *im, struct function *f)
{
        struct import_training *t = im->options->training;
        if (!t)
                return true;
        t->on = add_input(im, f, "step.on", type_scalar(im->m, E_BOOL));
        t->step = t->on ? add_input(im, f, "step.number", type_scalar(im->m, E_I64)) : NULL;
        return t->step != NULL;
}

bool onnx_bind_seed(struct onnx_import *im, struct onnx_scope *scope, struct function *f)
{
        const char *seed = im->options->seed;
        int64_t number = 0;
        if (!seed || strcmp(seed, "input")) {
                if (seed && (!int_parse(seed, &number) || number < 0))
                        return onnx_usage(im, "--seed %s: want a number from 0 on, or input",
                                          onnx_option_text(im, seed));
                im->model->seed = compose_integer(im->c, E_U64, number);
                if (im->options->training)
                        im->model->seed = compose_key(im->c, im->model->seed,
                                                      im->options->training->step);
                return im->model->seed != NULL;
        }
        if (onnx_scope_find(scope, onnx_bytes("seed")))
                return onnx_usage(im, "--seed input: the model has a value 'seed' of its own");
        struct value *value = add_input(im, f, "seed", type_tensor(im->m, E_I64, 0, NULL));
        im->model->seed = compose_as_bits(im->c, value, E_U64);
        return im->model->seed != NULL;
}

bool onnx_check_seed_used(struct onnx_import *im)
{
        return !im->options->seed || im->model->draws || im->unsupported_count ||
               onnx_usage(im, "--seed %s: no node of the model draws random numbers",
                          onnx_option_text(im, im->options->seed));
}
