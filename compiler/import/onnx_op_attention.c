/* SPDX-License-Identifier: MIT */
/* Attention and rotary position embeddings: softmax(scale q k' + bias) v over heads. As the
 * standard's function says; where groups of query heads share keys and values, simplify makes the
 * group's queries rows of one product.
 *
 * In two things onnxruntime and the erratum to the operator sets 23 and 24 (onnx 8068) differ from
 * the text up to onnx 1.22, which --exact follows: a row whose keys are all hidden is 0, not NaN,
 * and is_causal with nonpad_kv_seqlen puts the last query at the last key that counts. */
#include <math.h>

#include "compiler/import/onnx_helpers.h"
#include "front/compose/compose_softmax.h"

static struct value *transposed(struct onnx_import *im, struct value *x, int a, int b, int c, int d)
{
        return x ? build_transpose(&im->b, x, (const int64_t[]){ a, b, c, d }) : NULL;
}

/* [batch, length, heads * size] as [batch, heads, length, size]; 4-D ones are so already */
static struct value *by_heads(struct onnx_import *im, const struct onnx_node *n, int input,
                              int64_t heads)
{
        struct value *x = n->inputs[input];

        if (value_rank(x) == 4)
                return x;
        if (heads < 1 || value_extent(x, 2) % heads) {
                onnx_invalid(im, n, "operand %d has %lld columns for %lld heads", input,
                             (long long)value_extent(x, 2), (long long)heads);
                return NULL;
        }
        x = compose_reshape(im->c, x, 4,
                            (const dim_t[]){ dim_of(value_extent(x, 0)), dim_of(value_extent(x, 1)),
                                             dim_of(heads), dim_of(value_extent(x, 2) / heads) });
        return transposed(im, x, 0, 2, 1, 3);
}

/* the cache, if there is one, then the new part along the sequence */
static struct value *with_past(struct onnx_import *im, const struct onnx_node *n, int past,
                               struct value *x)
{
        struct value *v[2] = { onnx_input(n, past), x };

        if (!v[0] || !x)
                return x;
        bool fits = value_rank(v[0]) == 4 && value_element(v[0]) == value_element(x);
        for (int d = 0; d < 4 && fits; d++)
                fits = d == 2 || value_extent(v[0], d) == value_extent(x, d);
        if (!fits) {
                onnx_invalid(im, n, "operand %d is %s for %s", past,
                             type_text(im->arena, im->m, v[0]->type),
                             type_text(im->arena, im->m, x->type));
                return NULL;
        }
        return build_concat(&im->b, v, 2, 2);
}

/* what is added to the scores: 0 where `shown`, -inf elsewhere; of the other kind: `hidden` */
static struct value *bias_of(struct onnx_import *im, enum element e, struct value *shown,
                             struct value *hidden)
{
        struct value *c = shown ? shown : hidden;
        if (!c)
                return NULL;
        const struct type *t = type_with_element(im->m, c->type, e);
        struct value *zero = constant_number(im->m, t, 0),
                     *never = constant_number(im->m, t, -INFINITY);
        return compose_select(im->c, c, shown ? zero : never, shown ? never : zero);
}

/* The mask as a bias of these scores; one shorter than the keys says nothing but no for the
 * rest. */
static bool mask_bias(struct onnx_import *im, struct onnx_node *n, const struct type *t,
                      struct value **bias)
{
        struct value *mask = onnx_input(n, 3);

