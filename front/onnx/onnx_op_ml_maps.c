/* SPDX-License-Identifier: MIT */
/* CastMap and DictVectorizer of ai.onnx.ml make a row of the values of a map. Where each value goes
 * is found out first, as numbers of entries; so values may be texts too. */
#include "front/onnx/onnx_ml.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_texts.h"

#include <string.h>

struct entries {
        struct value *keys, *values;
        int64_t entries;
};

static struct entries map_of(const struct onnx_node *n)
{
        int count;
        struct value *const *parts = onnx_sequence_items(n->inputs[0], &count);
        return (struct entries){ parts[0], parts[1], value_extent(parts[0], 0) };
}

/* Returns for each of `count` places the number of the entry whose index it is, or `entries` where
 * there is none. An index of `count` is none. */
static struct value *entries_at(struct compose *c, const struct entries *map, struct value *index,
                                int64_t count)
{
        const struct type *t = compose_type_static(c, E_I64, 1, (const int64_t[]){ count + 1 });
        struct value *none = t ? constant_number(c->m, t, (double)map->entries) : NULL;
        struct value *number = compose_iota(c, E_I64, map->entries);
        struct value *y =
                none && index ? compose_scatter(c, none, index, number, 0, SCATTER_REPLACE) : NULL;
        return y ? compose_part(c, y, 0, 0, count) : NULL;
}

/* Returns the values [1, count] of these entries, where no entry has `preset`, a row of the bytes
 * of texts, or 0 where it is NULL. */
static struct value *values_at(struct onnx_import *im, const struct entries *map,
                               struct value *entries, struct value *preset)
{
        struct compose *c = im->c;
        const bool texts = onnx_is_texts(map->values);
        struct value *rows = texts ? onnx_texts_bytes(map->values) : map->values;
        dim_t dims[3] = { dim_of(1), dim_of(1), dim_of(1) };

        if (!entries)
                return NULL;
        if (texts) {
                const int64_t width = compose_max(compose_texts_width(rows),
                                                  preset ? compose_texts_width(preset) : 1);
                rows = compose_fitted(c, rows, 1, width);
                preset = preset ? compose_fitted(c, preset, 1, width) : NULL;
                dims[1] = dim_of(width);
        }
        if (!preset)
                preset = constant_number(
                        im->m, type_tensor(im->m, rows->type->element, texts ? 2 : 1, dims), 0);
        struct value *all[2] = { rows, preset };
        rows = rows && preset ? compose_concat(c, all, 2, 0) : NULL;
        rows = rows ? build_gather(c->b, rows, entries, 0) : NULL;
        dims[2] = dims[1];
        dims[1] = entries->type->dims[0];
        rows = compose_reshape(c, rows, texts ? 3 : 2, dims);
        return texts ? onnx_texts_new(im, rows) : rows;
}

/* Returns the place of each key in the vocabulary, or `count`. Of equal words of it, the first is
 * meant. */
static struct value *places_of(struct onnx_import *im, const struct entries *map,
                               struct value *words, int64_t count)
{
        struct compose *c = im->c;
        if (onnx_is_texts(map->keys)) {
                struct value *at = compose_texts_find(c, onnx_texts_bytes(map->keys),
                                                      onnx_texts_bytes(words), false);
                return compose_below_zero(c, at, at ? build_like(c->b, at, (double)count) : NULL);
        }
        const dim_t column[2] = { dim_of(map->entries), dim_of(1) };
        struct value *same = compose_reshape(c, map->keys, 2, column);
        same = compose_binary(c, OP_eq, same, words);
        struct value *at = compose_select(c, same, compose_iota(c, E_I64, count),
                                          compose_integer(c, E_I64, count));
        return at ? compose_reduce(c, REDUCE_min, at, (const int64_t[]){ 1 }, 1, E_COMPUTE) : NULL;
}

/* Returns for each word of the vocabulary the place of the first equal one, as a constant; NULL
 * where all differ. */
