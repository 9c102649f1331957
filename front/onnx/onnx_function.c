/* SPDX-License-Identifier: MIT */
/* A node that no row makes may call a function of the model, whose body stands in its place. A body
 * sees its inputs and nothing else; its nodes may take attributes from the call, and where that
 * leaves one out, and the function has no default for it, they have the operator's own. Calls must
 * not come back to where they started, and what they expand to is counted before anything is
 * expanded: 40 functions of two calls each are 2^40 nodes. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

enum { OPSET_NEWEST = 27 };             /* It is the newest opset of ai.onnx. */

/* ---- operator sets ---- */

bool onnx_opsets(struct onnx_import *im, struct map **opsets, Onnx__OperatorSetIdProto *const *list,
                 size_t count, const char *of)
{
        *opsets = map_new(im->arena);
        if (!count)
                return onnx_error(im, "%s imports no operator set", of);
        for (size_t i = 0; i < count; i++) {
                bytes_t domain = onnx_domain(list[i]->domain);
                int64_t version = list[i]->version;
                const char *name = domain.len ? SAFE(im, domain) : "ai.onnx";
                if (version < 1)
                        return onnx_error(im, "%s imports opset %" PRId64 " of %s", of, version,
                                          name);
                if (version > (domain.len ? INT32_MAX : OPSET_NEWEST)) {
                        diag_error(im->diag, EXIT_UNSUPPORTED,
                                   "%s imports opset %" PRId64
                                   " of %s, %d is the newest that is supported",
                                   of, version, name, domain.len ? INT32_MAX : OPSET_NEWEST);
                        return false;
                }
                int *known = map_get(*opsets, (const char *)domain.data, domain.len);
                if (known && *known != version)
                        return onnx_error(im, "%s imports opset %d and opset %" PRId64 " of %s", of,
                                          *known, version, name);
                known = ARENA_NEW(im->arena, int);
                *known = (int)version;
                map_set(*opsets, (const char *)domain.data, domain.len, known);
        }
        return true;
}

/* ---- the table ---- */

/* Returns the key of a function: domain NUL name NUL overload. */
static const char *function_key(struct onnx_import *im, char *room, size_t size, bytes_t domain,
                                bytes_t name, bytes_t overload, size_t *length)
{
        bytes_t parts[] = { onnx_domain(domain), name, overload };
        *length = parts[0].len + parts[1].len + parts[2].len + 2;
        char *key = *length <= size ? room : arena_alloc(im->arena, *length), *at = key;
        for (int i = 0; i < 3; i++) {
                if (i)
                        *at++ = 0;
                if (parts[i].len)
                        memcpy(at, parts[i].data, parts[i].len);
                at += parts[i].len;
        }
        return key;
}

struct onnx_function *onnx_function_find(struct onnx_import *im, const Onnx__NodeProto *node)
{
        char room[256];
        size_t length;
        if (!im->model->proto->n_functions)
                return NULL;
        const char *key = function_key(im, room, sizeof room, node->domain, node->op_type,
                                       node->overload, &length);
        return map_get(im->model->functions, key, length);
}

/* Puts the functions of --define's files in front of the model's. */
static void join_libraries(struct onnx_import *im)
{
        const Onnx__ModelProto *proto = im->model->proto;
        size_t count = proto->n_functions, at = 0;
        for (const struct onnx_library *l = im->model->libraries; l; l = l->next)
                count += l->proto->n_functions;
        Onnx__ModelProto *joined = arena_copy(im->arena, proto, sizeof *proto);
        joined->functions = arena_array(im->arena, count + 1, sizeof *joined->functions);
        joined->n_functions = count;
        for (const struct onnx_library *l = im->model->libraries; l; l = l->next)
                for (size_t i = 0; i < l->proto->n_functions; i++)
                        joined->functions[at++] = l->proto->functions[i];
        for (size_t i = 0; i < proto->n_functions; i++)
                joined->functions[at++] = proto->functions[i];
        im->model->proto = joined;
}

