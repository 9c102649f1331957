/* SPDX-License-Identifier: MIT */
/* Operators that the caller defines (--define FILE), in front of dnncc's own and of the model's
 * functions. A file is one of two:
 *
 *   an ONNX model       its functions are added to the model's (onnx_function.c expands them)
 *   a text of dnncc     func @acme.Swish(%x: <N x M x f32>, %k "attribute:k": <f32>) -> ("y") {..}
 *                       stands for nodes Swish of domain acme, func @Swish for those of any domain
 *
 * Arguments of such a function are a node's inputs, in order, and between them its attributes by
 * name. Symbols stand for the extents of what the node has, a run's included: the text is read once
 * more for each choice of them. Of several files the first one takes the node whose function has
 * the types of its inputs. */
#include "front/onnx/onnx_model.h"
#include "front/onnx/onnx_texts.h"

#include <string.h>

#define ATTRIBUTE_PORT "attribute:"

/* ---- reading ---- */

bool onnx_define_text(struct onnx_import *im, const struct import_definition *file)
{
        const char *subject = im->diag->subject;
        im->diag->subject = file->path;
        struct module *m = tensor_parse(file->text, file->length, NULL, NULL, im->diag);
        im->diag->subject = subject;
        if (!m)
                return false;
        ARENA_GROW(im->arena, im->model->defining, im->model->defining_count);
        im->model->defining[im->model->defining_count++] = m;
        for (const struct function *f = m->functions; f; f = f->next) {
                struct onnx_definition *d = ARENA_NEW(im->arena, struct onnx_definition),
                                       *known = map_get(im->model->definitions, f->name,
                                                        strlen(f->name));
                *d = (struct onnx_definition){ file, m, f, map_new(im->arena), NULL, NULL };
                while (known && known->next)
                        known = known->next;
                if (known)
                        known->next = d;
                else
                        map_set(im->model->definitions, f->name, strlen(f->name), d);
        }
        return true;
}

void onnx_define_free(struct onnx_import *im)
{
        for (int i = 0; i < im->model->defining_count; i++)
                module_free(im->model->defining[i]);
        /* What was copied leaves no uses of the module's constants. */
        for (int i = 0; i < im->model->bound_count; i++)
                for (struct function *f = im->model->bound[i]; f; f = f->next)
                        while (f->body.last)
                                op_erase(f->body.last);
}

/* ---- what the arguments of a function are for a node ---- */

/* The node is to be what a function computes. */
struct defined_node {
        struct onnx_import *im;
        struct onnx_node *n;
        const struct onnx_definition *d;
        struct value **arguments;       /* They are the function's. */
        struct bound_symbol *symbols;   /* There is room for all symbols of the text. */
        int symbol_count;
        const char *why;                /* It says why the function is not the node's. */
};

/* Returns the attribute that argument i is, or NULL where it is an input. */
static const char *attribute_of(const struct function *f, int i)
{
        const char *port = f->input_ports[i].name;
        const size_t length = strlen(ATTRIBUTE_PORT);
        return port && !strncmp(port, ATTRIBUTE_PORT, length) ? port + length : NULL;
}

static struct value *number_of(struct onnx_import *im, const struct type *t, bool is_float,
                               int64_t i, float f)
{
        if (is_float)
                return build_scalar(&im->b, t->element, (double)f);
        return t->element == E_I64 ? constant_dense(im->m, type_scalar(im->m, E_I64),
                                                    arena_copy(im->m->arena, &i, sizeof i), NULL)
                                   : build_scalar(&im->b, t->element, (double)i);
}

static struct value *row_of(struct onnx_import *im, enum element e, const void *values, int count)
{
        const struct type *t = type_static(im->m, e, 1, (int64_t[]){ count });
        const size_t bytes = (size_t)count * (size_t)element_info[e].bytes;
        return constant_dense(im->m, t, arena_copy(im->m->arena, bytes ? values : "", bytes + 1),
                              NULL);
}

/* Returns attribute `name` as a constant. `t` is the argument's type in the text, which says what a
 * number becomes. Returns NULL where its kind has none, or after an error. */
