/* SPDX-License-Identifier: MIT */
/* Carried tensors that grow. */
#include "front/onnx/onnx_grown.h"

#include "base/size.h"
#include "front/compose/compose_move.h"
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

bool onnx_grown_spread(struct onnx_import *im, struct onnx_node *n, struct value *v,
                       const struct onnx_grown *g, struct value **parts)
{
        const int64_t low[RANK_MAX] = { 0 };
        int count = 1;
        for (int d = 0; d < g->bound->rank && v; d++) {
                const int64_t most = type_extent(g->bound, d);
                dim_t own = v->type->dims[d];
                if (!(g->differ >> d & 1))
                        continue;
                if (g->more[d] >= 0 && dim_bound(im->m, own) > most + g->more[d])
                        return onnx_unsupported(im, n, "a carried value grows by other extents in "
                                                       "later iterations than in the first one");
                if (dim_bound(im->m, own) > most) {
                        own = onnx_counted_as(im, "grown", compose_extent(im->c, own), most);
                        v = dim_equal(own, DIM_NONE) ? NULL : onnx_first(im, v, d, own);
                }
                parts[count++] = v ? compose_extent(im->c, own) : NULL;
        }
        if (v && v->type != g->bound)
                v = compose_pad(im->c, v, build_scalar(&im->b, value_element(v), 0),
                                constant_ints(im->m, low, value_rank(v)), 0,
                                compose_type(im->c, value_element(v), g->bound->rank,
                                             g->bound->dims));
        return (parts[0] = v) != NULL;
}

struct value *onnx_grown_gather(struct onnx_import *im, struct onnx_node *n, int output,
                                const struct onnx_grown *g, struct value *const *parts)
{
        struct value *v = parts[0];
        int count = 1;
        for (int d = 0; d < g->bound->rank && v; d++) {
                const int64_t most = type_extent(g->bound, d);
                if (!(g->differ >> d & 1))
                        continue;
                struct value *extent = parts[count++];
                dim_t own = output < 0 ? onnx_counted_as(im, "carried", extent, most)
                                       : onnx_counted(im, n, output, d, extent, most);
                v = dim_equal(own, DIM_NONE) ? NULL : onnx_first(im, v, d, own);
        }
        return v;
}

bool onnx_grown_bound(struct onnx_import *im, struct onnx_node *n, int output, int64_t most,
                      const struct type *from, const struct type *to, struct onnx_grown *g)
{
        dim_t dims[RANK_MAX];
        if (from->kind != TYPE_TENSOR || to->kind != TYPE_TENSOR || from->rank != to->rank ||
            from->element != to->element)
                return false;
        for (int d = 0; d < from->rank; d++) {
                const int64_t first = dim_bound(im->m, from->dims[d]),
                              next = dim_bound(im->m, to->dims[d]);
                int64_t more;
                dims[d] = g->bound ? g->bound->dims[d] : from->dims[d];
                if (dim_equal(from->dims[d], to->dims[d]) || (g->differ >> d & 1))
                        continue;
                if (most >= 0 && int_mul(compose_max(next - first, 0), most, &more) &&
                    int_add(first, more, &more) && more <= NUMBER_MAX) {
                        dims[d] = dim_of(more);
                        g->more[d] = compose_max(next - first, 0);
                } else if (output < n->output_count &&
                           (more = onnx_counted_most(im, n, output, d)) >= 0) {
                        dims[d] = dim_of(compose_max(more, first));
                        g->more[d] = -1;
                } else {
                        return false;
                }
                g->differ |= 1u << d;
        }
        for (int d = 0; d < from->rank; d++)
                if (!dim_is_static(dims[d]))
                        return false;
        g->bound = compose_type(im->c, from->element, from->rank, dims);
        return g->bound != NULL;
}
