/* SPDX-License-Identifier: MIT */
/* Operators whose results are shapes, or that repeat, reverse and regroup elements. */
#include "front/tflite/tflite_helpers.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

/* ---- numbers of shapes ---- */

bool tflite_import_shape(struct tflite_import *im, struct tflite_node *n)
{
        const struct type *x = n->inputs[0]->value->type;
        struct value *extents = compose_extents(im->c, x->rank, x->dims);
        return tflite_output(im, n, 0, compose_cast(im->c, extents, n->outputs[0]->type->element));
}

bool tflite_import_rank(struct tflite_import *im, struct tflite_node *n)
{
        return tflite_output(im, n, 0,
                             compose_integer(im->c, n->outputs[0]->type->element,
                                             value_rank(n->inputs[0]->value)));
}

/* Broadcasts the extents of `more` to those of `extents`, as numpy does. */
static bool broadcast_extents(struct tflite_import *im, int64_t *extents, int *rank,
                              const int64_t *more, int count)
{
        int64_t both[RANK_MAX];
        const int most = *rank > count ? *rank : count;
        for (int d = 0; d < most; d++) {
                const int a = d - (most - *rank), b = d - (most - count);
                const int64_t x = a < 0 ? 1 : extents[a], y = b < 0 ? 1 : more[b];
                if (x != y && x != 1 && y != 1)
                        return tflite_invalid(im, "extents %lld and %lld", (long long)x,
                                              (long long)y);
                both[d] = x == 1 ? y : x;
        }
        *rank = most;
        for (int d = 0; d < most; d++)
                extents[d] = both[d];
        return true;
}

bool tflite_import_broadcast_args(struct tflite_import *im, struct tflite_node *n)
{
        int64_t extents[2][RANK_MAX];
        int rank[2];
        for (int i = 0; i < 2; i++)
                if (!tflite_ints(im, n, i, extents[i], RANK_MAX, &rank[i]))
                        return false;
        return broadcast_extents(im, extents[0], &rank[0], extents[1], rank[1]) &&
               tflite_output(im, n, 0,
                             compose_cast(im->c, constant_ints(im->m, extents[0], rank[0]),
                                          n->outputs[0]->type->element));
}

/* ---- elements repeated ---- */

/* Returns v over these extents, to which it broadcasts. */
static struct value *over(struct tflite_import *im, struct value *v, const int64_t *extents,
                          int rank)
{
        const struct type *t = compose_type_static(im->c, value_element(v), rank, extents);
        return t ? build_broadcast_numpy(im->c->b, v, rank, t->dims) : NULL;
}

bool tflite_import_broadcast_to(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        int64_t extents[RANK_MAX];
        int rank;
        if (!tflite_ints(im, n, 1, extents, RANK_MAX, &rank))
                return false;
        for (int d = 0; d < value_rank(x); d++) {
                const int at = d + rank - value_rank(x);
                const int64_t extent = value_extent(x, d);
                if (at < 0 || (extent != 1 && extent != extents[at]))
                        return tflite_invalid(im, "%s does not broadcast to the shape",
                                              compose_text(im->c, x->type));
        }
        return tflite_output(im, n, 0, over(im, x, extents, rank));
}

bool tflite_import_fill(struct tflite_import *im, struct tflite_node *n)
{
        int64_t extents[RANK_MAX];
        int rank;
        struct value *number = n->inputs[1]->value;
        if (!tflite_ints(im, n, 0, extents, RANK_MAX, &rank))
                return false;
        number =
                compose_one_number(im->c, "the number to fill with", number, value_element(number));
        return number && tflite_output(im, n, 0, over(im, number, extents, rank));
}

bool tflite_import_zeros_like(struct tflite_import *im, struct tflite_node *n)
{
        return tflite_output(im, n, 0, constant_number(im->m, n->inputs[0]->value->type, 0));
}

