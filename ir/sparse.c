/* SPDX-License-Identifier: MIT */
#include "ir/sparse.h"

#include <string.h>

#include "base/size.h"
#include "base/store.h"

int64_t sparse_first_wrong(const int64_t *positions, int64_t count, int64_t elements)
{
        for (int64_t i = 0, before = -1; i < count; i++) {
                if (positions[i] <= before || positions[i] >= elements)
                        return i;
                before = positions[i];
        }
        return count;
}

const char *sparse_fault(const int64_t *positions, int64_t i, int64_t elements)
{
        if (positions[i] < 0 || positions[i] >= elements)
                return "outside";
        return i && positions[i] == positions[i - 1] ? "twice" : "out of order";
}

int64_t sparse_bytes(const struct sparse *s)
{
        return s->count * (int64_t)((size_t)element_info[s->element].bytes + sizeof *s->positions);
}

bool sparse_is_too_large(int64_t bytes, int64_t held, int64_t limit)
{
        int64_t allowed;
        return int_mul(held, SPARSE_FACTOR, &allowed) && int_add(allowed, limit, &allowed) &&
               bytes > allowed;
}

const void *sparse_find(const struct sparse *s, int64_t element)
{
        int64_t from = 0, to = s->count;
        if (s->dense)
                return (const char *)s->dense + element * element_info[s->element].bytes;
        while (from < to) {
                int64_t middle = from + (to - from) / 2;
                if (s->positions[middle] < element)
                        from = middle + 1;
                else
                        to = middle;
        }
        return from < s->count && s->positions[from] == element
                       ? (const char *)s->values + from * element_info[s->element].bytes
                       : NULL;
}

const void *sparse_dense(struct sparse *s)
{
        if (s->dense)
                return s->dense;
        const size_t each = (size_t)element_info[s->element].bytes;
        char *data = store_alloc(s->store, (size_t)s->elements * each);
        memset(data, 0, (size_t)s->elements * each);
        for (int64_t i = 0; i < s->count; i++)
                memcpy(data + (size_t)s->positions[i] * each,
                       (const char *)s->values + (size_t)i * each, each);
        return s->dense = data;
}

void sparse_keep(const struct sparse *s, struct store *store)
{
        store_keep(store, s->positions, (size_t)s->count * sizeof *s->positions);
        store_keep(store, s->values, (size_t)(s->count * element_info[s->element].bytes));
        if (s->dense)
                store_keep(store, s->dense, (size_t)(s->elements * element_info[s->element].bytes));
}
