/* SPDX-License-Identifier: MIT */
/* Constants that the file has in fewer bytes are expanded: numbers of 4 or 2 bits, of which the
 * first one in a byte has the lowest bits, and sparse tensors.
 *
 * A sparse tensor is stored level by level, a level for each dimension and, where it is stored in
 * blocks, one for each dimension of a block:
 *
 *      dense   entry p of the level above has `size` entries, numbers p * size, ..
 *      sparse  entry p has those from segments[p] to segments[p + 1] (left out), and indices[entry]
 *              says where an entry lies; indices of one p rise
 *
 * An entry of the last level is the number of an element in the data. */
#include "front/tflite/tflite.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"

/* A sparse tensor may become so many times as large without counting against the limit. */
enum { LEVELS_MAX = 2 * RANK_MAX, DENSE_FACTOR = 64 };

/* ---- numbers of 4 and of 2 bits ---- */

static const unsigned char *unpacked(struct tflite_import *im, const struct tflite_tensor *t)
{
        const int each = 8 / t->packed_bits, sign = 1 << (t->packed_bits - 1);
        const int64_t count = type_elements(t->type), bytes = count / each + (count % each != 0);
        if (t->data.count != bytes) {
                tflite_error(im,
                             "tensor '%s' is %s of %d bits and has %" PRId64
                             " bytes of data, want %" PRId64,
                             t->safe, compose_text(im->c, t->type), t->packed_bits, t->data.count,
                             bytes);
                return NULL;
        }
        unsigned char *to = arena_array(im->m->arena, (size_t)count + 1, 1);
        for (int64_t i = 0; i < count; i++) {
                const int from = t->packed_bits * (int)(i % each),
                          number = t->data.data[i / each] >> from & (2 * sign - 1);
                to[i] = (unsigned char)((number ^ sign) - sign);
        }
        return to;
}

/* ---- sparse tensors ---- */

struct level {
        bool is_sparse;
        int64_t extent;                 /* Coordinates are below it. */
        int64_t stride;                 /* So many elements lie between two coordinates. */
        struct flat_span segments, indices;
        int segment_bytes, index_bytes; /* These are the sizes of their numbers. */
        int64_t entries;                /* So many there are, of all entries above. */
        int64_t at, end;                /* They are the entry at hand and that behind the last. */
        int64_t parent;
};

static bool damaged(struct tflite_import *im, const struct tflite_tensor *t, const char *what)
{
        return tflite_error(im, "sparse tensor '%s': %s", t->safe, what);
}

static int64_t number_of(const struct flat_span *v, int bytes, int64_t i)
{
        int64_t number = 0;
        for (int k = bytes - 1; k >= 0; k--)
                number = number << 8 | v->data[i * bytes + k];
        return number; /* One that is negative is too large. */
}

/* Reads the numbers of a table of one of the three kinds. */
static bool read_numbers(struct tflite_import *im, const struct tflite_tensor *t, int64_t kind,
                         int64_t at, struct flat_span *numbers, int *bytes)
{
        enum { INT32S = 1, UINT16S, UINT8S };
        struct tflite_Int32Vector words;
        struct tflite_Uint16Vector halves;
        struct tflite_Uint8Vector small;
        bool ok = at != 0;
        if (ok && kind == INT32S &&
            (ok = flat_read(&im->file, &tflite_info_Int32Vector, at, &words)))
                *numbers = words.values, *bytes = 4;
        else if (ok && kind == UINT16S &&
                 (ok = flat_read(&im->file, &tflite_info_Uint16Vector, at, &halves)))
                *numbers = halves.values, *bytes = 2;
        else if (ok && kind == UINT8S &&
                 (ok = flat_read(&im->file, &tflite_info_Uint8Vector, at, &small)))
                *numbers = small.values, *bytes = 1;
        else
                return im->diag->errors ? false : damaged(im, t, "segments or indices are missing");
        return true;
}

/* Reads what the file says of a level, whose extent and stride are known. */
static bool read_level(struct tflite_import *im, const struct tflite_tensor *t, int64_t at,
                       int64_t above, struct level *l)
{
        struct tflite_DimensionMetadata d;
        if (!flat_read(&im->file, &tflite_info_DimensionMetadata, at, &d))
                return false;
        l->is_sparse = d.format == 1;
        if (!l->is_sparse) {
                if (d.dense_size != l->extent)
                        return damaged(im, t,
                                       "the extents of its levels are not those of its shape");
                l->entries = above * l->extent;
                return true;
        }
        if (!read_numbers(im, t, d.array_segments_type, d.array_segments, &l->segments,
                          &l->segment_bytes) ||
            !read_numbers(im, t, d.array_indices_type, d.array_indices, &l->indices,
                          &l->index_bytes))
                return false;
        l->entries = l->indices.count;
        if (l->segments.count != above + 1)
                return damaged(im, t, "the segments of a level are not those of the one above");
        if (number_of(&l->segments, l->segment_bytes, 0))
                return damaged(im, t, "the first segment does not begin with the first index");
        int64_t last = 0;
        for (int64_t p = 1; p <= above; p++) {
                const int64_t from = number_of(&l->segments, l->segment_bytes, p);
                if (from < last || from > l->entries)
                        return damaged(im, t, "segments do not rise");
                for (int64_t i = last; i < from; i++) {
                        const int64_t index = number_of(&l->indices, l->index_bytes, i);
                        if (index >= l->extent ||
                            (i > last && index <= number_of(&l->indices, l->index_bytes, i - 1)))
                                return damaged(im, t, "indices do not rise, or lie outside");
                }
                last = from;
        }
        return last == l->entries ||
               damaged(im, t, "the last segment does not end with the last index");
}

