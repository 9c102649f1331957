/* SPDX-License-Identifier: MIT */
/* Convolutions, products of matrices, pools, normalizations. Weights are [window, in, out]. */
#include "front/tensorflow/tensorflow_helpers.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_norm.h"
#include "front/compose/compose_softmax.h"

/* Both operands of a convolution are of one float type, and it has no list of fused operations. */
static bool same_floats(struct tf_import *im, const struct tf_node *n, int a, int b)
{
        const enum element e = value_element(n->inputs[a].value);
        return tf_want_floats(im, n, a) &&
               (value_element(n->inputs[b].value) == e ||
                tf_invalid(im, "operands %s and %s",
                           compose_text(im->c, n->inputs[a].value->type),
                           compose_text(im->c, n->inputs[b].value->type)));
}

/* Weights [window, in, out] become [out, in, window]. */
static struct value *weights_first(struct tf_import *im, struct value *w)
{
        const int rank = value_rank(w);
        int64_t perm[RANK_MAX] = { rank - 1, rank - 2 };
        for (int d = 0; d < rank - 2; d++)
                perm[d + 2] = d;
        return tf_permuted(im, w, perm);
}

/* The variant is the rank of images. */
bool tf_import_conv(struct tf_import *im, struct tf_node *n)
{
        const int rank = tf_variant(n);
        struct compose_window window;
        bool first;
        if (!same_floats(im, n, 0, 1) || !tf_want_rank(im, n, 1, rank))
                return false;
        struct value *x = tf_image(im, n, 0, rank, &first);
        if (!x || !tf_window(im, n, first, rank, &window))
                return false;
        const int64_t channels = value_extent(n->inputs[1].value, rank - 2);
        if (channels < 1 || value_extent(x, 1) % channels)
                return tf_invalid(im, "%lld channels for weights of %lld channels",
                                  (long long)value_extent(x, 1), (long long)channels);
        struct value *w = weights_first(im, n->inputs[1].value);
        struct value *y = compose_conv(im->c, x, w, NULL, &window, value_extent(x, 1) / channels);
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}

/* Weights are [rows, columns, in, outputs of each]. */
bool tf_import_depthwise(struct tf_import *im, struct tf_node *n)
{
        struct compose_window window;
        struct value *w = n->inputs[1].value;
        bool first;
        if (!same_floats(im, n, 0, 1) || !tf_want_rank(im, n, 1, 4))
                return false;
        struct value *x = tf_image(im, n, 0, 4, &first);
        if (!x || !tf_window(im, n, first, 4, &window))
                return false;
        const int64_t channels = value_extent(x, 1), each = value_extent(w, 3);
        if (value_extent(w, 2) != channels)
                return tf_invalid(im, "%lld channels for weights %s", (long long)channels,
                                  compose_text(im->c, w->type));
        const dim_t dims[] = { w->type->dims[0], w->type->dims[1], dim_of(1),
                               dim_of(channels * each) };
        w = compose_reshape(im->c, w, 4, dims);
        w = w ? weights_first(im, w) : NULL;
        struct value *y = compose_conv(im->c, x, w, NULL, &window, channels);
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}

/* Operand 0 are the extents of the result; weights are [window, out, in]. */
bool tf_import_conv_transposed(struct tf_import *im, struct tf_node *n)
{
        const int rank = tf_variant(n);
        struct compose_transposed t = { .groups = 1, .shaped = true };
        int64_t shape[RANK_MAX];
        int count;
        bool first;
        if (!same_floats(im, n, 1, 2) || !tf_want_rank(im, n, 1, rank) ||
            !tf_ints(im, n, 0, shape, RANK_MAX, &count))
                return false;
        struct value *x = tf_image(im, n, 2, rank, &first);
        if (!x || !tf_window(im, n, first, rank, &t.window))
                return false;
        if (count == rank - 2) {        /* Only the spatial extents are stated. */
                for (int d = rank - 3; d >= 0; d--)
                        shape[d + 1 + first] = shape[d];
        } else if (count != rank) {
                return tf_invalid(im, "the shape of the result has %d extents", count);
        }
        struct value *w = weights_first(im, n->inputs[1].value);
        if (!w)
                return false;
        const bool valid = t.window.auto_pad == PAD_VALID;
        if (t.window.auto_pad == PAD_NOTSET)
                return tf_unsupported(im, "explicit pads of a transposed convolution");
        int64_t want[RANK_MAX];
        t.window.auto_pad = PAD_SAME_UPPER;
        for (int d = 0; d < rank - 2; d++) {
                const int64_t stride = t.window.strides[d], in = value_extent(x, d + 2),
                              kernel = (value_extent(w, d + 2) - 1) * t.window.dilations[d] + 1;
                want[d] = shape[d + 1 + first];
                const int64_t covered = valid ? (want[d] - kernel + stride) / stride
                                              : (want[d] + stride - 1) / stride;
                if (want[d] < 1 || want[d] > NUMBER_MAX || covered != in)
                        return tf_invalid(im, "a result of extent %lld of %lld", (long long)want[d],
                                          (long long)in);
                t.shape[d] = want[d];
                if (valid)              /* The result is filled at its end. */
                        t.shape[d] = stride * (in - 1) + kernel;
        }
        struct value *y = compose_conv_transposed(im->c, x, w, NULL, &t);
        for (int d = 0; d < rank - 2 && valid; d++)
                y = y ? compose_fitted(im->c, y, d + 2, want[d]) : NULL;
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}

/* ---- products of matrices ---- */

