/* SPDX-License-Identifier: MIT */
/* Queries, keys and values are one product of integers; then softmax(scale q k' + mask) v is
 * computed in floats. */
#include "front/compose/compose_attention.h"

#include <float.h>
#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_softmax.h"

struct attention {
        const struct compose_attention_quantized *in;
        int64_t size;                   /* It is a head's extent. */
        dim_t batch, steps, past;       /* `past` counts the keys before the call's own. */
        dim_t keys;                     /* They are those and the call's own. */
};

static bool operands_fit(struct compose *c, const struct compose_attention_quantized *in,
                         struct attention *a)
{
        const struct value *x = in->x.numbers, *w = in->w.numbers, *past = in->past;
        const int64_t columns = value_extent(w, 1);

        if (value_extent(w, 0) != value_extent(x, 2) || columns % 3 || columns / 3 % in->heads ||
            columns < 1)
                return compose_invalid(c, "an input %s by weights %s for %lld heads",
                                       compose_text(c, x->type), compose_text(c, w->type),
                                       (long long)in->heads);
        *a = (struct attention){ .in = in,
                                 .batch = x->type->dims[0],
                                 .steps = x->type->dims[1],
                                 .size = columns / 3 / in->heads,
                                 .past = past && value_rank(past) == 5 ? past->type->dims[3]
                                                                       : dim_of(0) };
        a->keys = dim_binary(c->m, DIM_ADD, a->past, a->steps);
        const dim_t held[5] = { dim_of(2), a->batch, dim_of(in->heads), a->past, dim_of(a->size) };
        const struct type *t = past ? compose_type(c, value_element(in->bias), 5, held) : NULL;
        if (past && past->type != t)
                return t && compose_invalid(c, "past is %s, want %s", compose_text(c, past->type),
                                            compose_text(c, t));
        const dim_t scores[4] = { a->batch, dim_of(in->heads), a->steps, a->keys };
        return compose_type(c, E_F32, 4, scores) != NULL;
}

/* Returns part 0 (queries), 1 (keys) or 2 (values) of the projection y, [batch, steps, 3 * heads
 * * size], as [batch, heads, steps, size]. */
static struct value *part_by_heads(struct compose *c, const struct attention *a, struct value *y,
                                   int part)
{
        const int64_t width = a->in->heads * a->size, starts[3] = { 0, 0, part * width },
                      ones[3] = { 1, 1, 1 }, perm[4] = { 0, 2, 1, 3 };

        y = y ? build_slice(c->b, y, starts, ones,
                            (const dim_t[]){ a->batch, a->steps, dim_of(width) })
              : NULL;
        y = compose_reshape(c, y, 4,
                            (const dim_t[]){ a->batch, a->steps, dim_of(a->in->heads),
                                             dim_of(a->size) });
        return compose_transpose(c, y, perm);
}

/* Returns x behind the past keys (part 0) or values (part 1). */
static struct value *behind_past(struct compose *c, const struct attention *a, struct value *x,
                                 int part)
{
        struct value *past = a->in->past;

        if (!past || !x)
                return x;
        past = compose_wide(c, compose_pick(c, past, 0, part));
        return past ? build_concat(c->b, (struct value *[]){ past, x }, 2, 2) : NULL;
}

/* Returns how many bounds of keys a mask of `extent` numbers has for each sequence: 1 or 2; 0 where
 * it has none. */
static int64_t bounds_of(struct compose *c, dim_t extent, dim_t batch)
{
        return dim_equal(extent, batch)                                           ? 1
               : dim_equal(extent, dim_binary(c->m, DIM_MUL, dim_of(2), batch)) ? 2
                                                                                  : 0;
}

/* Finds which scores the mask hides, over t, which is [batch, steps, keys]: keys behind an end and
 * before a start of each sequence, or where the mask is 0. *hidden is NULL where the mask hides
 * none. */
static bool hidden_keys(struct compose *c, struct value *mask, const struct type *t,
                        struct value **hidden)
{
        *hidden = NULL;
        if (!mask)
                return true;
        const dim_t *d = mask->type->dims, batch = t->dims[0], keys = t->dims[2];
        const int rank = value_rank(mask);
        const int64_t ends = rank == 1 ? bounds_of(c, d[0], batch) : 0;
        if (ends) {
                const struct type *ints = type_with_element(c->m, t, E_I32);
                struct value *key = build_iota(c->b, ints, 2);
                mask = compose_reshape(
                        c, mask, 2,
                        (const dim_t[]){ dim_of(dim_is(batch, 0) ? 0 : ends), batch });
                for (int64_t i = 0; mask && i < value_extent(mask, 0); i++) {
                        struct value *bound = compose_pick(c, mask, 0, i);
                        bound = compose_binary(
                                c, i ? OP_lt : OP_ge, key,
                                compose_spread(c, bound, ints, (const int64_t[]){ 0 }));
                        *hidden = *hidden ? compose_binary(c, OP_or, *hidden, bound) : bound;
                }
                return *hidden || dim_is(batch, 0);
        }
        bool fits = (rank == 2 && dim_equal(d[0], batch) && dim_equal(d[1], keys)) ||
                    (rank == 3 && dim_equal(d[0], batch) && dim_equal(d[1], t->dims[1]) &&
                     dim_equal(d[2], keys));
        if (!fits && rank == 2 && dim_is(d[1], 1) && (dim_equal(d[0], batch) || dim_is(d[0], 1)))
                return true; /* The mask has one number for all keys, which changes no share. */
        if (!fits && rank == 4)
                return compose_unsupported(c, "a mask of rank 4");
        if (!fits)
                return compose_invalid(c, "the mask is %s for scores of %s",
                                       compose_text(c, mask->type), compose_text(c, t));
        const int64_t dims[2][3] = { { 0, 2 }, { 0, 1, 2 } };
        *hidden = compose_spread(c, compose_with(c, OP_le, mask, 0), t, dims[rank - 2]);
        return *hidden != NULL;
}

