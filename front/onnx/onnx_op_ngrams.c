/* SPDX-License-Identifier: MIT */
/* TfIdfVectorizer of integers counts how often each n-gram of a pool is there. All positions of a
 * row are compared with all n-grams of one length. */
#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"

#include <stdlib.h>
#include <string.h>

enum { TERM, INVERSE, BOTH }; /* These are the modes. */

struct pool {
        const int64_t *numbers, *starts,
                *places; /* They are tokens; where n-grams of 1, 2, .. tokens begin; and positions
                          * in the result. */
        const float *weights;
        int count, lengths, grams, weight_count;
        int64_t least, most, skips;     /* They bound the tokens of an n-gram, and the tokens left
                                         * out between two of it. */
        int mode;
        int64_t outputs;
};

/* Returns where the n-grams of `length` tokens begin in the pool, and how many there are. */
static int64_t grams_of(const struct pool *p, int length, int64_t *begin)
{
        *begin = p->starts[length - 1];
        return ((length < p->lengths ? p->starts[length] : p->count) - *begin) / length;
}

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct pool *p)
{
        static const char *const modes[] = { "TF", "IDF", "TFIDF", NULL }, *const required[] = {
                "mode", "ngram_indexes", "ngram_counts"
        };

        if (onnx_has(n, "pool_strings"))
                return onnx_unsupported(im, n, "n-grams of strings");
        for (int k = 0; k < 3; k++)
                if (!onnx_has(n, required[k]))
                        return onnx_invalid(im, n, "attribute %s is missing", required[k]);
        return onnx_choice(im, n, "mode", modes, TERM, &p->mode) &&
               onnx_ints(im, n, "pool_int64s", &p->numbers, &p->count) &&
               onnx_ints(im, n, "ngram_counts", &p->starts, &p->lengths) &&
               onnx_ints(im, n, "ngram_indexes", &p->places, &p->grams) &&
               onnx_floats(im, n, "weights", &p->weights, &p->weight_count) &&
               onnx_int_required(im, n, "min_gram_length", &p->least) &&
               onnx_int_required(im, n, "max_gram_length", &p->most) &&
               onnx_int_required(im, n, "max_skip_count", &p->skips);
}

static int order(const void *a, const void *b, size_t count)
{
        const int64_t *x = a, *y = b;

        for (size_t k = 0; k < count; k++)
                if (x[k] != y[k])
                        return x[k] < y[k] ? -1 : 1;
        return 0;
}

/* Returns whether no n-gram stands twice, which would have two places. They are sorted by a merge,
 * for their length is not known to qsort. */
static bool are_unique(struct onnx_import *im, const int64_t *grams, int64_t count, int length)
{
        const int64_t **from = arena_array(im->arena, (size_t)count + 1, sizeof *from),
                      **to = arena_array(im->arena, (size_t)count + 1, sizeof *to);

        for (int64_t k = 0; k < count; k++)
                from[k] = grams + k * length;
        for (int64_t run = 1; run < count; run *= 2) {
                for (int64_t first = 0; first < count; first += 2 * run) {
                        int64_t i = first, middle = compose_min(first + run, count), j = middle,
                                end = compose_min(first + 2 * run, count);
                        for (int64_t k = first; k < end; k++)
                                to[k] = j >= end || (i < middle &&
                                                     order(from[i], from[j], (size_t)length) <= 0)
                                                ? from[i++]
                                                : from[j++];
                }
                const int64_t **other = from;
                from = to;
                to = other;
        }
        for (int64_t k = 1; k < count; k++)
                if (!order(from[k - 1], from[k], (size_t)length))
                        return false;
        return true;
}

