/* SPDX-License-Identifier: MIT */
/* All positions of a row are compared with all n-grams of one length of a pool. Of a larger pool,
 * an n-gram is one number, which is searched for by bisection. */
#include "front/compose/compose_ngrams.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_move.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t compose_ngrams_of(const struct compose_ngrams *p, int length, int64_t *begin)
{
        *begin = p->starts[length - 1];
        return ((length < p->lengths ? p->starts[length] : p->count) - *begin) / length;
}

enum { COMPARED_MOST = 64 };            /* A pool of more n-grams is searched. */

/* Returns a number above all tokens of n-grams, of which n-grams are digits of one number; 0 where
 * there is none such, or numbers are too large. */
static int64_t base_of(const struct compose_ngrams *p, int64_t begin, int64_t count, int length)
{
        int64_t base = 1, most = INT64_MAX / 4;
        for (int64_t k = begin; k < begin + count * length; k++) {
                if (p->numbers[k] < 0 || p->numbers[k] >= INT32_MAX)
                        return 0;
                base = compose_max(base, p->numbers[k] + 1);
        }
        for (int k = 0; k < length; k++)
                most /= base;
        return most ? base : 0;
}

struct gram { int64_t key, number; };

static int by_key(const void *a, const void *b)
{
        const struct gram *x = a, *y = b;
        return (x->key > y->key) - (x->key < y->key);
}

/* Does the same as `counted`, for places [gaps, tokens] where n-grams may begin. */
static struct value *searched(struct compose *c, const struct compose_ngrams *p, struct value *x,
                              int length, const struct type *places, int64_t base)
{
        int64_t begin;
        const int64_t count = compose_ngrams_of(p, length, &begin);
        const dim_t rows = x->type->dims[0], tokens = x->type->dims[1];
        struct gram *grams = arena_array(c->arena, (size_t)count, sizeof *grams);
        int64_t *keys = constant_room(c->m, (size_t)count * sizeof *keys),
                *numbers = constant_room(c->m, (size_t)count * sizeof *numbers);
        for (int64_t i = 0; i < count; i++) {
                grams[i] = (struct gram){ 0, i };
                for (int k = 0; k < length; k++)
                        grams[i].key = grams[i].key * base + p->numbers[begin + i * length + k];
        }
        qsort(grams, (size_t)count, sizeof *grams, by_key);
        for (int64_t i = 0; i < count; i++) {
                keys[i] = grams[i].key;
                numbers[i] = grams[i].number;
        }
        const struct type *table = type_static(c->m, E_I64, 1, &count);
        struct value *key_table = constant_dense(c->m, table, keys, NULL);
        struct value *number_table = constant_dense(c->m, table, numbers, NULL);
        struct value *behind = compose_cast(c, compose_extent(c, tokens), places->element);
        struct value *gap = plus(c, build_iota(c->b, places, 0), 1),
                     *first = build_iota(c->b, places, 1), *key = NULL, *known = NULL;
        for (int k = 0; k < length; k++) {
                struct value *at = add(c, first, times(c, gap, k));
                struct value *there = compose_binary(c, OP_lt, at, behind);
                at = compose_binary(c, OP_min, at, plus(c, behind, -1));
                struct value *token = at ? build_gather(c->b, x, at, 1) : NULL;
                struct value *fits = compose_with(c, OP_ge, token, 0);
                fits = compose_binary(c, OP_and, fits,
                                      compose_with(c, OP_lt, token, (double)base));
                fits = compose_binary(c, OP_and, fits, there);
                known = known ? compose_binary(c, OP_and, known, fits) : fits;
                token = clamp(c, token, 0, (double)base - 1);
                key = key ? add(c, times(c, key, (double)base), token) : token;
        }
        struct value *at = compose_last_not_above(c, key, key_table);
        struct value *found = at ? build_gather(c->b, key_table, at, 0) : NULL;
        known = compose_binary(c, OP_and, known, compose_binary(c, OP_eq, found, key));
        struct value *number = at ? build_gather(c->b, number_table, at, 0) : NULL;
        number = compose_select(c, known, number, compose_integer(c, E_I64, count));
        number = compose_reshape(c, number, 2,
                                 (const dim_t[]){ rows, type_product(c->m, places, 0, 2) });
        const dim_t sums[2] = { rows, dim_of(count + 1) };
        const struct type *to = compose_type(c, E_I32, 2, sums);
        if (!number || !to)
                return NULL;
        struct value *one = constant_number(c->m, type_with_element(c->m, number->type, E_I32), 1);
        struct value *all = compose_scatter(c, constant_number(c->m, to, 0), number, one, 1,
                                            1 + REDUCE_sum);
        return all ? compose_part(c, all, 1, 0, count) : NULL;
}

