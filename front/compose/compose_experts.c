/* SPDX-License-Identifier: MIT */
/* Where there are few tokens, each one's experts are picked, and no other weights are read; where
 * there are many, all experts compute all tokens, and weights of 0 leave out what was not
 * chosen. */
#include "front/compose/compose_experts.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_softmax.h"
#include "front/compose/compose_sort.h"
#include "ir/tensor/block_weights.h"

struct experts {
        const struct compose_experts *in;
        dim_t tokens;
        int64_t inputs, inner, experts;
        struct value *picked;           /* These i64 [tokens * chosen] are experts; where it is NULL
                                         * all are computed. */
};

/* ---- layers ---- */

/* Returns whether v has these extents; an absent one has. It is an error if not. */
static bool want(struct compose *c, const char *what, const struct value *v, int rank,
                 const int64_t *extents)
{
        bool fits = !v || value_rank(v) == rank;

        for (int d = 0; v && fits && d < rank; d++)
                fits = value_extent(v, d) == extents[d];
        return fits || compose_invalid(c, "%s %s do not fit", what, compose_text(c, v->type));
}

/* Returns whether v has a number for each token and expert; an absent one has. It is an error if
 * not. */
static bool routes_fit(struct compose *c, const char *what, const struct value *v,
                       const struct experts *x)
{
        const bool fits = !v || (value_rank(v) == 2 && dim_equal(v->type->dims[0], x->tokens) &&
                                 dim_is(v->type->dims[1], x->experts));
        return fits || compose_invalid(c, "%s %s do not fit", what, compose_text(c, v->type));
}

static bool layer_fits(struct compose *c, const struct experts *x,
                       const struct compose_expert_layer *l, int64_t outputs, int64_t inputs)
{
        const int64_t e = x->experts, blocks = l->block ? inputs / l->block : 1;
        const int64_t bits = l->scales ? l->bits : 8;
        const int64_t zeros = l->block ? divide_up(blocks * bits, 8) : divide_up(outputs * bits, 8);

        if (!l->weights)
                return true;
        if (inputs * bits % 8 || (bits == 3 && inputs % 8) || (l->block && inputs % l->block))
                return compose_invalid(c, "rows of %lld weights of %lld bits in blocks of %lld",
                                       (long long)inputs, (long long)bits, (long long)l->block);
        return want(c, "weights", l->weights, 3,
                    (const int64_t[]){ e, outputs, inputs * bits / 8 }) &&
               want(c, "scales", l->scales, l->block ? 3 : 2,
                    (const int64_t[]){ e, outputs, blocks }) &&
               want(c, "zero points", l->zeros, l->block ? 3 : 2,
                    l->block ? (const int64_t[]){ e, outputs, zeros }
                             : (const int64_t[]){ e, zeros }) &&
               want(c, "biases", l->bias, 2, (const int64_t[]){ e, outputs });
}

static struct value *picked(struct compose *c, const struct experts *x, struct value *v)
{
        return v && x->picked ? build_gather(c->b, v, x->picked, 0) : v;
}

/* Returns the numbers of 3 bits in bytes [.., bytes], a multiple of 3, as [.., numbers]: 8 numbers
 * are in 3 bytes, the first in the lowest bits of the first. */
static struct value *unpacked_threes(struct compose *c, struct value *v)
{
        dim_t dims[RANK_MAX];
        const int last = value_rank(v) - 1;
        const int64_t groups = value_extent(v, last) / 3;
        struct value *shift = times(c, compose_iota(c, E_U32, 8), 3), *word = NULL;

        for (int d = 0; d < last; d++)
                dims[d] = v->type->dims[d];
        dims[last] = dim_of(groups);
        dims[last + 1] = dim_of(3);
        v = compose_cast(c, compose_reshape(c, v, last + 2, dims), E_U32);
        for (int i = 0; v && i < 3; i++) {
                struct value *byte = compose_pick(c, v, last + 1, i);
                byte = compose_with(c, OP_shl, byte, 8.0 * i);
                word = i ? compose_binary(c, OP_or, word, byte) : byte;
        }
        dims[last + 1] = dim_of(1);
        word = compose_reshape(c, word, last + 2, dims);
        word = compose_with(c, OP_and, compose_binary(c, OP_shr, word, shift), 7);
        dims[last] = dim_of(8 * groups);
        return compose_reshape(c, word, last + 1, dims);
}

/* Returns the numbers in bytes along the last dimension, `count` of them, as f32. */
static struct value *unpacked(struct compose *c, struct value *v, int bits, int64_t count)
{
        dim_t dims[RANK_MAX];
        const int last = v ? value_rank(v) - 1 : 0;

