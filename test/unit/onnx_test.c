/* SPDX-License-Identifier: MIT */
/* The importer's core from the inside: what it makes of a model, what it copies, what it says.
 * Hostile files are the business of test/hostile. Models are built as protobuf-c structures and
 * packed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/store.h"
#include "front/onnx/onnx_model.h"

enum { LIST = 64 };

/* ---- building ---- */

static bytes_t bytes(const char *text) { return (bytes_t){ strlen(text), (uint8_t *)text }; }

struct fixture {
        struct arena *arena;
        Onnx__ModelProto model;
        Onnx__GraphProto graph;
        Onnx__OperatorSetIdProto opset, *opsets[1];
        Onnx__NodeProto *nodes[LIST];
        Onnx__ValueInfoProto *inputs[LIST], *outputs[LIST];
        Onnx__TensorProto *initializers[LIST];
        struct import_options options;
        struct pass_context context;
        struct diag diag;
        char *said;
        size_t said_length;
        struct module *m;
};

static int setup(void **state)
{
        struct fixture *f = calloc(1, sizeof *f);
        f->arena = arena_new();
        onnx__model_proto__init(&f->model);
        onnx__graph_proto__init(&f->graph);
        onnx__operator_set_id_proto__init(&f->opset);
        f->opset.has_version = 1;
        f->opset.version = 17;
        f->opsets[0] = &f->opset;
        f->model.has_ir_version = 1;
        f->model.ir_version = 8;
        f->model.n_opset_import = 1;
        f->model.opset_import = f->opsets;
        f->model.graph = &f->graph;
        f->graph.node = f->nodes;
        f->graph.input = f->inputs;
        f->graph.output = f->outputs;
        f->graph.initializer = f->initializers;
        f->diag = (struct diag){ .subject = "m", .stream = open_memstream(&f->said, &f->said_length) };
        f->context = (struct pass_context){ .diag = &f->diag, .limits = limits_preset };
        f->options.path = "model.onnx";
        *state = f;
        return 0;
}

static int teardown(void **state)
{
        struct fixture *f = *state;
        module_free(f->m);
        arena_free(f->arena);
        fclose(f->diag.stream);
        free(f->said);
        free(f);
        return 0;
}

/* "x y" -> bytes fields */
static ProtobufCBinaryData *names(struct fixture *f, const char *text, size_t *count)
{
        ProtobufCBinaryData *list = arena_array(f->arena, LIST, sizeof *list);
        char *copy = arena_string(f->arena, text);
        *count = 0;
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
                list[(*count)++] = bytes(strcmp(word, "-") ? word : "");
        return list;
}

static Onnx__NodeProto *node(struct fixture *f, const char *op, const char *inputs, const char *outputs)
{
        Onnx__NodeProto *n = ARENA_NEW(f->arena, Onnx__NodeProto);
        onnx__node_proto__init(n);
        n->has_op_type = n->has_name = 1;
        n->op_type = bytes(op);
        n->name = bytes(arena_printf(f->arena, "n%zu", f->graph.n_node));
        n->input = names(f, inputs, &n->n_input);
        n->output = names(f, outputs, &n->n_output);
        return f->nodes[f->graph.n_node++] = n;
}

static Onnx__ValueInfoProto *value(struct fixture *f, const char *name, int type, int rank, const int64_t *dims)
{
        Onnx__ValueInfoProto *v = ARENA_NEW(f->arena, Onnx__ValueInfoProto);
        onnx__value_info_proto__init(v);
        v->has_name = 1;
        v->name = bytes(name);
        if (!type)
                return v;
        Onnx__TypeProto *t = v->type = ARENA_NEW(f->arena, Onnx__TypeProto);
        onnx__type_proto__init(t);
        t->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        t->tensor_type = ARENA_NEW(f->arena, Onnx__TypeProto__Tensor);
        onnx__type_proto__tensor__init(t->tensor_type);
        t->tensor_type->has_elem_type = 1;
        t->tensor_type->elem_type = type;
        Onnx__TensorShapeProto *shape = t->tensor_type->shape = ARENA_NEW(f->arena, Onnx__TensorShapeProto);
        onnx__tensor_shape_proto__init(shape);
        shape->n_dim = (size_t)rank;
        shape->dim = arena_array(f->arena, LIST, sizeof *shape->dim);
        for (int i = 0; i < rank; i++) {
                shape->dim[i] = ARENA_NEW(f->arena, Onnx__TensorShapeProto__Dimension);
                onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
                shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
                shape->dim[i]->dim_value = dims[i];
        }
        return v;
}

