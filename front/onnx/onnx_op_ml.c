/* SPDX-License-Identifier: MIT */
/* This file imports Binarizer, ArrayFeatureExtractor, LabelEncoder and CategoryMapper of
 * ai.onnx.ml. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_texts.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_sort.h"
#include "front/compose/compose_texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool want_number(struct onnx_import *im, const struct onnx_node *n, int i)
{
        enum element e = value_element(n->inputs[i]);

        return e == E_F32 || e == E_F64 || e == E_I64 || e == E_I32 ||
               onnx_invalid(im, n, "operand %d is of %s, want f32, f64, i64 or i32", i,
                            element_info[e].text);
}

/* The result is 1 where x is above the threshold, else 0. Integers are above it where they are
 * above its floor. */
bool onnx_import_binarizer(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *above;
        float threshold;

        if (!want_number(im, n, 0) || !onnx_float(im, n, "threshold", 0, &threshold))
                return false;
        if (element_is_float(value_element(x))) {
                above = compose_with(im->c, OP_gt, x, threshold);
        } else {
                double least = value_element(x) == E_I64 ? -9223372036854775808.0 : INT32_MIN,
                       whole = floor((double)threshold);
                bool all = whole < least, none = !(whole < -least);
                struct value *level =
                        compose_integer(im->c, value_element(x), all || none ? 0 : (int64_t)whole);
                above = all || none ? constant_number(
                                              im->m, type_with_element(im->m, x->type, E_BOOL), all)
                                    : compose_binary(im->c, OP_gt, x, level);
        }
        return onnx_output(n, 0, compose_cast(im->c, above, value_element(x)));
}

/* Takes elements of the last axis, in the order of the indices, whatever shape these have; those of
 * a vector are one row. */
bool onnx_import_array_feature_extractor(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *at = n->inputs[1];
        int last = value_rank(x) - 1;
        dim_t dims[RANK_MAX];

        if (!want_number(im, n, 0) || !onnx_want_rank(im, n, 0, 1, RANK_MAX) ||
            !onnx_want_element(im, n, 1, E_I64))
                return false;
        int64_t count = type_elements(at->type), known = value_is_constant(at) ? count : 0;
        if (known && at->constant->kind == CONSTANT_SPLAT)
                known = 1;
        for (int64_t i = 0; i < known; i++) {
                int64_t index = constant_element(at->constant, i).i;
                if (index < 0 || index >= value_extent(x, last))
                        return onnx_invalid(im, n, "index %lld into an extent of %lld",
                                            (long long)index, (long long)value_extent(x, last));
        }
        at = compose_reshape(im->c, at, 1, (const dim_t[]){ dim_of(count) });
        if (at && !value_is_constant(at)) /* Negative indices do not count from the end. */
                at = compose_select(im->c, compose_with(im->c, OP_lt, at, 0),
                                    compose_integer(im->c, E_I64, value_extent(x, last)), at);
        for (int d = 0; d < last; d++)
                dims[d] = dim_of(value_extent(x, d));
        dims[last] = dim_of(count);
        if (!at || !compose_type(im->c, value_element(x), last + 1, dims))
                return false;
        x = build_gather(&im->b, x, at, last);
        return onnx_output(
                n, 0,
                last ? x
                     : compose_reshape(im->c, x, 2, (const dim_t[]){ dim_of(1), dim_of(count) }));
}

/* ---- LabelEncoder ---- */

/* This is a list of numbers, or of texts, that attributes give. */
struct list {
        enum element element;           /* It is E_STRING where there are texts. */
        int64_t count;
        union scalar *numbers;          /* Where it is NULL none is given. */
        const ProtobufCBinaryData *texts;
};

/* Reads a list that LabelEncoder has as attribute X_floats, X_int64s, X_strings or X_tensor. */
static bool list_read(struct onnx_import *im, struct onnx_node *n, const char *what,
                      struct list *list)
{
        const char *floats = arena_printf(im->arena, "%s_floats", what),
                   *integers = arena_printf(im->arena, "%s_int64s", what),
                   *texts = arena_printf(im->arena, "%s_strings", what),
                   *tensor = arena_printf(im->arena, "%s_tensor", what);
        int given = onnx_has(n, floats) + onnx_has(n, integers) + onnx_has(n, texts), count = 0;
        const float *f = NULL;
        const int64_t *i = NULL;
        struct value *constant = NULL;
        bool strings = false;

