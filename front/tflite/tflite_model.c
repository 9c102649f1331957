/* SPDX-License-Identifier: MIT */
/* The import begins here: bytes of a file become a module with one function, main. Nodes stand in
 * an order in which they can run, so the walk is one loop. Variables that nodes write are state: an
 * input of the function, and an output NAME.next that is its value in the next run. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/store.h"
#include "base/suggest.h"
#include "base/text.h"

enum { VERSION = 3, PORTS_MOST = 4096 };

/* ---- elements ---- */

bool tflite_element(int64_t type, enum element *e)
{
        static const struct {
                int64_t type;
                enum element e;
        } elements[] = {
                { 0, E_F32 },  { 1, E_F16 },  { 2, E_I32 },   { 3, E_U8 },   { 4, E_I64 },
                { 6, E_BOOL }, { 7, E_I16 },  { 9, E_I8 },    { 10, E_F64 }, { 12, E_U64 },
                { 15, E_U32 }, { 16, E_U16 }, { 18, E_BF16 },
        };
        for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
                if (elements[i].type == type) {
                        *e = elements[i].e;
                        return true;
                }
        return false;
}

/* ---- tables of the model ---- */

/* Reads all tables of a vector into an array of their structs. */
static void *read_all(struct tflite_import *im, const struct flat_info *info,
                      const struct flat_span *tables, int *count)
{
        char *all = arena_array(im->arena, (size_t)tables->count + 1, info->bytes);
        for (int64_t i = 0; i < tables->count; i++) {
                int64_t at;
                if (!flat_element(&im->file, tables, i, &at) ||
                    !flat_read(&im->file, info, at, all + (size_t)i * info->bytes))
                        return NULL;
        }
        *count = (int)tables->count;
        return all;
}

static bool read_quantization(struct tflite_import *im, int64_t at, struct tflite_tensor *t)
{
        struct tflite_QuantizationParameters q;
        if (!flat_read(&im->file, &tflite_info_QuantizationParameters, at, &q))
                return false;
        if (q.details_type && !t->refused)
                t->refused = "quantized in blocks, or by a custom scheme";
        const int64_t count = q.scale.count;
        if (!count)
                return true;
        if (q.zero_point.count && q.zero_point.count != count && q.zero_point.count != 1)
                return tflite_error(
                        im, "tensor '%s' has %" PRId64 " scales and %" PRId64 " zero points",
                        t->safe, count, q.zero_point.count);
        float *scales = arena_array(im->m->arena, (size_t)count, sizeof *scales);
        int64_t *zeros = arena_array(im->arena, (size_t)count, sizeof *zeros);
        for (int64_t i = 0; i < count; i++) {
                scales[i] = flat_f32(&q.scale, i);
                zeros[i] = q.zero_point.count
                                   ? flat_i64(&q.zero_point, q.zero_point.count == 1 ? 0 : i)
                                   : 0;
                if (!(scales[i] >= 0) || scales[i] - scales[i] != 0)
                        return tflite_error(im, "tensor '%s' has the scale %g", t->safe,
                                            (double)scales[i]);
                if (zeros[i] < INT32_MIN || zeros[i] > INT32_MAX)
                        return tflite_error(im, "tensor '%s' has the zero point %" PRId64, t->safe,
                                            zeros[i]);
        }
        if (q.quantized_dimension < 0 || q.quantized_dimension >= RANK_MAX)
                return tflite_error(im, "tensor '%s' is quantized along dimension %" PRId64,
                                    t->safe, q.quantized_dimension);
        t->q = (struct tflite_quantization){ (int)count, scales, zeros,
                                             (int)q.quantized_dimension };
        return true;
}

/* Finds the bytes of a constant. */
static bool read_data(struct tflite_import *im, int64_t buffer, struct tflite_tensor *t)
{
        struct tflite_Buffer b;
        int64_t at;
        if (!buffer)
                return true;
        if (buffer >= im->model.buffers.count)
                return tflite_error(im,
                                    "tensor '%s' has its data in buffer %" PRId64 " of %" PRId64,
                                    t->safe, buffer, im->model.buffers.count);
        if (!flat_element(&im->file, &im->model.buffers, buffer, &at) ||
            !flat_read(&im->file, &tflite_info_Buffer, at, &b))
                return false;
        if (b.offset > 1) { /* The data lie behind the flatbuffer. */
                const int64_t length = (int64_t)im->file.length;
                if (b.size < 0 || b.offset > length || b.size > length - b.offset)
                        return tflite_error(im,
                                            "the data of tensor '%s' lie at byte %" PRId64
                                            " to %" PRId64 " of %" PRId64,
                                            t->safe, b.offset, b.offset + b.size, length);
                b.data = (struct flat_span){ im->file.bytes + b.offset, b.size };
        }
        t->data = b.data;
        t->is_constant = b.data.count > 0;
        return true;
}

