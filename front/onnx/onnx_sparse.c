/* SPDX-License-Identifier: MIT */
/* Sparse tensors become dense constants, with their values at their places, and zeros elsewhere.
 * Places are numbers of elements, [count], or indices, [count, rank], in ascending order, as the
 * standard wants them. */
#include "front/onnx/onnx_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

/* A sparse tensor of so many bytes may be 64 times as large when it is dense, without counting
 * against the limit. */
enum { DENSE_FACTOR = 64 };

struct sparse {
        struct onnx_import *im;
        const char *what;
        const struct value *values;     /* It is [count]. */
        const struct value *places;     /* It is [count], or [count, rank]. */
        int64_t count;
        const int64_t *dims;
        int rank;
};

static bool sparse_error(const struct sparse *s, const char *text)
{
        return onnx_error(s->im, "%s: %s", s->what, text);
}

static bool shape_check(const struct sparse *s, int64_t *bytes)
{
        int64_t elements, held, allowed, limit = s->im->context->limits.sparse_bytes;
        for (int d = 0; d < s->rank; d++)
                if (s->dims[d] < 1)
                        return onnx_error(s->im,
                                          "%s: extent %" PRId64 " of dimension %d, want at least 1",
                                          s->what, s->dims[d], d);
        int64_t width = element_info[s->values->type->element].bytes;
        if (!size_elements(s->dims, s->rank, &elements) || !int_mul(elements, width, bytes))
                return sparse_error(s, "its extents are too large");
        held = type_bytes(s->values->type) + type_bytes(s->places->type);
        if (!int_mul(held, DENSE_FACTOR, &held) || !int_add(held, limit, &allowed))
                allowed = INT64_MAX;
        if (*bytes > allowed)
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
static int64_t place_of(const struct sparse *s, int64_t i)
{
        int parts = s->places->type->rank == 1 ? 1 : s->rank;
        int64_t at = 0, elements = 1;
        for (int d = 0; d < s->rank; d++)
                elements *= s->dims[d];
        for (int d = 0; d < parts; d++) {
                int64_t index = (int64_t)constant_element(s->places->constant, i * parts + d).u,
                        extent = parts == 1 ? elements : s->dims[d];
                if (index < 0 || index >= extent)
                        return -1;
                at = parts == 1 ? index : at * extent + index;
        }
        return at;
}

static bool fill(const struct sparse *s, unsigned char *data)
{
        size_t width = (size_t)element_info[s->values->type->element].bytes;
        const unsigned char *values = s->values->constant->data;
        size_t step = s->values->constant->kind == CONSTANT_SPLAT ? 0 : width;
        int64_t before = -1;
        for (int64_t i = 0; i < s->count; i++) {
                int64_t at = place_of(s, i);
                if (at <= before)
                        return onnx_error(s->im, "%s: place %" PRId64 " is %s", s->what, i,
                                          at < 0 ? "outside of its shape"
                                                 : "not behind the one before");
                memcpy(data + (size_t)at * width, values + (size_t)i * step, width);
                before = at;
        }
        return true;
}

/* Makes *s of t's parts. *skipped says why they cannot be read, which is no error. */
static bool parts_read(struct sparse *s, const Onnx__SparseTensorProto *t, const char **skipped)
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
        struct sparse s = { .im = im, .what = what };
        int64_t bytes = 0;
        *value = NULL;
        *why = NULL;
        if (!parts_read(&s, t, why))
                return false;
        if (*why)
                return true;
        if (!shape_check(&s, &bytes))
                return false;
        unsigned char *data = constant_room(im->m, (size_t)bytes);
        memset(data, 0, (size_t)bytes);
        if (!fill(&s, data))
                return false;
        const char *name = t->values->name.len ? onnx_string(im->arena, t->values->name) : NULL;
        *value = constant_dense(
                im->m, type_static(im->m, s.values->type->element, s.rank, s.dims),
                data, name);
        return true;
}
