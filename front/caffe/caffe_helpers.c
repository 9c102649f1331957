/* SPDX-License-Identifier: MIT */
#include "front/caffe/caffe_helpers.h"

#include <string.h>

#include "base/text.h"

int caffe_axis(struct caffe_import *im, int64_t axis, int rank)
{
        if (axis >= -rank && axis < rank)
                return (int)(axis < 0 ? axis + rank : axis);
        caffe_invalid(im, "axis %lld of %d", (long long)axis, rank);
        return -1;
}

/* ---- weights ---- */

bool caffe_weights(struct caffe_import *im, struct caffe_layer *n, int count)
{
        return caffe_read_blobs(im, n) &&
               (n->blob_count == count ||
                caffe_invalid(im, "%d tensors of weights, want %d", n->blob_count, count));
}

/* Sets the extents that the file states, with those of 1 in front left out. Returns their number,
 * or -1 where a number is wrong. */
static int stated_extents(const Caffe__BlobProto *p, int64_t *extents)
{
        enum { OLD_RANK = 4 };
        const int64_t old[OLD_RANK] = { p->num, p->channels, p->height, p->width };
        const bool has_old = p->has_num || p->has_channels || p->has_height || p->has_width;
        const size_t count = has_old ? OLD_RANK : p->shape ? p->shape->n_dim : 0;
        const int64_t *from = has_old ? old : p->shape ? p->shape->dim : NULL;
        int rank = 0;
        for (size_t i = 0; i < count; i++) {
                if (!rank && from[i] == 1)
                        continue;
                if (rank == RANK_MAX || from[i] < 0)
                        return -1;
                extents[rank++] = from[i];
        }
        return rank;
}

static const char *extents_text(struct caffe_import *im, int rank, const int64_t *extents)
{
        const char *text = rank ? "" : "1";
        for (int d = 0; d < rank; d++)
                text = arena_printf(im->arena, "%s%s%lld", text, d ? " x " : "",
                                    (long long)extents[d]);
        return text;
}

/* Checks that the file states the extents that are wanted, apart from those of 1 in front. */
static bool check_extents(struct caffe_import *im, const Caffe__BlobProto *p, int i, int rank,
                          const int64_t *extents)
{
        int64_t stated[RANK_MAX];
        const int has = stated_extents(p, stated);
        int first = 0;
        while (first < rank && extents[first] == 1)
                first++;
        if (has < 0)
                return caffe_invalid(im, "weights %d have a wrong shape", i);
        bool same = has == rank - first;
        for (int d = 0; d < has && same; d++)
                same = stated[d] == extents[first + d];
        return same || caffe_invalid(im, "weights %d are %s, want %s", i,
                                     extents_text(im, has, stated),
                                     extents_text(im, rank, extents));
}

/* Returns the numbers, which live as long as the module, or NULL after an error. */
static const void *numbers_of(struct caffe_import *im, const struct caffe_layer *n, int i,
                              int64_t count)
{
        const Caffe__BlobProto *p = n->blobs[i];
        const size_t bytes = (size_t)count * sizeof(float);
        const int forms = (p->n_data > 0) + (p->n_double_data > 0) + (int)p->n_long_data;
        if (p->has_raw_data_type) {
                caffe_unsupported(im, "weights %d are in a form of NVIDIA's (raw_data)", i);
                return NULL;
        }
        if (forms > 1) {
                caffe_unsupported(im, "weights %d are in several pieces", i);
                return NULL;
        }
        const ProtobufCBinaryData *raw = p->n_long_data ? &n->long_data[p->long_data[0]] : NULL;
        const int64_t found = caffe_blob_numbers(n, i);
        if (found != count || (raw && raw->len != bytes)) {
                caffe_invalid(im, "weights %d have %lld numbers, want %lld", i, (long long)found,
                              (long long)count);
                return NULL;
        }
        if (raw)                        /* They stay where they lie in the file. */
                return wire_numbers(im->m, raw->data, bytes, sizeof(float));
        if (p->n_data)
                return bytes < CONSTANT_LARGE ? arena_copy(im->m->arena, p->data, bytes)
                                              : p->data;
        float *numbers = constant_room(im->m, bytes ? bytes : 1);
        for (int64_t k = 0; k < count; k++)
                numbers[k] = (float)p->double_data[k];
        return numbers;
}

struct value *caffe_weight(struct caffe_import *im, struct caffe_layer *n, int i, int rank,
                           const int64_t *extents)
{
        const struct type *t = compose_type_static(im->c, E_F32, rank, extents);
        if (!t || !check_extents(im, n->blobs[i], i, rank, extents))
                return NULL;
        const void *numbers = numbers_of(im, n, i, type_elements(t));
        return numbers ? constant_dense(im->m, t, numbers,
                                        arena_printf(im->m->arena, "%s.%d", n->name, i))
                       : NULL;
}

/* ---- inputs ---- */

int caffe_extents(struct caffe_import *im, const Caffe__BlobShape *shape, int64_t *extents)
{
        if (shape->n_dim > RANK_MAX) {
                caffe_invalid(im, "a shape of %zu dimensions, at most %d are supported",
                              shape->n_dim, RANK_MAX);
                return -1;
        }
        for (size_t d = 0; d < shape->n_dim; d++)
                extents[d] = shape->dim[d];
        return (int)shape->n_dim;
}

/* Finds the extents of --input for this name, the last one of several. */
static const char *stated_shape(struct caffe_import *im, const char *name)
{
        const size_t length = strlen(name);
        for (int i = im->options->input_count - 1; i >= 0; i--) {
                const char *option = im->options->inputs[i], *equal = strrchr(option, '=');
                if (equal && (size_t)(equal - option) == length && !strncmp(option, name, length))
                        return equal + 1;
        }
        return NULL;
}

struct value *caffe_add_input(struct caffe_import *im, const char *name, int rank,
                              const int64_t *extents)
{
        const char *stated = stated_shape(im, name),
                   *safe = text_safe(im->arena, name, strlen(name));
        int64_t bound[RANK_MAX];
        if (stated) {
                if ((rank = import_extents(stated, bound)) < 0) {
                        caffe_usage(im, "--input", arena_printf(im->arena, "%s=%s", name, stated),
                                    "want extents, as in NAME=1x3x8x8");
                        return NULL;
                }
                extents = bound;
        }
        if (rank < 0) {
                caffe_error(im,
                            "input '%s' has no shape: " DIAG_HINT(
                                    "add --input %s=1x3x224x224") " with its extents",
                            safe, safe);
                return NULL;
        }
        for (int d = 0; d < rank; d++)
                if (extents[d] < 1) {
                        caffe_error(im, "input '%s' has the extent %lld", safe,
                                    (long long)extents[d]);
                        return NULL;
                }
        const struct type *t = compose_type_static(im->c, E_F32, rank, extents);
        return t ? function_add_input(im->f, name, t) : NULL;
}