static bool pool_check(struct onnx_import *im, const struct onnx_node *n, struct pool *p)
{
        int64_t grams = 0, begin;

        if (!p->numbers || p->lengths < 1 || p->grams < 1)
                return onnx_invalid(
                        im, n,
                        "pool_int64s, ngram_counts and ngram_indexes have %d, %d and %d values",
                        p->count, p->lengths, p->grams);
        if (p->least < 1 || p->most < p->least || p->skips < 0)
                return onnx_invalid(im, n, "n-grams of %lld to %lld tokens, %lld left out",
                                    (long long)p->least, (long long)p->most, (long long)p->skips);
        for (int k = 0; k < p->lengths; k++) {
                int64_t end = k + 1 < p->lengths ? p->starts[k + 1] : p->count;
                if (p->starts[k] < 0 || p->starts[k] > end || end > p->count ||
                    (end - p->starts[k]) % (k + 1))
                        return onnx_invalid(
                                im, n, "n-grams of %d tokens from %lld to %lld in a pool of %d",
                                k + 1, (long long)p->starts[k], (long long)end, p->count);
                int64_t count = grams_of(p, k + 1, &begin);
                if (!are_unique(im, p->numbers + begin, count, k + 1))
                        return onnx_invalid(im, n, "an n-gram of %d tokens is in the pool twice",
                                            k + 1);
                grams += count;
        }
        if (grams != p->grams || (p->weight_count && p->weight_count != p->grams))
                return onnx_invalid(im, n, "%lld n-grams, %d places and %d weights",
                                    (long long)grams, p->grams, p->weight_count);
        for (int k = 0; k < p->grams; k++) {
                if (p->places[k] < 0 || p->places[k] >= NUMBER_MAX)
                        return onnx_invalid(im, n, "ngram_indexes holds %lld, want 0 to %d",
                                            (long long)p->places[k], NUMBER_MAX - 1);
                p->outputs = compose_max(p->outputs, p->places[k] + 1);
        }
        return true;
}

/* Returns how often the n-grams of `length` are in x <rows x tokens x i64>: <rows x n-grams x i32>.
 * Two dimensions say where they may begin, and how far apart their tokens are (1 to `gaps`). */
static struct value *counted(struct onnx_import *im, const struct pool *p, struct value *x,
                             int length)
{
        static const int64_t over[] = { 0, 1, 2 };
        const int64_t tokens = value_extent(x, 1);
        int64_t begin, count = grams_of(p, length, &begin), gaps = 1;

        if (length > 1)
                gaps = compose_min(p->skips, (tokens - 1) / (length - 1) - 1) + 1;
        const struct type *all = type_tensor(
                im->m, E_I32, 2, (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(count) });
        if (gaps < 1 || tokens < length)
                return constant_number(im->m, all, 0);
        const enum element index = tokens <= INT32_MAX / 2 ? E_I32 : E_I64;
        const struct type *places = compose_type(im->c, index, 2,
                                                 (const dim_t[]){ dim_of(gaps), dim_of(tokens) }),
                          *pairs = places ? compose_type(
                                                    im->c, E_I64, 4,
                                                    (const dim_t[]){ dim_of(value_extent(x, 0)),
                                                                     dim_of(gaps), dim_of(tokens),
                                                                     dim_of(count) })
                                          : NULL;
        if (!pairs)
                return NULL;
        struct value *gap = plus(im->c, build_iota(&im->b, places, 0), 1),
                     *first = build_iota(&im->b, places, 1), *hit = NULL;
        for (int k = 0; k < length; k++) {
                struct value *at = add(im->c, first, times(im->c, gap, k));
                struct value *there = compose_with(im->c, OP_lt, at, (double)tokens);
                at = compose_with(im->c, OP_min, at, (double)tokens - 1);
                struct value *token = at ? build_gather(&im->b, x, at, 1) : NULL;
                int64_t *column = constant_room(im->m, (size_t)count * sizeof *column);
                for (int64_t i = 0; i < count; i++)
                        column[i] = p->numbers[begin + i * length + k];
                struct value *wanted =
                        constant_dense(im->m, type_static(im->m, E_I64, 1, &count), column, NULL);
                struct value *found = compose_spread(im->c, token, pairs, over);
                struct value *same = compose_binary(
                        im->c, OP_eq, found,
                        compose_spread(im->c, wanted, pairs, (const int64_t[]){ 3 }));
                same = k == length - 1 ? compose_binary(im->c, OP_and, same,
                                                        compose_spread(im->c, there, pairs,
                                                                       (const int64_t[]){ 1, 2 }))
                                       : same;
                hit = hit ? compose_binary(im->c, OP_and, hit, same) : same;
        }
        return compose_reduce(im->c, REDUCE_sum, compose_cast(im->c, hit, E_I32),
                              (const int64_t[]){ 1, 2 }, 2, E_COMPUTE);
}