/* Notes which functions --define brought. */
static void note_libraries(struct onnx_import *im, struct onnx_function *all)
{
        size_t at = 0;
        for (const struct onnx_library *l = im->model->libraries; l; l = l->next)
                for (size_t i = 0; i < l->proto->n_functions; i++, at++) {
                        all[at].defined = true;
                        all[at].long_data = l->long_data;
                        onnx_redefine(im, onnx_domain(l->proto->functions[i]->domain),
                                      l->proto->functions[i]->name);
                }
}

static bool collect(struct onnx_import *im, struct onnx_function *all)
{
        const Onnx__ModelProto *proto = im->model->proto;
        for (size_t i = 0; i < proto->n_functions; i++) {
                struct onnx_function *f = &all[i];
                f->proto = proto->functions[i];
                f->name = SAFE(im, f->proto->name);
                if (!f->defined)
                        f->long_data = im->model->long_data;
                char room[256];
                size_t length;
                const char *key = function_key(im, room, sizeof room, f->proto->domain,
                                               f->proto->name, f->proto->overload, &length);
                if (!f->proto->name.len)
                        return onnx_error(im, "a function without a name");
                const struct onnx_function *known = map_get(im->model->functions, key, length);
                if (known && known->defined == f->defined)
                        return onnx_error(im, "function '%s' is defined twice", f->name);
                if (!known)             /* Else --define's stands for it. */
                        map_set(im->model->functions, key, length, f);
                if (!onnx_opsets(im, &f->opsets, f->proto->opset_import, f->proto->n_opset_import,
                                 arena_printf(im->arena, "function '%s'", f->name)))
                        return false;
        }
        return true;
}

/* ---- the graph of calls ---- */

typedef void (*node_visitor)(void *context, const Onnx__NodeProto *node);

/* Visits all nodes, those of subgraphs included, whose depth is bounded by the wire scan. */
static void each_node(Onnx__NodeProto *const *nodes, size_t count, node_visitor visit,
                      void *context)
{
        for (size_t i = 0; i < count; i++) {
                visit(context, nodes[i]);
                for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
                        const Onnx__AttributeProto *a = nodes[i]->attribute[k];
                        if (a->g)
                                each_node(a->g->node, a->g->n_node, visit, context);
                        for (size_t g = 0; g < a->n_graphs; g++)
                                each_node(a->graphs[g]->node, a->graphs[g]->n_node, visit, context);
                }
        }
}

struct calls {
        struct onnx_import *im;
        struct onnx_function *all, *caller;
        size_t *first;                  /* It says for each function where its callers begin; there
                                         * is one more at the end. */
        size_t *fill;
        int *callers;
        int64_t nodes, depth;           /* They are the work and the depth of the main graph. */
        struct onnx_function *stuck;
};

static struct onnx_function *callee_of(struct calls *c, const Onnx__NodeProto *node)
{
        struct onnx_frame frame = { .opsets = c->caller ? c->caller->opsets
                                                        : c->im->model->frame->opsets };
        const struct onnx_frame *outer = c->im->model->frame;
        c->im->model->frame = &frame;
        struct onnx_function *f = onnx_row_find(c->im, node) || onnx_definition_find(c->im, node)
                                          ? NULL
                                          : onnx_function_find(c->im, node);
        c->im->model->frame = outer;
        return f;
}

static void count_call(void *context, const Onnx__NodeProto *node)
{
        struct calls *c = context;
        struct onnx_function *f = callee_of(c, node);
        c->caller->nodes += onnx_node_work(node);
        c->im->model->held += onnx_node_work(node);
        if (!f)
                return;
        c->caller->waiting++;
        c->first[f - c->all + 1]++;
}

static void note_call(void *context, const Onnx__NodeProto *node)
{
        struct calls *c = context;
        struct onnx_function *f = callee_of(c, node);
        if (f)
                c->callers[c->fill[f - c->all]++] = (int)(c->caller - c->all);
}