bool compose_attention_filter(struct compose *c, struct value *mask, const dim_t each[3],
                              double filter, struct value **added)
{
        const dim_t scores[4] = { each[0], dim_of(1), each[1], each[2] };
        const struct type *t = type_tensor(c->m, E_F32, 3, each);
        struct value *hidden;

        *added = NULL;
        if (!hidden_keys(c, mask, t, &hidden))
                return false;
        if (!hidden)
                return true;
        *added = compose_reshape(c,
                                 compose_select(c, hidden, constant_number(c->m, t, filter),
                                                constant_number(c->m, t, 0)),
                                 4, scores);
        return *added != NULL;
}

/* Makes what is added to scores, over [batch, heads, steps, keys]. *mask is NULL where nothing is
 * added. */
static bool mask_of(struct compose *c, const struct attention *a, struct value **mask)
{
        const dim_t dims[4] = { a->batch, dim_of(a->in->heads), a->steps, a->keys },
                    each[3] = { dims[0], dims[2], dims[3] };
        const bool causal = a->in->causal && !dim_is(a->steps, 0) && !dim_is(a->steps, 1);
        const struct type *t = type_tensor(c->m, E_F32, 3, each);
        struct value *hidden, *zero = constant_number(c->m, t, 0);

        *mask = NULL;
        if (!hidden_keys(c, a->in->mask, t, &hidden))
                return false;
        if (hidden)
                *mask = compose_select(c, hidden, constant_number(c->m, t, a->in->filter), zero);
        if (causal) {
                const struct type *square = type_tensor(c->m, E_I64, 2, dims + 2);
                struct value *past = compose_extent(c, a->past);
                struct value *row = add(c, build_iota(c->b, square, 0), past);
                struct value *ahead = compose_binary(c, OP_lt, row, build_iota(c->b, square, 1));
                ahead = compose_spread(c, ahead, t, (const int64_t[]){ 1, 2 });
                *mask = compose_select(c, ahead, constant_number(c->m, t, -(double)FLT_MAX),
                                       *mask ? *mask : zero);
        }
        if (!*mask)
                return !hidden && !causal;
        *mask = compose_spread(c, *mask, type_tensor(c->m, E_F32, 4, dims),
                               (const int64_t[]){ 0, 2, 3 });
        return *mask != NULL;
}

struct value *compose_attention_present(struct compose *c, struct value *k, struct value *v,
                                        enum element e)
{
        struct value *parts[2] = { k, v };
        dim_t dims[5] = { dim_of(1) };

        for (int i = 0; i < 2; i++) {
                for (int d = 0; d < 4; d++)
                        dims[d + 1] = parts[i]->type->dims[d];
                parts[i] = compose_reshape(c, compose_cast(c, parts[i], e), 5, dims);
                if (!parts[i])
                        return NULL;
        }
        return build_concat(c->b, parts, 2, 0);
}

bool compose_attention_quantized(struct compose *c, const struct compose_attention_quantized *in,
                                 struct value **y, struct value **kept)
{
        const enum element e = value_element(in->bias);
        const int64_t keys[1] = { 3 }, turned[4] = { 0, 1, 3, 2 }, back[4] = { 0, 2, 1, 3 };
        struct attention a;
        struct value *mask;

        if (!operands_fit(c, in, &a) ||
            !compose_one_number(c, "the scale of the input", in->x.scale, e) ||
            (in->x.zero && !compose_one_number(c, "the zero point of the input", in->x.zero,
                                               value_element(in->x.numbers))) ||
            !mask_of(c, &a, &mask))
                return false;
        struct value *all = compose_matmul_to_float(c, &in->x, &in->w, in->bias);
        struct value *q = part_by_heads(c, &a, all, 0),
                     *k = behind_past(c, &a, part_by_heads(c, &a, all, 1), 0),
                     *v = behind_past(c, &a, part_by_heads(c, &a, all, 2), 1);
        if (!q || !k || !v || (kept && !(*kept = compose_attention_present(c, k, v, e))))
                return false;
        struct value *scores = compose_matmul(c, q, compose_transpose(c, k, turned));
        scores = times(c, scores, in->scale != 0 ? in->scale : 1 / sqrt((double)a.size));
        if (mask)
                scores = add(c, scores, mask);
        struct value *shares = compose_softmax(c, scores, keys, 1, false);
        struct value *attended = compose_matmul(c, shares, v);
        attended = compose_transpose(c, attended, back);
        attended = compose_reshape(
                c, attended, 3,
                (const dim_t[]){ a.batch, a.steps, dim_of(in->heads * a.size) });
        *y = compose_cast(c, attended, e);
        return *y != NULL;
}
