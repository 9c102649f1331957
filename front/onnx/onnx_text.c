/* SPDX-License-Identifier: MIT */
/* This is ONNX's text, as onnx.parser reads and onnx.printer writes it:
 *
 *      <ir_version: 8, opset_import: ["" : 17]>
 *      net (float[N, 4] x) => (float[N, 2] y) <float[4, 2] w = {1, 0, 0, 1, 2, 0, 0, 2}>
 *      {
 *         t = MatMul (x, w)
 *         [last] y = Elu <alpha = 0.5> (t)
 *      }
 *
 * It becomes the bytes of the same model as a protobuf, which are then read like those of any file:
 * what is checked there is not checked here. Fields go by their names in onnx.proto. The grammar is
 * that of onnx/defs/parser.cc of ONNX 1.22 and docs/Syntax.md. */
#include <ctype.h>
#include <string.h>

#include "front/onnx/onnx_words.h"

/* ---- types and tensors ---- */

/* Returns the number of an element type, or 0 where the word is none. */
static int element_of(bytes_t w)
{
        const ProtobufCEnumDescriptor *types = &onnx__tensor_proto__data_type__descriptor;
        for (unsigned i = 0; i < types->n_values; i++)
                if (word_is(w, types->values[i].name))
                        return types->values[i].value;
        return 0;
}

static bool begins_type(struct reader *r)
{
        bytes_t w = word_peek_identifier(r);
        return element_of(w) || word_is(w, "seq") || word_is(w, "map") || word_is(w, "optional") ||
               word_is(w, "sparse_tensor");
}

static bool dimension(struct reader *r)
{
        struct part dim;
        int64_t extent;
        bytes_t symbol = word_peek_identifier(r);
        if (!field_open(r, "dim", &dim))
                return false;
        if (word_take(r, '?'))
                return field_close(r, &dim);
        if (symbol.len || word_peek(r) == '"') {
                if (!word_name(r, &symbol))
                        return false;
                field_bytes(r, "dim_param", symbol);
        } else {
                if (!word_integer(r, false, &extent))
                        return false;
                field_integer(r, "dim_value", extent);
        }
        return field_close(r, &dim);
}

/* Reads a type of tensors: `float` is a scalar, `float[]` is of unknown rank. */
static bool tensor_type(struct reader *r, int element)
{
        struct part shape;
        field_integer(r, "elem_type", element);
        bool listed = word_take(r, '['), fine = true;
        if (listed && word_take(r, ']'))
                return true;
        if (!field_open(r, "shape", &shape))
                return false;
        if (listed)
                do
                        if (!dimension(r))
                                return false;
                while (word_more(r, ']', &fine));
        return fine && field_close(r, &shape);
}

static bool type(struct reader *r, const char *field);

/* Reads the types within the parentheses of map(..), seq(..) and so on. */
static bool inner_type(struct reader *r, bytes_t kind, int *key)
{
        *key = word_is(kind, "map") || word_is(kind, "sparse_tensor")
                       ? element_of(word_take_identifier(r))
                       : -1;
        if (!*key)
                return word_wanted(r, "an element type");
        if (word_is(kind, "sparse_tensor"))
                return tensor_type(r, *key);
        if (*key > 0)
                field_integer(r, "key_type", *key);
        return (*key < 0 || word_want(r, ',')) && type(r, *key < 0 ? "elem_type" : "value_type");
}

static bool type(struct reader *r, const char *field)
{
        static const char *const kinds[][2] = { { "seq", "sequence_type" },
                                                { "map", "map_type" },
                                                { "optional", "optional_type" },
                                                { "sparse_tensor", "sparse_tensor_type" } };
        struct part whole, part;
        if (!begins_type(r))
                return word_wanted(r, "a type");
        bytes_t w = word_take_identifier(r);
        int element = element_of(w), key;
        const char *kind = "tensor_type";
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !element; i++)
                kind = word_is(w, kinds[i][0]) ? kinds[i][1] : kind;
        if (!field_open(r, field, &whole) || !field_open(r, kind, &part))
                return false;
        return (element ? tensor_type(r, element)
                        : word_want(r, '(') && inner_type(r, w, &key) && word_want(r, ')')) &&
               field_close(r, &part) && field_close(r, &whole);
}

