/* SPDX-License-Identifier: MIT */
/* This file imports TfIdfVectorizer. Tokens that are texts are counted by their numbers. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_ngrams.h"
#include "front/compose/compose_texts.h"

#include <string.h>

/* Reads the texts of the pool: *keys becomes those that differ, as a constant, and the pool their
 * numbers. *keys is NULL where the pool has numbers. */
static bool texts_read(struct onnx_import *im, struct onnx_node *n, struct compose_ngrams *p,
                       struct value **keys)
{
        const ProtobufCBinaryData *texts;
        int count;
        *keys = NULL;
        if (!onnx_strings(im, n, "pool_strings", &texts, &count) || !count)
                return !count;
        if (p->numbers)
                return onnx_invalid(im, n, "the pool has texts and numbers");
        int64_t *numbers = arena_array(im->arena, (size_t)count, sizeof *numbers), kept = 0;
        ProtobufCBinaryData *different = arena_array(im->arena, (size_t)count, sizeof *different);
        struct map *known = map_new(im->arena);
        for (int k = 0; k < count; k++) {
                const char *key = texts[k].len ? (const char *)texts[k].data : "";
                int64_t number = (int64_t)(intptr_t)map_get(known, key, texts[k].len);
                if (!number) {
                        different[kept] = texts[k];
                        number = ++kept;
                        map_set(known, key, texts[k].len, (void *)(intptr_t)number);
                }
                numbers[k] = number - 1;
        }
        p->numbers = numbers;
        p->count = count;
        *keys = onnx_texts_constant(im, "pool_strings", 1, &kept, different, (size_t)kept, 0);
        return *keys != NULL;
}

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct compose_ngrams *p)
{
        static const char *const modes[] = { "TF", "IDF", "TFIDF", NULL }, *const required[] = {
                "mode", "ngram_indexes", "ngram_counts"
        };

        for (int k = 0; k < 3; k++)
                if (!onnx_has(n, required[k]))
                        return onnx_invalid(im, n, "attribute %s is missing", required[k]);
        return onnx_choice(im, n, "mode", modes, NGRAMS_TERM, &p->mode) &&
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

static bool pool_check(struct onnx_import *im, const struct onnx_node *n, struct compose_ngrams *p)
{
        int64_t grams = 0, begin;

        if (!p->numbers || p->lengths < 1 || p->grams < 1)
                return onnx_invalid(
                        im, n,
                        "the pool, ngram_counts and ngram_indexes have %d, %d and %d values",
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
                int64_t count = compose_ngrams_of(p, k + 1, &begin);
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

/* The operand is [tokens], or [rows, tokens]. */
bool onnx_import_tf_idf_vectorizer(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int rank = value_rank(x);
        struct compose_ngrams p = { .outputs = 0 };

        struct value *keys;
        if (!onnx_want_rank(im, n, 0, 1, 2) || !attributes_read(im, n, &p) ||
            !texts_read(im, n, &p, &keys) || !pool_check(im, n, &p))
                return false;
        if (onnx_is_texts(x) != (keys != NULL))
                return onnx_invalid(im, n, "operand 0 is of %s, and the pool is not",
                                    element_info[value_element(x)].text);
        if (keys && !(x = compose_texts_find(im->c, onnx_texts_bytes(x), onnx_texts_bytes(keys),
                                             false)))
                return false;
        if (value_element(x) != E_I64 && value_element(x) != E_I32)
                return onnx_invalid(im, n, "operand 0 is of %s, want i32 or i64",
                                    element_info[value_element(x)].text);
        const dim_t dims[2] = { rank == 2 ? x->type->dims[0] : dim_of(1),
                                x->type->dims[rank - 1] },
                    result[2] = { dims[0], dim_of(p.outputs) };
        if (p.lengths > NGRAM_TOKENS_MAX)
                return onnx_unsupported(im, n, "n-grams of %d tokens", p.lengths);
        const struct type *to = compose_type(im->c, E_F32, 2, result);
        x = compose_reshape(im->c, compose_cast(im->c, x, E_I64), 2, dims);
        if (!to || !x)
                return false;
        struct value *y = compose_ngrams(im->c, &p, x);
        return onnx_output(
                n, 0,
                rank == 1 ? compose_reshape(im->c, y, 1, (const dim_t[]){ dim_of(p.outputs) }) : y);
}