static void stuck_call(void *context, const Onnx__NodeProto *node)
{
        struct calls *c = context;
        struct onnx_function *f = callee_of(c, node);
        if (f && f->waiting > 0)
                c->stuck = f;
}

static void main_call(void *context, const Onnx__NodeProto *node)
{
        struct calls *c = context;
        const struct onnx_function *f = callee_of(c, node);
        int64_t own = onnx_node_work(node);
        c->im->model->held += own;
        if (!int_add(c->nodes, own + (f ? f->nodes : 0), &c->nodes))
                c->nodes = INT64_MAX / 2;
        if (f && c->depth < f->depth)
                c->depth = f->depth;
}

static void each_function(struct calls *c, node_visitor visit)
{
        for (size_t i = 0; i < c->im->model->proto->n_functions; i++) {
                c->caller = &c->all[i];
                each_node(c->caller->proto->node, c->caller->proto->n_node, visit, c);
        }
        c->caller = NULL;
}

/* Resolves functions whose callees are all known: they give their size to their callers. Returns
 * how many there were. */
static size_t resolve_calls(struct calls *c, size_t count)
{
        int *ready = arena_array(c->im->arena, count, sizeof *ready);
        size_t depth = 0, done = 0;
        for (size_t i = 0; i < count; i++) {
                c->all[i].depth = 1;
                if (!c->all[i].waiting)
                        ready[depth++] = (int)i;
        }
        for (; depth; done++) {
                int number = ready[--depth];
                const struct onnx_function *f = &c->all[number];
                for (size_t k = c->first[number]; k < c->first[number + 1]; k++) {
                        struct onnx_function *caller = &c->all[c->callers[k]];
                        if (!int_add(caller->nodes, f->nodes, &caller->nodes) ||
                            caller->nodes > INT64_MAX / 4)
                                caller->nodes = INT64_MAX / 4;
                        if (caller->depth <= f->depth)
                                caller->depth = f->depth + 1;
                        if (!--caller->waiting)
                                ready[depth++] = c->callers[k];
                }
        }
        return done;
}

static bool recursion_error(struct calls *c)
{
        bool *met = arena_array(c->im->arena, c->im->model->proto->n_functions, sizeof *met);
        c->stuck = c->all;
        while (c->stuck->waiting <= 0)
                c->stuck++;
        while (!met[c->stuck - c->all]) {
                met[c->stuck - c->all] = true;
                c->caller = c->stuck;
                each_node(c->caller->proto->node, c->caller->proto->n_node, stuck_call, c);
        }
        return onnx_error(c->im, "function '%s' calls itself", c->stuck->name);
}

bool onnx_functions(struct onnx_import *im)
{
        if (im->model->libraries)
                join_libraries(im);
        const Onnx__ModelProto *proto = im->model->proto;
        size_t count = proto->n_functions, edges = 0;
        im->model->functions = map_new(im->arena);
        struct calls c = { .im = im, .all = arena_array(im->arena, count, sizeof *c.all) };
        c.first = arena_array(im->arena, count + 1, sizeof *c.first);
        c.fill = arena_array(im->arena, count + 1, sizeof *c.fill);
        note_libraries(im, c.all);
        if (!collect(im, c.all))
                return false;
        each_function(&c, count_call);
        for (size_t i = 0; i <= count; i++) {
                edges += c.first[i];
                c.first[i] = c.fill[i] = edges;
        }
        c.callers = arena_array(im->arena, edges, sizeof *c.callers);
        each_function(&c, note_call);
        if (resolve_calls(&c, count) < count)
                return recursion_error(&c);
        each_node(proto->graph->node, proto->graph->n_node, main_call, &c);
        const struct limits *limits = &im->context->limits;
        if (c.depth > limits->nesting)
                return onnx_over_limit(im, "nested function calls", "nesting", limits->nesting);
        return onnx_within_work(im, count ? "nodes, with functions expanded" : "nodes", c.nodes);
}