        if (!mask)
                return true;
        int rank = value_rank(mask), last = rank - 1;
        bool logic = value_element(mask) == E_BOOL;
        bool fits = rank >= 1 && rank <= 4 && (logic || element_is_float(value_element(mask)));
        for (int d = 0; d < rank && fits; d++)
                fits = value_extent(mask, d) == 1 ||
                       dim_is(t->dims[4 - rank + d], value_extent(mask, d)) ||
                       (d == last && value_extent(mask, d) <= type_extent(t, 3));
        if (!fits)
                return onnx_invalid(im, n, "the mask is %s for scores %s",
                                    type_text(im->arena, im->m, mask->type),
                                    type_text(im->arena, im->m, t));
        mask = logic ? bias_of(im, t->element, mask, NULL) : compose_cast(im->c, mask, t->element);
        if (mask && !dim_is(t->dims[3], value_extent(mask, last)) &&
            value_extent(mask, last) != 1) {
                int64_t low[4] = { 0 };
                dim_t dims[4];
                for (int d = 0; d < rank; d++)
                        dims[d] = dim_of(d == last ? type_extent(t, 3) : value_extent(mask, d));
                struct value *operands[3] = {
                        mask, constant_number(im->m, type_scalar(im->m, t->element), -INFINITY),
                        constant_ints(im->m, low, rank)
                };
                mask = value_build(&im->b, OP_pad, operands, 3, NULL,
                                   type_tensor(im->m, t->element, rank, dims));
        }
        return (*bias = mask) != NULL;
}

static struct value *with_bias(struct onnx_import *im, struct value *x, struct value *bias)
{
        return x && bias ? compose_binary(im->c, OP_add, x, bias) : x ? x : bias;
}

/* the keys that count of each sequence, [batch x 1 x 1 x 1]; NULL without error: all do */
static bool key_counts(struct onnx_import *im, struct onnx_node *n, int64_t batch,
                       struct value **counts)
{
        struct value *lengths = onnx_input(n, 6);
        *counts = NULL;
        if (!lengths)
                return true;
        if (value_rank(lengths) != 1 || value_extent(lengths, 0) != batch ||
            !element_is_integer(value_element(lengths)))
                return onnx_invalid(im, n, "nonpad_kv_seqlen is %s, want %lld integers",
                                    type_text(im->arena, im->m, lengths->type), (long long)batch);
        *counts =
                compose_reshape(im->c, compose_cast(im->c, lengths, E_I64), 4,
                                (const dim_t[]){ dim_of(batch), dim_of(1), dim_of(1), dim_of(1) });
        return *counts != NULL;
}

/* -inf where the key is later than the query, which is `past` keys behind the first one, or
 * (counts) as many behind as it lacks of the last one that counts */
static struct value *look_ahead(struct onnx_import *im, const struct type *t, int64_t past,
                                struct value *counts)
{
        const struct type *square = type_tensor(im->m, E_I64, 2, t->dims + 2);
        struct value *query = build_iota(&im->b, square, 0), *key = build_iota(&im->b, square, 1);
        if (!counts) {
                query = compose_with(im->c, OP_add, query, (double)past);
        } else {
                const dim_t flat[4] = { dim_of(1), dim_of(1), t->dims[2], t->dims[3] },
                            rows[4] = { t->dims[0], dim_of(1), t->dims[2], t->dims[3] };
                const struct type *all = type_tensor(im->m, E_I64, 4, rows);
                const int64_t in_order[4] = { 0, 1, 2, 3 };
                query = compose_spread(im->c, compose_reshape(im->c, query, 4, flat), all,
                                       in_order);
                key = compose_spread(im->c, compose_reshape(im->c, key, 4, flat), all, in_order);
                counts = compose_spread(
                        im->c, compose_with(im->c, OP_sub, counts, (double)type_extent(t, 2)), all,
                        in_order);
                query = query && counts ? compose_binary(im->c, OP_add, query, counts) : NULL;
        }
        return query && key
                       ? bias_of(im, t->element, NULL, compose_binary(im->c, OP_lt, query, key))
                       : NULL;
}

/* the scores where neither the mask, nor looking ahead, nor a sequence's length forbids them, -inf
 * elsewhere */