/* Returns how often the n-grams of `length` are in x <rows x tokens x i64>: <rows x n-grams x i32>.
 * Two dimensions say where they may begin, and how far apart their tokens are (1 to `gaps`). */
static struct value *counted(struct compose *c, const struct compose_ngrams *p, struct value *x,
                             int length)
{
        static const int64_t over[] = { 0, 1, 2 };
        const int64_t most = dim_bound(c->m, x->type->dims[1]);
        const dim_t rows = x->type->dims[0], tokens = x->type->dims[1];
        int64_t begin, count = compose_ngrams_of(p, length, &begin), gaps = 1;

        if (length > 1)
                gaps = compose_min(p->skips, (most - 1) / (length - 1) - 1) + 1;
        const dim_t grams[2] = { rows, dim_of(count) }, at_most[2] = { dim_of(gaps), tokens },
                    each[4] = { rows, dim_of(gaps), tokens, dim_of(count) };
        if (gaps < 1 || most < length)
                return constant_number(c->m, type_tensor(c->m, E_I32, 2, grams), 0);
        const enum element index = most <= INT32_MAX / 2 ? E_I32 : E_I64;
        const struct type *places = compose_type(c, index, 2, at_most),
                          *pairs = places ? compose_type(c, E_I64, 4, each) : NULL;
        if (!pairs)
                return NULL;
        int64_t base;
        if (count > COMPARED_MOST && (base = base_of(p, begin, count, length)))
                return searched(c, p, x, length, places, base);
        struct value *behind = compose_cast(c, compose_extent(c, tokens), index);
        struct value *gap = plus(c, build_iota(c->b, places, 0), 1),
                     *first = build_iota(c->b, places, 1), *hit = NULL;
        for (int k = 0; k < length; k++) {
                struct value *at = add(c, first, times(c, gap, k));
                struct value *there = compose_binary(c, OP_lt, at, behind);
                at = compose_binary(c, OP_min, at, plus(c, behind, -1));
                struct value *token = at ? build_gather(c->b, x, at, 1) : NULL;
                int64_t *column = constant_room(c->m, (size_t)count * sizeof *column);
                for (int64_t i = 0; i < count; i++)
                        column[i] = p->numbers[begin + i * length + k];
                struct value *wanted =
                        constant_dense(c->m, type_static(c->m, E_I64, 1, &count), column, NULL);
                struct value *found = compose_spread(c, token, pairs, over);
                struct value *same = compose_binary(
                        c, OP_eq, found, compose_spread(c, wanted, pairs, (const int64_t[]){ 3 }));
                same = k == length - 1 ? compose_binary(c, OP_and, same,
                                                        compose_spread(c, there, pairs,
                                                                       (const int64_t[]){ 1, 2 }))
                                       : same;
                hit = hit ? compose_binary(c, OP_and, hit, same) : same;
        }
        return compose_reduce(c, REDUCE_sum, compose_cast(c, hit, E_I32), (const int64_t[]){ 1, 2 },
                              2, E_COMPUTE);
}

/* Returns counts <rows x n-grams x i32> times the weights of the n-grams. */
static struct value *weighed(struct compose *c, const struct compose_ngrams *p,
                             struct value *counts)
{
        if (p->mode == NGRAMS_INVERSE)
                counts = compose_with(c, OP_min, counts, 1);
        counts = compose_cast(c, counts, E_F32);
        if (p->mode == NGRAMS_TERM || !p->weight_count || !counts)
                return counts;
        const int64_t grams = p->grams;
        float *data = constant_room(c->m, (size_t)grams * sizeof *data);
        memcpy(data, p->weights, (size_t)grams * sizeof *data);
        struct value *weights =
                constant_dense(c->m, type_static(c->m, E_F32, 1, &grams), data, NULL);
        return mul(c, counts, compose_spread(c, weights, counts->type, (const int64_t[]){ 1 }));
}