        if (n->opset >= 4 && onnx_has(n, tensor)) {
                const Onnx__AttributeProto *a = onnx_attribute(n, tensor);
                given++;
                strings = a->t && a->t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING;
                if (strings && a->t->n_dims > 1)
                        return onnx_invalid(im, n, "attribute '%s' is of rank %zu, want 1", tensor,
                                            a->t->n_dims);
                if (!strings && !onnx_tensor_attribute(im, n, tensor, &constant))
                        return false;
                if (strings)
                        *list = (struct list){ .element = E_STRING,
                                               .count = (int64_t)a->t->n_string_data,
                                               .texts = a->t->string_data };
        }
        if (given != 1)
                return onnx_invalid(im, n, "%d of %s, %s, %s and %s are given, want one", given,
                                    floats, integers, texts, tensor);
        if (onnx_has(n, texts)) {
                strings = true;
                if (!onnx_strings(im, n, texts, &list->texts, &count))
                        return false;
                *list = (struct list){ .element = E_STRING, .count = count, .texts = list->texts };
        }
        if (strings)
                return true;
        if (!onnx_floats(im, n, floats, &f, &count) ||
            (!f && !onnx_ints(im, n, integers, &i, &count)))
                return false;
        if (constant && value_rank(constant) > 1)
                return onnx_invalid(im, n, "attribute '%s' is of rank %d, want 1", tensor,
                                    value_rank(constant));
        list->count = constant ? type_elements(constant->type) : count;
        list->element = constant ? value_element(constant) : f ? E_F32 : E_I64;
        if (list->element != E_F32 && list->element != E_F64 && list->element != E_I64 &&
            list->element != E_I32 && list->element != E_I16)
                return onnx_invalid(im, n,
                                    "attribute '%s' is of %s, want f32, f64, i64, i32 or i16",
                                    tensor, element_info[list->element].text);
        list->numbers = arena_array(im->arena, (size_t)list->count + 1, sizeof *list->numbers);
        for (int64_t k = 0; k < list->count; k++)
                if (constant)
                        list->numbers[k] = constant_element(constant->constant, k);
                else if (f)
                        list->numbers[k].f = (double)f[k];
                else
                        list->numbers[k].i = i[k];
        return true;
}

/* Returns numbers of an element type as a constant vector. */
static struct value *table(struct onnx_import *im, enum element e, const union scalar *numbers,
                           int64_t count)
{
        unsigned char *data = constant_room(im->m, (size_t)(count * element_info[e].bytes));

        for (int64_t k = 0; k < count; k++)
                element_store(e, data, (size_t)k, numbers[k]);
        return constant_dense(im->m, type_static(im->m, e, 1, &count), data, NULL);
}

struct pair {
        union scalar key, value;
        int64_t order;
        bool whole;
};

static int by_key(const void *a, const void *b)
{
        const struct pair *x = a, *y = b;
        int keys = x->whole ? (x->key.i > y->key.i) - (x->key.i < y->key.i)
                            : (x->key.f > y->key.f) - (x->key.f < y->key.f);

        return keys ? keys : (x->order > y->order) - (x->order < y->order);
}

/* Sorts the pairs, without NaN and each key once, and returns how many there are. The pair of NaN
 * goes to *nan, where there is one. */
static int64_t pairs_sort(const struct list *keys, const struct list *values, bool last,
                          struct pair *pairs, struct pair *nan, bool *has_nan)
{
        bool whole = !element_is_float(keys->element);
        int64_t count = 0, kept = 0;

        *has_nan = false;
        for (int64_t k = 0; k < keys->count; k++) {
                struct pair p = { keys->numbers[k], values->numbers[k], k, whole };
                if (whole || !isnan(p.key.f))
                        pairs[count++] = p;
                else if (last || !*has_nan)
                        *nan = p;
                *has_nan |= !whole && isnan(p.key.f);
        }
        qsort(pairs, (size_t)count, sizeof *pairs, by_key);
        for (int64_t k = 0; k < count; k++) {
                bool again = kept && (whole ? pairs[kept - 1].key.i == pairs[k].key.i
                                            : pairs[kept - 1].key.f == pairs[k].key.f);
                if (!again)
                        pairs[kept++] = pairs[k];
                else if (last)
                        pairs[kept - 1].value = pairs[k].value;
        }
        return kept;
}

/* Reads the number that stands for operands that are no key. */
static bool preset_read(struct onnx_import *im, struct onnx_node *n, const struct list *values,
                        union scalar *preset)
{
        struct value *constant = NULL;
        int64_t whole;
        float number;