/* Finds the type of a tensor; returns false after an error. */
static bool read_type(struct tflite_import *im, const struct tflite_Tensor *from,
                      struct tflite_tensor *t)
{
        int64_t extents[RANK_MAX];
        enum element e;
        if (!tflite_element(from->type, &e)) {
                t->refused = arena_printf(im->arena, "of element type %" PRId64, from->type);
                return true;
        }
        if (from->sparsity) {
                t->refused = "sparse";
                return true;
        }
        if (from->shape.count > RANK_MAX) {
                t->refused = arena_printf(im->arena, "of rank %" PRId64 ", at most %d",
                                          from->shape.count, RANK_MAX);
                return true;
        }
        for (int64_t d = 0; d < from->shape.count; d++) {
                extents[d] = flat_i32(&from->shape, d);
                if (extents[d] < 0)
                        return tflite_error(im, "tensor '%s' has the extent %" PRId64, t->safe,
                                            extents[d]);
        }
        t->type = compose_type_static(im->c, e, (int)from->shape.count, extents);
        return t->type != NULL;
}

static bool read_tensor(struct tflite_import *im, const struct tflite_Tensor *from,
                        struct map *names, int number, struct tflite_tensor *t)
{
        const char *name = (const char *)from->name.data;
        const size_t length = name ? strnlen(name, (size_t)from->name.count) : 0;
        t->name = length ? arena_printf(im->m->arena, "%.*s", (int)length, name)
                         : arena_printf(im->m->arena, "tensor_%d", number);
        if (map_get(names, t->name, strlen(t->name)))
                t->name = arena_printf(im->m->arena, "%s#%d", t->name, number);
        map_set(names, t->name, strlen(t->name), t);
        t->safe = text_safe(im->m->arena, t->name, strlen(t->name));
        t->is_variable = from->is_variable;
        return read_type(im, from, t) &&
               (!from->quantization || read_quantization(im, from->quantization, t)) &&
               read_data(im, from->buffer, t);
}

static bool read_tensors(struct tflite_import *im, struct map *names)
{
        struct tflite_Tensor *all =
                read_all(im, &tflite_info_Tensor, &im->graph.tensors, &im->tensor_count);
        im->tensors =
                arena_array(im->arena, (size_t)im->graph.tensors.count + 1, sizeof *im->tensors);
        if (!all)
                return false;
        for (int i = 0; i < im->tensor_count; i++)
                if (!read_tensor(im, &all[i], names, i, &im->tensors[i]))
                        return false;
        return true;
}

/* Reads the model's tables up to the operators. */
static bool read_model(struct tflite_import *im, struct map *names)
{
        const struct limits *limits = &im->context->limits;
        int64_t at;
        int count;
        if (!flat_root(&im->file, &at) || !flat_read(&im->file, &tflite_info_Model, at, &im->model))
                return false;
        if (im->model.version != VERSION) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "version %" PRId64 " of the TFLite format, %d is supported",
                           im->model.version, VERSION);
                return false;
        }
        if (!im->model.subgraphs.count)
                return tflite_error(im, "the model has no subgraph");
        if (!flat_element(&im->file, &im->model.subgraphs, 0, &at) ||
            !flat_read(&im->file, &tflite_info_SubGraph, at, &im->graph))
                return false;
        if (im->graph.operators.count > limits->nodes || im->graph.tensors.count > limits->nodes)
                return tflite_over_limit(im, "operators and tensors of the graph", "nodes",
                                         limits->nodes);
        if (!(im->codes =
                      read_all(im, &tflite_info_OperatorCode, &im->model.operator_codes, &count)) ||
            !(im->operators = read_all(im, &tflite_info_Operator, &im->graph.operators,
                                       &im->operator_count)) ||
            !read_tensors(im, names))
                return false;
        for (int i = 0; i < im->operator_count; i++)
                if (im->operators[i].opcode_index >= count)
                        return tflite_error(im, "operator %d is number %" PRId64 " of %d", i,
                                            im->operators[i].opcode_index, count);
        return true;
}