/* Returns the field that elements of a type are in, and how these are written. */
static const char *data_field(int element, int *wire)
{
        *wire = WIRE_VARINT;
        switch (element) {
        case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
        case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64: *wire = WIRE_FIXED32; return "float_data";
        case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
        case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128: *wire = WIRE_FIXED64; return "double_data";
        case ONNX__TENSOR_PROTO__DATA_TYPE__STRING: *wire = WIRE_BYTES; return "string_data";
        case ONNX__TENSOR_PROTO__DATA_TYPE__INT64: return "int64_data";
        case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32:
        case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64: return "uint64_data";
        default: return "int32_data";
        }
}

static bool one_element(struct reader *r, const char *field, int wire)
{
        int64_t number;
        double wide;
        float single;
        bytes_t s;
        if (wire == WIRE_BYTES    ? !word_string(r, &s)
            : wire == WIRE_VARINT ? !word_integer(r, *field == 'u', &number)
                                  : !word_real(r, &wide, &single))
                return false;
        if (wire == WIRE_BYTES)
                field_bytes(r, field, s);
        else if (wire == WIRE_VARINT)
                number_varint(r, (uint64_t)number);
        else if (wire == WIRE_FIXED32)
                number_single(r, single);
        else
                number_double(r, wide);
        return true;
}

static bool entries(struct reader *r, const char *field, bool opsets)
{
        struct part entry;
        bytes_t key, value;
        int64_t version;
        bool fine = true;
        if (!word_want(r, '['))
                return false;
        if (word_take(r, ']'))
                return true;
        do {
                if (!field_open(r, field, &entry) || !word_string(r, &key) || !word_want(r, ':') ||
                    !(opsets ? word_integer(r, false, &version) : word_string(r, &value)))
                        return false;
                field_bytes(r, opsets ? "domain" : "key", key);
                if (opsets)
                        field_integer(r, "version", version);
                else
                        field_bytes(r, "value", value);
                field_close(r, &entry);
        } while (word_more(r, ']', &fine));
        return fine;
}

/* Reads the data of a tensor: "{1, 2}", ["location": "file", ..], or nothing. */
static bool tensor_data(struct reader *r, int element)
{
        int wire;
        const char *field = data_field(element, &wire);
        if (word_peek(r) == '[') {
                field_integer(r, "data_location", ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL);
                return entries(r, "external_data", false);
        }
        if (!word_take(r, '{') || word_take(r, '}'))
                return true;
        struct part part = { .outer = r->message };
        if (wire != WIRE_BYTES && !field_open(r, field, &part))
                return false;
        do
                if (!one_element(r, field, wire))
                        return false;
        while (word_take(r, ','));
        return word_want(r, '}') && (wire == WIRE_BYTES || field_close(r, &part));
}

/* Reads a tensor, type [name] [=] data, as a field. */
static bool tensor(struct reader *r, const char *field)
{
        struct part part;
        int64_t extent;
        bool fine = true;
        if (!field_open(r, field, &part))
                return false;
        int element = element_of(word_take_identifier(r));
        if (!element)
                return word_wanted(r, "the type of a tensor");
        field_integer(r, "data_type", element);
        if (word_take(r, '[')) {
                do {
                        if (!word_integer(r, false, &extent))
                                return false;
                        field_integer(r, "dims", extent);
                } while (word_more(r, ']', &fine));
        }
        bytes_t called = word_peek_identifier(r);
        if (!fine || ((called.len || word_peek(r) == '"') && !word_name(r, &called)))
                return false;
        if (called.len)
                field_bytes(r, "name", called);
        word_take(r, '=');
        return tensor_data(r, element) && field_close(r, &part);
}

/* ---- attributes ---- */

static bool graph(struct reader *r, const char *field);

/* Returns whether data stand behind the type of an attribute's value, which is then a tensor. */
static bool is_tensor(struct reader *r)
{
        const char *at = r->at;
        int open = 0;
        word_take_identifier(r);
        for (; r->at < r->end && (open || strchr("[( \t\r\n", *r->at)); r->at++)
                open += (*r->at == '[' || *r->at == '(') - (*r->at == ']' || *r->at == ')');
        char next = word_peek(r);
        r->at = at;
        return next == '{' || next == '=' || next == '"' || next == '_' ||
               isalpha((unsigned char)next);
}