static void input(struct fixture *f, const char *name)
{
        f->inputs[f->graph.n_input++] = value(f, name, 1, 1, (int64_t[]){ 4 });
}
static void output(struct fixture *f, const char *name)
{
        f->outputs[f->graph.n_output++] = value(f, name, 0, 0, NULL);
}

static void open_input(struct fixture *f, const char *name, const char *symbol)
{
        input(f, name);
        Onnx__TensorShapeProto__Dimension *d = f->inputs[f->graph.n_input - 1]->type->tensor_type->shape->dim[0];
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = bytes(symbol);
}

static Onnx__TensorProto *initializer(struct fixture *f, const char *name, int64_t count, const void *raw)
{
        Onnx__TensorProto *t = ARENA_NEW(f->arena, Onnx__TensorProto);
        onnx__tensor_proto__init(t);
        t->has_name = t->has_data_type = t->has_raw_data = 1;
        t->name = bytes(name);
        t->data_type = 1;
        t->n_dims = 1;
        t->dims = arena_copy(f->arena, &count, sizeof count);
        t->raw_data = (bytes_t){ (size_t)count * 4, (uint8_t *)raw };
        return f->initializers[f->graph.n_initializer++] = t;
}

/* Imports; the module stays in f->m. */
static struct module *import(struct fixture *f)
{
        size_t length = onnx__model_proto__get_packed_size(&f->model);
        uint8_t *packed = malloc(length);
        onnx__model_proto__pack(&f->model, packed);
        module_free(f->m);
        rewind(f->diag.stream);
        f->diag.errors = f->diag.warnings = 0;
        f->m = onnx_import(packed, length, &f->options, &f->context, NULL, NULL);
        if (f->m)
                store_adopt(f->m->store, packed, length);
        else
                free(packed);
        fputc(0, f->diag.stream);
        fflush(f->diag.stream);
        return f->m;
}

static void expect_text(struct fixture *f, const char *want)
{
        struct text text = { 0 };
        assert_non_null(f->m);
        assert_true(tensor_verify(f->m, &f->diag));
        tensor_print(&text, f->m, &(struct tensor_print){ .elide = true });
        assert_string_equal(strchr(strstr(text.data, "module"), '\n') + 1, want);
        text_free(&text);
}

static void expect_error(struct fixture *f, enum exit_code code, const char *want)
{
        assert_null(import(f));
        assert_int_equal(f->diag.code, code);
        assert_string_equal(f->said, want);
        f->diag.code = EXIT_OK;
}

/* ---- the graph ---- */

static void test_order_and_ports(void **state)
{
        struct fixture *f = *state;
        node(f, "Neg", "b", "y");
        node(f, "Exp", "a", "b");
        node(f, "Relu", "x", "a");
        input(f, "x");
        output(f, "y");
        output(f, "x");
        import(f);
        expect_text(f, "func @main(%x \"x\": <4 x f32>) -> (\"y\", \"x\") {\n"
                       "  %0 = max(%x, 0.0) : <4 x f32>    ; \"n2\"\n"
                       "  %1 = exp(%0) : <4 x f32>    ; \"n1\"\n"
                       "  %2 = neg(%1) : <4 x f32>    ; \"n0\"\n"
                       "  yield(%2, %x)\n"
                       "}\n");
        assert_int_equal(strlen(f->m->source), 64);
}

static void test_options(void **state)
{
        struct fixture *f = *state;
        node(f, "Neg", "x", "a");
        node(f, "Neg", "z", "b");
        open_input(f, "x", "N");
        open_input(f, "z", "M");
        output(f, "a");
        output(f, "b");
        expect_error(f, EXIT_INVALID, "m: error: input 'x' has an open dimension 'N': x: f32 <N>, add --dim N=.. (a number, or 1..512 and each run gives one), as in: dnncc model.onnx --dim N=1 --dim M=1\n"
                                      "m: error: input 'z' has an open dimension 'M': z: f32 <M>, add --dim M=.. (a number, or 1..512 and each run gives one), as in: dnncc model.onnx --dim N=1 --dim M=1\n");
        f->options.dims = (const char *const[]){ "N=5" };
        f->options.dim_count = 1;
        expect_error(f, EXIT_INVALID, "m: error: input 'z' has an open dimension 'M': z: f32 <M>, add --dim M=.. (a number, or 1..512 and each run gives one), as in: dnncc model.onnx --dim N=5 --dim M=1\n");
        f->options.outputs = (const char *const[]){ "a" };      /* what it does not need is left out */
        f->options.output_count = 1;
        import(f);
        expect_text(f, "func @main(%x \"x\": <5 x f32>) -> (\"a\") {\n"
                       "  %0 = neg(%x) : <5 x f32>    ; \"n0\"\n"
                       "  yield(%0)\n"
                       "}\n");
        f->options.inputs = (const char *const[]){ "x=6" };
        f->options.input_count = 1;
        expect_error(f, EXIT_USAGE, "m: error: dimension 'N' is 5 by --dim N=5 and 6 by --input x=6\n");
        f->options.dim_count = 0;
        f->options.keep = (const char *const[]){ "x", "a", "nope" };
        f->options.keep_count = 3;
        expect_error(f, EXIT_USAGE, "m: error: --output or --keep 'nope': the model has no such value: there are 'a', 'b'\n");
}

