/* SPDX-License-Identifier: MIT */
/* What a file says about the types of values, with symbols bound by --dim and --input, and whether
 * that is what they are. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

static bool read_dim(struct onnx_import *im, const char *what,
                     const Onnx__TensorShapeProto__Dimension *d, int64_t *dim, dim_t *symbol)
{
        *dim = -1;
        *symbol = DIM_NONE;
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
                if (d->dim_value < -1 || d->dim_value > INT32_MAX)
                        return onnx_error(im, "%s: extent %" PRId64 ", want 0 to %d", what,
                                          d->dim_value, INT32_MAX);
                *dim = d->dim_value;            /* Some exporters write -1 for an open one. */
        } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                   d->dim_param.len) {
                dim_t bound = onnx_bound_dim(im, (const char *)d->dim_param.data, d->dim_param.len,
                                             0);
                if (dim_equal(bound, DIM_NONE))
                        return true;
                if (dim_is_static(bound))
                        *dim = dim_extent(bound);
                else
                        *symbol = bound;
        }
        return true;
}

const Onnx__TypeProto__Tensor *onnx_tensor_type(const Onnx__ValueInfoProto *v)
{
        return v->type && v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
                       ? v->type->tensor_type
                       : NULL;
}

const struct type *onnx_static_type(struct onnx_import *im, const struct onnx_declaration *d)
{
        int64_t count;
        if (d->rank < 0 || (!element_is_stored(d->element) && d->element != E_STRING) ||
            !size_elements(d->dims, d->rank, &count))
                return NULL;
        return type_static(im->m, d->element, d->rank, d->dims);
}

const struct type *onnx_bound_type(struct onnx_import *im, const struct onnx_declaration *d)
{
        dim_t dims[RANK_MAX];
        if (d->rank < 0 || (!element_is_stored(d->element) && d->element != E_STRING))
                return NULL;
        for (int i = 0; i < d->rank; i++) {
                dims[i] = d->dims[i] >= 0 ? dim_of(d->dims[i]) : d->symbols ? d->symbols[i]
                                                                            : DIM_NONE;
                if (dim_equal(dims[i], DIM_NONE))
                        return NULL;
        }
        const struct type *t = type_tensor(im->m, d->element, d->rank, dims);
        return type_is_sound(im->m, t) ? t : NULL;
}

bool onnx_read_tensor_type(struct onnx_import *im, const char *what,
                             const Onnx__TypeProto__Tensor *t, struct onnx_declaration *d)
{
        d->rank = -1;
        if (!t->elem_type || !element_from_onnx(t->elem_type, &d->element))
                return onnx_error(im, "%s: unknown element type %d", what, (int)t->elem_type);
        if (!t->shape)
                return true;
        if (t->shape->n_dim > RANK_MAX) {
                diag_error(im->diag, EXIT_UNSUPPORTED, "%s: rank %zu, at most %d are supported",
                           what, t->shape->n_dim, RANK_MAX);
                return false;
        }
        d->rank = (int)t->shape->n_dim;
        d->dims = arena_array(im->arena, t->shape->n_dim, sizeof *d->dims);
        d->names = arena_array(im->arena, t->shape->n_dim, sizeof *d->names);
        d->symbols = arena_array(im->arena, t->shape->n_dim, sizeof *d->symbols);
        for (int i = 0; i < d->rank; i++) {
                const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[i];
                if (!read_dim(im, what, dim, &d->dims[i], &d->symbols[i]))
                        return false;
                if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                    dim->dim_param.len && !memchr(dim->dim_param.data, 0, dim->dim_param.len))
                        d->names[i] = onnx_string(im->arena, dim->dim_param);
        }
        d->type = onnx_static_type(im, d);
        return true;
}