/* Finds the extents of levels and how far apart their coordinates lie. */
static bool find_levels(struct tflite_import *im, const struct tflite_tensor *t,
                        const struct tflite_SparsityParameters *s, struct level *levels, int *count)
{
        const int rank = t->type->rank;
        int64_t strides[RANK_MAX + 1], block[RANK_MAX], sizes[LEVELS_MAX];
        bool seen[LEVELS_MAX] = { false };
        const int64_t blocks = s->block_map.count, all = s->dim_metadata.count;
        if (!rank || all != rank + blocks || blocks > rank || s->traversal_order.count != all)
                return damaged(im, t, "its levels are not those of its shape");
        *count = (int)all;
        for (int d = rank - 1, step = 1; d >= 0; d--) {
                strides[d] = d == rank - 1 ? step : strides[d + 1] * type_extent(t->type, d + 1);
                block[d] = 1;
        }
        for (int i = 0; i < *count; i++) {
                const int32_t which = flat_i32(&s->traversal_order, i);
                struct tflite_DimensionMetadata m;
                int64_t at;
                if (which < 0 || which >= *count || seen[which])
                        return damaged(im, t, "its order of levels is none");
                seen[which] = true;
                if (!flat_element(&im->file, &s->dim_metadata, i, &at) ||
                    !flat_read(&im->file, &tflite_info_DimensionMetadata, at, &m))
                        return false;
                sizes[which] = m.dense_size;
                levels[i].parent = which; /* It is the dimension, until levels are walked. */
        }
        for (int b = 0; b < blocks; b++) {
                const int32_t d = flat_i32(&s->block_map, b);
                if (d < 0 || d >= rank || block[d] != 1 || sizes[rank + b] < 1 ||
                    type_extent(t->type, d) % sizes[rank + b])
                        return damaged(im, t, "its blocks do not fill its shape");
                block[d] = sizes[rank + b];
        }
        for (int i = 0; i < *count; i++) {
                const int which = (int)levels[i].parent;
                const int d = which < rank ? which : flat_i32(&s->block_map, which - rank);
                levels[i].extent = which < rank ? type_extent(t->type, d) / block[d] : block[d];
                levels[i].stride = which < rank ? strides[d] * block[d] : strides[d];
        }
        return true;
}

/* Begins level i below entry `parent` of the one above. */
static void begin_level(struct level *l, int64_t parent)
{
        l->parent = parent;
        l->at = l->is_sparse ? number_of(&l->segments, l->segment_bytes, parent)
                             : parent * l->extent;
        l->end = l->is_sparse ? number_of(&l->segments, l->segment_bytes, parent + 1)
                              : l->at + l->extent;
}

/* Returns where the level's entry at hand lies among elements. */
static int64_t place(const struct level *l)
{
        return l->stride * (l->is_sparse ? number_of(&l->indices, l->index_bytes, l->at)
                                         : l->at - l->parent * l->extent);
}

static void walk(const struct tflite_tensor *t, struct level *levels, int count, unsigned char *to)
{
        const size_t bytes = (size_t)element_info[t->type->element].bytes;
        int i = 0;
        begin_level(&levels[0], 0);
        while (i >= 0) {
                struct level *l = &levels[i];
                if (l->at == l->end) {
                        if (--i >= 0)
                                levels[i].at++;
                        continue;
                }
                if (i + 1 < count) {
                        begin_level(&levels[++i], l->at);
                        continue;
                }
                int64_t element = 0;
                for (int k = 0; k < count; k++)
                        element += place(&levels[k]);
                memcpy(to + (size_t)element * bytes, t->data.data + (size_t)l->at * bytes, bytes);
                l->at++;
        }
}

/* Checks that the tensor does not become much larger than the `held` bytes that the file has. */
static bool check_size(struct tflite_import *im, const struct tflite_tensor *t, int64_t held)
{
        const int64_t limit = im->context->limits.sparse_bytes, bytes = type_bytes(t->type);
        int64_t allowed;
        if (!int_mul(held, DENSE_FACTOR, &held) || !int_add(held, limit, &allowed))
                allowed = INT64_MAX;
        return bytes <= allowed || tflite_over_limit(im,
                                                     arena_printf(im->arena,
                                                                  "sparse tensor '%s': %" PRId64
                                                                  " bytes when it is dense",
                                                                  t->safe, bytes),
                                                     "sparse_bytes", limit);
}

static const unsigned char *expanded(struct tflite_import *im, const struct tflite_tensor *t)
{
        struct tflite_SparsityParameters s;
        struct level levels[LEVELS_MAX] = { { 0 } };
        int count = 0;
        if (!flat_read(&im->file, &tflite_info_SparsityParameters, t->sparsity, &s) ||
            !find_levels(im, t, &s, levels, &count))
                return NULL;
        int64_t entries = 1, held = t->data.count;
        for (int i = 0; i < count; i++) {
                int64_t at;
                if (!flat_element(&im->file, &s.dim_metadata, i, &at) ||
                    !read_level(im, t, at, entries, &levels[i]))
                        return NULL;
                entries = levels[i].entries;
                held += levels[i].indices.count * levels[i].index_bytes;
        }
        if (t->data.count != entries * element_info[t->type->element].bytes) {
                damaged(im, t, "it has not as many numbers as its levels say");
                return NULL;
        }
        if (!check_size(im, t, held))
                return NULL;
        unsigned char *to = arena_array(im->m->arena, (size_t)type_bytes(t->type) + 1, 1);
        walk(t, levels, count, to);
        return to;
}

const unsigned char *tflite_expanded(struct tflite_import *im, const struct tflite_tensor *t)
{
        return t->sparsity ? expanded(im, t) : unpacked(im, t);
}