        if (!onnx_float(im, n, "default_float", -0.0F, &number) ||
            !onnx_int(im, n, "default_int64", -1, &whole) ||
            (n->opset >= 4 && !onnx_tensor_attribute(im, n, "default_tensor", &constant)))
                return false;
        bool is_float = element_is_float(values->element);
        if (onnx_has(n, "values_tensor")) { /* The others are for lists. */
                number = -0.0F;
                whole = -1;
        }
        if (is_float)
                preset->f = (double)number;
        else
                preset->i = whole;
        if (!constant)
                return true;
        if (value_element(constant) != values->element || type_elements(constant->type) != 1)
                return onnx_invalid(
                        im, n, "attribute 'default_tensor' is %s, want one element of %s",
                        compose_text(im->c, constant->type), element_info[values->element].text);
        *preset = constant_element(constant->constant, 0);
        return true;
}

/* Returns the texts of a list with the one that stands for operands that are no key behind them. */
static struct value *text_table(struct onnx_import *im, struct onnx_node *n,
                                const struct list *values)
{
        static const char preset[] = "_Unused";
        const ProtobufCBinaryData *given;
        ProtobufCBinaryData *all =
                arena_array(im->arena, (size_t)values->count + 1, sizeof *all);
        const Onnx__AttributeProto *tensor = onnx_attribute(n, "default_tensor");
        const int64_t extent = values->count + 1;
        int count;
        if (!onnx_strings(im, n, "default_string", &given, &count))
                return NULL;
        if (values->count)
                memcpy(all, values->texts, (size_t)values->count * sizeof *all);
        all[values->count] = (ProtobufCBinaryData){ sizeof preset - 1, (uint8_t *)preset };
        if (count && !onnx_has(n, "values_tensor"))
                all[values->count] = *given;
        if (tensor) {
                if (!tensor->t || tensor->t->n_string_data != 1) {
                        onnx_invalid(im, n, "attribute 'default_tensor' is no text");
                        return NULL;
                }
                all[values->count] = tensor->t->string_data[0];
        }
        struct value *texts = onnx_texts_constant(im, "the values", 1, &extent, all,
                                                  (size_t)extent, 0);
        return texts ? onnx_texts_bytes(texts) : NULL;
}

/* Returns the values of keys that are texts, and the preset of others. */
static struct value *of_texts(struct onnx_import *im, struct value *x, const struct list *keys,
                              const struct list *values, bool last, const union scalar *preset)
{
        union scalar *all = arena_array(im->arena, (size_t)values->count + 1, sizeof *all);
        struct value *texts = onnx_texts_constant(im, "the keys", 1, &keys->count, keys->texts,
                                                  (size_t)keys->count, 0);
        if (!texts)
                return NULL;
        struct value *at =
                compose_texts_find(im->c, onnx_texts_bytes(x), onnx_texts_bytes(texts), last);
        if (values->count)
                memcpy(all, values->numbers, (size_t)values->count * sizeof *all);
        all[values->count] = *preset;
        at = compose_below_zero(im->c, at, compose_integer(im->c, E_I64, values->count));
        return at ? build_gather(&im->b, table(im, values->element, all, values->count + 1), at, 0)
                  : NULL;
}

/* Makes of each text that is one of `count` its number (of numbers, or how many are before it), and
 * of a number the text; of others default_int64, or default_string. Of equal ones the last
 * counts. */
static bool import_mapping(struct onnx_import *im, struct onnx_node *n,
                           const ProtobufCBinaryData *texts, const int64_t *numbers, int count)
{
        struct value *x = n->inputs[0];
        union scalar *all = arena_array(im->arena, (size_t)count + 1, sizeof *all), preset;
        int64_t other;
        for (int k = 0; k < count; k++)
                all[k].i = numbers ? numbers[k] : k;
        const struct list words = { .element = E_STRING, .count = count, .texts = texts },
                          values = { .element = E_I64, .count = count, .numbers = all };
        if (!onnx_int(im, n, "default_int64", -1, &other))
                return false;
        preset.i = other;
        struct value *table_of_texts = text_table(im, n, &words);
        if (!table_of_texts)
                return false;
        if (onnx_is_texts(x))
                return onnx_output(n, 0, of_texts(im, x, &words, &values, true, &preset));
        if (!onnx_want_element(im, n, 0, E_I64))
                return false;
        struct pair *pairs = arena_array(im->arena, (size_t)count + 1, sizeof *pairs), nan;
        union scalar *order = arena_array(im->arena, (size_t)count + 1, sizeof *order);
        for (int k = 0; k < count; k++)
                order[k].i = k;
        const struct list places = { .element = E_I64, .count = count, .numbers = order };
        bool has_nan;
        const int64_t kept = pairs_sort(&values, &places, true, pairs, &nan, &has_nan);
        struct value *y = constant_number(im->m, x->type, -1);
        if (kept) {
                for (int64_t k = 0; k < kept; k++) {
                        all[k] = pairs[k].key;
                        order[k] = pairs[k].value;
                }
                struct value *sorted = table(im, E_I64, all, kept);
                struct value *at = compose_last_not_above(im->c, x, sorted);
                struct value *key = at ? build_gather(&im->b, sorted, at, 0) : NULL;
                struct value *found =
                        at ? build_gather(&im->b, table(im, E_I64, order, kept), at, 0) : NULL;
                y = compose_select(im->c, compose_binary(im->c, OP_eq, key, x), found, y);
        }
        return onnx_output(n, 0,
                           onnx_texts_new(im, compose_texts_pick(im->c, table_of_texts, y)));
}