static struct value *masked(struct onnx_import *im, struct onnx_node *n, struct value *scores,
                            bool causal, int64_t past)
{
        struct value *counts, *bias = NULL;

        if (!scores || !mask_bias(im, n, scores->type, &bias) ||
            !key_counts(im, n, type_extent(scores->type, 0), &counts))
                return NULL;
        const struct type *t = scores->type;
        if (causal)
                bias = with_bias(im, bias,
                                 look_ahead(im, t, past, im->context->exact ? NULL : counts));
        if (counts) {
                const dim_t row[4] = { t->dims[0], dim_of(1), dim_of(1), t->dims[3] };
                const struct type *index = type_tensor(im->m, E_I64, 4, row);
                counts = compose_spread(im->c, counts, index, (const int64_t[]){ 0, 1, 2, 3 });
                struct value *within =
                        compose_binary(im->c, OP_lt, build_iota(&im->b, index, 3), counts);
                bias = with_bias(im, bias, bias_of(im, t->element, within, NULL));
        }
        return with_bias(im, scores, bias);
}

/* Shares of the scores. Where a mask, or the keys that count, may hide a whole row, that row is
 * 0. */
static struct value *shares_of(struct onnx_import *im, struct onnx_node *n, struct value *scores)
{
        const int64_t keys[1] = { 3 };
        bool may_be_hidden = onnx_input(n, 3) || onnx_input(n, 6);
        return may_be_hidden && !im->context->exact
                       ? compose_masked_softmax(im->c, scores, keys, 1)
                       : compose_softmax(im->c, scores, keys, 1, false);
}

struct value *onnx_for_heads(struct onnx_import *im, struct value *x, int64_t heads)
{
        if (!x || value_extent(x, 1) == heads)
                return x;
        const dim_t *d = x->type->dims,
                    wide[5] = { d[0], d[1], dim_of(heads / dim_extent(d[1])), d[2], d[3] },
                    all[4] = { d[0], dim_of(heads), d[2], d[3] };
        return compose_reshape(im->c,
                               compose_spread(im->c, x,
                                              type_tensor(im->m, value_element(x), 5, wide),
                                              (const int64_t[]){ 0, 1, 3, 4 }),
                               4, all);
}

/* scale q k', the scale shared between both as the standard says; NULL after an error */
static struct value *scores_of(struct onnx_import *im, struct onnx_node *n, struct value *q,
                               struct value *k)
{
        const dim_t scored[4] = { dim_of(value_extent(q, 0)), dim_of(value_extent(q, 1)),
                                  dim_of(value_extent(q, 2)), dim_of(value_extent(k, 2)) };
        float given;

        if (!compose_type(im->c, value_element(q), 4, scored) ||
            !onnx_float(im, n, "scale", 0, &given))
                return NULL;
        double scale = onnx_has(n, "scale") ? given : 1 / sqrt((double)value_extent(q, 3)),
               root = sqrt(fabs(scale));
        k = onnx_for_heads(im, compose_cast(im->c, k, value_element(q)), value_extent(q, 1));
        q = compose_with(im->c, OP_mul, q, scale < 0 ? -root : root);
        return compose_matmul(im->c, q,
                              compose_with(im->c, OP_mul, transposed(im, k, 0, 1, 3, 2), root));
}

struct attention {
        int64_t causal, q_heads, kv_heads, output_mode;
        float softcap;
        enum element precision; /* of the softmax */
};

static bool attention_attributes(struct onnx_import *im, struct onnx_node *n, struct attention *a)
{
        int64_t precision;

        if (!onnx_int_range(im, n, "is_causal", 0, 0, 1, &a->causal) ||
            !onnx_int_range(im, n, "q_num_heads", 0, 0, NUMBER_MAX, &a->q_heads) ||
            !onnx_int_range(im, n, "kv_num_heads", 0, 0, NUMBER_MAX, &a->kv_heads) ||
            !onnx_int_range(im, n, "qk_matmul_output_mode", 0, 0, 3, &a->output_mode) ||
            !onnx_float(im, n, "softcap", 0, &a->softcap) ||
            !onnx_int(im, n, "softmax_precision", 1, &precision) ||
            !onnx_element_number(im, n, "softmax_precision", precision, &a->precision))
                return false;
        if (!element_is_float(a->precision))
                return onnx_invalid(im, n, "softmax_precision is %s",
                                    element_info[a->precision].text);
        if (a->softcap < 0)
                return onnx_invalid(im, n, "softcap is %g", (double)a->softcap);
        for (int i = 0; i < 3; i++)
                if (value_rank(n->inputs[i]) != value_rank(n->inputs[0]) ||
                    (value_rank(n->inputs[i]) != 3 && value_rank(n->inputs[i]) != 4))
                        return onnx_invalid(im, n, "operand %d is of rank %d, want 3 or 4 of all",
                                            i, value_rank(n->inputs[i]));
        return true;
}