/* Lists all operators that no row is of, each once. */
static bool list_unknown(struct tflite_import *im)
{
        struct map *known = map_new(im->arena);
        int64_t *counts =
                arena_array(im->arena, (size_t)im->model.operator_codes.count + 1, sizeof *counts);
        for (int i = 0; i < im->operator_count; i++)
                counts[im->operators[i].opcode_index]++;
        for (int64_t i = 0; i < im->model.operator_codes.count; i++) {
                const char *name = tflite_code_text(im, &im->codes[i]);
                if (!counts[i] || tflite_row_find(tflite_code(&im->codes[i])) ||
                    map_get(known, name, strlen(name)))
                        continue;
                map_set(known, name, strlen(name), im);
                tflite_list(im, arena_printf(im->arena,
                                             "operator " DIAG_OPERATOR(
                                                     "%s") " (%" PRId64 " nodes) is not supported",
                                             name, counts[i]));
        }
        return !im->unsupported_count;
}

/* ---- options ---- */

static bool usage(struct tflite_import *im, const char *option, const char *text, const char *what)
{
        diag_error(im->diag, EXIT_USAGE, "%s %s: %s", option, text_argument(im->arena, text), what);
        return false;
}

/* Refuses options that TFLite models have nothing for. */
static bool check_options(struct tflite_import *im)
{
        const struct import_options *o = im->options;
        if (o->dim_count)
                return usage(im, "--dim", o->dims[0],
                             "dimensions of a TFLite model have no names; bind a shape with "
                             "--input");
        if (o->text_byte_count)
                return usage(im, "--text-bytes", o->text_bytes[0], "the model has no texts");
        if (o->seed)
                return usage(im, "--seed", o->seed, "the model draws no random numbers");
        return true;
}

static bool is_input(struct tflite_import *im, const struct tflite_tensor *t)
{
        for (int64_t i = 0; i < im->graph.inputs.count; i++)
                if (&im->tensors[flat_i32(&im->graph.inputs, i)] == t)
                        return true;
        return false;
}

/* Does --input NAME=1x3x8. */
static bool bind_shape(struct tflite_import *im, struct map *names, const char *option)
{
        const char *equal = strrchr(option, '=');
        struct tflite_tensor *t = equal ? map_get(names, option, (size_t)(equal - option)) : NULL;
        int64_t extents[RANK_MAX];
        int rank = 0;
        if (!t || !is_input(im, t) || !t->type)
                return usage(im, "--input", option, "want NAME=1x3x8, and an input of the model");
        for (const char *p = equal + 1; *p; rank++) {
                char *end;
                extents[rank < RANK_MAX ? rank : 0] = strtoll(p, &end, 10);
                if (end == p || extents[rank < RANK_MAX ? rank : 0] < 1 || rank >= RANK_MAX ||
                    (*end && *end != 'x') || (*end && !end[1]))
                        return usage(im, "--input", option, "want extents, as in NAME=1x3x8");
                p = *end ? end + 1 : end;
        }
        t->type = compose_type_static(im->c, t->type->element, rank, extents);
        return t->type != NULL;
}

/* ---- ports ---- */

static bool list_refused(struct tflite_import *im, const struct tflite_tensor *t)
{
        return tflite_list(im, arena_printf(im->arena, "tensor '%s' is %s, which is not supported",
                                            t->safe, t->refused));
}

static bool tensor_numbers(struct tflite_import *im, const struct flat_span *numbers, int64_t least,
                           const char *what)
{
        for (int64_t i = 0; i < numbers->count; i++) {
                const int32_t number = flat_i32(numbers, i);
                if (number < least || number >= im->tensor_count)
                        return tflite_error(im, "%s %" PRId64 " is tensor %d of %d", what, i,
                                            number, im->tensor_count);
        }
        return true;
}

static bool add_inputs(struct tflite_import *im, struct function *f)
{
        for (int64_t i = 0; i < im->graph.inputs.count; i++) {
                struct tflite_tensor *t = &im->tensors[flat_i32(&im->graph.inputs, i)];
                if (!t->type)
                        list_refused(im, t);
                else if (t->value)
                        return tflite_error(im, "tensor '%s' is two inputs", t->safe);
                else
                        t->value = function_add_input(f, t->name, t->type);
                t->is_constant = t->is_variable = false;
        }
        return true;
}

/* A number of state that TFLite begins with its zero point begins as 0 here: its bits are taken
 * against those of the zero point. */
