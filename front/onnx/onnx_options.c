/* SPDX-License-Identifier: MIT */
/* What --dim and --input say of the graph: extents of symbols, shapes of inputs. Each has to name
 * something of the graph. */
#include "front/onnx/onnx_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "base/suggest.h"

bool onnx_usage(struct onnx_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        diag_error(im->diag, EXIT_USAGE, "%s", arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

const char *onnx_option_text(struct onnx_import *im, const char *option)
{
        return text_argument(im->arena, option);
}

/* Binds a symbol, or checks that it was bound to the same extent. */
static bool bind(struct onnx_import *im, const char *symbol, size_t length, int64_t extent,
                 int64_t least, const char *origin)
{
        struct onnx_binding *b = map_get(im->model->dims, symbol, length);
        if (b && (b->at_run || b->term || least < extent))
                return onnx_usage(im, "dimension '%s' has two values: by %s and by %s",
                                  text_safe(im->arena, symbol, length), b->origin, origin);
        if (b && b->extent != extent)
                return onnx_usage(im, "dimension '%s' is %" PRId64 " by %s and %" PRId64 " by %s",
                                  text_safe(im->arena, symbol, length), b->extent, b->origin,
                                  extent, origin);
        if (!b) {
                b = ARENA_NEW(im->arena, struct onnx_binding);
                *b = (struct onnx_binding){
                        .extent = extent, .least = least, .at_run = least < extent, .origin = origin
                };
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
                  arena_printf(im->arena, "--dim %s", onnx_option_text(im, option))))
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
                        return onnx_usage(
                                im,
                                "--dim %s: want NAME=N, NAME=1..N, or a term (+ - * / max min) "
                                "over names that another --dim binds",
                                onnx_option_text(im, o->dims[i]));
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
                        return onnx_usage(im,
                                          "--dim %s: want NAME=N, or NAME=1..N (and :A,B, likely "
                                          "extents between these), with N from 0 to %d",
                                          onnx_option_text(im, o->dims[i]), INT32_MAX);
                if (!bind(im, o->dims[i], (size_t)(equals - o->dims[i]), extent,
                          range ? least : extent,
                          arena_printf(im->arena, "--dim %s", onnx_option_text(im, o->dims[i]))))
                        return false;
        }
        for (int i = 0; i < o->input_count; i++) {
                const char *equals = strrchr(o->inputs[i], '=');
                if (!equals || equals == o->inputs[i])
                        return onnx_usage(im, "--input %s: want NAME=1x3x224x224",
                                          onnx_option_text(im, o->inputs[i]));
                if (map_get(im->model->shapes, o->inputs[i], (size_t)(equals - o->inputs[i])))
                        return onnx_usage(im, "--input %s: given twice",
                                          onnx_option_text(im, o->inputs[i]));
                map_set(im->model->shapes, o->inputs[i], (size_t)(equals - o->inputs[i]),
                        arena_string(im->arena, o->inputs[i]));
        }
        return check_terms(im);
}

bool onnx_shape_parse(struct arena *arena, const char *text, int64_t *dims, int *rank)
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

/* ---- inputs ---- */

