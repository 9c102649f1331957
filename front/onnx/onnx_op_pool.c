/* SPDX-License-Identifier: MIT */
/* This file imports the pools over a sliding window: MaxPool, AveragePool, LpPool. */
#include "front/onnx/onnx_helpers.h"

static bool pool_read(struct onnx_import *im, struct onnx_node *n, bool dilations,
                      bool ceil_allowed, struct compose_pool *pool)
{
        int64_t ceil_mode = 0;

        if (!onnx_want_rank(im, n, 0, 3, RANK_MAX) ||
            !onnx_window_read(im, n, value_rank(n->inputs[0]) - 2, NULL, dilations,
                              &pool->window) ||
            (ceil_allowed && !onnx_int_range(im, n, "ceil_mode", 0, 0, 1, &ceil_mode)))
                return false;
        pool->ceil_mode = ceil_mode;
        return true;
}

bool onnx_import_max_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_pool pool = { 0 };
        struct value *at = NULL;
        int64_t column = 0;

        if (!pool_read(im, n, n->opset >= 10, n->opset >= 10, &pool) ||
            (n->opset >= 8 && !onnx_int_range(im, n, "storage_order", 0, 0, 1, &column)))
                return false;
        pool.column_major = column;
        struct value *y =
                compose_max_pool(im->c, n->inputs[0], &pool, onnx_wants(n, 1) ? &at : NULL);
        return onnx_output(n, 0, y) && (!at || onnx_output(n, 1, at));
}

/* Imports MaxpoolWithMask, as onnxruntime computes it: in images of two dimensions and more the
 * first element counts whatever the mask says. It reads a mask of several channels at other places
 * than those of its channels, so a mask has one channel here. */
bool onnx_import_max_pool_masked(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_pool pool = { 0 };
        struct value *x = n->inputs[0], *mask = n->inputs[1];
        int64_t column;

        if (!onnx_want_element(im, n, 0, E_F32) || !onnx_want_element(im, n, 1, E_I32) ||
            !pool_read(im, n, false, false, &pool) ||
            !onnx_int_range(im, n, "storage_order", 0, 0, 1, &column) ||
            !onnx_want_rank(im, n, 1, value_rank(x), value_rank(x)))
                return false;
        for (int d = 2; d < value_rank(x); d++)
                if (value_extent(mask, d) != value_extent(x, d))
                        return onnx_invalid(im, n, "a mask %s for %s",
                                            compose_text(im->c, mask->type),
                                            compose_text(im->c, x->type));
        if (value_extent(mask, 0) != 1 || value_extent(mask, 1) != 1)
                return onnx_unsupported(im, n, "a mask of several channels");
        mask = compose_with(im->c, OP_ne, mask, 0);
        if (mask && value_rank(x) > 3) {
                struct value *place = compose_iota(im->c, E_I64, type_elements(mask->type));
                struct value *first = compose_reshape(im->c, compose_with(im->c, OP_eq, place, 0),
                                                      value_rank(x), mask->type->dims);
                mask = compose_binary(im->c, OP_or, mask, first);
        }
        return onnx_output(n, 0, compose_max_pool_masked(im->c, x, mask, &pool));
}

struct value *onnx_average_pool(struct onnx_import *im, struct onnx_node *n, struct value *x)
{
        struct compose_pool pool = { 0 };
        int64_t include = 0;
        bool early = !n->domain[0] && n->opset < 10;

        if (!pool_read(im, n, n->opset >= 19, !early, &pool) ||
            ((n->opset >= 7 || !early) &&
             !onnx_int_range(im, n, "count_include_pad", 0, 0, 1, &include)))
                return NULL;
        pool.include_pads = include;
        return compose_average_pool(im->c, x, &pool);
}

bool onnx_import_average_pool(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_want_float(im, n, 0) &&
               onnx_output(n, 0, onnx_average_pool(im, n, n->inputs[0]));
}

bool onnx_import_lp_pool(struct onnx_import *im, struct onnx_node *n)
{
        struct compose_pool pool = { 0 };
        int64_t p;

        if (!onnx_want_float(im, n, 0) || !onnx_int_range(im, n, "p", 2, 1, 1000, &p) ||
            !pool_read(im, n, n->opset >= 18, n->opset >= 18, &pool))
                return false;
        return onnx_output(n, 0, compose_lp_pool(im->c, n->inputs[0], &pool, p));
}