/* Returns counts <rows x n-grams x i32> times the weights of the n-grams. */
static struct value *weighed(struct onnx_import *im, const struct pool *p, struct value *counts)
{
        if (p->mode == INVERSE)
                counts = compose_with(im->c, OP_min, counts, 1);
        counts = compose_cast(im->c, counts, E_F32);
        if (p->mode == TERM || !p->weight_count || !counts)
                return counts;
        const int64_t grams = p->grams;
        float *data = constant_room(im->m, (size_t)grams * sizeof *data);
        memcpy(data, p->weights, (size_t)grams * sizeof *data);
        struct value *weights =
                constant_dense(im->m, type_static(im->m, E_F32, 1, &grams), data, NULL);
        return mul(im->c, counts,
                   compose_spread(im->c, weights, counts->type, (const int64_t[]){ 1 }));
}

/* The operand is [tokens], or [rows, tokens]. */
bool onnx_import_tf_idf_vectorizer(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *parts[RANK_MAX * 16], *y;
        int rank = value_rank(x), count = 0;
        struct pool p = { .outputs = 0 };

        if (!onnx_want_rank(im, n, 0, 1, 2) || !attributes_read(im, n, &p) ||
            !pool_check(im, n, &p))
                return false;
        if (value_element(x) != E_I64 && value_element(x) != E_I32)
                return onnx_invalid(im, n, "operand 0 is of %s, want i32 or i64",
                                    element_info[value_element(x)].text);
        const dim_t dims[2] = { dim_of(rank == 2 ? value_extent(x, 0) : 1),
                                dim_of(value_extent(x, rank - 1)) },
                    result[2] = { dims[0], dim_of(p.outputs) };
        if (p.lengths > RANK_MAX * 16)
                return onnx_unsupported(im, n, "n-grams of %d tokens", p.lengths);
        const struct type *to = compose_type(im->c, E_F32, 2, result);
        x = compose_reshape(im->c, compose_cast(im->c, x, E_I64), 2, dims);
        if (!to || !x)
                return false;
        for (int length = 1; length <= p.lengths; length++) {
                int64_t begin, grams = grams_of(&p, length, &begin);
                const struct type *none =
                        type_tensor(im->m, E_I32, 2, (const dim_t[]){ dims[0], dim_of(grams) });
                if (!grams)
                        continue;
                bool asked = length >= p.least && length <= p.most && dim_extent(dims[1]) &&
                             dim_extent(dims[0]);
                if (!(parts[count++] =
                              asked ? counted(im, &p, x, length) : constant_number(im->m, none, 0)))
                        return false;
        }
        y = weighed(im, &p, count > 1 ? build_concat(&im->b, parts, count, 1) : parts[0]);
        y = compose_transpose(im->c, y, (const int64_t[]){ 1, 0 });
        struct attr *attrs = attrs_new(im->m, OP_scatter);
        attr_set(attrs, OP_scatter, "kind", 1 + REDUCE_sum);
        struct value *zeros = constant_number(
                             im->m,
                             type_tensor(im->m, E_F32, 2,
                                         (const dim_t[]){ dim_of(p.outputs), dims[0] }),
                             0),
                     *at = compose_reshape(im->c, constant_ints(im->m, p.places, p.grams), 2,
                                           (const dim_t[]){ dim_of(p.grams), dim_of(1) });
        y = y && at ? value_build(&im->b, OP_scatter, (struct value *[]){ zeros, at, y }, 3, attrs,
                                  NULL)
                    : NULL;
        y = compose_transpose(im->c, y, (const int64_t[]){ 1, 0 });
        return onnx_output(
                n, 0,
                rank == 1 ? compose_reshape(im->c, y, 1, (const dim_t[]){ dim_of(p.outputs) }) : y);
}
