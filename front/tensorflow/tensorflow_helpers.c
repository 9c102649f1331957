/* SPDX-License-Identifier: MIT */
#include "front/tensorflow/tensorflow_helpers.h"

#include <string.h>

struct tf_tensor *tf_make(struct tf_import *im, struct tf_node *n, int i)
{
        while (n->output_count <= i) {
                ARENA_GROW(im->arena, n->outputs, n->output_count);
                n->outputs[n->output_count++] = (struct tf_tensor){ 0 };
        }
        n->outputs[i].made = true;
        return &n->outputs[i];
}

bool tf_output(struct tf_import *im, struct tf_node *n, int i, struct value *v)
{
        if (v)
                tf_make(im, n, i)->value = v;
        return v != NULL;
}

bool tf_ints(struct tf_import *im, const struct tf_node *n, int i, int64_t *ints, int room,
             int *count)
{
        struct value *v = tf_input(n, i);
        if (v && value_rank(v) == 1 && value_extent(v, 0) == 0) {
                *count = 0;
                return true;
        }
        if (v && value_rank(v) == 1 && value_extent(v, 0) > room)
                return tf_invalid(im, "operand %d has %lld numbers, want at most %d", i,
                                  (long long)value_extent(v, 0), room);
        if (v && !value_ints(v, ints, room, count)) {
                struct value *wide = value_rank(v) < 2 ? compose_cast(im->c, v, E_I64) : NULL;
                if (!wide || !value_ints(wide, ints, room, count))
                        return tf_unsupported(im, "operand %d (%s) is not constant", i,
                                              compose_text(im->c, v->type));
        }
        return v || tf_invalid(im, "operand %d is missing", i);
}

bool tf_one_int(struct tf_import *im, const struct tf_node *n, int i, int64_t *number)
{
        int count;
        return tf_ints(im, n, i, number, 1, &count) &&
               (count == 1 || tf_invalid(im, "operand %d has %d numbers, want one", i, count));
}

int tf_axis(struct tf_import *im, int64_t axis, int rank)
{
        if (axis >= -rank && axis < rank)
                return (int)(axis < 0 ? axis + rank : axis);
        tf_invalid(im, "axis %lld in a tensor of rank %d", (long long)axis, rank);
        return -1;
}

bool tf_axes(struct tf_import *im, const struct tf_node *n, int i, int rank, int64_t *axes,
             int *count)
{
        int64_t stated[RANK_MAX];
        bool taken[RANK_MAX] = { false };
        int given;
        if (!tf_ints(im, n, i, stated, RANK_MAX, &given))
                return false;
        for (int k = 0; k < given; k++) {
                const int axis = tf_axis(im, stated[k], rank);
                if (axis < 0)
                        return false;
                taken[axis] = true;
        }
        *count = 0;
        for (int d = 0; d < rank; d++)
                if (taken[d])
                        axes[(*count)++] = d;
        return true;
}

bool tf_want_rank(struct tf_import *im, const struct tf_node *n, int i, int rank)
{
        const int has = value_rank(n->inputs[i].value);
        return has == rank || tf_invalid(im, "operand %d is of rank %d, want %d", i, has, rank);
}

bool tf_want_floats(struct tf_import *im, const struct tf_node *n, int i)
{
        const struct type *t = n->inputs[i].value->type;
        return element_is_float(t->element) ||
               tf_unsupported(im, "operand %d is %s", i, compose_text(im->c, t));
}

/* ---- images ---- */

int tf_channels_first(struct tf_import *im, const struct tf_node *n, int rank)
{
        static const char *const flat[] = { "NHWC", "NCHW", NULL };
        static const char *const deep[] = { "NDHWC", "NCDHW", NULL };
        return tf_word(im, n, "data_format", rank == 5 ? deep : flat, 0);
}

struct value *tf_image(struct tf_import *im, const struct tf_node *n, int i, int rank, bool *first)
{
        const int format = tf_channels_first(im, n, rank);
        struct value *x = n->inputs[i].value;
        if (format < 0 || !tf_want_rank(im, n, i, rank))
                return NULL;
        *first = format == 1;
        return *first ? x : tf_to_front(im, x);
}

struct value *tf_as_image(struct tf_import *im, struct value *y, bool first)
{
        return !y || first ? y : tf_to_back(im, y);
}

bool tf_spatial(struct tf_import *im, const struct tf_node *n, const char *name, bool first,
                int rank, int64_t *numbers)
{
        const Tf__AttrList *list = tf_list(n, name);
        const int channel = first ? 1 : rank - 1;
        for (int d = 0; d < rank - 2; d++)
                numbers[d] = 1;
        if (!list || !list->n_i)
                return true;
        if (list->n_i != (size_t)rank)
                return tf_invalid(im, "%s has %zu numbers, want %d", name, list->n_i, rank);
        if (list->i[0] != 1 || list->i[channel] != 1)
                return tf_unsupported(im, "%s of %lld along the batch and %lld along channels",
                                      name, (long long)list->i[0], (long long)list->i[channel]);
        for (int d = 0; d < rank - 2; d++) {
                numbers[d] = list->i[d + 1 + first];
                if (numbers[d] < 1 || numbers[d] > NUMBER_MAX)
                        return tf_invalid(im, "%s has %lld", name, (long long)numbers[d]);
        }
        return true;
}

bool tf_window(struct tf_import *im, const struct tf_node *n, bool first, int rank,
               struct compose_window *w)
{
        static const char *const words[] = { "SAME", "VALID", "EXPLICIT", NULL };
        static const int pads[] = { PAD_SAME_UPPER, PAD_VALID, PAD_NOTSET };
        const int padding = tf_word(im, n, "padding", words, 1);
        *w = (struct compose_window){ .rank = rank - 2 };
        if (padding < 0)
                return false;
        w->auto_pad = pads[padding];
        if (!tf_spatial(im, n, "strides", first, rank, w->strides) ||
            !tf_spatial(im, n, "dilations", first, rank, w->dilations))
                return false;
        if (w->auto_pad != PAD_NOTSET)
                return true;
        const Tf__AttrList *list = tf_list(n, "explicit_paddings");
        if (!list || list->n_i != 2 * (size_t)rank)
                return tf_invalid(im, "explicit_paddings has %zu numbers, want %d",
                                  list ? list->n_i : 0, 2 * rank);
        for (int d = 0; d < rank; d++) {
                const int at = first ? d - 2 : d - 1;
                const int64_t low = list->i[2 * d], high = list->i[2 * d + 1];
                if (low < 0 || high < 0 || low > NUMBER_MAX || high > NUMBER_MAX)
                        return tf_invalid(im, "explicit_paddings has %lld", (long long)low);
                if (at >= 0 && at < rank - 2) {
                        w->pads[at] = low;
                        w->pads[at + rank - 2] = high;
                } else if (low || high) {
                        return tf_invalid(im, "explicit_paddings of the batch or of channels");
                }
        }
        return true;
}

struct value *tf_permuted(struct tf_import *im, struct value *w, const int64_t *perm)
{
        dim_t dims[RANK_MAX];
        if (!w)
                return NULL;
        for (int d = 0; d < value_rank(w); d++)
                dims[d] = w->type->dims[d];
        if (!value_is_constant(w) || w->constant->kind == CONSTANT_SPLAT)
                return compose_transpose(im->c, w, perm);
        return constant_packed(im->m, w->constant, dims, value_rank(w), dims, perm);
}