struct value *compose_ngrams(struct compose *c, const struct compose_ngrams *p, struct value *x)
{
        struct value *parts[NGRAM_TOKENS_MAX], *y;
        const dim_t *dims = x->type->dims;
        int count = 0;

        for (int length = 1; length <= p->lengths; length++) {
                int64_t begin, grams = compose_ngrams_of(p, length, &begin);
                const struct type *none =
                        type_tensor(c->m, E_I32, 2, (const dim_t[]){ dims[0], dim_of(grams) });
                if (!grams)
                        continue;
                bool asked = length >= p->least && length <= p->most && !dim_is(dims[1], 0) &&
                             !dim_is(dims[0], 0);
                if (!(parts[count++] =
                              asked ? counted(c, p, x, length) : constant_number(c->m, none, 0)))
                        return NULL;
        }
        y = weighed(c, p, count > 1 ? build_concat(c->b, parts, count, 1) : parts[0]);
        y = compose_transpose(c, y, (const int64_t[]){ 1, 0 });
        struct attr *attrs = attrs_new(c->m, OP_scatter);
        attr_set(attrs, OP_scatter, "kind", 1 + REDUCE_sum);
        struct value *zeros = constant_number(
                             c->m,
                             type_tensor(c->m, E_F32, 2,
                                         (const dim_t[]){ dim_of(p->outputs), dims[0] }),
                             0),
                     *at = compose_reshape(c, constant_ints(c->m, p->places, p->grams), 2,
                                           (const dim_t[]){ dim_of(p->grams), dim_of(1) });
        y = y && at ? value_build(c->b, OP_scatter, (struct value *[]){ zeros, at, y }, 3, attrs,
                                  NULL)
                    : NULL;
        return compose_transpose(c, y, (const int64_t[]){ 1, 0 });
}

/* Returns the word of each row of ids [rows, words] that is the `back`-th from the end, [rows, 1];
 * a row that has fewer has its first one. */
static struct value *from_end(struct compose *c, struct value *ids, int64_t back)
{
        const dim_t words = ids->type->dims[1], columns[2] = { ids->type->dims[0], dim_of(1) };

        if (dim_is_static(words))
                return compose_part(c, ids, 1, dim_extent(words) - back, 1);
        struct value *at = plus(c, compose_extent(c, words), -(double)back);
        at = compose_with(c, OP_max, at, 0);
        struct value *word = at ? build_gather(c->b, ids, at, 1) : NULL;
        return compose_reshape(c, word, 2, columns);
}

struct value *compose_forbid_repeats(struct compose *c, struct value *ids, struct value *scores,
                                     int64_t size, double never)
{
        const dim_t words_of = ids->type->dims[1];
        const dim_t places = dim_binary(c->m, DIM_SUB, words_of, dim_of(size - 1));
        struct value *same = NULL;

        if (dim_is(places, 0))
                return scores;
        if (size > c->limits->unrolled_steps) {
                compose_unsupported(c, "n-grams of %lld words", (long long)size);
                return NULL;
        }
        for (int64_t i = 0; i + 1 < size; i++) { /* Word i behind each position is compared with
                                                  * word i of the last size - 1 words. */
                struct value *there = compose_span(c, ids, 1, i, places);
                struct value *last = from_end(c, ids, size - 1 - i);
                struct value *both[2] = { there, last };
                if (!there || !last || !compose_broadcast(c, both, 2))
                        return NULL;
                struct value *equal = compose_binary(c, OP_eq, both[0], both[1]);
                same = same ? compose_binary(c, OP_and, same, equal) : equal;
        }
        struct value *words = compose_span(c, ids, 1, size - 1, places);
        if (!words || (size > 1 && !same))
                return NULL;
        const struct type *t = type_with_element(c->m, words->type, E_F32);
        struct value *least = constant_number(c->m, t, never);
        if (same)                       /* What is not forbidden need not be a word. */
                words = compose_select(c, same, words, constant_number(c->m, words->type, 0));
        struct value *most =
                same ? compose_select(c, same, least, constant_number(c->m, t, INFINITY)) : least;
        return compose_scatter(c, scores, words, most, 1, 1 + REDUCE_min);
}