static struct value *against_zero(struct tflite_import *im, const struct tflite_tensor *t,
                                  struct value *v)
{
        if (!v || t->type->element != E_I8 || t->q.count != 1 || !t->q.zeros[0])
                return v;
        struct value *zero = compose_integer(im->c, E_I8, t->q.zeros[0]);
        return compose_binary(im->c, OP_xor, v, compose_spread(im->c, zero, v->type, NULL));
}

/* Makes the variables inputs; *states: those, ended by NULL. */
static bool add_variables(struct tflite_import *im, struct function *f,
                          struct tflite_tensor ***states)
{
        int count = 0;
        *states = arena_array(im->arena, (size_t)im->tensor_count + 1, sizeof **states);
        for (int i = 0; i < im->tensor_count; i++) {
                struct tflite_tensor *t = &im->tensors[i];
                if (!t->is_variable || t->value)
                        continue;
                if (!t->type) {
                        list_refused(im, t);
                        continue;
                }
                (*states)[count++] = t;
                t->value = against_zero(im, t, function_add_input(f, t->name, t->type));
                t->is_constant = false;
        }
        return true;
}

static bool constant(struct tflite_import *im, struct tflite_tensor *t)
{
        if (t->value || (!t->is_constant && type_elements(t->type)))
                return true;
        const int64_t bytes = type_bytes(t->type);
        if (t->data.count != bytes)
                return tflite_error(
                        im, "tensor '%s' is %s and has %" PRId64 " bytes of data, want %" PRId64,
                        t->safe, compose_text(im->c, t->type), t->data.count, bytes);
        /* Large constants stay where they lie in the file, whose other memory is given out anew. */
        const void *data = bytes ? t->data.data : (const void *)"";
        if (bytes < CONSTANT_LARGE)
                data = arena_copy(im->m->arena, data, (size_t)bytes);
        t->value = constant_dense(im->m, t->type, data, NULL);
        return t->value != NULL;
}

/* ---- nodes ---- */

static bool node_tensors(struct tflite_import *im, const struct flat_span *numbers,
                         struct tflite_tensor ***tensors, int *count)
{
        *count = (int)numbers->count;
        *tensors = arena_array(im->arena, (size_t)*count + 1, sizeof **tensors);
        for (int i = 0; i < *count; i++) {
                const int32_t number = flat_i32(numbers, i);
                (*tensors)[i] = number < 0 ? NULL : &im->tensors[number];
        }
        return true;
}

/* Reads the node's options, which are presets where the file leaves them out. */
static bool read_options(struct tflite_import *im, const struct tflite_Operator *o,
                         struct tflite_node *n)
{
        const struct flat_info *info = tflite_options_info(n->row->options);
        if (!info)
                return true;
        void *options = arena_alloc(im->arena, info->bytes);
        n->options = options;
        if (o->builtin_options && o->builtin_options_type == n->row->options)
                return flat_read(&im->file, info, o->builtin_options, options);
        flat_preset(info, options);
        return !o->builtin_options ||
               tflite_invalid(im, "its options are of kind %" PRId64 ", want %d",
                              o->builtin_options_type, n->row->options);
}

/* Checks that all operands are there. *ready: the importer may be called. */
static bool operands_ready(struct tflite_import *im, const struct tflite_node *n, bool *ready)
{
        *ready = true;
        if (n->input_count < n->row->inputs_min || n->input_count > n->row->inputs_max)
                return tflite_invalid(im, "%d operands, want %d to %d", n->input_count,
                                      n->row->inputs_min, n->row->inputs_max);
        if (n->output_count < 1 || n->output_count > n->row->outputs_max)
                return tflite_invalid(im, "%d outputs, want 1 to %d", n->output_count,
                                      n->row->outputs_max);
        for (int i = 0; i < n->output_count; i++) {
                if (!n->outputs[i])
                        return tflite_invalid(im, "output %d is missing", i);
                if (n->outputs[i]->refused)
                        *ready = list_refused(im, n->outputs[i]);
        }
        for (int i = 0; i < n->input_count; i++) {
                struct tflite_tensor *t = n->inputs[i];
                if (!t && i < n->row->inputs_min && !(n->row->absent >> i & 1))
                        return tflite_invalid(im, "operand %d is missing", i);
                if (!t)
                        continue;
                if (t->refused)
                        *ready = list_refused(im, t);
                else if (!constant(im, t))
                        return false;
                else if (!t->value && im->unsupported_count)
                        *ready = false; /* A node that was listed would make it. */
                else if (!t->value)
                        return tflite_invalid(im, "operand %d, '%s', is made by no node before it",
                                              i, t->safe);
        }
        return true;
}