/* shapes of q [B, H, L, D], k [B, G, S, D], v [B, G, S, E] */
static bool attention_shapes(struct onnx_import *im, struct onnx_node *n, const struct value *q,
                             const struct value *k, const struct value *v)
{
        if (value_extent(q, 0) != value_extent(k, 0) || value_extent(q, 0) != value_extent(v, 0) ||
            value_extent(k, 1) != value_extent(v, 1) || value_extent(k, 1) < 1 ||
            value_extent(q, 1) % value_extent(k, 1) || value_extent(k, 2) != value_extent(v, 2) ||
            value_extent(q, 3) != value_extent(k, 3) || value_extent(q, 3) < 1)
                return onnx_invalid(im, n, "queries %s, keys %s and values %s do not fit",
                                    type_text(im->arena, im->m, q->type),
                                    type_text(im->arena, im->m, k->type),
                                    type_text(im->arena, im->m, v->type));
        return true;
}

bool onnx_import_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct attention a = { .causal = 0 };

        if (!onnx_want_float(im, n, 0) || !onnx_want_float(im, n, 1) ||
            !onnx_want_float(im, n, 2) || !attention_attributes(im, n, &a))
                return false;
        struct value *q = by_heads(im, n, 0, a.q_heads), *k = by_heads(im, n, 1, a.kv_heads),
                     *v = by_heads(im, n, 2, a.kv_heads);
        k = with_past(im, n, 4, k);
        v = with_past(im, n, 5, v);
        if (!q || !k || !v || !attention_shapes(im, n, q, k, v) || !onnx_output(n, 1, k) ||
            !onnx_output(n, 2, v))
                return false;
        enum element e = value_element(q);
        int64_t heads = value_extent(q, 1), rows = value_extent(q, 2);
        const dim_t result[4] = { dim_of(value_extent(q, 0)), dim_of(heads), dim_of(rows),
                                  dim_of(value_extent(v, 3)) };
        struct value *scores = compose_type(im->c, e, 4, result) ? scores_of(im, n, q, k) : NULL;
        if (!scores)
                return false;
        struct value *shown[4]; /* by qk_matmul_output_mode */
        shown[0] = scores;
        if (a.softcap > 0)
                scores = compose_with(im->c, OP_mul,
                                      compose_unary(im->c, OP_tanh,
                                                    compose_with(im->c, OP_div, scores, a.softcap)),
                                      a.softcap);
        shown[1] = scores;
        int64_t past = onnx_input(n, 4) ? value_extent(n->inputs[4], 2) : 0;
        shown[2] = scores = masked(im, n, scores, a.causal, past);
        scores = shares_of(im, n,
                           compose_cast(im->c, scores,
                                        a.precision == E_F64 ? E_F64 : compose_wide_element(e)));
        shown[3] = scores = compose_cast(im->c, scores, e);
        if (!scores || (onnx_wants(n, 3) && !onnx_output(n, 3, shown[a.output_mode])))
                return false;
        struct value *y =
                compose_matmul(im->c, scores, onnx_for_heads(im, compose_cast(im->c, v, e), heads));
        if (value_rank(n->inputs[0]) == 3)
                y = compose_reshape(im->c, transposed(im, y, 0, 2, 1, 3), 3,
                                    (const dim_t[]){ result[0], dim_of(rows),
                                                     dim_of(heads * dim_extent(result[3])) });
        return onnx_output(n, 0, y);
}

/* ---- FlexAttention: what is done to scores and to shares is given as graphs ---- */

