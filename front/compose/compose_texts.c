/* SPDX-License-Identifier: MIT */
/* What texts have in common, as operations on their bytes. */
#include "front/compose/compose_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

#include <stdlib.h>
#include <string.h>

/* Returns x with its last extent kept as 1, of the shape of x's texts. */
static struct value *with_last(struct compose *c, struct value *x)
{
        dim_t dims[RANK_MAX];
        if (!x)
                return NULL;
        memcpy(dims, x->type->dims, (size_t)value_rank(x) * sizeof *dims);
        dims[value_rank(x)] = dim_of(1);
        return compose_reshape(c, x, value_rank(x) + 1, dims);
}

struct value *compose_texts_length(struct compose *c, struct value *x)
{
        const int64_t last = x ? value_rank(x) - 1 : 0;
        struct value *there = x ? compose_with(c, OP_ne, x, 0) : NULL;
        return compose_reduce(c, REDUCE_sum, compose_cast(c, there, E_I32), &last, 1, E_COMPUTE);
}

struct value *compose_texts_equal(struct compose *c, struct value *x, struct value *y)
{
        if (!x || !y)
                return NULL;
        const int64_t width = compose_max(compose_texts_width(x), compose_texts_width(y));
        struct value *both[2] = { compose_fitted(c, x, value_rank(x) - 1, width), NULL };
        both[1] = compose_fitted(c, y, value_rank(y) - 1, width);
        if (!compose_broadcast(c, both, 2))
                return NULL;
        struct value *equal = compose_binary(c, OP_eq, both[0], both[1]);
        const int64_t last = value_rank(both[0]) - 1;
        return compose_reduce(c, REDUCE_min, equal, &last, 1, E_COMPUTE);
}

struct value *compose_texts_concat(struct compose *c, struct value *x, struct value *y)
{
        const int64_t width = compose_texts_width(x) + compose_texts_width(y);
        struct value *both[2] = { compose_fitted(c, x, value_rank(x) - 1, width), NULL };
        both[1] = compose_fitted(c, y, value_rank(y) - 1, width);
        if (!compose_broadcast(c, both, 2))
                return NULL;
        const int last = value_rank(both[0]) - 1;
        const struct type *places = type_with_element(c->m, both[0]->type, E_I32);
        struct value *length = with_last(c, compose_texts_length(c, both[0]));
        struct value *at = sub(c, build_iota(c->b, places, last), length);
        struct value *behind = compose_with(c, OP_ge, at, 0);
        at = compose_with(c, OP_max, at, 0);
        struct value *other = at ? compose_gather_elements(c, both[1], at, last) : NULL;
        return compose_select(c, behind, other, both[0]);
}

struct value *compose_texts_shift(struct compose *c, struct value *x, int64_t by)
{
        const int rank = x ? value_rank(x) : 1, last = rank - 1;
        int64_t low[RANK_MAX] = { 0 };
        if (!x)
                return NULL;
        low[last] = -by;
        return compose_pad(c, x, build_scalar(c->b, E_U8, 0), constant_ints(c->m, low, rank),
                           PAD_CONSTANT, x->type);
}

struct value *compose_texts_parts(struct compose *c, struct value *x, struct value *start,
                                  struct value *length)
{
        if (!x || !start || !length)
                return NULL;
        const int rank = value_rank(start);
        const int64_t width = compose_texts_width(x), parts = value_extent(start, rank - 1);
        dim_t dims[RANK_MAX + 1];
        if (rank >= RANK_MAX) {
                compose_unsupported(c, "texts of rank %d", rank);
                return NULL;
        }
        memcpy(dims, start->type->dims, (size_t)rank * sizeof *dims);
        dims[rank] = dim_of(width);
        const struct type *bytes = compose_type(c, E_U8, rank + 1, dims);
        if (!bytes)
                return NULL;
        const struct type *places = type_with_element(c->m, bytes, E_I32);
        struct value *column = build_iota(c->b, places, rank);
        struct value *inside = compose_binary(c, OP_lt, column, with_last(c, length));
        struct value *at = add(c, column, with_last(c, start));
        at = clamp(c, at, 0, (double)width - 1);
        dims[rank - 1] = dim_of(parts * width);
        at = compose_reshape(c, at, rank, dims);
        struct value *found = at ? compose_gather_elements(c, x, at, rank - 1) : NULL;
        found = compose_reshape(c, found, rank + 1, bytes->dims);
        return found ? compose_select(c, inside, found, build_like(c->b, found, 0)) : NULL;
}

struct value *compose_texts_pick(struct compose *c, struct value *table, struct value *indices)
{
        if (!table || !indices)
                return NULL;
        const int64_t last = value_extent(table, 0) - 1;
        struct value *at = compose_below_zero(
                c, indices, compose_integer(c, value_element(indices), last));
        return at ? build_gather(c->b, table, at, 0) : NULL;
}

/* ---- keys ---- */

struct key { uint64_t hash; int64_t number; };

