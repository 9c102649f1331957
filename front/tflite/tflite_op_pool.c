/* SPDX-License-Identifier: MIT */
/* Pools of images [N, rows, columns, C]. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_arithmetic.h"

static bool pool_read(struct tflite_import *im, struct tflite_node *n, struct compose_pool *pool)
{
        const struct tflite_Pool2DOptions *o = TFLITE_OPTIONS(n, Pool2DOptions);
        *pool = (struct compose_pool){ 0 };
        if (!tflite_want_rank(im, n, 0, 4) ||
            !tflite_window(im, &pool->window, o->padding, o->stride_h, o->stride_w, 1, 1))
                return false;
        pool->window.kernel[0] = o->filter_h;
        pool->window.kernel[1] = o->filter_w;
        return (o->filter_h > 0 && o->filter_w > 0) ||
               tflite_invalid(im, "a window of %lld x %lld", (long long)o->filter_h,
                              (long long)o->filter_w);
}

/* Bounds a quantized result as its activation says. */
static struct value *confined(struct tflite_import *im, struct tflite_node *n, struct value *y,
                              int64_t fused)
{
        const struct tflite_tensor *t = n->outputs[0];
        int64_t low, high;
        if (!y || !tflite_range(im, t, fused, &low, &high))
                return NULL;
        return compose_bounded(im->c, compose_cast(im->c, y, E_I32), low, high, t->type->element);
}

bool tflite_import_average_pool(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t fused = TFLITE_OPTIONS(n, Pool2DOptions)->fused;
        struct compose_pool pool;
        if (!pool_read(im, n, &pool))
                return false;
        struct value *x = tflite_to_front(im, n->inputs[0]->value), *y;
        if (tflite_is_float(n->inputs[0])) {
                y = x ? compose_average_pool(im->c, x, &pool) : NULL;
                y = tflite_activated(im, y, fused);
        } else if (tflite_is_quantized(n->inputs[0])) {
                int64_t low, high;
                if (!x || !tflite_range(im, n->outputs[0], fused, &low, &high))
                        return false;
                y = compose_average_pool_integer(im->c, x, &pool, low, high);
        } else {
                return tflite_no_element(im, n, 0);
        }
        return tflite_output(im, n, 0, y ? tflite_to_back(im, y) : NULL);
}

bool tflite_import_max_pool(struct tflite_import *im, struct tflite_node *n)
{
        const int64_t fused = TFLITE_OPTIONS(n, Pool2DOptions)->fused;
        struct compose_pool pool;
        if (!pool_read(im, n, &pool))
                return false;
        struct value *x = tflite_to_front(im, n->inputs[0]->value);
        struct value *y = x ? compose_max_pool(im->c, x, &pool, NULL) : NULL;
        if (tflite_is_float(n->inputs[0]))
                y = tflite_activated(im, y, fused);
        else if (tflite_is_quantized(n->inputs[0]))
                y = confined(im, n, y, fused);
        else
                return tflite_no_element(im, n, 0);
        return tflite_output(im, n, 0, y ? tflite_to_back(im, y) : NULL);
}

/* The root of the mean of squares, where pads do not count. */
bool tflite_import_l2_pool(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct compose_pool pool;
        if (!pool_read(im, n, &pool))
                return false;
        if (!tflite_is_float(n->inputs[0]))
                return tflite_no_element(im, n, 0);
        struct value *x = tflite_to_front(im, n->inputs[0]->value);
        x = x ? mul(c, x, x) : NULL;
        x = x ? compose_unary(c, OP_sqrt, compose_average_pool(c, x, &pool)) : NULL;
        x = tflite_activated(im, x, TFLITE_OPTIONS(n, Pool2DOptions)->fused);
        return tflite_output(im, n, 0, x ? tflite_to_back(im, x) : NULL);
}