bool tflite_import_tile(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        int64_t times[RANK_MAX], extents[RANK_MAX];
        const int rank = value_rank(x);
        int count;
        if (!tflite_ints(im, n, 1, times, RANK_MAX, &count))
                return false;
        if (count != rank)
                return tflite_invalid(im, "%d multiples for rank %d", count, rank);
        for (int d = 0; d < rank; d++) {
                extents[d] = value_extent(x, d);
                if (times[d] < 0 || times[d] > NUMBER_MAX)
                        return tflite_invalid(im, "%lld copies", (long long)times[d]);
        }
        for (int d = 0; d < rank && x; d++) {
                dim_t one[RANK_MAX + 1];
                int64_t wide[RANK_MAX + 1];
                if (times[d] == 1)
                        continue;
                if (rank == RANK_MAX)
                        return tflite_unsupported(im, "rank %d", rank);
                for (int k = 0; k <= rank; k++) {
                        wide[k] = k == d ? times[d] : extents[k - (k > d)];
                        one[k] = dim_of(k == d ? 1 : wide[k]);
                }
                x = compose_reshape(im->c, x, rank + 1, one);
                x = x ? over(im, x, wide, rank + 1) : NULL;
                extents[d] *= times[d];
                const struct type *t =
                        x ? compose_type_static(im->c, value_element(x), rank, extents) : NULL;
                x = t ? compose_reshape(im->c, x, rank, t->dims) : NULL;
        }
        return tflite_output(im, n, 0, x);
}

bool tflite_import_reverse(struct tflite_import *im, struct tflite_node *n)
{
        struct value *x = n->inputs[0]->value;
        int64_t axes[RANK_MAX];
        bool reversed[RANK_MAX] = { false };
        int count;
        if (!tflite_ints(im, n, 1, axes, RANK_MAX, &count))
                return false;
        for (int i = 0; i < count; i++) {
                const int axis = tflite_axis(im, axes[i], value_rank(x));
                if (axis < 0)
                        return false;
                if (reversed[axis])
                        return tflite_invalid(im, "axis %d twice", axis);
                reversed[axis] = true;
        }
        for (int d = 0; d < value_rank(n->inputs[0]->value); d++)
                if (reversed[d] && value_extent(n->inputs[0]->value, d) > 1)
                        x = compose_reverse(im->c, x, d);
        return tflite_output(im, n, 0, x);
}

/* ---- blocks of pixels as samples ---- */

enum { BLOCKED_MOST = 2 };

/* Operand 1 are the extents of a block, operand 2 pads or crops, a pair for each of them. */
struct blocks {
        int rank; /* A block has so many dimensions: 1 or 2. */
        int64_t block[BLOCKED_MOST], around[2 * BLOCKED_MOST];
        int64_t product;
};

static bool blocks_read(struct tflite_import *im, struct tflite_node *n, struct blocks *b)
{
        struct value *x = n->inputs[0]->value, *around = n->inputs[2]->value;
        int count;
        if (value_rank(x) < 3 || value_rank(x) > 4)
                return tflite_invalid(im, "an operand of rank %d, want 3 or 4", value_rank(x));
        *b = (struct blocks){ .rank = value_rank(x) - 2, .product = 1 };
        if (!tflite_ints(im, n, 1, b->block, BLOCKED_MOST, &count))
                return false;
        if (count != b->rank || type_elements(around->type) != 2 * b->rank)
                return tflite_invalid(im, "blocks of %d dimensions for rank %d", count,
                                      value_rank(x));
        around = compose_reshape(im->c, compose_cast(im->c, around, E_I64), 1,
                                 (const dim_t[]){ dim_of(2 * b->rank) });
        if (!around)
                return false;
        if (!value_ints(around, b->around, 2 * BLOCKED_MOST, &count))
                return tflite_unsupported(im, "operand 2 (%s) is not constant",
                                          compose_text(im->c, n->inputs[2]->value->type));
        for (int d = 0; d < b->rank; d++) {
                if (b->block[d] < 1 || b->block[d] > NUMBER_MAX / b->product)
                        return tflite_invalid(im, "a block of extent %lld", (long long)b->block[d]);
                b->product *= b->block[d];
                if (b->around[2 * d] < 0 || b->around[2 * d + 1] < 0 ||
                    b->around[2 * d] > NUMBER_MAX || b->around[2 * d + 1] > NUMBER_MAX)
                        return tflite_invalid(im, "%lld and %lld elements around dimension %d",
                                              (long long)b->around[2 * d],
                                              (long long)b->around[2 * d + 1], d);
        }
        return true;
}