bool onnx_declare(struct onnx_import *im, struct onnx_scope *scope,
                  Onnx__ValueInfoProto *const *values, size_t count)
{
        if (!scope->declared)
                scope->declared = map_new(im->arena);
        for (size_t i = 0; i < count; i++) {
                const Onnx__ValueInfoProto *v = values[i];
                if (!v->name.len || !onnx_tensor_type(v))
                        continue;
                struct onnx_declaration *d = ARENA_NEW(im->arena, struct onnx_declaration);
                if (!onnx_tensor_type(v)->elem_type)
                        continue;               /* It says nothing. */
                const char *what = arena_printf(im->arena, "declared type of '%s'",
                                                SAFE(im, v->name));
                if (!onnx_read_tensor_type(im, what, onnx_tensor_type(v), d))
                        return false;
                map_set(scope->declared, (const char *)v->name.data, v->name.len, d);
        }
        return true;
}

void onnx_declare_results(struct onnx_import *im, struct onnx_scope *scope,
                          const struct onnx_node *call, const Onnx__FunctionProto *f)
{
        scope->declared = map_new(im->arena);
        for (int i = 0; i < call->output_count; i++) {
                struct onnx_declaration *d = onnx_declaration(im->scope, call->proto->output[i]);
                if (!d || !f->output[i].len)
                        continue;
                d = arena_copy(im->arena, d, sizeof *d);
                d->of_call = true;
                map_set(scope->declared, (const char *)f->output[i].data, f->output[i].len, d);
        }
}

char *onnx_declared_text(struct onnx_import *im, const struct onnx_declaration *d)
{
        struct text text = { 0 };
        text_add(&text, "<");
        for (int i = 0; i < d->rank; i++)
                if (d->dims[i] < 0)
                        text_add(&text, "? x ");
                else
                        text_add(&text, "%" PRId64 " x ", d->dims[i]);
        text_add(&text, "%s%s>", d->rank < 0 ? "... x " : "", element_info[d->element].text);
        char *copy = arena_string(im->arena, text.data);
        text_free(&text);
        return copy;
}

struct onnx_declaration *onnx_declaration(const struct onnx_scope *scope, bytes_t name)
{
        return scope->declared && name.len
                       ? map_get(scope->declared, (const char *)name.data, name.len)
                       : NULL;
}

bool onnx_check_declared(struct onnx_import *im, const char *what, bytes_t name,
                         struct onnx_declaration *d, const struct type *t)
{
        bool tensor = t->kind == TYPE_TENSOR, element = tensor && d->element == t->element,
             shape = tensor && (d->rank < 0 || d->rank == t->rank);
        for (int i = 0; shape && i < d->rank; i++)
                shape = d->dims[i] < 0 || !dim_is_static(t->dims[i]) ||
                        dim_is(t->dims[i], d->dims[i]);
        if ((element && shape) || d->of_call)
                return true;
        const char *text =
                arena_printf(im->arena, "%s '%s' is %s, declared as %s", what, SAFE(im, name),
                             compose_text(im->c, t), onnx_declared_text(im, d));
        im->model->contradicted = true;
        if (!element || d->binding)
                return onnx_error(im, "%s", text);
        if (!d->contradicted)
                diag_warning(im->diag, "%s", text);
        d->contradicted = true;
        return true;
}

bool onnx_is_given(struct onnx_import *im, int symbol)
{
        const struct region *body = &im->b.region->function->body;

        for (int i = 0; i < body->argument_count; i++) {
                const struct type *t = body->arguments[i].type;
                for (int d = 0; t->kind == TYPE_TENSOR && d < t->rank; d++)
                        if (!dim_is_static(t->dims[d]) &&
                            dim_term(im->m, t->dims[d])->kind == DIM_SYMBOL &&
                            dim_term(im->m, t->dims[d])->symbol == symbol)
                                return true;
        }
        return false;
}

bool onnx_names_extents(struct onnx_import *im, const Onnx__NodeProto *node)
{
        for (size_t i = 0; i < node->n_output; i++) {
                const struct onnx_declaration *d = onnx_declaration(im->scope, node->output[i]);
                for (int k = 0; d && d->symbols && k < d->rank; k++) {
                        if (dim_equal(d->symbols[k], DIM_NONE) || dim_is_static(d->symbols[k]) ||
                            dim_term(im->m, d->symbols[k])->kind != DIM_SYMBOL)
                                continue;
                        const int symbol = dim_term(im->m, d->symbols[k])->symbol;
                        if (!im->m->symbols[symbol].counted && !onnx_is_given(im, symbol))
                                return true;
                }
        }
        return false;
}