static struct value *first_equal(struct onnx_import *im, const ProtobufCBinaryData *texts,
                                 const int64_t *numbers, int count)
{
        struct map *places = map_new(im->arena);
        int64_t *first = constant_room(im->m, (size_t)count * sizeof *first);
        bool differ = true;
        for (int i = 0; i < count; i++) {
                const char *bytes = texts ? (const char *)texts[i].data : (const char *)&numbers[i];
                const size_t length = texts ? texts[i].len : sizeof *numbers;
                const int64_t *before = map_get(places, bytes, length);
                first[i] = before ? *before : i;
                differ &= !before;
                if (!before)
                        map_set(places, bytes, length, &first[i]);
        }
        return differ ? NULL : constant_ints(im->m, first, count);
}

bool onnx_import_dict_vectorizer(struct onnx_import *im, struct onnx_node *n)
{
        const struct entries map = map_of(n);
        const bool by_text = onnx_is_texts(map.keys);
        const ProtobufCBinaryData *texts;
        const int64_t *numbers;
        int text_count, number_count;

        if (!onnx_strings(im, n, "string_vocabulary", &texts, &text_count) ||
            !onnx_ints(im, n, "int64_vocabulary", &numbers, &number_count))
                return false;
        const int count = by_text ? text_count : number_count;
        if (!count || text_count + number_count != count)
                return onnx_invalid(im, n, "%d texts and %d numbers for keys that are %s",
                                    text_count, number_count, by_text ? "texts" : "numbers");
        struct value *words =
                by_text ? onnx_texts_constant(im, "the vocabulary", 1, (const int64_t[]){ count },
                                              texts, (size_t)count, 0)
                        : constant_ints(im->m, numbers, count);
        struct value *index = words ? places_of(im, &map, words, count) : NULL;
        struct value *entries = entries_at(im->c, &map, index, count);
        struct value *first = first_equal(im, by_text ? texts : NULL, numbers, count);
        if (first && entries)
                entries = build_gather(&im->b, entries, first, 0);
        return onnx_output(n, 0, values_at(im, &map, entries, NULL));
}

bool onnx_import_cast_map(struct onnx_import *im, struct onnx_node *n)
{
        static const char *const targets[] = { "TO_FLOAT", "TO_STRING", "TO_INT64", NULL };
        static const enum element elements[] = { E_F32, E_STRING, E_I64 };
        static const char *const forms[] = { "DENSE", "SPARSE", NULL };
        static const char none[] = "0.f"; /* It is what onnxruntime puts where no text is. */
        struct entries map = map_of(n);
        struct compose *c = im->c;
        struct value *entries, *preset = NULL;
        int target, form;
        int64_t most;

        if (!onnx_choice(im, n, "cast_to", targets, 0, &target) ||
            !onnx_choice(im, n, "map_form", forms, 0, &form) ||
            !onnx_int_range(im, n, "max_map", 1, 1, NUMBER_MAX, &most))
                return false;
        const bool texts = elements[target] == E_STRING;
        if (onnx_is_texts(map.keys))
                return onnx_invalid(im, n, "keys that are texts");
        if (texts && !onnx_is_texts(map.values))
                return onnx_unsupported(im, n, "%s of numbers", targets[target]);
        if (!texts && onnx_is_texts(map.values))
                map.values =
                        compose_texts_numbers(c, onnx_texts_bytes(map.values), elements[target]);
        if (!map.values)
                return false;
        if (form) {
                /* Keys of max_map and more are left out. One below 0 fails, as an index. */
                const double beyond = (double)most + 1;
                struct value *index = compose_with(c, OP_min, map.keys, (double)most);
                index = compose_below_zero(c, index,
                                           index ? build_like(c->b, index, beyond) : NULL);
                entries = entries_at(c, &map, index, most);
        } else {
                entries = compose_argsort(c, map.keys, 0, 0, map.entries);
        }
        if (texts) {
                const ProtobufCBinaryData text = { sizeof none - 1, (uint8_t *)(uintptr_t)none };
                preset = onnx_texts_constant(im, "a text", 1, (const int64_t[]){ 1 }, &text, 1, 0);
                preset = preset ? onnx_texts_bytes(preset) : NULL;
        }
        struct value *y = values_at(im, &map, entries, preset);
        return onnx_output(n, 0, y && !texts ? compose_cast(c, y, elements[target]) : y);
}