bool tflite_import_space_to_batch(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        const enum element e = value_element(x);
        int64_t low[RANK_MAX] = { 0 }, extents[RANK_MAX], perm[2 * RANK_MAX];
        dim_t split[2 * RANK_MAX], merged[RANK_MAX];
        struct blocks b;
        if (!blocks_read(im, n, &b))
                return false;
        const int rank = value_rank(x), behind = 1 + 2 * b.rank;
        extents[0] = value_extent(x, 0);
        extents[rank - 1] = value_extent(x, rank - 1);
        for (int d = 0; d < b.rank; d++) {
                low[d + 1] = b.around[2 * d];
                extents[d + 1] = value_extent(x, d + 1) + low[d + 1] + b.around[2 * d + 1];
                if (extents[d + 1] % b.block[d])
                        return tflite_invalid(im, "an extent of %lld in blocks of %lld",
                                              (long long)extents[d + 1], (long long)b.block[d]);
        }
        const bool numbers = tflite_is_quantized(n->outputs[0]) && n->outputs[0]->q.count == 1;
        struct value *fill = compose_integer(c, e, numbers ? n->outputs[0]->q.zeros[0] : 0);
        const struct type *padded = compose_type_static(c, e, rank, extents);
        x = padded ? compose_pad(c, x, fill, constant_ints(im->m, low, rank), PAD_CONSTANT, padded)
                   : NULL;
        /* [N, rows, in a block, columns, in a block, C] becomes [in blocks, N, rows, columns, C] */
        split[0] = dim_of(extents[0]);
        split[behind] = merged[rank - 1] = dim_of(extents[rank - 1]);
        merged[0] = dim_of(extents[0] * b.product);
        perm[b.rank] = 0;
        perm[behind] = behind;
        for (int d = 0; d < b.rank; d++) {
                split[1 + 2 * d] = merged[d + 1] = dim_of(extents[d + 1] / b.block[d]);
                split[2 + 2 * d] = dim_of(b.block[d]);
                perm[d] = 2 + 2 * d;
                perm[b.rank + 1 + d] = 1 + 2 * d;
        }
        x = x ? compose_reshape(c, x, behind + 1, split) : NULL;
        x = x ? compose_transpose(c, x, perm) : NULL;
        return x && tflite_output(im, n, 0, compose_reshape(c, x, rank, merged));
}

bool tflite_import_batch_to_space(struct tflite_import *im, struct tflite_node *n)
{
        struct compose *c = im->c;
        struct value *x = n->inputs[0]->value;
        int64_t perm[2 * RANK_MAX];
        dim_t split[2 * RANK_MAX], merged[RANK_MAX];
        struct compose_slice cut = { 0 };
        struct blocks b;
        if (!blocks_read(im, n, &b))
                return false;
        const int rank = value_rank(x), behind = 1 + 2 * b.rank;
        const int64_t samples = value_extent(x, 0);
        if (samples % b.product)
                return tflite_invalid(im, "%lld samples for blocks of %lld", (long long)samples,
                                      (long long)b.product);
        split[b.rank] = merged[0] = dim_of(samples / b.product);
        split[behind] = merged[rank - 1] = x->type->dims[rank - 1];
        perm[0] = b.rank;
        perm[behind] = behind;
        for (int d = 0; d < b.rank; d++) {
                const int64_t extent = value_extent(x, d + 1) * b.block[d];
                split[d] = dim_of(b.block[d]);
                split[b.rank + 1 + d] = x->type->dims[d + 1];
                perm[1 + 2 * d] = b.rank + 1 + d;
                perm[2 + 2 * d] = d;
                merged[d + 1] = dim_of(extent);
                cut.axes[d] = d + 1;
                cut.starts[d] = b.around[2 * d];
                cut.ends[d] = extent - b.around[2 * d + 1];
                cut.steps[d] = 1;
                if (cut.starts[d] > cut.ends[d])
                        return tflite_invalid(im, "crops of %lld and %lld from an extent of %lld",
                                              (long long)b.around[2 * d],
                                              (long long)b.around[2 * d + 1], (long long)extent);
        }
        cut.count = b.rank;
        x = compose_reshape(c, x, behind + 1, split);
        x = x ? compose_transpose(c, x, perm) : NULL;
        x = x ? compose_reshape(c, x, rank, merged) : NULL;
        return x && tflite_output(im, n, 0, compose_slice(c, x, &cut));
}