/* Returns operand i, its last two dimensions exchanged where `turned`. */
static struct value *matrices(struct tf_import *im, const struct tf_node *n, int i, bool turned)
{
        struct value *x = n->inputs[i].value;
        const int rank = value_rank(x);
        int64_t perm[RANK_MAX];
        if (rank < 2) {
                tf_invalid(im, "operand %d is of rank %d, want at least 2", i, rank);
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                perm[d] = d;
        perm[rank - 2] = rank - 1;
        perm[rank - 1] = rank - 2;
        return turned ? compose_transpose(im->c, x, perm) : x;
}

/* The variant 1 has batches. */
bool tf_import_matmul(struct tf_import *im, struct tf_node *n)
{
        const bool batches = tf_variant(n);
        struct value *x = matrices(im, n, 0, tf_bool(n, batches ? "adj_x" : "transpose_a", false));
        struct value *y =
                x ? matrices(im, n, 1, tf_bool(n, batches ? "adj_y" : "transpose_b", false)) : NULL;
        if (!y)
                return false;
        if (value_element(x) != value_element(y))
                return tf_unsupported(im, "operands %s and %s", compose_text(im->c, x->type),
                                      compose_text(im->c, y->type));
        return tf_output(im, n, 0, compose_matmul(im->c, x, y));
}

/* The sum keeps its image's layout: channels lie where they lay. */
bool tf_import_bias_add(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value, *bias = n->inputs[1].value;
        const int rank = value_rank(x);
        if (rank < 2 || value_rank(bias) != 1 || value_element(x) != value_element(bias))
                return tf_invalid(im, "operands %s and %s", compose_text(im->c, x->type),
                                  compose_text(im->c, bias->type));
        const int format = tf_channels_first(im, n, rank);
        if (format < 0)
                return false;
        const int axis = format == 1 || rank == 2 ? 1 : rank - 1;
        if (value_extent(bias, 0) != value_extent(x, axis))
                return tf_invalid(im, "a bias %s for %s", compose_text(im->c, bias->type),
                                  compose_text(im->c, x->type));
        const bool moved = axis != 1;
        struct value *image = moved ? tf_to_front(im, x) : x;
        struct value *y = image ? compose_with_bias(im->c, image, bias) : NULL;
        return tf_output(im, n, 0, y && moved ? tf_to_back(im, y) : y);
}

/* ---- normalizations ---- */

bool tf_import_batch_norm(struct tf_import *im, struct tf_node *n)
{
        struct compose_batch_norm b = { .scale = n->inputs[1].value,
                                        .bias = n->inputs[2].value,
                                        .mean = n->inputs[3].value,
                                        .variance = n->inputs[4].value,
                                        .epsilon = (float)tf_float(n, "epsilon", 1e-4) };
        const int rank = value_rank(n->inputs[0].value) == 5 ? 5 : 4;
        bool first;
        if (tf_bool(n, "is_training", true))
                return tf_unsupported(im, "statistics of the batch (is_training)");
        struct value *x = tf_image(im, n, 0, rank, &first);
        struct value *y = x ? compose_batch_norm(im->c, x, &b, NULL) : NULL;
        return tf_output(im, n, 0, tf_as_image(im, y, first)) &&
               tf_output(im, n, 1, b.mean) && tf_output(im, n, 2, b.variance);
}

bool tf_import_lrn(struct tf_import *im, struct tf_node *n)
{
        const int64_t radius = tf_int(n, "depth_radius", 5);
        bool first;
        if (radius < 0 || radius > NUMBER_MAX / 4)
                return tf_invalid(im, "a radius of %lld", (long long)radius);
        struct value *x = tf_image(im, n, 0, 4, &first);
        const int64_t size = 2 * radius + 1;
        struct value *y = x ? compose_local_response_norm(im->c, x, size,
                                                          tf_float(n, "alpha", 1) * (double)size,
                                                          tf_float(n, "beta", 0.5),
                                                          tf_float(n, "bias", 1))
                            : NULL;
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}

bool tf_import_softmax(struct tf_import *im, struct tf_node *n)
{
        struct value *x = n->inputs[0].value;
        const int64_t axis = value_rank(x) - 1;
        if (axis < 0)
                return tf_invalid(im, "a softmax of a scalar");
        if (!tf_want_floats(im, n, 0))
                return false;
        struct value *y = compose_softmax(im->c, compose_wide(im->c, x), &axis, 1,
                                          tf_variant(n) != 0);
        return tf_output(im, n, 0, compose_cast(im->c, y, value_element(x)));
}

/* ---- pools ---- */

/* Reads the window and the image of a pool. */
static struct value *pooled(struct tf_import *im, struct tf_node *n, struct compose_pool *pool,
                            bool *first)
{
        const int rank = tf_variant(n);
        *pool = (struct compose_pool){ 0 };
        struct value *x = tf_image(im, n, 0, rank, first);
        if (!x || !tf_window(im, n, *first, rank, &pool->window) ||
            !tf_spatial(im, n, "ksize", *first, rank, pool->window.kernel))
                return NULL;
        for (int d = 0; d < rank - 2; d++)
                pool->window.dilations[d] = 1;
        return x;
}

bool tf_import_max_pool(struct tf_import *im, struct tf_node *n)
{
        struct compose_pool pool;
        bool first;
        struct value *x = pooled(im, n, &pool, &first);
        struct value *y = x ? compose_max_pool(im->c, x, &pool, NULL) : NULL;
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}

bool tf_import_average_pool(struct tf_import *im, struct tf_node *n)
{
        struct compose_pool pool;
        bool first;
        if (!tf_want_floats(im, n, 0))
                return false;
        struct value *x = pooled(im, n, &pool, &first);
        struct value *y = x ? compose_average_pool(im->c, x, &pool) : NULL;
        return tf_output(im, n, 0, tf_as_image(im, y, first));
}