/* x after the graph of this name, if there is one; NULL after an error */
static struct value *modified(struct onnx_import *im, struct onnx_node *n, const char *name,
                              struct value *x)
{
        const Onnx__GraphProto *g =
                x && onnx_has(n, name) ? onnx_graph_attribute(im, n, name) : NULL;
        struct value *y = NULL;

        if (!g)
                return x && !onnx_has(n, name) ? x : NULL;
        if (g->n_input != 1 || g->n_output != 1) {
                onnx_invalid(im, n, "%s has %zu inputs and %zu outputs, want one of each", name,
                             g->n_input, g->n_output);
                return NULL;
        }
        if (!onnx_inline_graph(im, g, &x, 1, &y, 1))
                return NULL;
        if (y->type == x->type)
                return y;
        onnx_invalid(im, n, "%s makes %s of %s", name, type_text(im->arena, im->m, y->type),
                     type_text(im->arena, im->m, x->type));
        return NULL;
}

bool onnx_import_flex_attention(struct onnx_import *im, struct onnx_node *n)
{
        struct value *q = n->inputs[0], *k = n->inputs[1], *v = n->inputs[2];
        const int64_t keys[1] = { 3 };
        enum element e = value_element(q), precision;
        int64_t number;

        for (int i = 0; i < 3; i++)
                if (!onnx_want_float(im, n, i) || !onnx_want_rank(im, n, i, 4, 4))
                        return false;
        if (!onnx_same_element(im, n, n->inputs, 3) || !attention_shapes(im, n, q, k, v) ||
            !onnx_int(im, n, "softmax_precision", e == E_F64 ? 11 : 1, &number) ||
            !onnx_element_number(im, n, "softmax_precision", number, &precision))
                return false;
        if (!element_is_float(precision))
                return onnx_invalid(im, n, "softmax_precision is %s", element_info[precision].text);
        enum element computed = e == E_F64 || precision == E_F64 ? E_F64 : E_F32;
        const dim_t result[4] = { dim_of(value_extent(q, 0)), dim_of(value_extent(q, 1)),
                                  dim_of(value_extent(q, 2)), dim_of(value_extent(v, 3)) };
        if (!compose_type(im->c, computed, 4, result))
                return false;
        struct value *x = compose_cast(im->c, scores_of(im, n, q, k), precision);
        x = compose_softmax(im->c, compose_wide(im->c, modified(im, n, "score_mod", x)), keys, 1,
                            false);
        x = compose_cast(im->c, modified(im, n, "prob_mod", compose_cast(im->c, x, precision)),
                         computed);
        v = onnx_for_heads(im, compose_cast(im->c, v, computed), dim_extent(result[1]));
        return onnx_output(n, 0, compose_cast(im->c, compose_matmul(im->c, x, v), e));
}

/* ---- RotaryEmbedding ---- */

/* ---- RotaryEmbedding: pairs of elements turned by an angle that grows with the position ---- */

/* cos or sin [positions, half] picked by position_ids, or [B, L, half] as given: over x [B, L, H,
 * half] */
static struct value *angles(struct onnx_import *im, const struct onnx_node *n, int input,
                            const struct type *x)
{
        struct value *cache = n->inputs[input], *ids = onnx_input(n, 3);

        if (ids) {
                if (value_rank(cache) != 2 || value_rank(ids) != 2 ||
                    !element_is_integer(value_element(ids))) {
                        onnx_invalid(im, n, "position_ids are %s and a cache is %s",
                                     type_text(im->arena, im->m, ids->type),
                                     type_text(im->arena, im->m, cache->type));
                        return NULL;
                }
                cache = build_gather(&im->b, cache, compose_cast(im->c, ids, E_I64), 0);
        }
        if (!cache)
                return NULL;
        if (value_rank(cache) != 3 || !dim_is(x->dims[0], value_extent(cache, 0)) ||
            !dim_is(x->dims[1], value_extent(cache, 1)) ||
            !dim_is(x->dims[3], value_extent(cache, 2))) {
                onnx_invalid(im, n, "a cache is %s, want <%lld x %lld x %lld>",
                             type_text(im->arena, im->m, cache->type), (long long)type_extent(x, 0),
                             (long long)type_extent(x, 1), (long long)type_extent(x, 3));
                return NULL;
        }
        return compose_spread(im->c, compose_cast(im->c, cache, x->element), x,
                              (const int64_t[]){ 0, 1, 3 });
}