static void test_unsupported_list(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 60; i++)
                node(f, i % 2 ? "Bar" : "Foo", i ? arena_printf(f->arena, "t%d", i - 1) : "x",
                     arena_printf(f->arena, "t%d", i));
        node(f, "Neg", "t59", "y");
        input(f, "x");
        output(f, "y");
        assert_null(import(f));
        assert_int_equal(f->diag.code, EXIT_UNSUPPORTED);
        assert_int_equal(f->diag.errors, 52);
        assert_non_null(strstr(f->said, "m: error: node 'n49' (Bar, opset 17): no such operator is supported\n"
                                        "m: error: 5 more of (Foo, opset 17) are not supported\n"
                                        "m: error: 5 more of (Bar, opset 17) are not supported\n"));
}

static void test_errors_name_the_node(void **state)
{
        struct fixture *f = *state;
        Onnx__NodeProto *n = node(f, "Neg", "ghost", "y");
        input(f, "x");
        output(f, "y");
        expect_error(f, EXIT_INVALID, "m: error: node 'n0' (Neg): input 'ghost' is not defined\n");
        n->input = names(f, "y", &n->n_input);
        expect_error(f, EXIT_INVALID, "m: error: node 'n0' (Neg): needs its own result: the graph has a cycle\n");
        n->input = names(f, "x x", &n->n_input);
        expect_error(f, EXIT_INVALID, "m: error: node 'n0' (Neg): 2 inputs, want 1\n");
        n->n_input = 0;
        n->name.len = 0;
        expect_error(f, EXIT_INVALID, "m: error: node of output 'y' (Neg): 0 inputs, want 1\n");
        f->opset.version = 28;
        expect_error(f, EXIT_UNSUPPORTED,
                     "m: error: the model imports opset 28 of ai.onnx, 27 is the newest that is supported\n");
}

/* ---- tensors ---- */

static void test_large_data_is_not_copied(void **state)
{
        struct fixture *f = *state;
        enum { COUNT = 1 << 20 };
        float *data = malloc(COUNT * sizeof *data);
        for (int i = 0; i < COUNT; i++)
                data[i] = (float)i;
        initializer(f, "w", COUNT, data);
        output(f, "w");
        assert_non_null(import(f));
        const struct constant *c = f->m->constants;
        assert_int_equal(c->kind, CONSTANT_DENSE);
        assert_memory_equal(constant_data(c), data, COUNT * sizeof *data);
        const void *in_file = constant_data(c);
        module_settle_constants(f->m);
        module_sweep_constants(f->m);
        assert_ptr_not_equal(store_alloc(f->m->store, COUNT), in_file);
        assert_memory_equal(constant_data(c), data, COUNT * sizeof *data);
        assert_true(arena_bytes(f->m->arena) < 1 << 20);
        free(data);
}

static void test_equal_data_is_a_splat(void **state)
{
        struct fixture *f = *state;
        static const float data[9] = { 2, 2, 2, 2, 2, 2, 2, 2, 2 };
        initializer(f, "w", 9, data);
        output(f, "w");
        assert_non_null(import(f));
        assert_int_equal(f->m->constants->kind, CONSTANT_SPLAT);
        f->initializers[0]->raw_data.len = 35;
        expect_error(f, EXIT_INVALID, "m: error: initializer 'w': raw_data has 35 bytes, its shape and type want 36\n");
        f->initializers[0]->has_raw_data = 0;
        expect_error(f, EXIT_INVALID, "m: error: initializer 'w': float_data has 0 entries, its shape wants 9\n");
        f->initializers[0]->data_type = 99;
        expect_error(f, EXIT_INVALID, "m: error: initializer 'w': unknown element type 99\n");
}

/* ---- the wire ---- */