        if (v && bits == 3) {
                v = unpacked_threes(c, v);
        } else if (v && bits < 8) {
                for (int d = 0; d < last; d++)
                        dims[d] = v->type->dims[d];
                dims[last] = dim_of(value_extent(v, last) * (8 / bits));
                v = build_bits_apart(c->b, v, bits, last + 1);
                v = compose_reshape(c, v, last + 1, dims);
                v = v ? compose_fitted(c, v, last, count) : NULL;
        }
        return compose_cast(c, v, E_F32);
}

/* Returns the weights [experts or picked, outputs, inputs] in f32. */
static struct value *layer_weights(struct compose *c, const struct experts *x,
                                   const struct compose_expert_layer *l, int64_t inputs)
{
        struct value *w = picked(c, x, l->weights);

        if (!l->scales || !w)
                return compose_wide(c, w);
        const dim_t *d = w->type->dims;
        const int64_t outputs = dim_extent(d[1]), block = l->block ? l->block : inputs;
        const dim_t blocks[4] = { d[0], d[1], dim_of(inputs / block), dim_of(block) };
        const dim_t whole[3] = { d[0], d[1], dim_of(inputs) };
        const struct type *t = compose_type(c, E_F32, 4, blocks);
        w = compose_reshape(c, unpacked(c, w, l->bits, inputs), 4, blocks);
        if (!w || !t)
                return NULL;
        if (l->zeros) {
                struct value *zeros = unpacked(c, picked(c, x, l->zeros), l->bits,
                                               l->block ? inputs / block : outputs);
                zeros = compose_reshape(c, zeros, 3, blocks);
                w = sub(c, w, compose_spread(c, zeros, t, (const int64_t[]){ 0, 1, 2 }));
        } else {
                w = plus(c, w, -(double)(1 << (l->bits - 1)));
        }
        struct value *scales = compose_wide(c, picked(c, x, l->scales));
        scales = compose_reshape(c, scales, 3, blocks);
        scales = compose_spread(c, scales, t, (const int64_t[]){ 0, 1, 2 });
        return compose_reshape(c, scales ? mul(c, w, scales) : NULL, 3, whole);
}

/* Returns the product [n, rows, outputs] of v, [n or 1, rows, inputs], plus the layer's bias. */
static struct value *layer_result(struct compose *c, const struct experts *x,
                                  const struct compose_expert_layer *l, struct value *v)
{
        struct value *w = v ? layer_weights(c, x, l, value_extent(v, 2)) : NULL;
        w = compose_transpose(c, w, (const int64_t[]){ 0, 2, 1 });
        struct value *y = compose_matmul(c, v, w);

        if (!y || !l->bias)
                return y;
        struct value *bias = compose_wide(c, picked(c, x, l->bias));
        return add(c, y, compose_spread(c, bias, y->type, (const int64_t[]){ 0, 2 }));
}

static struct value *gated(struct compose *c, const struct experts *x, struct value *first,
                           struct value *linear)
{
        const struct compose_experts *in = x->in;
        struct value *gate = first;

        if (!first)
                return NULL;
        const dim_t *d = first->type->dims;
        if (in->gate == GATE_INTERLEAVED) {
                const dim_t pairs[4] = { d[0], d[1], dim_of(x->inner), dim_of(2) };
                first = compose_reshape(c, first, 4, pairs);
                gate = compose_pick(c, first, 3, 0);
                linear = compose_pick(c, first, 3, 1);
        } else if (in->gate == GATE_HALVES) {
                gate = compose_part(c, first, 2, 0, x->inner);
                linear = compose_part(c, first, 2, x->inner, x->inner);
        }
        if (!isinf(in->limit)) {
                gate = compose_with(c, OP_min, gate, in->limit);
                linear = clamp(c, linear, -in->limit, in->limit);
        }
        struct value *share = compose_unary(c, OP_sigmoid, times(c, gate, in->alpha));
        gate = mul(c, gate, share);
        linear = plus(c, linear, in->beta);
        return gate && linear ? mul(c, gate, linear) : NULL;
}

/* ---- the mixture ---- */

