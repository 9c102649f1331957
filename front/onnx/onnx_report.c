/* SPDX-License-Identifier: MIT */
/* This is said about a model: errors at nodes, the list of what is not supported, limits. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

enum { LIST_MAX = 50 };                 /* At most so many unsupported nodes are listed one by one;
                                         * the others are counted. */

struct onnx_omitted {
        struct onnx_omitted *next;
        const char *what;               /* It is operator, domain and opset. */
        int count;
};

/* ---- who is spoken of ---- */

static const char *in_function(struct onnx_import *im)
{
        const struct onnx_frame *frame = im->model->frame;
        return frame && frame->function
                       ? arena_printf(im->arena, " in function '%s'", frame->function->name)
                       : "";
}

static const char *place_text(struct onnx_import *im, const Onnx__NodeProto *node)
{
        if (node->name.len)
                return arena_printf(im->arena, "node '" DIAG_NODE("%s") "'", SAFE(im, node->name));
        for (size_t i = 0; i < node->n_output; i++)
                if (node->output[i].len)
                        return arena_printf(im->arena, "node of output '" DIAG_OUTPUT("%s") "'",
                                            SAFE(im, node->output[i]));
        return "a node without name and outputs";
}

const char *onnx_node_text(struct onnx_import *im, const Onnx__NodeProto *node)
{
        return arena_printf(im->arena, "%s (" DIAG_OPERATOR("%s") ")%s", place_text(im, node),
                            SAFE(im, node->op_type), in_function(im));
}

static const char *operator_text(struct onnx_import *im, const Onnx__NodeProto *node)
{
        bytes_t domain = onnx_domain(node->domain);
        const char *where =
                domain.len ? arena_printf(im->arena, ", domain '%s'", SAFE(im, domain)) : "";
        int opset = onnx_opset(im, domain);
        const char *version = opset ? arena_printf(im->arena, ", opset %d", opset) : "";
        return arena_printf(im->arena, "(" DIAG_OPERATOR("%s") "%s%s)", SAFE(im, node->op_type),
                            where, version);
}

/* ---- errors ---- */

bool onnx_invalid(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_error(im->diag, EXIT_INVALID, "%s: %s", onnx_node_text(im, n->proto), text);
        return false;
}

void onnx_warning(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_warning(im->diag, "%s: %s", onnx_node_text(im, n->proto), text);
}

bool onnx_error(struct onnx_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *text = arena_vprintf(im->arena, format, list);
        va_end(list);
        diag_error(im->diag, EXIT_INVALID, "%s", text);
        return false;
}

bool onnx_over_limit(struct onnx_import *im, const char *what, const char *limit, int64_t value)
{
        diag_error(im->diag, EXIT_INVALID,
                   "%s: more than the limit of %" PRId64
                   " (" DIAG_HINT("raise it with --limit %s=N") ")",
                   what, value, limit);
        return false;
}

int64_t onnx_node_work(const Onnx__NodeProto *node)
{
        enum { AT_ONCE = 32, WORD = 8 };
        size_t held = node->n_input + node->n_output;
        for (size_t i = 0; i < node->n_attribute; i++) {
                const Onnx__AttributeProto *a = node->attribute[i];
                held += a->n_ints + a->n_floats + a->n_strings + a->s.len / WORD;
                if (a->t)
                        held += a->t->raw_data.len / WORD + a->t->n_float_data +
                                a->t->n_int32_data + a->t->n_int64_data + a->t->n_double_data +
                                a->t->n_uint64_data + a->t->n_string_data;
        }
        return 1 + (int64_t)(held / AT_ONCE);
}

bool onnx_within_work(struct onnx_import *im, const char *what, int64_t count)
{
        enum { PER_NODE = 50 };
        const struct limits *limits = &im->context->limits;
        int64_t most = INT64_MAX;
        if (count > limits->nodes)
                return onnx_over_limit(im, what, "nodes", limits->nodes);
        bool bounded = int_mul(im->model->held, PER_NODE, &most) &&
                       int_add(most, limits->expansion, &most);
        return !bounded || count <= most || onnx_over_limit(im, what, "expansion", most);
}

/* ---- the list of what is not supported ---- */

static void omit(struct onnx_import *im, const char *what)
{
        struct onnx_omitted *o = map_get(im->unsupported, what, strlen(what));
        if (!o) {
                o = ARENA_NEW(im->arena, struct onnx_omitted);
                o->what = what;
                map_set(im->unsupported, what, strlen(what), o);
                *im->model->omitted_end = o;
                im->model->omitted_end = &o->next;
        }
        o->count++;
}

const char *onnx_unsupported_text(struct onnx_import *im, const Onnx__NodeProto *node,
                                  const char *why)
{
        return arena_printf(im->arena, "%s %s%s: %s", place_text(im, node), operator_text(im, node),
                            in_function(im), why);
}

void onnx_list_node(struct onnx_import *im, const Onnx__NodeProto *node, const char *why)
{
        struct onnx_model *model = im->model;
        const Onnx__NodeProto *origin =
                model->origin && model->origin->output == node->output ? model->origin : node;
        model->skip = true;
        if (map_get(model->listed, (const char *)&origin, sizeof origin))
                return;
        map_set(model->listed, (const char *)&origin, sizeof origin, im);
        if (im->unsupported_count++ < LIST_MAX)
                diag_error(im->diag, EXIT_UNSUPPORTED, "%s", onnx_unsupported_text(im, node, why));
        else
                omit(im, operator_text(im, node));
}

bool onnx_unsupported(struct onnx_import *im, const struct onnx_node *n, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        onnx_list_node(im, n->proto, arena_vprintf(im->arena, format, list));
        va_end(list);
        return false;
}

void onnx_list(struct onnx_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        im->model->skip = true;
        if (im->unsupported_count++ < LIST_MAX)
                diag_error(im->diag, EXIT_UNSUPPORTED, "%s",
                           arena_vprintf(im->arena, format, list));
        else
                omit(im, "values");
        va_end(list);
}

void onnx_list_entry(struct onnx_import *im, struct onnx_entry *e)
{
        if (e->unsupported)
                onnx_list(im, "%s", e->unsupported);
        e->unsupported = NULL;
}

void onnx_list_end(struct onnx_import *im)
{
        for (struct onnx_omitted *o = im->model->omitted; o; o = o->next)
                diag_error(im->diag, EXIT_UNSUPPORTED, "%d more of %s are not supported", o->count,
                           o->what);
}
