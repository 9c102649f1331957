/* SPDX-License-Identifier: MIT */
/* Weights that a run gives are transformed there, G w H^T of all windows at once as a product: the
 * matrix of G's and H's products, a row for each element, by the taps as channels. A window's taps
 * move behind each other, and what the product makes lies as transformed constants do:
 *
 *   w [P, B, 3, 3, I, V, L]  transpose  [P * B * I, 1, 1, 9, V, L]
 *   convolve_packed([1, 1, 36, 9], that)  [36, P, B * I, V, L]
 *
 * The product is a convolve_packed whose outputs are all channels of all outputs. */
#include "ir/tensor/ops.h"
#include "passes/layout/winograd_weights.h"

#include <string.h>

/* A panel of w is `parts` panels of the result, or, where that is wider, `parts` panels are one. */
struct repanelled { bool wider; int64_t parts; };

static bool repanelled(const struct type *w, int64_t outputs, int64_t width, struct repanelled *r)
{
        const int64_t vectors = type_extent(w, w->rank - 2),
                      run = vectors * type_extent(w, w->rank - 1);
        r->wider = width > run;
        r->parts = r->wider ? width / run : run / width;
        return outputs % width == 0 && type_extent(w, 0) * run == outputs &&
               (r->wider ? width % run : run % width) == 0 &&
               (r->wider ? type_extent(w, 0) % r->parts : vectors % r->parts) == 0;
}

bool winograd_is_computable(const struct op *packed, int64_t width)
{
        const struct type *w = op_operand(packed, 1)->type, *y = op_result(packed)->type;
        struct repanelled r;
        return w->element == E_F32 && w->rank < RANK_MAX && op_all_ones(packed, "strides") &&
               type_is_static(w) && op_int(packed, "channels") == type_extent(w, 1) *
                                            type_extent(w, w->rank - 3) &&
               repanelled(w, type_extent(y, 1) * type_extent(y, y->rank - 1), width, &r);
}

/* Returns w as [panels * channels, 1, 1, taps, vectors, lanes]. */
static struct value *by_taps(struct builder *b, struct value *w, const struct repanelled *r,
                             int64_t taps)
{
        dim_t dims[RANK_MAX];
        int64_t perm[RANK_MAX], panels = type_extent(w->type, 0), count = 0;
        const int rank = w->type->rank + 1, spatial = rank - 6;
        const int64_t vectors = type_extent(w->type, rank - 3),
                      lanes = type_extent(w->type, rank - 2);
        /* The dimension of parts stands behind the panels, or in front of the vectors. */
        const int part = r->wider ? 1 : rank - 3, shift = r->wider ? 1 : 0,
                  inner = 2 + spatial + shift;
        for (int d = 0, k = 0; d < rank; d++)
                dims[d] = d == part ? dim_of(r->parts) : w->type->dims[k++];
        if (r->wider)
                dims[0] = dim_of(panels / r->parts);
        else
                dims[rank - 2] = dim_of(vectors / r->parts);
        perm[count++] = 0;
        if (!r->wider)
                perm[count++] = part;
        perm[count++] = 1 + shift;
        perm[count++] = inner;
        for (int d = 0; d < spatial; d++)
                perm[count++] = 2 + shift + d;
        if (r->wider)
                perm[count++] = part;
        perm[count++] = rank - 2;
        perm[count++] = rank - 1;
        w = build_transpose(b, build_reshape(b, w, rank, dims), perm);
        const int64_t many = r->wider ? vectors * r->parts : vectors / r->parts;
        if (!w)
                return NULL;
        const dim_t flat[] = { dim_of(type_elements(w->type) / (taps * many * lanes)), dim_of(1),
                               dim_of(1), dim_of(taps), dim_of(many), dim_of(lanes) };
        return build_reshape(b, w, 6, flat);
}

/* Returns [1, 1, elements, taps]: by how much each tap counts in each element. */
static struct value *matrix(struct module *m, const struct winograd_square *f, int64_t taps)
{
        const struct winograd *down = &f->along[0], *across = &f->along[1];
        const dim_t dims[] = { dim_of(1), dim_of(1), dim_of(f->elements), dim_of(taps) };
        const struct type *type = type_tensor(m, E_F32, 4, dims);
        float *to = constant_room(m, (size_t)type_bytes(type)), *all = to;
        for (int a = 0; a < down->size; a++)
                for (int c = 0; c < across->size; c++)
                        for (int i = 0; i < down->window; i++)
                                for (int j = 0; j < across->window; j++)
                                        *to++ = (float)(down->weights[a][i] *
                                                        across->weights[c][j]);
        return constant_dense(m, type, all, NULL);
}

struct value *winograd_compute(struct builder *b, const struct op *packed,
                               const struct winograd_weights *w, int64_t outputs, int64_t width)
{
        struct value *x = op_operand(packed, 1);
        const int64_t taps = w->taps[0] * w->taps[1],
                      lanes = type_extent(x->type, x->type->rank - 1);
        struct repanelled r;
        if (!repanelled(x->type, outputs, width, &r))
                return NULL;
        struct value *operands[] = { matrix(b->m, &w->f, taps), by_taps(b, x, &r, taps) };
        struct attr *attrs = attrs_new(b->m, OP_convolve_packed);
        attr_set(attrs, OP_convolve_packed, "channels", taps);
        attr_set(attrs, OP_convolve_packed, "outputs", outputs * w->channels);
        attr_set(attrs, OP_convolve_packed, "block", outputs * w->channels);
        struct value *u = operands[1] ? value_build(b, OP_convolve_packed, operands, 2, attrs, NULL)
                                      : NULL;
        const dim_t dims[] = { dim_of(w->f.elements), dim_of(outputs / width), dim_of(w->channels),
                               dim_of(width / lanes), dim_of(lanes) };
        return build_reshape(b, u, 5, dims);
}
