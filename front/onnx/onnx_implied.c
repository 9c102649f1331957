/* SPDX-License-Identifier: MIT */
/* Some shapes are stated by no declaration, but a later one implies them. The shape of a value x
 * may depend on numbers that only a run knows; where element-wise nodes lead from x to a value
 * whose shape is declared, and nothing else takes part but scalars, x has that shape:
 *
 *     r = ReduceSum(x, axes)      nobody declares r
 *     y = Sqrt(r)                 y : f32 <3 x 1 x 2>, so r has this shape
 *
 * Bodies of functions are full of such values, since a function declares none. */
#include "front/onnx/onnx_model.h"

static bool has(struct map *names, bytes_t name)
{
        return name.len && map_get(names, (const char *)name.data, name.len);
}

/* Returns whether the named value is in scope, and broadcasting it changes no shape of the rank. */
static bool is_scalar(const struct onnx_import *im, bytes_t name, int rank)
{
        const struct onnx_entry *e = onnx_scope_find(im->scope, name);
        const struct type *t = e && e->value ? e->value->type : NULL;

        return t && t->kind == TYPE_TENSOR && type_is_static(t) && type_elements(t) == 1 &&
               (t->rank == 0 || t->rank <= rank);
}

/* Returns whether the node's result has the shape of the values in `same`. */
static bool keeps_shape(const struct onnx_import *im, const Onnx__NodeProto *node,
                        struct map *same, int rank)
{
        const struct onnx_row *row = onnx_row_find(im, node);
        bool any = false;

        if (!row || !row->mapped || node->n_output != 1)
                return false;
        for (size_t i = 0; i < node->n_input && i < (size_t)row->mapped; i++) {
                const bool member = has(same, node->input[i]);
                if (!member && !is_scalar(im, node->input[i], rank))
                        return false;
                any |= member;
        }
        return any;
}

const struct type *onnx_implied(struct onnx_import *im, bytes_t name, int rank)
{
        enum { NODES_AT_ONCE = 64 };    /* So many cost as much as one operation. */
        const struct onnx_walk *walk = &im->model->walk;
        struct map *same = map_new(im->arena);

        if (!name.len)
                return NULL;
        map_set(same, (const char *)name.data, name.len, im);
        im->model->operations += (walk->count - walk->next) / NODES_AT_ONCE;
        for (int i = walk->next; i < walk->count; i++) {
                const Onnx__NodeProto *node = walk->nodes[walk->order[i]];
                if (!keeps_shape(im, node, same, rank))
                        continue;
                const bytes_t result = node->output[0];
                const struct onnx_declaration *d = onnx_declaration(im->scope, result);
                if (d && d->type)
                        return d->type;
                if (result.len)
                        map_set(same, (const char *)result.data, result.len, im);
        }
        return NULL;
}
