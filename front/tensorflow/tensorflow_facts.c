/* SPDX-License-Identifier: MIT */
/* A model says this of itself: ports, versions, operators, parameters, names. */
#include <string.h>

#include "base/size.h"
#include "base/text.h"
#include "front/asked.h"
#include "front/tensorflow/tensorflow_helpers.h"

static const char *keep(struct model_facts *facts, const char *text)
{
        return arena_string(facts->arena, text);
}

static void add_name(struct tf_import *im, struct model_facts *facts, const char *kind,
                     const char *name)
{
        const char *key = arena_printf(im->arena, "%s %s", kind, name);
        if (!im->fact_names)
                im->fact_names = map_new(im->arena);
        if (map_get(im->fact_names, key, strlen(key)))
                return;
        map_set(im->fact_names, key, strlen(key), facts);
        ARENA_GROW(facts->arena, facts->names, facts->name_count);
        facts->names[facts->name_count++] =
                (struct model_name){ kind, text_argument(facts->arena, name) };
}

static const char *port_name(struct tf_import *im, struct model_facts *facts, const char *name)
{
        const bool several = im->signature && im->signature_count > 1;
        return arena_printf(facts->arena, "%s%s%s", several ? im->signature->name : "",
                            several ? "/" : "", text_safe(im->arena, name, strlen(name)));
}

void tf_function_facts(struct tf_import *im, const struct function *f, struct model_facts *facts)
{
        for (int i = 0; i < f->body.argument_count; i++) {
                const char *name = f->input_ports[i].name;
                ARENA_GROW(facts->arena, facts->inputs, facts->input_count);
                facts->inputs[facts->input_count++] = (struct model_port){
                        port_name(im, facts, name),
                        keep(facts, type_text(im->arena, im->m, f->body.arguments[i].type))
                };
                add_name(im, facts, "input", name);
        }
        for (int i = 0; i < im->graph->order_count; i++)
                add_name(im, facts, "value",
                         im->graph->nodes[im->graph->order[i]].name);
        if (!im->asked_count)
                return;
        struct asked command = asked_begin(im->arena, im->options->path);
        asked_given(&command, "--input", im->options->inputs, im->options->input_count);
        for (int i = 0; i < im->asked_count; i++)
                asked_add(&command, "--input", im->asked[i]);
        facts->command = keep(facts, asked_end(&command));
}

void tf_output_facts(struct tf_import *im, const char *name, const struct tf_tensor *t,
                     struct model_facts *facts)
{
        ARENA_GROW(facts->arena, facts->outputs, facts->output_count);
        facts->outputs[facts->output_count++] = (struct model_port){
                port_name(im, facts, name),
                keep(facts, t && t->value ? type_text(im->arena, im->m, t->value->type)
                                          : "what was not computed")
        };
        add_name(im, facts, "output", name);
}

/* Adds the operators of a graph's needed nodes, and the numbers of its constants. */
static void add_operators(const struct tf_graph *g, struct model_facts *facts, struct map *known)
{
        for (int i = 0; i < g->order_count; i++) {
                const struct tf_graph_node *n = &g->nodes[g->order[i]];
                uintptr_t number = (uintptr_t)map_get(known, n->op, strlen(n->op));
                if (!number) {
                        ARENA_GROW(facts->arena, facts->operators, facts->operator_count);
                        facts->operators[facts->operator_count++] =
                                (struct model_operator){ .name = keep(facts, n->op),
                                                         .supported = n->row != NULL };
                        number = (uintptr_t)facts->operator_count;
                        map_set(known, n->op, strlen(n->op), (void *)number);
                }
                facts->operators[number - 1].count++;
        }
}

static void add_elements(struct model_facts *facts, int64_t count)
{
        if (!int_add(facts->parameters, count, &facts->parameters))
                facts->parameters = INT64_MAX;
}

void tf_facts(struct tf_import *im, struct model_facts *facts)
{
        const Tf__Library *library = im->p->library;
        const Tf__MetaInfo *info = im->meta ? im->meta->meta_info_def : NULL;
        struct map *known = map_new(im->arena);
        ARENA_GROW(facts->arena, facts->opsets, facts->opset_count);
        facts->opsets[facts->opset_count++] =
                info && info->tensorflow_version.len
                        ? arena_printf(facts->arena, "tensorflow %s",
                                       tf_safe(im, info->tensorflow_version))
                        : "tensorflow";
        add_operators(im->graph, facts, known);
        for (size_t i = 0; library && i < library->n_function; i++) {
                const struct tf_graph *f =
                        tf_find_function(im, library->function[i]->signature->name);
                if (f && f->order_count > 0)
                        add_operators(f, facts, known);
        }
        add_elements(facts, im->parameters);
        if (!facts->command) {
                struct asked command = asked_begin(im->arena, im->options->path);
                asked_given(&command, "--input", im->options->inputs, im->options->input_count);
                facts->command = keep(facts, asked_end(&command));
        }
        facts->known = true;
}