static bool import_node(struct tflite_import *im, int number)
{
        const struct tflite_Operator *o = &im->operators[number];
        struct tflite_node n = { .number = number };
        bool ready;
        n.row = tflite_row_find(tflite_code(&im->codes[o->opcode_index]));
        if (!n.row)
                return true; /* list_unknown has listed it. */
        im->node = &n;
        if (!tensor_numbers(im, &o->inputs, -1, "an operand") ||
            !tensor_numbers(im, &o->outputs, -1, "an output") ||
            !tensor_numbers(im, &o->intermediates, -1, "an intermediate") ||
            !node_tensors(im, &o->inputs, &n.inputs, &n.input_count) ||
            !node_tensors(im, &o->outputs, &n.outputs, &n.output_count) ||
            !node_tensors(im, &o->intermediates, &n.intermediates, &n.intermediate_count) ||
            !read_options(im, o, &n) || !operands_ready(im, &n, &ready))
                return false;
        const int listed = im->unsupported_count, errors = im->diag->errors;
        im->b.location = n.outputs[0]->safe;
        const bool ok = !ready || tflite_import_row(im, &n);
        im->b.location = NULL;
        im->node = NULL;
        return ok || im->unsupported_count > listed || (im->diag->errors == errors && listed);
}

/* Finds which nodes the wanted tensors need. */
static bool *needed_nodes(struct tflite_import *im, struct tflite_tensor *const *wanted, int count)
{
        bool *nodes = arena_array(im->arena, (size_t)im->operator_count + 1, sizeof *nodes);
        bool *tensors = arena_array(im->arena, (size_t)im->tensor_count + 1, sizeof *tensors);
        for (int i = 0; i < count; i++)
                tensors[wanted[i] - im->tensors] = true;
        for (int i = im->operator_count - 1; i >= 0; i--) {
                const struct tflite_Operator *o = &im->operators[i];
                for (int64_t k = 0; k < o->outputs.count; k++) {
                        const int32_t number = flat_i32(&o->outputs, k);
                        nodes[i] |= number >= 0 && number < im->tensor_count && tensors[number];
                }
                for (int64_t k = 0; k < o->inputs.count && nodes[i]; k++) {
                        const int32_t number = flat_i32(&o->inputs, k);
                        if (number >= 0 && number < im->tensor_count)
                                tensors[number] = true;
                }
        }
        return nodes;
}

/* ---- outputs ---- */

/* Collects the graph's outputs, or those of --output, then those of --keep. */
static struct tflite_tensor **wanted_tensors(struct tflite_import *im, struct map *names,
                                             int *count)
{
        const struct import_options *o = im->options;
        const int named = o->output_count + o->keep_count;
        struct tflite_tensor **wanted = arena_array(
                im->arena, (size_t)im->graph.outputs.count + (size_t)named + 1, sizeof *wanted);
        *count = 0;
        for (int64_t i = 0; i < im->graph.outputs.count && !o->output_count; i++)
                wanted[(*count)++] = &im->tensors[flat_i32(&im->graph.outputs, i)];
        for (int i = 0; i < named; i++) {
                const char *name =
                        i < o->output_count ? o->outputs[i] : o->keep[i - o->output_count];
                struct tflite_tensor *t = map_get(names, name, strlen(name));
                if (!t) {
                        struct suggest known = suggest_new(im->arena, name, strlen(name));
                        for (int k = 0; k < im->tensor_count; k++)
                                suggest_add(&known, im->tensors[k].safe);
                        diag_error(im->diag, EXIT_USAGE,
                                   "--output or --keep '%s': the model has no such value%s",
                                   text_argument(im->arena, name), suggest_text(&known, true));
                        return NULL;
                }
                bool twice = false;
                for (int k = 0; k < *count; k++)
                        twice |= wanted[k] == t;
                if (!twice)
                        wanted[(*count)++] = t;
        }
        if (!*count)
                tflite_error(im, "the graph has no outputs");
        return *count ? wanted : NULL;
}