static int attribute_type(bytes_t w)
{
        const ProtobufCEnumDescriptor *types = &onnx__attribute_proto__attribute_type__descriptor;
        for (unsigned i = 0; i < types->n_values; i++)
                if (word_is(w, types->values[i].name))
                        return types->values[i].value;
        return 0;
}

enum {
        A_FLOAT = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
        A_INT = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        A_STRING = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
        A_TENSOR = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR,
        A_GRAPH = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH,
        A_TYPE = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO,
        A_LISTS = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS -
                  A_FLOAT /* FLOATS is behind FLOAT as INTS is behind INT. */
};

/* Returns the type of the value that stands here, by its first letters. */
static int value_type(struct reader *r)
{
        char c = word_peek(r);
        bool letters = isalpha((unsigned char)c) || c == '_';
        bytes_t w = word_peek_identifier(r);
        if (c == '"')
                return A_STRING;
        if (letters && begins_type(r))
                return is_tensor(r) ? A_TENSOR : A_TYPE;
        if (letters && !word_is(w, "inf") && !word_is(w, "infinity") && !word_is(w, "nan"))
                return A_GRAPH;
        return word_is_integer(r) ? A_INT : A_FLOAT;
}

/* Reads a single value, or an item of a list. An int does where a float is wanted. */
static bool attribute_value(struct reader *r, int wanted, bool listed)
{
        int is = value_type(r);
        double wide;
        float single;
        int64_t number;
        bytes_t s;
        if (is == A_INT && wanted == A_FLOAT)
                is = A_FLOAT;
        if (is != wanted)
                return word_wanted(
                        r, arena_printf(r->arena, "a value that is %s",
                                        protobuf_c_enum_descriptor_get_value(
                                                &onnx__attribute_proto__attribute_type__descriptor,
                                                wanted)
                                                ->name));
        switch (is) {
        case A_FLOAT:
                if (!word_real(r, &wide, &single))
                        return false;
                field_tag(r, listed ? "floats" : "f", WIRE_FIXED32);
                number_single(r, single);
                return true;
        case A_INT:
                if (!word_integer(r, false, &number))
                        return false;
                field_integer(r, listed ? "ints" : "i", number);
                return true;
        case A_STRING:
                if (!word_string(r, &s))
                        return false;
                field_bytes(r, listed ? "strings" : "s", s);
                return true;
        case A_TENSOR: return tensor(r, listed ? "tensors" : "t");
        case A_GRAPH:  return graph(r, listed ? "graphs" : "g");
        default:       return listed ? word_wanted(r, "a list of other values") : type(r, "tp");
        }
}

static bool attribute_list(struct reader *r, int stated)
{
        if (word_peek(r) == ']' && !stated)
                return word_wanted(r, "the type of an empty list, as in a: ints = []");
        int wanted = stated ? stated - A_LISTS : value_type(r);
        if (wanted < A_FLOAT || wanted > A_GRAPH)
                return word_wanted(r, "a list of numbers, strings, tensors or graphs");
        field_integer(r, "type", wanted + A_LISTS);
        if (word_take(r, ']'))
                return true;
        do
                if (!attribute_value(r, wanted, true))
                        return false;
        while (word_take(r, ','));
        return word_want(r, ']');
}

/* Reads an attribute, name: type = value, name = [values], or name: type = @parameter. The name
 * has been read. */
static bool attribute(struct reader *r, const char *field, bytes_t called)
{
        struct part part;
        bytes_t parameter;
        if (!field_open(r, field, &part))
                return false;
        field_bytes(r, "name", called);
        int stated = 0;
        if (word_take(r, ':') && !(stated = attribute_type(word_take_identifier(r))))
                return word_wanted(r, "the type of an attribute");
        if (!word_want(r, '='))
                return false;
        if (word_take(r, '[')) {
                if (!attribute_list(r, stated))
                        return false;
        } else if (word_take(r, '@')) {
                if (!word_name(r, &parameter))
                        return false;
                field_bytes(r, "ref_attr_name", parameter);
                if (stated)
                        field_integer(r, "type", stated);
        } else {
                int wanted = stated ? stated : value_type(r);
                field_integer(r, "type", wanted);
                if (!attribute_value(r, wanted, false))
                        return false;
        }
        return field_close(r, &part);
}