static int by_hash(const void *a, const void *b)
{
        const struct key *x = a, *y = b;
        if (x->hash != y->hash)
                return x->hash < y->hash ? -1 : 1;
        return (x->number > y->number) - (x->number < y->number);
}

/* The hash of a text is the sum of its bytes, each times a power of an odd multiplier, modulo 2^64:
 * zeros behind the text do not count. */
static uint64_t hash_of(const unsigned char *text, int64_t width, uint64_t multiplier)
{
        uint64_t hash = 0, power = multiplier;
        for (int64_t k = 0; k < width; k++, power *= multiplier)
                hash += text[k] * power;
        return hash;
}

/* Sorts the keys by a hash that tells all of them apart, each of equal ones once, and sets
 * *multiplier. Returns how many there are, or -1 after an error. */
static int64_t keys_sort(struct compose *c, const unsigned char *texts, int64_t count,
                         int64_t width, bool last, struct key *keys, uint64_t *multiplier)
{
        enum { TRIES = 16 };
        *multiplier = UINT64_C(0x9e3779b97f4a7c15);
        for (int t = 0; t < TRIES; t++, *multiplier = *multiplier * 6364136223846793005u + 2) {
                int64_t kept = 0;
                bool good = true;
                for (int64_t k = 0; k < count; k++)
                        keys[k] = (struct key){ hash_of(texts + k * width, width, *multiplier), k };
                qsort(keys, (size_t)count, sizeof *keys, by_hash);
                for (int64_t k = 0; k < count && good; k++) {
                        const bool again = kept && keys[kept - 1].hash == keys[k].hash;
                        good = !again || !memcmp(texts + keys[kept - 1].number * width,
                                                 texts + keys[k].number * width, (size_t)width);
                        if (!again)
                                keys[kept++] = keys[k];
                        else if (last)
                                keys[kept - 1] = keys[k];
                }
                if (good)
                        return kept;
        }
        compose_unsupported(c, "%lld keys with equal hashes", (long long)count);
        return -1;
}

/* Returns the hash of each text, u64 [shape]. */
static struct value *hashes(struct compose *c, struct value *x, uint64_t multiplier)
{
        const int64_t width = compose_texts_width(x), last = value_rank(x) - 1;
        uint64_t *powers = constant_room(c->m, (size_t)width * sizeof *powers), power = multiplier;
        for (int64_t k = 0; k < width; k++, power *= multiplier)
                powers[k] = power;
        struct value *table =
                constant_dense(c->m, type_static(c->m, E_U64, 1, &width), powers, NULL);
        struct value *terms = mul(c, compose_cast(c, x, E_U64), table);
        return compose_reduce(c, REDUCE_sum, terms, &last, 1, E_COMPUTE);
}

struct value *compose_texts_find(struct compose *c, struct value *x, struct value *keys, bool last)
{
        if (!x || !keys)
                return NULL;
        const int64_t count = value_extent(keys, 0), width = compose_texts_width(keys);
        const struct type *found = type_tensor(c->m, E_I64, value_rank(x) - 1, x->type->dims);
        if (!count || !type_elements(found))
                return constant_number(c->m, found, -1);
        unsigned char *texts = arena_alloc(c->arena, (size_t)(count * width) + 1);
        const bool splat = keys->constant->kind == CONSTANT_SPLAT;
        for (int64_t k = 0; k < count * width; k++)
                texts[k] = ((const unsigned char *)constant_data(keys->constant))[splat ? 0 : k];
        struct key *sorted = arena_array(c->arena, (size_t)count, sizeof *sorted);
        uint64_t multiplier;
        const int64_t kept = keys_sort(c, texts, count, width, last, sorted, &multiplier);
        if (kept < 0)
                return NULL;
        uint64_t *hash = constant_room(c->m, (size_t)kept * sizeof *hash);
        int64_t *number = constant_room(c->m, (size_t)kept * sizeof *number);
        unsigned char *rows = constant_room(c->m, (size_t)(kept * width));
        for (int64_t k = 0; k < kept; k++) {
                hash[k] = sorted[k].hash;
                number[k] = sorted[k].number;
                memcpy(rows + k * width, texts + number[k] * width, (size_t)width);
        }
        struct value *hash_table =
                constant_dense(c->m, type_static(c->m, E_U64, 1, &kept), hash, NULL);
        struct value *at = compose_last_not_above(c, hashes(c, x, multiplier), hash_table);
        struct value *row_table = constant_dense(
                c->m, type_static(c->m, E_U8, 2, (const int64_t[]){ kept, width }), rows, NULL);
        struct value *row = at ? build_gather(c->b, row_table, at, 0) : NULL;
        struct value *equal = compose_texts_equal(c, x, row);
        struct value *numbers =
                constant_dense(c->m, type_static(c->m, E_I64, 1, &kept), number, NULL);
        struct value *which = at ? build_gather(c->b, numbers, at, 0) : NULL;
        return which ? compose_select(c, equal, which, compose_integer(c, E_I64, -1)) : NULL;
}