/* Numbers of texts are their places in a list. */
static bool import_first_encoder(struct onnx_import *im, struct onnx_node *n)
{
        const ProtobufCBinaryData *classes;
        int count;
        if (!onnx_strings(im, n, "classes_strings", &classes, &count))
                return false;
        return import_mapping(im, n, classes, NULL, count);
}

/* Makes of each number or text that is in one list the one of another list. Where a key stands
 * twice, the first counts before opset 4, then the last. Texts of the second list are chosen by
 * their numbers. */
bool onnx_import_label_encoder(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        struct list keys, values;
        struct value *texts = NULL;
        bool has_nan;
        union scalar preset;
        struct pair nan;

        if (n->opset < 2)
                return import_first_encoder(im, n);
        if (!list_read(im, n, "keys", &keys) || !list_read(im, n, "values", &values))
                return false;
        if (values.element == E_STRING) {
                if (!(texts = text_table(im, n, &values)))
                        return false;
                values.element = E_I64;
                values.numbers = arena_array(im->arena, (size_t)values.count + 1,
                                             sizeof *values.numbers);
                for (int64_t k = 0; k < values.count; k++)
                        values.numbers[k].i = k;
                preset.i = -1;
                onnx_attribute(n, "default_int64");       /* They are for other lists. */
                onnx_attribute(n, "default_float");
        } else {
                onnx_attribute(n, "default_string");
                if (!preset_read(im, n, &values, &preset))
                        return false;
        }
        if (keys.count != values.count || keys.element != value_element(x))
                return onnx_invalid(im, n, "%lld keys of %s and %lld values for an operand of %s",
                                    (long long)keys.count, element_info[keys.element].text,
                                    (long long)values.count, element_info[value_element(x)].text);
        if (keys.element == E_STRING) {
                struct value *y = of_texts(im, x, &keys, &values, n->opset >= 4, &preset);
                return texts ? onnx_output(n, 0, onnx_texts_new(
                                                         im, compose_texts_pick(im->c, texts, y)))
                             : onnx_output(n, 0, y);
        }
        struct pair *pairs = arena_array(im->arena, (size_t)keys.count + 1, sizeof *pairs);
        int64_t count = pairs_sort(&keys, &values, n->opset >= 4, pairs, &nan, &has_nan);
        struct value *y = table(im, values.element, &preset, 1);
        y = compose_spread(im->c, compose_reshape(im->c, y, 0, NULL), x->type, NULL);
        if (count > INT32_MAX)
                return onnx_unsupported(im, n, "%lld keys", (long long)count);
        if (count) {
                for (int64_t k = 0; k < count; k++) {
                        keys.numbers[k] = pairs[k].key;
                        values.numbers[k] = pairs[k].value;
                }
                struct value *sorted = table(im, keys.element, keys.numbers, count);
                struct value *at = compose_last_not_above(im->c, x, sorted);
                struct value *found =
                        at ? build_gather(&im->b, table(im, values.element, values.numbers, count),
                                          at, 0)
                           : NULL;
                struct value *key = at ? build_gather(&im->b, sorted, at, 0) : NULL;
                y = compose_select(im->c, compose_binary(im->c, OP_eq, key, x), found, y);
        }
        if (has_nan) {
                struct value *other =
                        compose_reshape(im->c, table(im, values.element, &nan.value, 1), 0, NULL);
                y = compose_select(im->c, compose_binary(im->c, OP_ne, x, x), other, y);
        }
        if (texts)
                return onnx_output(n, 0,
                                   onnx_texts_new(im, compose_texts_pick(im->c, texts, y)));
        return onnx_output(n, 0, y);
}

bool onnx_import_category_mapper(struct onnx_import *im, struct onnx_node *n)
{
        const ProtobufCBinaryData *texts;
        const int64_t *numbers;
        int count, number_count;
        if (!onnx_strings(im, n, "cats_strings", &texts, &count) ||
            !onnx_ints(im, n, "cats_int64s", &numbers, &number_count))
                return false;
        if (count != number_count || !count)
                return onnx_invalid(im, n, "%d texts and %d numbers", count, number_count);
        return import_mapping(im, n, texts, numbers, count);
}
