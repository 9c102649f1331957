/* SPDX-License-Identifier: MIT */
/* The graph in memory is written as the bytes of an ONNX file. Nothing of it depends on where or
 * when that is done. Elements of constants are handed to protobuf-c as they lie. */
#include <inttypes.h>
#include <string.h>

#include "compiler/export/export_file.h"
#include "onnx.pb-c.h"

enum {
        DATA_LEAST = 1024, /* A constant of fewer bytes does not go into the data file. */
        DATA_ALIGN = 64
};

typedef ProtobufCBinaryData bytes_t;

static bytes_t bytes_of(const char *text)
{
        return (bytes_t){ strlen(text), (uint8_t *)(uintptr_t)text };
}

#define MESSAGE(e, type, init) ((type *)message((e), &(const type)init, sizeof(type)))

static void *message(struct export *e, const void *init, size_t size)
{
        return arena_copy(e->arena, init, size);
}

/* ---- types and tensors ---- */

static Onnx__ValueInfoProto *value_info(struct export *e, const struct made *v)
{
        const struct type *t = v->type;
        Onnx__TensorShapeProto *shape =
                MESSAGE(e, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
        shape->n_dim = (size_t)t->rank;
        shape->dim = arena_array(e->arena, shape->n_dim + 1, sizeof *shape->dim);
        for (int d = 0; d < t->rank; d++) {
                shape->dim[d] =
                        MESSAGE(e, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
                if (!dim_is_static(t->dims[d])) {
                        shape->dim[d]->value_case =
                                ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
                        shape->dim[d]->dim_param = bytes_of(dim_text(e->arena, e->m, t->dims[d]));
                        continue;
                }
                shape->dim[d]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
                shape->dim[d]->dim_value = type_extent(t, d);
        }
        Onnx__TypeProto__Tensor *tensor =
                MESSAGE(e, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
        tensor->has_elem_type = 1;
        tensor->elem_type = element_info[t->element].onnx;
        tensor->shape = shape;
        Onnx__ValueInfoProto *info = MESSAGE(e, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
        info->has_name = 1;
        info->name = bytes_of(v->name);
        info->type = MESSAGE(e, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
        info->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        info->type->tensor_type = tensor;
        return info;
}

static Onnx__StringStringEntryProto *entry(struct export *e, const char *key, const char *value)
{
        Onnx__StringStringEntryProto *s =
                MESSAGE(e, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
        s->has_key = s->has_value = 1;
        s->key = bytes_of(key);
        s->value = bytes_of(value);
        return s;
}

static bool goes_into_data(const struct initializer *t, const struct export_options *o)
{
        return o->data && t->bytes >= DATA_LEAST;
}

static void place_in_data(struct export *e, Onnx__TensorProto *p, const struct initializer *t,
                          const struct export_options *o)
{
        p->has_data_location = 1;
        p->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
        p->n_external_data = 3;
        p->external_data = arena_array(e->arena, 3, sizeof *p->external_data);
        p->external_data[0] = entry(e, "location", o->data_name);
        p->external_data[1] = entry(e, "offset", arena_printf(e->arena, "%" PRId64, t->offset));
        p->external_data[2] = entry(e, "length", arena_printf(e->arena, "%" PRId64, t->bytes));
}

/* Returns numbers [count] as a tensor that the model itself holds. */
static Onnx__TensorProto *numbers(struct export *e, const char *name, enum element element,
                                  int64_t count, const void *data)
{
        Onnx__TensorProto *p = MESSAGE(e, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
        p->n_dims = 1;
        p->dims = arena_copy(e->arena, &count, sizeof count);
        p->has_data_type = p->has_raw_data = 1;
        p->data_type = element_info[element].onnx;
        p->has_name = *name != 0;
        p->name = bytes_of(name);
        p->raw_data = (bytes_t){ (size_t)(count * element_info[element].bytes),
                                 (uint8_t *)(uintptr_t)data };
        return p;
}

static Onnx__SparseTensorProto *sparse_tensor(struct export *e, const struct initializer *t)
{
        const struct type *type = t->made->type;
        const struct sparse *s = t->sparse;
        Onnx__SparseTensorProto *p =
                MESSAGE(e, Onnx__SparseTensorProto, ONNX__SPARSE_TENSOR_PROTO__INIT);
        p->n_dims = (size_t)type->rank;
        p->dims = arena_copy(e->arena, type->dims, p->n_dims * sizeof *p->dims);
        p->values = numbers(e, t->made->name, s->element, s->count, s->values);
        p->indices = numbers(e, "", E_I64, s->count, s->positions);
        return p;
}

static Onnx__TensorProto *tensor(struct export *e, const struct initializer *t,
                                 const struct export_options *o)
{
        const struct type *type = t->made->type;
        Onnx__TensorProto *p = MESSAGE(e, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
        p->n_dims = (size_t)type->rank;
        p->dims = arena_copy(e->arena, type->dims, p->n_dims * sizeof *p->dims);
        p->has_data_type = 1;
        p->data_type = element_info[type->element].onnx;
        p->has_name = *t->made->name != 0;
        p->name = bytes_of(t->made->name);
        if (goes_into_data(t, o)) {
                place_in_data(e, p, t, o);
                return p;
        }
        p->has_raw_data = 1;
        p->raw_data = (bytes_t){ (size_t)t->bytes, (uint8_t *)(uintptr_t)t->data };
        return p;
}

/* ---- nodes and graphs ---- */

static Onnx__GraphProto *graph(struct export *e, const struct graph *g,
                               const struct export_options *o);

static Onnx__AttributeProto *attribute(struct export *e, const struct attribute *a,
                                       const struct export_options *o)
{
        static const Onnx__AttributeProto__AttributeType types[] = {
                [ATTRIBUTE_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
                [ATTRIBUTE_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
                [ATTRIBUTE_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
                [ATTRIBUTE_TEXT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
                [ATTRIBUTE_GRAPH] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH,
                [ATTRIBUTE_TENSOR] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
        };
        Onnx__AttributeProto *p = MESSAGE(e, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
        p->has_name = p->has_type = 1;
        p->name = bytes_of(a->name);
        p->type = types[a->kind];
        switch (a->kind) {
        case ATTRIBUTE_INT:
                p->has_i = 1;
                p->i = a->i;
                break;
        case ATTRIBUTE_FLOAT:
                p->has_f = 1;
                p->f = a->f;
                break;
        case ATTRIBUTE_INTS:
                p->n_ints = (size_t)a->count;
                p->ints = arena_copy(e->arena, a->ints, p->n_ints * sizeof *p->ints);
                break;
        case ATTRIBUTE_TEXT:
                p->has_s = 1;
                p->s = bytes_of(a->text);
                break;
        case ATTRIBUTE_GRAPH: p->g = graph(e, a->graph, o); break;
        case ATTRIBUTE_TENSOR: p->t = tensor(e, a->tensor, o); break;
        }
        return p;
}

static bytes_t *names_of(struct export *e, struct made *const *values, int count)
{
        bytes_t *names = arena_array(e->arena, (size_t)count + 1, sizeof *names);
        for (int i = 0; i < count; i++)
                names[i] = bytes_of(values[i] ? values[i]->name : "");
        return names;
}

static Onnx__NodeProto *node(struct export *e, const struct node *n, const struct export_options *o)
{
        Onnx__NodeProto *p = MESSAGE(e, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
        int count = 0;
        p->has_name = p->has_op_type = 1;
        p->name = bytes_of(n->name);
        p->op_type = bytes_of(n->op);
        p->has_domain = *n->domain != 0;
        p->domain = bytes_of(n->domain);
        p->n_input = (size_t)n->input_count;
        p->input = names_of(e, n->inputs, n->input_count);
        p->n_output = (size_t)n->output_count;
        p->output = names_of(e, n->outputs, n->output_count);
        for (const struct attribute *a = n->attributes; a; a = a->next)
                count++;
        p->attribute = arena_array(e->arena, (size_t)count + 1, sizeof *p->attribute);
        for (const struct attribute *a = n->attributes; a; a = a->next)
                p->attribute[p->n_attribute++] = attribute(e, a, o);
        return p;
}

/* Adds the value_info of every result that is no output. */
static void describe(struct export *e, Onnx__GraphProto *p, const struct graph *g)
{
        struct map *outputs = map_new(e->arena);
        size_t room = 0;
        for (int i = 0; i < g->output_count; i++)
                map_set(outputs, g->outputs[i]->name, strlen(g->outputs[i]->name), p);
        for (const struct node *n = g->nodes; n; n = n->next)
                room += (size_t)n->output_count;
        p->value_info = arena_array(e->arena, room + 1, sizeof *p->value_info);
        for (const struct node *n = g->nodes; n; n = n->next)
                for (int i = 0; i < n->output_count; i++)
                        if (!map_get(outputs, n->outputs[i]->name, strlen(n->outputs[i]->name)))
                                p->value_info[p->n_value_info++] = value_info(e, n->outputs[i]);
}

static Onnx__GraphProto *graph(struct export *e, const struct graph *g,
                               const struct export_options *o)
{
        Onnx__GraphProto *p = MESSAGE(e, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
        p->has_name = 1;
        p->name = bytes_of(g->name);
        p->node = arena_array(e->arena, (size_t)g->node_count + 1, sizeof *p->node);
        for (const struct node *n = g->nodes; n; n = n->next)
                p->node[p->n_node++] = node(e, n, o);
        p->input = arena_array(e->arena, (size_t)g->input_count + 1, sizeof *p->input);
        for (int i = 0; i < g->input_count; i++)
                p->input[p->n_input++] = value_info(e, g->inputs[i]);
        p->output = arena_array(e->arena, (size_t)g->output_count + 1, sizeof *p->output);
        for (int i = 0; i < g->output_count; i++)
                p->output[p->n_output++] = value_info(e, g->outputs[i]);
        describe(e, p, g);
        return p;
}

/* ---- the model ---- */

/* Returns the version of the format, which the operators of an opset came with. */
static int ir_version(int opset) { return opset <= 20 ? 9 : opset <= 22 ? 10 : 13; }

struct sink {
        ProtobufCBuffer base;
        FILE *file;
};

static void sink_append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data)
{
        fwrite(data, 1, length, ((struct sink *)(void *)buffer)->file);
}

/* Writes the data file, with each tensor at a multiple of DATA_ALIGN. */
static void write_data(struct export *e, const struct export_options *o)
{
        static const char zeros[DATA_ALIGN];
        int64_t at = 0;
        for (struct initializer *t = e->initializers; t; t = t->next) {
                if (!goes_into_data(t, o))
                        continue;
                int64_t gap = (DATA_ALIGN - at % DATA_ALIGN) % DATA_ALIGN;
                fwrite(zeros, 1, (size_t)gap, o->data);
                fwrite(t->data, 1, (size_t)t->bytes, o->data);
                t->offset = at + gap;
                at = t->offset + t->bytes;
        }
}

void export_write(FILE *out, struct export *e, const struct graph *g,
                  const struct export_options *o)
{
        Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
        Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, more = opset,
                                 *opsets[2] = { &opset, &more };
        size_t count = 0;
        write_data(e, o);
        opset.has_domain = opset.has_version = 1;
        opset.domain = bytes_of("");
        opset.version = e->opset;
        model.has_ir_version = model.has_producer_name = model.has_producer_version = 1;
        more.has_domain = more.has_version = 1;
        more.domain = bytes_of(e->domain ? e->domain : "");
        more.version = 1;
        model.ir_version = ir_version(e->opset);
        model.producer_name = bytes_of("dnncc");
        model.producer_version = bytes_of(o->version);
        model.n_opset_import = e->domain ? 2 : 1;
        model.opset_import = opsets;
        model.graph = graph(e, g, o);
        for (const struct initializer *t = e->initializers; t; t = t->next)
                count++;
        Onnx__GraphProto *const top = model.graph;
        top->initializer = arena_array(e->arena, count + 1, sizeof *top->initializer);
        top->sparse_initializer = arena_array(e->arena, count + 1, sizeof *top->sparse_initializer);
        for (const struct initializer *t = e->initializers; t; t = t->next)
                if (t->sparse)
                        top->sparse_initializer[top->n_sparse_initializer++] = sparse_tensor(e, t);
                else
                        top->initializer[top->n_initializer++] = tensor(e, t, o);
        struct sink sink = { { sink_append }, out };
        protobuf_c_message_pack_to_buffer(&model.base, &sink.base);
}