/* count elements of the last dimension from `start` on, each `step` */
static struct value *columns(struct onnx_import *im, struct value *x, int64_t start, int64_t step,
                             int64_t count)
{
        if (!x)
                return NULL;
        const dim_t *d = x->type->dims;
        return build_slice(&im->b, x, (const int64_t[]){ 0, 0, 0, start },
                           (const int64_t[]){ 1, 1, 1, step },
                           (const dim_t[]){ d[0], d[1], d[2], dim_of(count) });
}

bool onnx_import_rotary_embedding(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *v[3] = { x, n->inputs[1], n->inputs[2] };
        const struct type *given = x->type;
        int64_t interleaved, turned, heads;

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 3, 4) ||
            !onnx_same_element(im, n, v, 3) ||
            !onnx_int_range(im, n, "interleaved", 0, 0, 1, &interleaved) ||
            !onnx_int_range(im, n, "rotary_embedding_dim", 0, 0, NUMBER_MAX, &turned) ||
            !onnx_int_range(im, n, "num_heads", 0, 0, NUMBER_MAX, &heads))
                return false;
        if (given->rank == 4)
                x = transposed(im, x, 0, 2, 1, 3);
        else if (heads < 1 || type_extent(given, 2) % heads)
                return onnx_invalid(im, n, "%lld columns for %lld heads",
                                    (long long)type_extent(given, 2), (long long)heads);
        else
                x = compose_reshape(im->c, x, 4,
                                    (const dim_t[]){ given->dims[0], given->dims[1], dim_of(heads),
                                                     dim_of(type_extent(given, 2) / heads) });
        x = compose_wide(im->c, x);
        if (!x)
                return false;
        int64_t size = value_extent(x, 3);
        turned = turned ? turned : size;
        if (turned % 2 || turned > size)
                return onnx_invalid(im, n, "rotary_embedding_dim is %lld for heads of %lld",
                                    (long long)turned, (long long)size);
        int64_t half = turned / 2;
        struct value *a = interleaved ? columns(im, x, 0, 2, half) : columns(im, x, 0, 1, half);
        struct value *b = interleaved ? columns(im, x, 1, 2, half) : columns(im, x, half, 1, half);
        struct value *cosine = a ? angles(im, n, 1, a->type) : NULL,
                     *sine = cosine ? angles(im, n, 2, a->type) : NULL;
        if (!sine || !b)
                return false;
        struct value *parts[3];
        struct value *right = compose_binary(im->c, OP_mul, sine, b);
        parts[0] = compose_binary(im->c, OP_sub, compose_binary(im->c, OP_mul, cosine, a), right);
        struct value *other = compose_binary(im->c, OP_mul, cosine, b);
        parts[1] = compose_binary(im->c, OP_add, compose_binary(im->c, OP_mul, sine, a), other);
        const dim_t *d = x->type->dims, pairs[5] = { d[0], d[1], d[2], dim_of(half), dim_of(1) },
                    flat[4] = { d[0], d[1], d[2], dim_of(turned) };
        struct value *y;
        if (interleaved) {
                parts[0] = compose_reshape(im->c, parts[0], 5, pairs);
                parts[1] = compose_reshape(im->c, parts[1], 5, pairs);
                y = compose_reshape(im->c, build_concat(&im->b, parts, 2, 4), 4, flat);
        } else {
                y = build_concat(&im->b, parts, 2, 3);
        }
        parts[0] = y;
        parts[1] = columns(im, x, turned, 1, size - turned);
        y = compose_cast(im->c, turned < size ? build_concat(&im->b, parts, 2, 3) : y,
                         given->element);
        return onnx_output(n, 0,
                           given->rank == 4 ? transposed(im, y, 0, 2, 1, 3)
                                            : compose_reshape(im->c, y, 3, given->dims));
}