static struct value *attribute_value(struct onnx_import *im, struct onnx_node *n, const char *name,
                                     const struct type *t)
{
        int count;
        int64_t i;
        float f;
        const int64_t *ints;
        const float *floats;
        struct value *tensor;
        switch (onnx_attribute_type(n, name)) {
        case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
                return onnx_int(im, n, name, 0, &i) ? number_of(im, t, false, i, 0) : NULL;
        case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
                return onnx_float(im, n, name, 0, &f) ? number_of(im, t, true, 0, f) : NULL;
        case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
                return onnx_ints(im, n, name, &ints, &count) ? row_of(im, E_I64, ints, count)
                                                             : NULL;
        case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
                return onnx_floats(im, n, name, &floats, &count)
                               ? row_of(im, E_F32, floats, count)
                               : NULL;
        case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
                return onnx_tensor_attribute(im, n, name, &tensor) ? tensor : NULL;
        default:
                return NULL;
        }
}

static bool refuse(struct defined_node *x, const char *why)
{
        x->why = why;
        return false;
}

/* Lets the symbols of a stated type stand for the extents of one that is there. */
static bool bind_symbols(struct defined_node *x, const struct type *stated, const struct type *t)
{
        if (t->kind != TYPE_TENSOR || stated->kind != TYPE_TENSOR || t->rank != stated->rank ||
            t->element != stated->element)
                return false;
        for (int i = 0; i < t->rank; i++) {
                if (dim_is_static(stated->dims[i])) {
                        if (!dim_equal(stated->dims[i], t->dims[i]))
                                return false;
                        continue;
                }
                const struct dim_expr *term = dim_term(x->d->of, stated->dims[i]);
                if (term->kind != DIM_SYMBOL)
                        continue;       /* It is compared when the symbols stand for numbers. */
                const char *name = x->d->of->symbols[term->symbol].name;
                int k = 0;
                while (k < x->symbol_count && strcmp(x->symbols[k].name, name))
                        k++;
                if (k == x->symbol_count)
                        x->symbols[x->symbol_count++] = (struct bound_symbol){ name, t->dims[i] };
                else if (!dim_equal(x->symbols[k].dim, t->dims[i]))
                        return false;
        }
        return true;
}

/* Returns what argument i of the function is, or NULL, where x->why says why it is nothing, or an
 * error was reported. *next counts the node's inputs. */
static struct value *find_argument(struct defined_node *x, int i, int *next)
{
        const struct function *f = x->d->stated;
        const struct type *stated = f->body.arguments[i].type;
        const char *attribute = attribute_of(f, i);
        struct arena *arena = x->im->arena;
        struct value *v = NULL;
        if (!attribute) {
                const int input = (*next)++;
                v = input < x->n->input_count ? x->n->inputs[input] : NULL;
                if (!v || onnx_is_texts(v))
                        refuse(x, arena_printf(arena, "input %d is %s", input,
                                               v ? "of texts" : "missing"));
                else if (!bind_symbols(x, stated, v->type))
                        refuse(x, arena_printf(arena, "input %d is %s, want %s", input,
                                               type_text(arena, x->im->m, v->type),
                                               type_text(arena, x->d->of, stated)));
                return x->why ? NULL : v;
        }
        const char *name = text_safe(arena, attribute, strlen(attribute));
        if (!onnx_has(x->n, attribute)) {
                refuse(x, arena_printf(arena, "attribute '%s' is missing", name));
                return NULL;
        }
        v = attribute_value(x->im, x->n, attribute, stated);
        if (!v)
                refuse(x, arena_printf(arena, "attribute '%s' is neither a number, numbers, nor a "
                                              "tensor", name));
        else if (!bind_symbols(x, stated, v->type))
                refuse(x, arena_printf(arena, "attribute '%s' is %s, want %s", name,
                                       type_text(arena, x->im->m, v->type),
                                       type_text(arena, x->d->of, stated)));
        return x->why ? NULL : v;
}

/* Finds the arguments of the function. Returns false where it is not the node's, or after an
 * error. */
static bool find_arguments(struct defined_node *x)
{
        const struct function *f = x->d->stated;
        int next = 0;
        x->symbol_count = 0;
        x->why = NULL;
        for (int i = 0; i < f->body.argument_count; i++)
                if (!(x->arguments[i] = find_argument(x, i, &next)))
                        return false;
        if (next < x->n->input_count)
                return refuse(x, arena_printf(x->im->arena, "%d inputs, want %d",
                                              x->n->input_count, next));
        if (x->n->output_count > f->output_count)
                return refuse(x, arena_printf(x->im->arena, "%d outputs, the function has %d",
                                              x->n->output_count, f->output_count));
        return true;
}