/* Reads attributes, <a = 1, b: ints = []>. A function also has plain names: parameters without a
 * preset. */
static bool attributes(struct reader *r, bool of_function)
{
        bytes_t called;
        if (!word_take(r, '<'))
                return true;
        do {
                if (!word_name(r, &called))
                        return false;
                bool plain = of_function && word_peek(r) != ':' && word_peek(r) != '=';
                if (plain)
                        field_bytes(r, "attribute", called);
                else if (!attribute(r, of_function ? "attribute_proto" : "attribute", called))
                        return false;
        } while (word_take(r, ','));
        return word_want(r, '>');
}

/* ---- nodes, graphs ---- */

/* Reads names, "x, , z", which may be empty. */
static bool names(struct reader *r, const char *field)
{
        for (;;) {
                bytes_t called = { 0 };
                bool quoted = word_peek(r) == '"';
                if (quoted && !word_string(r, &called))
                        return false;
                if (!quoted)
                        called = word_take_identifier(r);
                if (!quoted && !called.len && word_peek(r) != ',')
                        return true;
                field_bytes(r, field, called);
                if (!word_take(r, ','))
                        return true;
        }
}

static bool node(struct reader *r)
{
        struct part part;
        bytes_t called = { 0 }, op, domain = { 0 };
        if (!field_open(r, "node", &part))
                return false;
        if (word_take(r, '[') &&
            ((word_peek(r) != ']' && !word_name(r, &called)) || !word_want(r, ']')))
                return false;
        field_bytes(r, "name", called);
        if (!names(r, "output") || !word_want(r, '='))
                return false;
        word_peek(r);
        const char *from = r->at;
        if (!(op = word_take_identifier(r)).len)
                return word_wanted(r, "an operator");
        while (word_take(r, '.')) {
                domain = (bytes_t){ (size_t)(r->at - 1 - from), (uint8_t *)(uintptr_t)from };
                if (!(op = word_take_identifier(r)).len)
                        return word_wanted(r, "an operator");
        }
        field_bytes(r, "domain", domain);
        field_bytes(r, "op_type", op);
        if (word_take(r, ':')) {
                if (!(op = word_take_identifier(r)).len)
                        return word_wanted(r, "an overload");
                field_bytes(r, "overload", op);
        }
        bool before = word_peek(r) == '<';
        return attributes(r, false) && word_want(r, '(') && names(r, "input") &&
               word_want(r, ')') && (before || attributes(r, false)) && field_close(r, &part);
}

/* Reads "float[2] x", or with "= {..}" behind it an initializer; an input that has that is both.
 * Sets *called to its name unless called is NULL; a function wants it, whose values have no
 * initializers, nor have those of a function listed behind it. */
static bool value(struct reader *r, const char *field, bytes_t *called)
{
        struct part info;
        bytes_t own;
        size_t length = r->out.length;
        const char *from = r->at;
        if (!field_open(r, field, &info) || (begins_type(r) && !type(r, "type")) ||
            !word_name(r, &own))
                return false;
        field_bytes(r, "name", own);
        field_close(r, &info);
        if (called)
                *called = own;
        if (called || r->message != &onnx__graph_proto__descriptor || word_peek(r) != '=' ||
            (r->end - r->at > 1 && r->at[1] == '>'))
                return true;
        if (!strcmp(field, "value_info"))
                r->out.length = length;
        r->at = from;
        return tensor(r, "initializer");
}

static bool values(struct reader *r, const char *field, char open, char close)
{
        if (!word_want(r, open))
                return false;
        if (word_take(r, close))
                return true;
        do
                if (!value(r, field, NULL))
                        return false;
        while (word_take(r, ','));
        return word_want(r, close);
}

static bool nodes(struct reader *r)
{
        if (!word_want(r, '{'))
                return false;
        while (!word_take(r, '}'))
                if (!node(r))
                        return false;
        return true;
}