struct onnx_list_type onnx_list_type(const Onnx__ValueInfoProto *v)
{
        const Onnx__TypeProto *t = v->type;
        struct onnx_list_type l = { 0 };
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

/* Returns an extent of --input's shape, which ends at 'x' or where the text does, and goes on
 * behind it; NULL: there is none left. */
static const char *next_extent(struct arena *arena, const char **text)
{
        const char *from = *text;
        if (!from)
                return NULL;
        const size_t length = strcspn(from, "x");
        *text = from[length] ? from + length + 1 : NULL;
        return arena_printf(arena, "%.*s", (int)length, from);
}

/* Does --input give a dimension a name, or a term of names? */
static bool has_names(struct onnx_import *im, const char *shape)
{
        const char *extent;
        bool found = false;
        /* These are words of tensors without dimensions, of sequences and of optionals. */
        if (!strcmp(shape, "scalar") || !strcmp(shape, "empty") || !strcmp(shape, "none"))
                return false;
        while ((extent = next_extent(im->arena, &shape)))
                found |= is_term(extent);
        return found;
}

/* Returns the --input option of this name, or NULL. */
static const char *option_of(struct onnx_import *im, bytes_t name)
{
        return name.len ? map_get(im->model->shapes, (const char *)name.data, name.len) : NULL;
}

const char *onnx_option_of(struct onnx_import *im, bytes_t name)
{
        const char *option = option_of(im, name);
        return option && !has_names(im, strrchr(option, '=') + 1) ? option : NULL;
}

bool onnx_apply_option(struct onnx_import *im, const Onnx__ValueInfoProto *v, const char *option)
{
        int64_t dims[RANK_MAX];
        int rank;
        if (onnx_list_type(v).tensor)
                return true; /* It is read where its items become inputs. */
        if (!onnx_shape_parse(im->arena, strrchr(option, '=') + 1, dims, &rank))
                return onnx_usage(im, "--input %s: want NAME=1x3x224x224",
                                  onnx_option_text(im, option));
        const Onnx__TypeProto__Tensor *t = onnx_tensor_type(v);
        if (!t || !t->shape)
                return true;
        if (t->shape->n_dim != (size_t)rank)
                return onnx_usage(im, "--input %s: the input has rank %zu",
                                  onnx_option_text(im, option), t->shape->n_dim);
        for (int i = 0; i < rank; i++) {
                const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[i];
                if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                    d->dim_param.len) {
                        if (!bind(im, (const char *)d->dim_param.data, d->dim_param.len, dims[i],
                                  dims[i],
                                  arena_printf(im->arena, "--input %s",
                                               onnx_option_text(im, option))))
                                return false;
                } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                           d->dim_value >= 0 && d->dim_value != dims[i])
                        return onnx_usage(im, "--input %s: dimension %d of the input is %" PRId64,
                                          onnx_option_text(im, option), i, d->dim_value);
        }
        return true;
}

/* ---- inputs whose dimensions an option names ---- */

/* Makes a dimension of an input what the option says of it: a number or a name. */
static bool name_dim(struct onnx_import *im, Onnx__TensorShapeProto__Dimension *d,
                     const char *extent, const char *option)
{
        const char *shown = onnx_option_text(im, option);
        int64_t number = -1;
        const bool named = is_term(extent);
        if (!named && (!int_parse(extent, &number) || number < 0 || number > INT32_MAX))
                return onnx_usage(im, "--input %s: want NAME=1x3x224x224, or names of extents "
                                      "without the letter x, as in NAME=Nx3",
                                  shown);
        if (named && !text_is_identifier(extent) &&
            dim_equal(onnx_bound_dim(im, extent, strlen(extent), 0), DIM_NONE))
                return onnx_usage(im, "--input %s: want names of extents, or terms (+ - * /) over "
                                      "names that --dim binds",
                                  shown);
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            d->dim_value >= 0)
                return (!named && number == d->dim_value) ||
                       onnx_usage(im, "--input %s: a dimension of the input is %" PRId64, shown,
                                  d->dim_value);
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            d->dim_param.len) {
                const char *symbol = (const char *)d->dim_param.data, *origin =
                        arena_printf(im->arena, "--input %s", shown);
                const size_t length = d->dim_param.len;
                struct onnx_binding *b = map_get(im->model->dims, symbol, length);
                if (named && ((b && b->term && !strcmp(b->term, extent)) ||
                              (strlen(extent) == length && !memcmp(extent, symbol, length))))
                        return true;
                if (!bind(im, symbol, length, named ? 0 : number, named ? 0 : number, origin))
                        return false;
                b = map_get(im->model->dims, symbol, length);
                b->term = named ? extent : b->term;
                return true;
        }
        d->value_case = named ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                              : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (named)
                d->dim_param = onnx_bytes(extent);
        else
                d->dim_value = number;
        return true;
}