static bool experts_fit(struct compose *c, const struct compose_experts *in, struct experts *x)
{
        *x = (struct experts){ .in = in,
                               .tokens = in->x->type->dims[0],
                               .inputs = value_extent(in->x, 1),
                               .experts = value_extent(in->router, 1) };
        const struct value *w = in->first.weights;
        const int64_t columns = value_rank(w) == 3 ? value_extent(w, 1) : 0;
        const bool twice = in->gate == GATE_INTERLEAVED || in->gate == GATE_HALVES;
        x->inner = twice ? columns / 2 : columns;
        if (x->inner < 1 || x->inputs < 1 || (twice && columns % 2))
                return compose_invalid(c, "weights of the first layer are %s",
                                       compose_text(c, w->type));
        if (in->chosen < 1 || in->chosen > x->experts)
                return compose_invalid(c, "%lld of %lld experts", (long long)in->chosen,
                                       (long long)x->experts);
        return routes_fit(c, "logits", in->router, x) && routes_fit(c, "shares", in->mix, x) &&
               layer_fits(c, x, &in->first, columns, x->inputs) &&
               layer_fits(c, x, &in->third, x->inner, x->inputs) &&
               layer_fits(c, x, &in->second, x->inputs, x->inner);
}

/* Finds which experts a token has, [tokens, chosen], and their shares. */
static bool routes_make(struct compose *c, const struct experts *x, struct value **order,
                        struct value **shares)
{
        const int64_t along[1] = { 1 };
        struct value *all = compose_softmax(c, compose_wide(c, x->in->router), along, 1, false);

        *order = all ? compose_argsort(c, all, 1, 1, x->in->chosen) : NULL;
        if (x->in->mix)
                all = compose_wide(c, x->in->mix);
        *shares = *order && all ? compose_gather_elements(c, all, *order, 1) : NULL;
        if (*shares && x->in->normalize) {
                struct value *sum = compose_reduce(c, REDUCE_sum, *shares, along, 1, E_COMPUTE);
                sum = compose_unreduce(c, sum, (*shares)->type, along, 1);
                *shares = sum ? divide(c, *shares, sum) : NULL;
        }
        return *shares != NULL;
}

struct value *compose_experts(struct compose *c, const struct compose_experts *in)
{
        const enum element e = value_element(in->x);
        struct value *order, *shares, *v = compose_wide(c, in->x);
        struct experts x;

        if (!v || !experts_fit(c, in, &x) || !routes_make(c, &x, &order, &shares))
                return NULL;
        const dim_t tokens = x.tokens, inputs = dim_of(x.inputs), one = dim_of(1),
                    routes = dim_binary(c->m, DIM_MUL, tokens, dim_of(in->chosen));
        const bool few = dim_bound(c->m, routes) < x.experts;
        if (few) {
                const dim_t each[3] = { tokens, dim_of(in->chosen), inputs };
                const dim_t rows[3] = { routes, one, inputs };
                x.picked = compose_reshape(c, order, 1, rows);
                v = compose_spread(c, v, type_tensor(c->m, E_F32, 3, each),
                                   (const int64_t[]){ 0, 2 });
                v = compose_reshape(c, v, 3, rows);
        } else {
                v = compose_reshape(c, v, 3, (const dim_t[]){ dim_of(1), tokens, inputs });
        }
        const dim_t hidden[3] = { few ? routes : dim_of(x.experts), few ? one : tokens,
                                  dim_of(compose_max(x.inner, x.inputs)) };
        if (!v || (few && !x.picked) || !compose_type(c, E_F32, 3, hidden))
                return NULL;
        struct value *y = layer_result(c, &x, &in->first, v), *linear = NULL;
        if (in->third.weights)
                linear = layer_result(c, &x, &in->third, v);
        y = in->gate ? gated(c, &x, y, linear) : y ? compose_activate(c, &in->activation, y) : NULL;
        y = layer_result(c, &x, &in->second, y);
        if (!y)
                return NULL;
        int64_t along[1] = { 0 };
        if (few) {
                along[0] = 1;
                y = compose_reshape(c, y, 3, (const dim_t[]){ tokens, dim_of(in->chosen), inputs });
                shares = compose_spread(c, shares, y->type, (const int64_t[]){ 0, 1 });
        } else {
                const dim_t all[2] = { tokens, dim_of(x.experts) };
                struct value *none = constant_number(c->m, type_tensor(c->m, E_F32, 2, all), 0);
                shares = compose_scatter(c, none, order, shares, 1, SCATTER_REPLACE);
                shares = compose_transpose(c, shares, (const int64_t[]){ 1, 0 });
                shares = compose_spread(c, shares, y->type, (const int64_t[]){ 0, 1 });
        }
        y = shares ? compose_reduce(c, REDUCE_sum, mul(c, y, shares), along, 1, E_COMPUTE) : NULL;
        return compose_cast(c, y, e);
}