static bool graph(struct reader *r, const char *field)
{
        struct part part;
        bytes_t called;
        if (!field_open(r, field, &part) || !word_name(r, &called))
                return false;
        field_bytes(r, "name", called);
        return (word_peek(r) != '(' || values(r, "input", '(', ')')) && word_want_arrow(r) &&
               values(r, "output", '(', ')') &&
               (word_peek(r) != '<' || values(r, "value_info", '<', '>')) && nodes(r) &&
               field_close(r, &part);
}

/* Reads the parameters of a function: names, with types or without. */
static bool parameters(struct reader *r, const char *field)
{
        bytes_t called;
        bool fine = true;
        if (!word_want(r, '('))
                return false;
        if (word_take(r, ')'))
                return true;
        do {
                if (begins_type(r) ? !value(r, "value_info", &called) : !word_name(r, &called))
                        return false;
                field_bytes(r, field, called);
        } while (word_more(r, ')', &fine));
        return fine;
}

/* ---- heads ---- */

/* Reads fields of the message by their names: <ir_version: 8, opset_import: ["" : 17],
 * doc_string: "..">. */
static bool head(struct reader *r)
{
        static const struct { const char *field; char kind;
        } fields[] = {
                { "ir_version", 'i' },       { "model_version", 'i' }, { "producer_name", 's' },
                { "producer_version", 's' }, { "domain", 's' },        { "doc_string", 's' },
                { "overload", 's' },         { "opset_import", 'o' },  { "metadata_props", 'e' },
        };
        enum { FIELDS = sizeof fields / sizeof *fields };
        if (!word_take(r, '<'))
                return true;
        do {
                int i = 0;
                int64_t number;
                bytes_t w = word_take_identifier(r), s;
                while (i < FIELDS && !word_is(w, fields[i].field))
                        i++;
                if (i == FIELDS ||
                    !protobuf_c_message_descriptor_get_field_by_name(r->message, fields[i].field))
                        return word_wanted(
                                r, "a field of the model, such as ir_version or opset_import");
                if (!word_want(r, ':'))
                        return false;
                if (fields[i].kind == 'i'   ? !word_integer(r, false, &number)
                    : fields[i].kind == 's' ? !word_string(r, &s)
                                            : !entries(r, fields[i].field, fields[i].kind == 'o'))
                        return false;
                if (fields[i].kind == 'i')
                        field_integer(r, fields[i].field, number);
                if (fields[i].kind == 's')
                        field_bytes(r, fields[i].field, s);
        } while (word_take(r, ','));
        return word_want(r, '>');
}

static bool function(struct reader *r)
{
        struct part part;
        bytes_t called;
        if (!field_open(r, "functions", &part) || !head(r) || !word_name(r, &called))
                return false;
        field_bytes(r, "name", called);
        return attributes(r, true) && parameters(r, "input") && word_want_arrow(r) &&
               parameters(r, "output") &&
               (word_peek(r) != '<' || values(r, "value_info", '<', '>')) && nodes(r) &&
               field_close(r, &part);
}

bool onnx_is_text(const unsigned char *bytes, size_t length)
{
        struct reader r = { .start = (const char *)bytes,
                            .at = (const char *)bytes,
                            .end = (const char *)bytes + length };
        return word_take(&r, '<') && word_take_identifier(&r).len && word_peek(&r) == ':';
}

bool onnx_text_read(const unsigned char *bytes, size_t length, const struct limits *limits,
                    struct text *wire, struct diag *diag)
{
        struct reader r = { .start = (const char *)bytes,
                            .at = (const char *)bytes,
                            .end = (const char *)bytes + length,
                            .arena = arena_new(),
                            .diag = diag,
                            .message = &onnx__model_proto__descriptor,
                            .depth_most = limits->wire_depth < WIRE_DEPTH_MAX ? limits->wire_depth
                                                                              : WIRE_DEPTH_MAX };
        bool fine = head(&r) && graph(&r, "graph");
        while (fine && word_peek(&r))
                fine = function(&r);
        if (fine && r.at < r.end)
                fine = word_wanted(&r, "the end");
        arena_free(r.arena);
        *wire = r.out;
        if (!fine)
                text_free(wire);
        return fine;
}
