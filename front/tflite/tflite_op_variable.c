/* SPDX-License-Identifier: MIT */
/* Variables that nodes read and assign by handles. What the subgraph of CALL_ONCE assigns is what
 * they begin with; those that are read before they are assigned are state of the function. */
#include "front/tflite/tflite_helpers.h"

#include <string.h>

#include "base/store.h"
#include "base/text.h"

bool tflite_import_var_handle(struct tflite_import *im, struct tflite_node *n)
{
        const struct tflite_VarHandleOptions *o = TFLITE_OPTIONS(n, VarHandleOptions);
        struct tflite_tensor *handle = n->output_count ? n->outputs[0] : NULL;
        if (!handle || !handle->is_handle)
                return tflite_invalid(im, "its output is no handle of a variable");
        const char *name = arena_printf(
                im->m->arena, "%.*s", (int)(o->shared_name.data ? o->shared_name.count : 0),
                o->shared_name.data ? (const char *)o->shared_name.data : "");
        const char *key = arena_printf(
                im->arena, "%.*s/%s", (int)(o->container.data ? o->container.count : 0),
                o->container.data ? (const char *)o->container.data : "", name);
        handle->variable = map_get(im->variables, key, strlen(key));
        if (!handle->variable) {
                handle->variable = ARENA_NEW(im->arena, struct tflite_variable);
                handle->variable->name = *name ? name : "variable";
                handle->variable->safe = text_safe(im->m->arena, handle->variable->name,
                                                   strlen(handle->variable->name));
                map_set(im->variables, key, strlen(key), handle->variable);
                struct tflite_variable **last = &im->variables_known;
                while (*last)
                        last = &(*last)->known;
                *last = handle->variable;
        }
        return true;
}

/* Returns the variable whose handle operand 0 is, or NULL after an error. */
static struct tflite_variable *variable_of(struct tflite_import *im, const struct tflite_node *n)
{
        const struct tflite_tensor *handle = tflite_tensor(n, 0);
        if (im->nesting && im->initializing) {
                tflite_unsupported(im, "in a subgraph that IF or WHILE calls in that of CALL_ONCE");
                return NULL;
        }
        if (handle && handle->variable)
                return handle->variable;
        tflite_invalid(im, "operand 0 is no variable's handle");
        return NULL;
}

/* Makes the variable an input of the function, which begins as `first`. */
static bool begin_state(struct tflite_import *im, struct tflite_variable *v)
{
        struct function *f = im->b.region->function;
        const char *name = v->name;
        if (im->signature_count > 1 && function_input(f, name) >= 0)
                return refusals_add(&im->refusals,
                                    "variable '%s' has the name of an input of signature '%s', "
                                    "which is not supported",
                                    v->safe, im->signature->safe);
        for (int i = 1; function_input(f, name) >= 0; i++)
                name = arena_printf(im->m->arena, "%s#%d", v->name, i);
        struct value *kept = function_add_input(f, name, v->first->type);
        v->next = arena_printf(im->m->arena, "%s.next", name);
        f->input_ports[function_input(f, name)].next = v->next;
        v->value = tflite_against(im, kept, v->first);
        struct tflite_variable **last = &im->variable_list;
        while (*last)
                last = &(*last)->after;
        *last = v;
        return v->value != NULL;
}

bool tflite_begin_variable(struct tflite_import *im, struct tflite_variable *v)
{
        if (v->value)
                return true;
        if (!v->first)
                return tflite_unsupported(im, "variable '%s', which no CALL_ONCE assigns", v->safe);
        return begin_state(im, v);
}

bool tflite_keep_assigned(struct tflite_import *im)
{
        for (struct tflite_variable *v = im->variables_known; v; v = v->known) {
                struct value *assigned = v->value;
                if (!assigned || v->next || !v->first)
                        continue;
                if (!begin_state(im, v))
                        return false;
                v->value = assigned;
        }
        return true;
}

void tflite_forget_values(struct tflite_import *im)
{
        im->variable_list = NULL;
        for (struct tflite_variable *v = im->variables_known; v; v = v->known) {
                v->value = NULL;
                v->next = NULL;
                v->after = NULL;
        }
}

bool tflite_import_read_variable(struct tflite_import *im, struct tflite_node *n)
{
        struct tflite_variable *v = variable_of(im, n);
        if (!v || n->output_count != 1)
                return v ? tflite_invalid(im, "no output") : false;
        if (im->initializing)
                return tflite_unsupported(im, "in the subgraph of CALL_ONCE");
        return tflite_begin_variable(im, v) && tflite_output(im, n, 0, v->value);
}

bool tflite_import_assign_variable(struct tflite_import *im, struct tflite_node *n)
{
        struct tflite_variable *v = variable_of(im, n);
        struct value *x = tflite_input(n, 1);
        if (!v || !x)
                return v ? tflite_invalid(im, "operand 1 is missing") : false;
        if (im->initializing) {
                if (!value_is_constant(x))
                        return tflite_unsupported(im, "a first value that is not constant");
                if (v->first && v->first_graph != im->initializing)
                        return tflite_unsupported(im,
                                                  "variable '%s', which another CALL_ONCE assigns, "
                                                  "too",
                                                  v->safe);
                v->first = x;
                v->first_graph = im->initializing;
                return true;
        }
        if (v->first && x->type != v->first->type)
                return tflite_unsupported(im, "variable '%s' of type %s, which is assigned %s",
                                          v->safe, compose_text(im->c, v->first->type),
                                          compose_text(im->c, x->type));
        v->value = x;
        return true;
}

bool tflite_import_call_once(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t number = TFLITE_OPTIONS(n, CallOnceOptions)->subgraph;
        if (number < 1 || number >= im->model.subgraphs.count)
                return tflite_invalid(im, "subgraph %lld of %lld", (long long)number,
                                      (long long)im->model.subgraphs.count);
        if (im->initializing || im->nesting)
                return tflite_unsupported(im, "in the subgraph of another one");
        const struct tflite_graph outer = im->graph;
        const struct tflite_node *node = im->node;
        im->initializing = number;
        bool ok = tflite_read_subgraph(im, number, map_new(im->arena));
        if (ok) {
                tflite_list_unknown(im);
                for (int i = 0; ok && i < im->graph.operator_count; i++)
                        ok = tflite_import_node(im, i);
        }
        im->initializing = 0;
        im->graph = outer;
        im->node = node;
        return ok && !im->refusals.count;
}
