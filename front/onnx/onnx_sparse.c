/* SPDX-License-Identifier: MIT */
/* Sparse tensors become sparse constants (ir/sparse.h). Places are numbers of elements, [count], or
 * indices, [count, rank], in ascending order, as the standard wants them. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

struct sparse_tensor {
        struct onnx_import *im;
        const char *what;
        struct value *values; /* It is [count]. */
        const struct value *places;     /* It is [count], or [count, rank]. */
        int64_t count, elements;
        const int64_t *dims;
        int rank;
};

static bool sparse_error(const struct sparse_tensor *s, const char *text)
{
        return onnx_error(s->im, "%s: %s", s->what, text);
}

static bool shape_check(struct sparse_tensor *s, int64_t *bytes)
{
        const int64_t limit = s->im->context->limits.sparse_bytes;
        for (int d = 0; d < s->rank; d++)
                if (s->dims[d] < 1)
                        return onnx_error(s->im,
                                          "%s: extent %" PRId64 " of dimension %d, want at least 1",
                                          s->what, s->dims[d], d);
        int64_t width = element_info[s->values->type->element].bytes;
        if (!size_elements(s->dims, s->rank, &s->elements) || !int_mul(s->elements, width, bytes))
                return sparse_error(s, "its extents are too large");
        if (sparse_is_too_large(*bytes, type_bytes(s->values->type) + type_bytes(s->places->type),
                                limit))
                return onnx_over_limit(s->im,
                                       arena_printf(s->im->arena,
                                                    "%s: %" PRId64 " bytes when it is dense",
                                                    s->what, *bytes),
                                       "sparse_bytes", limit);
        return *bytes <= s->im->context->limits.tensor_bytes ||
               onnx_over_limit(s->im,
                               arena_printf(s->im->arena, "%s: %" PRId64 " bytes when it is dense",
                                            s->what, *bytes),
                               "tensor_bytes", s->im->context->limits.tensor_bytes);
}

/* Returns the number of the element that entry i is, or -1 where there is none. */
static int64_t place_of(const struct sparse_tensor *s, int64_t i)
{
        int parts = s->places->type->rank == 1 ? 1 : s->rank;
        int64_t at = 0;
        for (int d = 0; d < parts; d++) {
                int64_t index = (int64_t)constant_element(s->places->constant, i * parts + d).u,
                        extent = parts == 1 ? s->elements : s->dims[d];
                if (index < 0 || index >= extent)
                        return -1;
                at = parts == 1 ? index : at * extent + index;
        }
        return at;
}

/* Returns the indices of entry i as the file has them: 7, or 0, 1, 3. */
static const char *place_text(const struct sparse_tensor *s, int64_t i)
{
        const int parts = s->places->type->rank == 1 ? 1 : s->rank;
        const char *text = "";
        for (int d = 0; d < parts; d++)
                text = arena_printf(
                        s->im->arena, "%s%s%" PRId64, text, d ? ", " : "",
                        (int64_t)constant_element(s->places->constant, i * parts + d).u);
        return text;
}

static bool places_read(const struct sparse_tensor *s, int64_t *places)
{
        for (int64_t i = 0; i < s->count; i++)
                places[i] = place_of(s, i);
        const int64_t wrong = sparse_first_wrong(places, s->count, s->elements);
        if (wrong == s->count)
                return true;
        return onnx_error(s->im, "%s: index %" PRId64 ", [%s], is %s%s", s->what, wrong,
                          place_text(s, wrong), sparse_fault(places, wrong, s->elements),
                          places[wrong] < 0 ? " of its shape" : "");
}

/* Returns the values, which the file may hold once where they are equal. */
static const void *values_of(const struct sparse_tensor *s)
{
        const struct constant *c = s->values->constant;
        const size_t each = (size_t)element_info[s->values->type->element].bytes;
        if (c->kind != CONSTANT_SPLAT || s->count < 2)
                return constant_data(c);
        char *all = constant_room(s->im->m, (size_t)s->count * each);
        for (int64_t i = 0; i < s->count; i++)
                memcpy(all + (size_t)i * each, constant_data(c), each);
        return all;
}

/* Makes *s of t's parts. *skipped says why they cannot be read, which is no error. */
static bool parts_read(struct sparse_tensor *s, const Onnx__SparseTensorProto *t,
                       const char **skipped)
{
        struct value *values = NULL, *places = NULL;
        if (!t->values || !t->indices)
                return sparse_error(s, t->values ? "no indices" : "no values");
        if (!onnx_tensor_read(s->im, t->values, s->what, &values, skipped))
                return false;
        if (!values)
                return true;
        if (!onnx_tensor_read(s->im, t->indices,
                              arena_printf(s->im->arena, "indices of %s", s->what), &places,
                              skipped))
                return false;
        if (values->type->element == E_STRING)
                return sparse_error(s, "its values are texts");
        s->values = values;
        s->places = places;
        s->dims = t->dims;
        s->rank = t->n_dims <= RANK_MAX ? (int)t->n_dims : RANK_MAX + 1;
        if (values->type->rank != 1 || !places || places->type->element != E_I64)
                return sparse_error(s, "want values of one dimension, and indices of i64");
        s->count = type_extent(values->type, 0);
        bool listed = places->type->rank == 1 && dim_is(places->type->dims[0], s->count),
             indexed = places->type->rank == 2 && dim_is(places->type->dims[0], s->count) &&
                       dim_is(places->type->dims[1], s->rank);
        return (s->rank >= 1 && s->rank <= RANK_MAX && (listed || indexed)) ||
               onnx_error(s->im, "%s: indices are %s for %" PRId64 " values of rank %zu", s->what,
                          type_text(s->im->arena, s->im->m, places->type), s->count, t->n_dims);
}

bool onnx_sparse_read(struct onnx_import *im, const Onnx__SparseTensorProto *t, const char *what,
                      struct value **value, const char **why)
{
        struct sparse_tensor s = { .im = im, .what = what };
        int64_t bytes = 0;
        *value = NULL;
        *why = NULL;
        if (!parts_read(&s, t, why))
                return false;
        if (*why)
                return true;
        if (!shape_check(&s, &bytes))
                return false;
        int64_t *places = constant_room(im->m, (size_t)s.count * sizeof *places);
        if (!places_read(&s, places))
                return false;
        *value = constant_sparse(im->m, type_static(im->m, s.values->type->element, s.rank, s.dims),
                                 s.count, places, values_of(&s), NULL);
        (*value)->constant->name = s.values->constant->name; /* It is the name of both. */
        s.values->constant->name = NULL;
        return true;
}