/* ---- the function in the module ---- */

/* Returns the function with its symbols bound, in the module that is imported, or NULL after an
 * error. */
static struct function *bound_function(struct defined_node *x)
{
        const struct import_definition *file = x->d->file;
        struct onnx_import *im = x->im;
        size_t length = (size_t)x->symbol_count * sizeof(dim_t) + 1;
        char *key = arena_alloc(im->arena, length);
        for (int i = 0; i < x->symbol_count; i++)
                memcpy(key + (size_t)i * sizeof(dim_t), &x->symbols[i].dim, sizeof(dim_t));
        key[length - 1] = 0;
        struct function *known = map_get(x->d->bound, key, length);
        if (known)
                return known;
        const char *subject = im->diag->subject;
        im->diag->subject = file->path;
        struct function *f = tensor_parse_bound(im->m, file->text, file->length, x->symbols,
                                                x->symbol_count, im->diag);
        im->diag->subject = subject;
        if (f) {
                ARENA_GROW(im->arena, im->model->bound, im->model->bound_count);
                im->model->bound[im->model->bound_count++] = f;
        }
        while (f && strcmp(f->name, x->d->stated->name))
                f = f->next;
        if (f)
                map_set(x->d->bound, key, length, f);
        return f;
}

/* Builds what the function computes of the arguments, or a call of the C function that stands for
 * it. Returns false after an error. */
static bool build_body(struct defined_node *x, struct function *f)
{
        if (x->d->symbol) {
                struct op *op = onnx_define_external(x->im, x->n, x->d, f, x->symbols,
                                                     x->symbol_count, x->arguments);
                for (int i = 0; op && i < x->n->output_count; i++)
                        x->n->outputs[i] = &op->results[i];
                return op;
        }
        struct region *body = &f->body, *region = x->im->b.region;
        struct op *last = region->last;
        for (int i = 0; i < body->argument_count; i++)
                body->arguments[i].scratch = x->arguments[i];
        region_clone_operations(&x->im->b, body);
        for (struct op *op = last ? last->next : region->first; op; op = op->next)
                op->location = op->location ? op->location : x->im->b.location;
        for (int i = 0; i < x->n->output_count; i++)
                x->n->outputs[i] = op_operand(region->last, i);
        op_erase(region->last);         /* It is the function's yield. */
        return true;
}

/* Do the arguments have the types that the function states of them, terms over symbols included? */
static bool types_fit(struct defined_node *x, const struct function *f)
{
        for (int i = 0; i < f->body.argument_count; i++)
                if (f->body.arguments[i].type != x->arguments[i]->type)
                        return refuse(x, arena_printf(x->im->arena, "argument %%%s is %s, want %s",
                                                      f->body.arguments[i].name
                                                              ? f->body.arguments[i].name : "",
                                                      type_text(x->im->arena, x->im->m,
                                                                x->arguments[i]->type),
                                                      type_text(x->im->arena, x->im->m,
                                                                f->body.arguments[i].type)));
        return true;
}

bool onnx_defined(struct onnx_import *im, struct onnx_node *n, struct onnx_definition *d)
{
        struct defined_node x = { .im = im, .n = n };
        const struct onnx_definition *first = d;
        const char *why = NULL;
        const int errors = im->diag->errors;
        for (; d; d = d->next) {
                x.d = d;
                x.arguments = arena_array(im->arena, (size_t)d->stated->body.argument_count + 1,
                                          sizeof(struct value *));
                x.symbols = arena_array(im->arena, (size_t)d->of->symbol_count + 1,
                                        sizeof *x.symbols);
                struct function *f = find_arguments(&x) ? bound_function(&x) : NULL;
                if (im->diag->errors > errors)
                        return false;
                if (f && types_fit(&x, f))
                        return build_body(&x, f) && onnx_attributes_used(im, n);
                why = why ? why : x.why;
        }
        return onnx_invalid(im, n, "%s: for func @%s of %s%s", why, first->stated->name,
                            first->file->path, first->next ? ", the first of several" : "");
}