/* Returns a shape of `rank` dimensions of which nothing is known. */
static Onnx__TensorShapeProto *open_shape(struct onnx_import *im, size_t rank)
{
        Onnx__TensorShapeProto *shape = ARENA_NEW(im->arena, Onnx__TensorShapeProto);
        onnx__tensor_shape_proto__init(shape);
        shape->n_dim = rank;
        shape->dim = arena_array(im->arena, rank, sizeof *shape->dim);
        for (size_t i = 0; i < rank; i++) {
                shape->dim[i] = ARENA_NEW(im->arena, Onnx__TensorShapeProto__Dimension);
                onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        }
        return shape;
}

/* Makes the dimensions of an input what the option says of them, as if the file did. */
static bool name_dims(struct onnx_import *im, const Onnx__ValueInfoProto *v, const char *option)
{
        const char *given = strrchr(option, '=') + 1, *shape = given, *extent;
        Onnx__TypeProto__Tensor *t = v->type->tensor_type;
        size_t rank = 0;
        while (next_extent(im->arena, &shape))
                rank++;
        if (rank > RANK_MAX)
                return onnx_usage(im, "--input %s: rank %zu, at most %d are supported",
                                  onnx_option_text(im, option), rank, RANK_MAX);
        if (!t->shape)
                t->shape = open_shape(im, rank);
        if (t->shape->n_dim != rank)
                return onnx_usage(im, "--input %s: the input has rank %zu",
                                  onnx_option_text(im, option), t->shape->n_dim);
        for (size_t i = 0; (extent = next_extent(im->arena, &given)); i++)
                if (!name_dim(im, t->shape->dim[i], extent, option))
                        return false;
        return true;
}

bool onnx_name_dims(struct onnx_import *im, const Onnx__GraphProto *g)
{
        for (size_t i = 0; i < g->n_input; i++) {
                const Onnx__ValueInfoProto *v = g->input[i];
                const char *option = option_of(im, v->name);
                if (!option || onnx_option_of(im, v->name))
                        continue;
                if (!onnx_tensor_type(v) || onnx_initializer(im->scope, v->name))
                        return onnx_usage(im, "--input %s: names of extents are for tensors that "
                                              "are inputs",
                                          onnx_option_text(im, option));
                if (!name_dims(im, v, option))
                        return false;
        }
        return true;
}

const struct onnx_entry *onnx_initializer(const struct onnx_scope *scope, bytes_t name)
{
        const struct onnx_entry *e =
                name.len ? map_get(scope->names, (const char *)name.data, name.len) : NULL;
        return e && e->initializer ? e : NULL;
}

/* ---- what is named ---- */

/* Marks bound symbols as used, and adds all to those that are known. */
static void note_symbols(struct onnx_import *im, Onnx__ValueInfoProto *const *values, size_t count,
                         struct map *seen, struct suggest *known)
{
        for (size_t i = 0; i < count; i++) {
                const Onnx__TypeProto__Tensor *t = onnx_tensor_type(values[i])
                                                           ? onnx_tensor_type(values[i])
                                                           : onnx_list_type(values[i]).tensor;
                for (size_t k = 0; t && t->shape && k < t->shape->n_dim; k++) {
                        const Onnx__TensorShapeProto__Dimension *d = t->shape->dim[k];
                        if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ||
                            !d->dim_param.len)
                                continue;
                        struct onnx_binding *b = map_get(
                                im->model->dims, (const char *)d->dim_param.data, d->dim_param.len);
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
                if (g->input[i]->name.len && !onnx_initializer(im->scope, g->input[i]->name))
                        suggest_add(&known, SAFE(im, g->input[i]->name));
        return onnx_usage(im, "--input %s: the model has no such input%s",
                          onnx_option_text(im, option), suggest_text(&known, true));
}

static bool no_such_dim(struct onnx_import *im, const Onnx__GraphProto *g, const char *option)
{
        struct suggest known = suggest_for(im, option);
        note_all_symbols(im, g, &known);
        return onnx_usage(im, "--dim %s: the model has no such dimension%s",
                          onnx_option_text(im, option), suggest_text(&known, true));
}

bool onnx_check_options_used(struct onnx_import *im, const Onnx__GraphProto *g)
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
