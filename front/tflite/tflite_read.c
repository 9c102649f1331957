/* SPDX-License-Identifier: MIT */
/* The tables of a model are read: its operators' codes, and of a subgraph the tensors and
 * operators. */
#include "front/tflite/tflite.h"

#include <inttypes.h>
#include <string.h>

#include "base/store.h"
#include "base/text.h"

enum { VERSION = 3, RESOURCE = 13, INT4 = 17, INT2 = 19 };

/* ---- elements ---- */

bool tflite_element(int64_t type, enum element *e)
{
        static const struct {
                int64_t type;
                enum element e;
        } elements[] = {
                { 0, E_F32 },  { 1, E_F16 },  { 2, E_I32 },   { 3, E_U8 },    { 4, E_I64 },
                { 6, E_BOOL }, { 7, E_I16 },  { 9, E_I8 },    { 10, E_F64 },  { 12, E_U64 },
                { 15, E_U32 }, { 16, E_U16 }, { INT4, E_I8 }, { 18, E_BF16 }, { INT2, E_I8 },
        };
        for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
                if (elements[i].type == type) {
                        *e = elements[i].e;
                        return true;
                }
        return false;
}

/* ---- tables of the model ---- */

void *tflite_read_tables(struct tflite_import *im, const struct flat_info *info,
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
                                            "the data of tensor '%s' are %" PRId64
                                            " bytes at byte %" PRId64 " of %" PRId64,
                                            t->safe, b.size, b.offset, length);
                b.data = (struct flat_span){ im->file.bytes + b.offset, b.size };
        }
        t->data = b.data;
        t->is_constant = b.data.count > 0;
        return true;
}

/* Says how a constant lies in the file; only constants may be packed or sparse. */
static void read_packing(const struct tflite_Tensor *from, struct tflite_tensor *t)
{
        t->packed_bits = from->type == INT4 ? 4 : from->type == INT2 ? 2 : 0;
        t->sparsity = from->sparsity;
        if (t->refused || (!t->packed_bits && !t->sparsity))
                return;
        if (t->packed_bits && t->sparsity)
                t->refused = "sparse, of integers of less than 8 bits";
        else if (!t->is_constant)
                t->refused = t->sparsity ? "sparse, and not constant"
                                         : "of integers of less than 8 bits, and not constant";
        if (t->refused)
                t->type = NULL;
}

/* Finds the type of a tensor; returns false after an error. */
static bool read_type(struct tflite_import *im, const struct tflite_Tensor *from,
                      struct tflite_tensor *t)
{
        int64_t extents[RANK_MAX];
        enum element e;
        if (from->type == RESOURCE) {
                t->is_handle = true;
                t->refused = "a handle of a variable";
                return true;
        }
        if (!tflite_element(from->type, &e)) {
                t->refused = arena_printf(im->arena, "of element type %" PRId64, from->type);
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
        if (!read_type(im, from, t) ||
            (from->quantization && !read_quantization(im, from->quantization, t)) ||
            !read_data(im, from->buffer, t))
                return false;
        read_packing(from, t);
        return true;
}

static bool read_tensors(struct tflite_import *im, struct map *names)
{
        struct tflite_Tensor *all = tflite_read_tables(
                im, &tflite_info_Tensor, &im->graph.table.tensors, &im->graph.tensor_count);
        im->graph.tensors = arena_array(im->arena, (size_t)im->graph.table.tensors.count + 1,
                                        sizeof *im->graph.tensors);
        if (!all)
                return false;
        for (int i = 0; i < im->graph.tensor_count; i++)
                if (!read_tensor(im, &all[i], names, i, &im->graph.tensors[i]))
                        return false;
        return true;
}

static bool read_subgraph(struct tflite_import *im, int64_t number, struct map *names)
{
        const struct limits *limits = &im->context->limits;
        struct tflite_graph *g = &im->graph;
        int64_t at;
        *g = (struct tflite_graph){ 0 };
        if (!flat_element(&im->file, &im->model.subgraphs, number, &at) ||
            !flat_read(&im->file, &tflite_info_SubGraph, at, &g->table))
                return false;
        if (g->table.operators.count > limits->nodes || g->table.tensors.count > limits->nodes)
                return tflite_over_limit(im, "operators and tensors of the graph", "nodes",
                                         limits->nodes);
        if (!(g->operators = tflite_read_tables(im, &tflite_info_Operator, &g->table.operators,
                                                &g->operator_count)) ||
            !read_tensors(im, names))
                return false;
        for (int i = 0; i < g->operator_count; i++)
                if (g->operators[i].opcode_index >= im->code_count)
                        return tflite_error(im, "operator %d is number %" PRId64 " of %d", i,
                                            g->operators[i].opcode_index, im->code_count);
        return true;
}

bool tflite_read_subgraph(struct tflite_import *im, int64_t number, struct map *names)
{
        const bool ok = read_subgraph(im, number, names);
        if (!ok)
                im->graph = (struct tflite_graph){ 0 };
        return ok;
}

bool tflite_read_model(struct tflite_import *im)
{
        int64_t at;
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
        im->codes = tflite_read_tables(im, &tflite_info_OperatorCode, &im->model.operator_codes,
                                       &im->code_count);
        return im->codes != NULL;
}
