/* SPDX-License-Identifier: MIT */
/* A node of the subgraph at hand is imported: its tensors and options are read, its operands
 * checked, and its row's importer called. */
#include "front/tflite/tflite_helpers.h"

#include <inttypes.h>
#include <string.h>

#include "base/store.h"

bool tflite_list_unknown(struct tflite_import *im)
{
        struct map *known = map_new(im->arena);
        int64_t *counts =
                arena_array(im->arena, (size_t)im->model.operator_codes.count + 1, sizeof *counts);
        for (int i = 0; i < im->graph.operator_count; i++)
                counts[im->graph.operators[i].opcode_index]++;
        for (int64_t i = 0; i < im->model.operator_codes.count; i++) {
                const char *name = tflite_code_text(im, &im->codes[i]);
                if (!counts[i] || tflite_row_find(tflite_code(&im->codes[i])) ||
                    map_get(known, name, strlen(name)))
                        continue;
                map_set(known, name, strlen(name), im);
                refusals_add(&im->refusals,
                             "operator " DIAG_OPERATOR("%s") " (%" PRId64
                             " nodes) is not supported",
                             name, counts[i]);
        }
        return !im->refusals.count;
}

bool tflite_list_refused(struct tflite_import *im, const struct tflite_tensor *t)
{
        return refusals_add(&im->refusals, "tensor '%s' is %s, which is not supported", t->safe,
                            t->refused);
}

bool tflite_tensor_numbers(struct tflite_import *im, const struct flat_span *numbers, int64_t least,
                           const char *what)
{
        for (int64_t i = 0; i < numbers->count; i++) {
                const int32_t number = flat_i32(numbers, i);
                if (number < least || number >= im->graph.tensor_count)
                        return tflite_error(im, "%s %" PRId64 " is tensor %d of %d", what, i,
                                            number, im->graph.tensor_count);
        }
        return true;
}

bool tflite_constant(struct tflite_import *im, struct tflite_tensor *t)
{
        if (t->value || (!t->is_constant && type_elements(t->type)))
                return true;
        const int64_t bytes = type_bytes(t->type);
        if (t->packed_bits || t->sparsity) {
                const unsigned char *data = tflite_expanded(im, t);
                t->value = data ? constant_dense(im->m, t->type, data, NULL) : NULL;
                return t->value != NULL;
        }
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

static bool node_tensors(struct tflite_import *im, const struct flat_span *numbers,
                         struct tflite_tensor ***tensors, int *count)
{
        *count = (int)numbers->count;
        *tensors = arena_array(im->arena, (size_t)*count + 1, sizeof **tensors);
        for (int i = 0; i < *count; i++) {
                const int32_t number = flat_i32(numbers, i);
                (*tensors)[i] = number < 0 ? NULL : &im->graph.tensors[number];
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

/* Is t a handle that the node may read or make? */
static bool is_handle(const struct tflite_node *n, const struct tflite_tensor *t)
{
        return t->is_handle && n->row->handles;
}

/* Checks that all operands are there. *ready: the importer may be called. */
static bool operands_ready(struct tflite_import *im, const struct tflite_node *n, bool *ready)
{
        *ready = true;
        if (n->input_count < n->row->inputs_min || n->input_count > n->row->inputs_max)
                return tflite_invalid(im, "%d operands, want %d to %d", n->input_count,
                                      n->row->inputs_min, n->row->inputs_max);
        const int least = !n->row->handles;
        if (n->output_count < least || n->output_count > n->row->outputs_max)
                return tflite_invalid(im, "%d outputs, want %d to %d", n->output_count, least,
                                      n->row->outputs_max);
        for (int i = 0; i < n->output_count; i++) {
                if (!n->outputs[i])
                        return tflite_invalid(im, "output %d is missing", i);
                if (n->outputs[i]->refused && !is_handle(n, n->outputs[i]))
                        *ready = tflite_list_refused(im, n->outputs[i]);
        }
        for (int i = 0; i < n->input_count; i++) {
                struct tflite_tensor *t = n->inputs[i];
                if (!t && i < n->row->inputs_min && !(n->row->absent >> i & 1))
                        return tflite_invalid(im, "operand %d is missing", i);
                if (!t || is_handle(n, t))
                        continue;
                if (t->refused)
                        *ready = tflite_list_refused(im, t);
                else if (!tflite_constant(im, t))
                        return false;
                else if (!t->value && im->refusals.count)
                        *ready = false; /* A node that was listed would make it. */
                else if (!t->value)
                        return tflite_invalid(im, "operand %d, '%s', is made by no node before it",
                                              i, t->safe);
        }
        return true;
}

bool tflite_import_node(struct tflite_import *im, int number)
{
        const struct tflite_Operator *o = &im->graph.operators[number];
        struct tflite_node n = { .number = number };
        bool ready;
        n.row = tflite_row_find(tflite_code(&im->codes[o->opcode_index]));
        if (!n.row)
                return true; /* tflite_list_unknown has listed it. */
        im->node = &n;
        if (!tflite_tensor_numbers(im, &o->inputs, -1, "an operand") ||
            !tflite_tensor_numbers(im, &o->outputs, -1, "an output") ||
            !tflite_tensor_numbers(im, &o->intermediates, -1, "an intermediate") ||
            !node_tensors(im, &o->inputs, &n.inputs, &n.input_count) ||
            !node_tensors(im, &o->outputs, &n.outputs, &n.output_count) ||
            !node_tensors(im, &o->intermediates, &n.intermediates, &n.intermediate_count) ||
            !read_options(im, o, &n) || !operands_ready(im, &n, &ready))
                return false;
        const int listed = im->refusals.count, errors = im->diag->errors;
        im->b.location = n.output_count ? n.outputs[0]->safe : n.row->name;
        const bool ok = !ready || tflite_import_row(im, &n);
        im->b.location = NULL;
        im->node = NULL;
        return ok || im->refusals.count > listed || (im->diag->errors == errors && listed);
}