static bool yield_all(struct tflite_import *im, struct function *f,
                      struct tflite_tensor *const *wanted, int count,
                      struct tflite_tensor *const *states)
{
        int most = count;
        for (int i = 0; states[i]; i++)
                most++;
        struct value **values = arena_array(im->arena, (size_t)most, sizeof *values);
        f->output_ports = arena_array(im->m->arena, (size_t)most, sizeof *f->output_ports);
        f->output_count = most;
        for (int i = 0; i < count; i++) {
                struct tflite_tensor *t = wanted[i];
                if (t->type && !constant(im, t))
                        return false;
                if (!t->value)
                        return tflite_error(im, "output '%s' is made by no node", t->safe);
                values[i] = t->value;
                f->output_ports[i] = (struct port){ .name = t->name };
        }
        for (int i = 0; states[i]; i++) {
                struct tflite_tensor *t = states[i];
                const char *next = arena_printf(im->m->arena, "%s.next", t->name);
                values[count + i] = against_zero(im, t, t->value);
                if (!values[count + i])
                        return false;
                f->output_ports[count + i] = (struct port){ .name = next };
                for (int k = 0; k < f->body.argument_count; k++)
                        if (f->input_ports[k].name && !strcmp(f->input_ports[k].name, t->name))
                                f->input_ports[k].next = next;
        }
        return build_yield(&im->b, values, most) != NULL;
}

static bool import_graph(struct tflite_import *im, struct map *names)
{
        struct function *f =
                function_new(im->m, im->options->function ? im->options->function : "main");
        struct tflite_tensor **states;
        int count;
        im->b.region = &f->body;
        if (!tensor_numbers(im, &im->graph.inputs, 0, "input") ||
            !tensor_numbers(im, &im->graph.outputs, 0, "output"))
                return false;
        if (im->graph.inputs.count + im->graph.outputs.count > PORTS_MOST)
                return tflite_error(im, "%" PRId64 " inputs and outputs, at most %d are supported",
                                    im->graph.inputs.count + im->graph.outputs.count, PORTS_MOST);
        if (!check_options(im))
                return false;
        for (int i = 0; i < im->options->input_count; i++)
                if (!bind_shape(im, names, im->options->inputs[i]))
                        return false;
        struct tflite_tensor **wanted = wanted_tensors(im, names, &count);
        if (!wanted)
                return false;
        const bool *needed = needed_nodes(im, wanted, count);
        list_unknown(im);
        if (!add_inputs(im, f) || !add_variables(im, f, &states))
                return false;
        for (int i = 0; i < im->operator_count; i++)
                if ((needed[i] || !im->options->output_count) && !import_node(im, i))
                        return false;
        return im->unsupported_count ? false : yield_all(im, f, wanted, count, states);
}

/* ---- the door ---- */

/* Turns an error of front/compose into one of the node at hand. */
static void composing_error(void *caller, enum exit_code code, const char *text)
{
        struct tflite_import *im = caller;
        if (!im->node)
                diag_error(im->diag, code, "%s", text);
        else if (code == EXIT_UNSUPPORTED)
                tflite_unsupported(im, "%s", text);
        else
                tflite_invalid(im, "%s", text);
}

static bool import_file(struct tflite_import *im)
{
        struct map *names = map_new(im->arena);
        if (!read_model(im, names))
                return false;
        if (!im->m->functions) /* Other models may be in the module already. */
                im->m->name = text_safe(im->m->arena, (const char *)im->graph.name.data,
                                        (size_t)im->graph.name.count);
        const bool ok = import_graph(im, names);
        if (im->options->facts)
                tflite_facts(im, im->options->facts);
        if (!ok || im->unsupported_count)
                return false;
        import_source(im->m, im->file.bytes, im->file.length, im->options);
        return true;
}

bool tflite_is_file(const unsigned char *bytes, size_t length)
{
        enum { AT = 4 }; /* Behind the offset of the root table. */
        static const char identifier[] = { 'T', 'F', 'L', '3' };
        return length >= AT + sizeof identifier &&
               !memcmp(bytes + AT, identifier, sizeof identifier);
}

struct module *tflite_import(const unsigned char *bytes, size_t length,
                             const struct import_options *options, struct pass_context *context,
                             void (*dependency)(void *context, const char *path),
                             void *dependency_context)
{
        struct module *m = options->into ? options->into : module_new("");
        struct arena *arena = arena_new();
        struct tflite_import im = { .m = m,
                                    .file = { bytes, length, context->diag },
                                    .diag = context->diag,
                                    .context = context,
                                    .options = options,
                                    .arena = arena };
        struct compose c;
        (void)dependency, (void)dependency_context; /* A file holds all of its model. */
        im.listed = map_new(arena);
        compose_begin(&c, &im.b, m, arena, context, composing_error, &im);
        im.c = &c;
        const bool ok = import_file(&im);
        arena_free(arena);
        if (ok)
                return m;
        if (!options->into)
                module_free(m);
        return NULL;
}