static void test_wire(void **state)
{
        struct fixture *f = *state;
        static const struct { const char *bytes; size_t length; const char *want;
        } rows[] = {
                { "\x3a\x00", 2, NULL }, /* an empty graph */
                { "\x3a\x00\x98\x06\x07", 5, NULL }, /* an unknown field */
                { "\x3a\x02\x0a\x00", 4, NULL }, /* a graph with an empty node */
                { "", 0, "not an ONNX model: the file is empty" },
                { "\x08\x08", 2, "not an ONNX model: it holds no graph" },
                { "\x3a\x01", 2, "not an ONNX model: a length points past the end, at byte 2" },
                { "\x3a\x00\x00", 3, "the file is damaged: no such field number, at byte 2, in a ModelProto" },
                { "\x3a\x00\x0b", 3, "the file is damaged: no such wire type, at byte 2, in a ModelProto" },
                { "\x3a\x00\x3a\x00", 4,
                  "the file is damaged: field graph is given twice, at byte 3, in a ModelProto" },
                { "\x3a\x02\x08\x00", 4,
                  "the file is damaged: field node has the wrong wire type, at byte 3, in a GraphProto" },
                { "\x3a\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 13,
                  "the file is damaged: a number is longer than 64 bits, at byte 13, in a ModelProto" },
                { "\x3a\x08\x2a\x06\x10\x80\x80\x80\x80\x10", 10,
                  "the file is damaged: field data_type is out of range, at byte 10, in a TensorProto" },
                { "\x3a\x06\x2a\x04\x0a\x02\x01\x80", 8,
                  "the file is damaged: a number is cut off, at byte 8, in a TensorProto" },
                { "\x3a\x07\x2a\x05\x22\x03\x01\x02\x03", 9,
                  "the file is damaged: field float_data is cut off inside an element, at byte 6, in a TensorProto" },
                { "PK\3\4", 4, "not an ONNX model, but a zip archive; PyTorch files and saved models are such" },
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                rewind(f->diag.stream);
                f->diag.errors = 0;
                struct wire_image image = { .arena = f->arena };
                bool ok = wire_check((const unsigned char *)rows[i].bytes, rows[i].length, &onnx_model_format, &limits_preset, &image, &f->diag);
                text_free(&image.bytes);
                fputc(0, f->diag.stream);
                fflush(f->diag.stream);
                assert_int_equal(ok, !rows[i].want);
                if (!ok)
                        assert_string_equal(f->said, arena_printf(f->arena, "m: error: %s\n", rows[i].want));
        }
}

/* Depth is limited, and an option cannot lift it beyond what protobuf-c's recursion bears. */
static void test_wire_depth(void **state)
{
        struct fixture *f = *state;
        enum { DEPTH = 2000 };
        const struct wire_format type_format = { &onnx__type_proto__descriptor, "a type", NULL, NULL, NULL, NULL };
        unsigned char *text = arena_alloc(f->arena, 5 * DEPTH);
        size_t length = 0, room = 5 * DEPTH;
        for (int i = 0; i < DEPTH; i++) { /* from the inside out: sequence_type / elem_type */
                unsigned char head[4] = { i % 2 ? 0x22 : 0x0a, (unsigned char)(length & 127) | 128,
                                          (unsigned char)(length >> 7) };
                room -= 3;
                memcpy(text + room, head, 3);
                length += 3;
        }
        struct limits limits = limits_preset;
        for (int i = 0; i < 2; i++) {
                struct wire_image image = { .arena = f->arena };
                assert_false(wire_check(text + room, length, &type_format, &limits, &image, &f->diag));
                text_free(&image.bytes);
                limits.wire_depth = INT64_MAX;
        }
        fflush(f->diag.stream);
        assert_non_null(strstr(f->said, "nested more than 100 deep (--limit wire_depth"));
        assert_non_null(strstr(f->said, "nested more than 256 deep"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_order_and_ports, setup, teardown),
                cmocka_unit_test_setup_teardown(test_options, setup, teardown),
                cmocka_unit_test_setup_teardown(test_unsupported_list, setup, teardown),
                cmocka_unit_test_setup_teardown(test_errors_name_the_node, setup, teardown),
                cmocka_unit_test_setup_teardown(test_large_data_is_not_copied, setup, teardown),
                cmocka_unit_test_setup_teardown(test_equal_data_is_a_splat, setup, teardown),
                cmocka_unit_test_setup_teardown(test_wire, setup, teardown),
                cmocka_unit_test_setup_teardown(test_wire_depth, setup, teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
