/* SPDX-License-Identifier: MIT */
/* A model says this of itself: ports, operator sets, operators, parameters, names. Nothing is
 * built, so it holds for models that cannot be imported, too. */
#include "front/onnx/onnx_model.h"

#include <string.h>

#include "base/size.h"

enum { DEPTH_MAX = 200 };               /* Graphs nest at most so deep; the scan of a file admits
                                         * fewer. */

struct counting {
        struct onnx_import *im;
        struct model_facts *facts;
        struct map *operators;          /* It maps domain.name to its number + 1. */
        struct map *names;              /* A key reads "kind name". */
};

static const char *keep(struct model_facts *facts, const char *text)
{
        return arena_string(facts->arena, text);
}

static struct model_operator *operator_of(struct counting *c, const Onnx__NodeProto *node)
{
        bytes_t domain = onnx_domain(node->domain);
        const char *op = SAFE(c->im, node->op_type);
        const char *name =
                domain.len ? arena_printf(c->im->arena, "%s.%s", SAFE(c->im, domain), op) : op;
        struct model_facts *f = c->facts;
        uintptr_t known = (uintptr_t)map_get(c->operators, name, strlen(name));
        if (!known) {
                ARENA_GROW(f->arena, f->operators, f->operator_count);
                f->operators[f->operator_count++] =
                        (struct model_operator){ .name = keep(f, name) };
                known = (uintptr_t)f->operator_count;
                map_set(c->operators, name, strlen(name), (void *)known);
        }
        return &f->operators[known - 1];
}

static void add_parameters(struct model_facts *f, const Onnx__TensorProto *t)
{
        int64_t count = 1;
        for (size_t i = 0; i < t->n_dims; i++)
                if (t->dims[i] < 0 || !int_mul(count, t->dims[i], &count))
                        count = INT64_MAX;
        if (!int_add(f->parameters, count, &f->parameters))
                f->parameters = INT64_MAX;
}

static void count_graph(struct counting *c, const Onnx__GraphProto *g, int depth);

static void count_node(struct counting *c, const Onnx__NodeProto *node, int depth)
{
        struct model_operator *o = operator_of(c, node);
        o->count++;
        o->supported = onnx_row_find(c->im, node) || onnx_definition_find(c->im, node) ||
                       onnx_function_find(c->im, node);
        for (size_t i = 0; i < node->n_attribute; i++) {
                const Onnx__AttributeProto *a = node->attribute[i];
                if (a->g)
                        count_graph(c, a->g, depth + 1);
                for (size_t k = 0; k < a->n_graphs; k++)
                        count_graph(c, a->graphs[k], depth + 1);
        }
}

static void count_graph(struct counting *c, const Onnx__GraphProto *g, int depth)
{
        for (size_t i = 0; i < g->n_node && depth < DEPTH_MAX; i++)
                count_node(c, g->node[i], depth);
        for (size_t i = 0; i < g->n_initializer; i++)
                add_parameters(c->facts, g->initializer[i]);
}

static struct model_port port_of(struct counting *c, const Onnx__ValueInfoProto *v)
{
        return (struct model_port){ keep(c->facts, SAFE(c->im, v->name)),
                                    keep(c->facts, onnx_type_text(c->im, v)) };
}

static void add_ports(struct counting *c, const Onnx__GraphProto *g)
{
        struct model_facts *f = c->facts;
        for (size_t i = 0; i < g->n_input; i++) {
                if (onnx_is_initializer(c->im->scope, g->input[i]->name))
                        continue;
                ARENA_GROW(f->arena, f->inputs, f->input_count);
                f->inputs[f->input_count++] = port_of(c, g->input[i]);
        }
        for (size_t i = 0; i < g->n_output; i++) {
                ARENA_GROW(f->arena, f->outputs, f->output_count);
                f->outputs[f->output_count++] = port_of(c, g->output[i]);
        }
}

static void add_opsets(struct counting *c, const Onnx__ModelProto *m)
{
        struct model_facts *f = c->facts;
        for (size_t i = 0; i < m->n_opset_import; i++) {
                bytes_t domain = onnx_domain(m->opset_import[i]->domain);
                ARENA_GROW(f->arena, f->opsets, f->opset_count);
                f->opsets[f->opset_count++] = arena_printf(
                        f->arena, "%s %lld", domain.len ? SAFE(c->im, domain) : "ai.onnx",
                        (long long)m->opset_import[i]->version);
        }
}

/* ---- names ---- */

static void add_name(struct counting *c, const char *kind, bytes_t name)
{
        struct model_facts *f = c->facts;
        const char *said = text_argument_part(c->im->arena, (const char *)name.data, name.len);
        const char *key = arena_printf(c->im->arena, "%s %s", kind, said);
        if (!name.len || map_get(c->names, key, strlen(key)))
                return;
        map_set(c->names, key, strlen(key), c);
        ARENA_GROW(f->arena, f->names, f->name_count);
        f->names[f->name_count++] = (struct model_name){ kind, keep(f, said) };
}

static void add_dimensions(struct counting *c, const Onnx__ValueInfoProto *input)
{
        const Onnx__TypeProto *t = input->type;
        const Onnx__TypeProto__Tensor *tensor =
                t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? t->tensor_type : NULL;
        for (size_t d = 0; tensor && tensor->shape && d < tensor->shape->n_dim; d++)
                if (tensor->shape->dim[d]->value_case ==
                    ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
                        add_name(c, "dim", tensor->shape->dim[d]->dim_param);
}

static void add_names(struct counting *c, const Onnx__GraphProto *g)
{
        for (size_t i = 0; i < g->n_input; i++)
                if (!onnx_is_initializer(c->im->scope, g->input[i]->name)) {
                        add_dimensions(c, g->input[i]);
                        add_name(c, "input", g->input[i]->name);
                }
        for (size_t i = 0; i < g->n_output; i++)
                add_name(c, "output", g->output[i]->name);
        for (size_t i = 0; i < g->n_node; i++) {
                add_name(c, "node", g->node[i]->name);
                for (size_t k = 0; k < g->node[i]->n_output; k++)
                        add_name(c, "value", g->node[i]->output[k]);
        }
}

void onnx_facts(struct onnx_import *im, struct model_facts *facts)
{
        const Onnx__ModelProto *m = im->model->proto;
        struct counting c = { im, facts, map_new(im->arena), map_new(im->arena) };
        add_opsets(&c, m);
        add_ports(&c, m->graph);
        add_names(&c, m->graph);
        count_graph(&c, m->graph, 0);
        for (size_t i = 0; i < m->n_functions; i++)
                for (size_t k = 0; k < m->functions[i]->n_node; k++)
                        count_node(&c, m->functions[i]->node[k], 0);
        facts->command = keep(facts, onnx_binding_command(im));
        facts->known = true;
}