/* ---- attributes of a call ---- */

static const Onnx__AttributeProto *named(Onnx__AttributeProto *const *list, size_t count,
                                         bytes_t name)
{
        for (size_t i = 0; i < count; i++)
                if (list[i]->name.len == name.len && name.len &&
                    !memcmp(list[i]->name.data, name.data, name.len))
                        return list[i];
        return NULL;
}

static bool is_parameter(const Onnx__FunctionProto *f, bytes_t name)
{
        for (size_t i = 0; i < f->n_attribute; i++)
                if (f->attribute[i].len == name.len && name.len &&
                    !memcmp(f->attribute[i].data, name.data, name.len))
                        return true;
        return named(f->attribute_proto, f->n_attribute_proto, name) != NULL;
}

bool onnx_check_call(struct onnx_import *im, const struct onnx_node *n,
                     const Onnx__FunctionProto *f)
{
        for (size_t i = 0; i < n->proto->n_attribute; i++)
                if (!is_parameter(f, n->proto->attribute[i]->name))
                        return onnx_invalid(im, n, "unknown attribute '%s'",
                                            SAFE(im, n->proto->attribute[i]->name));
        if ((size_t)n->input_count > f->n_input || (size_t)n->output_count > f->n_output)
                return onnx_invalid(im, n, "%d inputs and %d outputs, the function has %zu and %zu",
                                    n->input_count, n->output_count, f->n_input, f->n_output);
        return true;
}

/* Finds what reference a stands for: a copy of the call's attribute under a's name. *out is NULL
 * where the call leaves it out. */
static bool resolve(struct onnx_import *im, const Onnx__NodeProto *node, Onnx__AttributeProto *a,
                    Onnx__AttributeProto **out)
{
        const struct onnx_frame *frame = im->model->frame;
        *out = a;
        if (!a->ref_attr_name.len)
                return true;
        const char *name = SAFE(im, a->name);
        if (!frame->function)
                return onnx_error(im, "%s: attribute '%s' refers to a function's, outside of one",
                                  onnx_node_text(im, node), name);
        const Onnx__FunctionProto *f = frame->function->proto;
        const Onnx__AttributeProto *given =
                named(frame->call->attribute, frame->call->n_attribute, a->ref_attr_name);
        if (!given)
                given = named(f->attribute_proto, f->n_attribute_proto, a->ref_attr_name);
        *out = NULL;
        if (!given)
                return is_parameter(f, a->ref_attr_name) ||
                       onnx_error(im,
                                  "%s: attribute '%s' refers to '%s', which the function does not "
                                  "have",
                                  onnx_node_text(im, node), name, SAFE(im, a->ref_attr_name));
        if (given->type != a->type)
                return onnx_error(im, "%s: attribute '%s' refers to '%s', which has another type",
                                  onnx_node_text(im, node), name, SAFE(im, a->ref_attr_name));
        *out = arena_copy(im->arena, given, sizeof *given);
        (*out)->name = a->name;
        return true;
}

const Onnx__NodeProto *onnx_resolve_attributes(struct onnx_import *im, const Onnx__NodeProto *node)
{
        bool any = false;
        for (size_t i = 0; i < node->n_attribute; i++)
                any |= node->attribute[i]->ref_attr_name.len > 0;
        if (!any)
                return node;
        Onnx__NodeProto *copy = arena_copy(im->arena, node, sizeof *node);
        copy->attribute = arena_array(im->arena, node->n_attribute, sizeof *copy->attribute);
        copy->n_attribute = 0;
        for (size_t i = 0; i < node->n_attribute; i++) {
                Onnx__AttributeProto *a;
                if (!resolve(im, node, node->attribute[i], &a))
                        return NULL;
                if (a)
                        copy->attribute[copy->n_attribute++] = a;
        }
        return copy;
}
