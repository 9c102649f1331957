/* SPDX-License-Identifier: MIT */
/* Variables. Which tensor of the files a variable is, the nodes that restore it say: they assign
 * what RestoreV2 gives to handles, in the model's graph or in the function that restores all. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <string.h>

#include "base/text.h"

static bool is_op(const struct tf_graph_node *n, const char *op)
{
        return tf_same(n->p->op, op, strlen(op));
}

static const Tf__AttrValue *attr_of(const struct tf_graph_node *n, const char *name)
{
        return tf_attr(&(struct tf_node){ .g = n }, name);
}

/* Returns the name that a variable is known by: its node's, unless it is shared. */
static bytes_t name_of(const struct tf_graph_node *n)
{
        const Tf__AttrValue *a = attr_of(n, "shared_name");
        return a && a->value_case == TF__ATTR_VALUE__VALUE_S && a->s.len ? a->s : n->p->name;
}

/* Returns the key that output `source` of the graph is restored by; an empty one where it is
 * not. */
static bytes_t restored_key(const struct tf_graph *g, struct tf_source source)
{
        static const bytes_t none = { 0, NULL };
        for (int steps = 0; steps < g->count && source.node >= 0; steps++) {
                const struct tf_graph_node *n = &g->nodes[source.node];
                if (is_op(n, "Identity") && n->source_count == 1) {
                        source = n->sources[0];
                        continue;
                }
                if (!is_op(n, "RestoreV2") || n->source_count < 2 || n->sources[1].node < 0)
                        return none;
                const Tf__AttrValue *a = attr_of(&g->nodes[n->sources[1].node], "value");
                if (!a || a->value_case != TF__ATTR_VALUE__VALUE_TENSOR ||
                    (size_t)source.output >= a->tensor->n_string_val)
                        return none;
                return a->tensor->string_val[source.output];
        }
        return none;
}

/* Notes the keys of handles that the graph assigns; `call` calls it, or is NULL. */
static void find_assigned(struct tf_import *im, struct tf_graph *g,
                          const struct tf_graph_node *call)
{
        for (int i = 0; i < g->count; i++) {
                const struct tf_graph_node *n = &g->nodes[i];
                if ((!is_op(n, "AssignVariableOp") && !is_op(n, "Assign")) || n->source_count < 2)
                        continue;
                struct tf_source handle = n->sources[0];
                const bytes_t key = restored_key(g, n->sources[1]);
                if (handle.node < 0 && call && -1 - handle.node < call->source_count)
                        handle = call->sources[-1 - handle.node];
                else if (handle.node < 0 || call)
                        continue;
                if (!key.len || handle.node < 0)
                        continue;
                const bytes_t name = name_of(&im->graph->nodes[handle.node]);
                bytes_t *kept = ARENA_NEW(im->arena, bytes_t);
                *kept = key;
                if (name.len && !map_get(im->keys, (const char *)name.data, name.len))
                        map_set(im->keys, (const char *)name.data, name.len, kept);
        }
}

static bool find_keys(struct tf_import *im)
{
        const Tf__Saver *saver = im->meta ? im->meta->saver_def : NULL;
        struct tf_source s;
        im->keys = map_new(im->arena);
        if (!tf_link(im, im->graph))
                return false;
        find_assigned(im, im->graph, NULL);
        if (!saver || !saver->restore_op_name.len)
                return true;
        if (!tf_find_source(im, im->graph, saver->restore_op_name, &s))
                return false;
        const struct tf_graph_node *n = &im->graph->nodes[s.node];
        const bytes_t *name = tf_function(&(struct tf_node){ .g = n }, "f");
        struct tf_graph *f = name ? tf_find_function(im, *name) : NULL;
        if (f && !tf_link(im, f))
                return false;
        if (f)
                find_assigned(im, f, n);
        return true;
}

struct tf_variable *tf_variable_of(struct tf_import *im, const struct tf_graph_node *n)
{
        const bytes_t name = name_of(n);
        struct tf_variable *v = map_get(im->variables, (const char *)name.data, name.len);
        if (v)
                return v;
        v = ARENA_NEW(im->arena, struct tf_variable);
        v->name = arena_printf(im->m->arena, "%.*s", (int)name.len, (const char *)name.data);
        v->safe = tf_safe(im, name);
        v->key = name;
        map_set(im->variables, (const char *)name.data, name.len, v);
        return v;
}

struct value *tf_read_variable(struct tf_import *im, struct tf_variable *v)
{
        if (v->value)
                return v->value;
        if (!im->meta) {
                tf_unsupported(im, "variable '%s' of a graph without files of variables: freeze "
                                   "it, or save it as a SavedModel", v->safe);
                return NULL;
        }
        if (!im->keys && !find_keys(im))
                return NULL;
        const bytes_t *key = map_get(im->keys, (const char *)v->key.data, v->key.len);
        v->value = tf_bundle_tensor(im, key ? *key : v->key, v->name);
        if (v->value)
                im->parameters += type_elements(v->value->type);
        return v->value;
}

bool tf_import_handle(struct tf_import *im, struct tf_node *n)
{
        struct tf_tensor *t = tf_make(im, n, 0);
        t->variable = tf_variable_of(im, n->g);
        return true;
}

/* A variable of TensorFlow 1 is its value. */
bool tf_import_variable(struct tf_import *im, struct tf_node *n)
{
        return tf_output(im, n, 0, tf_read_variable(im, tf_variable_of(im, n->g)));
}

bool tf_import_read_variable(struct tf_import *im, struct tf_node *n)
{
        struct tf_variable *v = n->inputs[0].variable;
        return v ? tf_output(im, n, 0, tf_read_variable(im, v))
                 : tf_invalid(im, "operand 0 is no variable");
}

/* Variables stand still: what would change one is refused. */
bool tf_import_assign_variable(struct tf_import *im, struct tf_node *n)
{
        const struct tf_variable *v = n->inputs[0].variable;
        return tf_unsupported(im, "it changes variable '%s', and variables are constants here",
                              v ? v->safe : "of TensorFlow 1");
}
