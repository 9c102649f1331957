/* SPDX-License-Identifier: MIT */
/* Attention is computed as the ONNX standard's function says; where groups of query heads share
 * keys and values, simplify makes the group's queries rows of one product. In two things
 * onnxruntime and the erratum to the operator sets 23 and 24 (onnx 8068) differ from the text up to
 * onnx 1.22, which `exact` follows: a row whose keys are all hidden is 0, not NaN, and a causal
 * query with lengths counts back from the last key that counts. */
#include "front/compose/compose_attention.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_softmax.h"

static struct value *transposed(struct compose *c, struct value *x, int p0, int p1, int p2, int p3)
{
        return compose_transpose(c, x, (const int64_t[]){ p0, p1, p2, p3 });
}

/* Returns x, [batch, length, heads * size] or of rank 4, as [batch, heads, length, size]. */
static struct value *by_heads(struct compose *c, const char *what, struct value *x, int64_t heads)
{
        if (value_rank(x) == 4)
                return x;
        if (heads < 1 || value_extent(x, 2) % heads) {
                compose_invalid(c, "%s have %lld columns for %lld heads", what,
                                (long long)value_extent(x, 2), (long long)heads);
                return NULL;
        }
        x = compose_reshape(c, x, 4,
                            (const dim_t[]){ x->type->dims[0], x->type->dims[1], dim_of(heads),
                                             dim_of(value_extent(x, 2) / heads) });
        return transposed(c, x, 0, 2, 1, 3);
}

/* Returns the new keys or values behind those of the cache, where there is one. */
static struct value *with_past(struct compose *c, const char *what, struct value *past,
                               struct value *x)
{
        struct value *v[2] = { past, x };

        if (!past || !x)
                return x;
        bool fits = value_rank(past) == 4 && value_element(past) == value_element(x);
        for (int d = 0; d < 4 && fits; d++)
                fits = d == 2 || dim_equal(past->type->dims[d], x->type->dims[d]);
        if (!fits) {
                compose_invalid(c, "past %s are %s for %s", what, compose_text(c, past->type),
                                compose_text(c, x->type));
                return NULL;
        }
        return build_concat(c->b, v, 2, 2);
}

/* Returns the bias that leaves out scores: 0 where `shown`, -inf elsewhere; or 0 where not
 * `hidden`. */
static struct value *bias_of(struct compose *c, enum element e, struct value *shown,
                             struct value *hidden)
{
        struct value *condition = shown ? shown : hidden;
        if (!condition)
                return NULL;
        const struct type *t = type_with_element(c->m, condition->type, e);
        struct value *zero = constant_number(c->m, t, 0),
                     *never = constant_number(c->m, t, -INFINITY);
        return compose_select(c, condition, shown ? zero : never, shown ? never : zero);
}

/* Makes the mask a bias of these scores. Keys behind the end of a mask that is shorter than the
 * keys do not count. */
static bool mask_bias(struct compose *c, struct value *mask, const struct type *t,
                      struct value **bias)
{

        if (!mask)
                return true;
        int rank = value_rank(mask), last = rank - 1;
        bool logic = value_element(mask) == E_BOOL;
        bool fits = rank >= 1 && rank <= 4 &&
                    (logic || element_is_float(value_element(mask)) ||
                     element_is_integer(value_element(mask)));
        for (int d = 0; d < rank && fits; d++)
                fits = dim_is(mask->type->dims[d], 1) ||
                       dim_equal(t->dims[4 - rank + d], mask->type->dims[d]) ||
                       (d == last && value_extent(mask, d) <= type_extent(t, 3));
        if (!fits)
                return compose_invalid(c, "the mask is %s for scores %s",
                                       compose_text(c, mask->type), compose_text(c, t));
        mask = logic ? bias_of(c, t->element, mask, NULL) : compose_cast(c, mask, t->element);
        if (mask && !dim_equal(t->dims[3], mask->type->dims[last]) &&
            !dim_is(mask->type->dims[last], 1)) {
                int64_t low[4] = { 0 };
                dim_t dims[4];
                for (int d = 0; d < rank; d++)
                        dims[d] = d == last ? t->dims[3] : mask->type->dims[d];
                struct value *operands[3] = {
                        mask, constant_number(c->m, type_scalar(c->m, t->element), -INFINITY),
                        constant_ints(c->m, low, rank)
                };
                mask = value_build(c->b, OP_pad, operands, 3, NULL,
                                   type_tensor(c->m, t->element, rank, dims));
        }
        return (*bias = mask) != NULL;
}

static struct value *with_bias(struct compose *c, struct value *x, struct value *bias)
{
        return x && bias ? add(c, x, bias) : x ? x : bias;
}

/* Finds how many keys of each sequence count, [batch x 1 x 1 x 1]; *counts is NULL, without an
 * error, where all do. */
static bool key_counts(struct compose *c, struct value *lengths, dim_t batch,
                       struct value **counts)
{
        *counts = NULL;
        if (!lengths)
                return true;
        if (value_rank(lengths) != 1 || !dim_equal(lengths->type->dims[0], batch) ||
            !element_is_integer(value_element(lengths)))
                return compose_invalid(c, "the lengths are %s, want %s integers",
                                       compose_text(c, lengths->type),
                                       dim_text(c->arena, c->m, batch));
        *counts =
                compose_reshape(c, compose_cast(c, lengths, E_I64), 4,
                                (const dim_t[]){ batch, dim_of(1), dim_of(1), dim_of(1) });
        return *counts != NULL;
}

/* The rows of a product are the queries of so many heads, head after head; each has `length`. */
struct head_rows { int64_t heads; dim_t length; };

/* Returns a mask that is alike for all heads with the rows of each of them. */
static struct value *mask_of_rows(struct compose *c, struct value *mask, const struct head_rows *in)
{
        const int rank = mask ? value_rank(mask) : 0;
        dim_t wide[RANK_MAX], flat[RANK_MAX];
        int64_t to[RANK_MAX];

        if (!mask || in->heads == 1 || rank < 2 || rank > 4 ||
            dim_is(mask->type->dims[rank - 2], 1))
                return mask;
        for (int d = 0; d < rank; d++) {
                to[d] = d + (d >= rank - 2);
                wide[to[d]] = flat[d] = mask->type->dims[d];
        }
        wide[rank - 2] = dim_of(in->heads);
        flat[rank - 2] = dim_binary(c->m, DIM_MUL, flat[rank - 2], wide[rank - 2]);
        mask = compose_spread(
                c, mask, type_tensor(c->m, value_element(mask), rank + 1, wide), to);
        return compose_reshape(c, mask, rank, flat);
}

/* Returns -inf where the key is later than the query, else 0. Query i stands at key i + past or,
 * with counts, so that the last query stands at the last key that counts. */
static struct value *look_ahead(struct compose *c, const struct type *t, const struct head_rows *in,
                                struct value *past, struct value *counts)
{
        int64_t none;
        const struct type *square =
                type_tensor(c->m, E_I64, 2, (const dim_t[]){ in->length, t->dims[3] });
        struct value *query = build_iota(c->b, square, 0), *key = build_iota(c->b, square, 1);
        if (!counts) {
                if (past && (!value_is_constant(past) || !value_ints(past, &none, 1, &(int){ 0 }) ||
                             none))
                        query = compose_binary(c, OP_add, query, past);
        } else {
                const dim_t flat[4] = { dim_of(1), dim_of(1), t->dims[2], t->dims[3] },
                            rows[4] = { t->dims[0], dim_of(1), t->dims[2], t->dims[3] };
                const struct type *all = type_tensor(c->m, E_I64, 4, rows);
                const int64_t in_order[4] = { 0, 1, 2, 3 };
                query = compose_spread(c, compose_reshape(c, query, 4, flat), all, in_order);
                key = compose_spread(c, compose_reshape(c, key, 4, flat), all, in_order);
                counts = compose_spread(c,
                                        compose_with(c, OP_sub, counts, (double)type_extent(t, 2)),
                                        all, in_order);
                query = query && counts ? add(c, query, counts) : NULL;
        }
        struct value *later = query && key ? compose_binary(c, OP_lt, query, key) : NULL;
        return bias_of(c, t->element, NULL, mask_of_rows(c, later, in));
}

/* Is there one query, which stands at the last key, of as many keys as a run gives? It sees all. */
static bool is_step(const struct compose_attention *a, const struct type *t, dim_t length)
{
        return a->past_k && !a->lengths && !dim_is_static(t->dims[3]) && dim_is(length, 1) &&
               dim_is(a->k->type->dims[value_rank(a->k) == 4 ? 2 : 1], 1);
}

/* ---- heads that share keys, as rows ---- */

/* Where a run gives rows or keys, the queries of all heads that share keys are rows of one product;
 * where extents are known, simplify does the same. */
static bool makes_rows(const struct compose_attention *a, const struct value *q,
                       const struct value *k)
{
        const struct value *mask = a->mask;
        const int rank = mask ? value_rank(mask) : 0;
        return (!type_is_static(q->type) || !type_is_static(k->type)) && !a->sink && !a->lengths &&
               value_extent(q, 1) != value_extent(k, 1) &&
               (rank < 3 || dim_is(mask->type->dims[rank - 3], 1));
}

static struct value *heads_as_rows(struct compose *c, struct value *q, const struct head_rows *in)
{
        const dim_t *d = q->type->dims;
        const dim_t dims[4] = { d[0], dim_of(dim_extent(d[1]) / in->heads),
                                dim_binary(c->m, DIM_MUL, d[2], dim_of(in->heads)), d[3] };

        return in->heads == 1 ? q : compose_reshape(c, q, 4, dims);
}

/* Returns v, whose rows are those of several heads, with a dimension of heads. */
static struct value *heads_apart(struct compose *c, struct value *v, const struct head_rows *in)
{
        if (!v || in->heads == 1)
                return v;
        const dim_t dims[4] = { v->type->dims[0], dim_of(value_extent(v, 1) * in->heads),
                                in->length, v->type->dims[3] };
        return compose_reshape(c, v, 4, dims);
}

/* Returns the scores, but -inf where the mask, the order of keys or a length of a sequence
 * forbids them. */
static struct value *masked(struct compose *c, const struct compose_attention *a,
                            const struct head_rows *in, struct value *scores, struct value *past)
{
        struct value *counts, *bias = NULL, *mask = mask_of_rows(c, a->mask, in);

        if (a->mask && !mask)
                return NULL;
        if (!scores || !mask_bias(c, mask, scores->type, &bias) ||
            !key_counts(c, a->lengths, scores->type->dims[0], &counts))
                return NULL;
        const struct type *t = scores->type;
        if (a->causal && !is_step(a, t, in->length))
                bias = with_bias(
                        c, bias, look_ahead(c, t, in, past, a->early_text ? NULL : counts));
        if (counts) {
                const dim_t row[4] = { t->dims[0], dim_of(1), dim_of(1), t->dims[3] };
                const struct type *index = type_tensor(c->m, E_I64, 4, row);
                counts = compose_spread(c, counts, index, (const int64_t[]){ 0, 1, 2, 3 });
                struct value *within = compose_binary(c, OP_lt, build_iota(c->b, index, 3), counts);
                bias = with_bias(c, bias, bias_of(c, t->element, within, NULL));
        }
        return with_bias(c, scores, bias);
}

/* Returns the softmax of the scores. Where a mask, or the keys that count, may hide a whole row,
 * that row is 0. */
static struct value *shares_of(struct compose *c, const struct compose_attention *a,
                               struct value *scores)
{
        const int64_t keys[1] = { 3 };
        bool may_be_hidden = a->mask || a->lengths;
        if (a->sink)
                return compose_softmax_with_sink(c, scores, a->sink);
        return may_be_hidden && !a->early_text ? compose_masked_softmax(c, scores, keys, 1)
                                               : compose_softmax(c, scores, keys, 1, false);
}

struct value *compose_for_heads(struct compose *c, struct value *x, int64_t heads)
{
        if (!x || value_extent(x, 1) == heads)
                return x;
        const dim_t *d = x->type->dims,
                    wide[5] = { d[0], d[1], dim_of(heads / dim_extent(d[1])), d[2], d[3] },
                    all[4] = { d[0], dim_of(heads), d[2], d[3] };
        return compose_reshape(c,
                               compose_spread(c, x, type_tensor(c->m, value_element(x), 5, wide),
                                              (const int64_t[]){ 0, 1, 3, 4 }),
                               4, all);
}

/* Returns the products of q and k, each multiplied by the root of the scale, as the standard
 * says. */
struct value *compose_attention_scores(struct compose *c, struct value *q, struct value *k,
                                       double scale)
{
        const dim_t *d = q->type->dims, scored[4] = { d[0], d[1], d[2], k->type->dims[2] };
        const double root = sqrt(fabs(scale));

        if (!compose_type(c, value_element(q), 4, scored))
                return NULL;
        k = compose_for_heads(c, compose_cast(c, k, value_element(q)), value_extent(q, 1));
        q = times(c, q, scale < 0 ? -root : root);
        k = times(c, transposed(c, k, 0, 1, 3, 2), root);
        return compose_matmul(c, q, k);
}

bool compose_attention_fits(struct compose *c, const struct value *q, const struct value *k,
                            const struct value *v)
{
        const dim_t *dq = q->type->dims, *dk = k->type->dims, *dv = v->type->dims;
        if (!dim_equal(dq[0], dk[0]) || !dim_equal(dq[0], dv[0]) ||
            value_extent(k, 1) != value_extent(v, 1) || value_extent(k, 1) < 1 ||
            value_extent(q, 1) % value_extent(k, 1) || !dim_equal(dk[2], dv[2]) ||
            value_extent(q, 3) != value_extent(k, 3) || value_extent(q, 3) < 1)
                return compose_invalid(c, "queries %s, keys %s and values %s do not fit",
                                       compose_text(c, q->type), compose_text(c, k->type),
                                       compose_text(c, v->type));
        return true;
}

/* Returns the products of queries and keys by the scale. */
static struct value *products(struct compose *c, const struct compose_attention *a, struct value *q,
                              struct value *k)
{
        const double scale = a->scaled ? a->scale : 1 / sqrt((double)value_extent(q, 3));

        if (!a->scales_queries)
                return compose_attention_scores(c, q, k, scale);
        q = times(c, q, scale);
        return q ? compose_attention_scores(c, q, k, 1) : NULL;
}

/* Makes the scores at each of their stages. Returns false after an error. */
static bool scores_made(struct compose *c, const struct compose_attention *a, struct value *q,
                        struct value *k, const struct head_rows *in, struct value **scores)
{
        const enum element e = value_element(q);
        struct value *past = a->past_k ? build_extent(c->b, a->past_k, 2) : a->before;
        struct value *x = products(c, a, q, k);

        scores[SCORES_PRODUCTS] = x;
        if (a->softcap > 0 && x) {
                x = compose_unary(c, OP_tanh, compose_with(c, OP_div, x, a->softcap));
                x = times(c, x, a->softcap);
        }
        scores[SCORES_CAPPED] = x;
        scores[SCORES_MASKED] = x = masked(c, a, in, x, past);
        x = compose_cast(c, x, a->precision == E_F64 ? E_F64 : compose_wide_element(e));
        scores[SCORES_SHARES] = compose_cast(c, shares_of(c, a, x), e);
        return scores[SCORES_SHARES] != NULL;
}

bool compose_attention(struct compose *c, const struct compose_attention *a,
                       struct compose_attended *result)
{
        struct value *q = by_heads(c, "queries", a->q, a->heads),
                     *k = by_heads(c, "keys", a->k, a->groups),
                     *v = by_heads(c, "values", a->v, a->groups);

        result->k = k = with_past(c, "keys", a->past_k, k);
        result->v = v = with_past(c, "values", a->past_v, v);
        if (!q || !k || !v || !compose_attention_fits(c, q, k, v))
                return false;
        int64_t heads = value_extent(q, 1);
        const dim_t to[4] = { q->type->dims[0], dim_of(heads), q->type->dims[2], v->type->dims[3] };
        const struct head_rows rows = { makes_rows(a, q, k) ? heads / value_extent(k, 1) : 1,
                                        to[2] };
        if (!compose_type(c, value_element(q), 4, to) || !(q = heads_as_rows(c, q, &rows)) ||
            !scores_made(c, a, q, k, &rows, result->scores))
                return false;
        v = compose_for_heads(c, compose_cast(c, v, value_element(q)), value_extent(q, 1));
        struct value *y = heads_apart(
                c, compose_matmul(c, result->scores[SCORES_SHARES], v), &rows);
        for (int i = 0; i < SCORES_COUNT; i++)
                result->scores[i] = heads_apart(c, result->scores[i], &rows);
        if (value_rank(a->q) == 3)
                y = compose_reshape(
                        c, transposed(c, y, 0, 2, 1, 3), 3,
                        (const dim_t[]){ to[0], to[2], dim_of(heads * dim_extent(to[3])) });
        return (result->y = y) != NULL;
}

/* ---- rotary embeddings ---- */

/* Returns cosines or sines over x [B, L, H, half]. They are rows of [positions, half] that
 * position_ids pick, or stated as [B, L, half]. */
static struct value *angles(struct compose *c, struct value *cache, struct value *ids,
                            const struct type *x)
{

        if (ids) {
                if (value_rank(cache) != 2 || value_rank(ids) != 2 ||
                    !element_is_integer(value_element(ids))) {
                        compose_invalid(c, "the positions are %s and a cache is %s",
                                        compose_text(c, ids->type), compose_text(c, cache->type));
                        return NULL;
                }
                cache = build_gather(c->b, cache, compose_cast(c, ids, E_I64), 0);
        }
        if (!cache)
                return NULL;
        const dim_t want[3] = { x->dims[0], x->dims[1], x->dims[3] };
        if (!type_same_dims(cache->type, &(struct type){ .rank = 3, .dims = want })) {
                compose_invalid(c, "a cache is %s, want %s", compose_text(c, cache->type),
                                compose_text(c, type_tensor(c->m, value_element(cache), 3, want)));
                return NULL;
        }
        return compose_spread(c, compose_cast(c, cache, x->element), x,
                              (const int64_t[]){ 0, 1, 3 });
}

/* Returns `count` elements of the last dimension, from `start` on, `step` apart. */
static struct value *columns(struct compose *c, struct value *x, int64_t start, int64_t step,
                             int64_t count)
{
        if (!x)
                return NULL;
        const dim_t *d = x->type->dims;
        return build_slice(c->b, x, (const int64_t[]){ 0, 0, 0, start },
                           (const int64_t[]){ 1, 1, 1, step },
                           (const dim_t[]){ d[0], d[1], d[2], dim_of(count) });
}

struct value *compose_rotary(struct compose *c, const struct compose_rotary *r)
{
        struct value *x = r->x;
        const struct type *given = x->type;

        if (given->rank == 4) {
                x = transposed(c, x, 0, 2, 1, 3);
        } else if (r->heads < 1 || type_extent(given, 2) % r->heads) {
                compose_invalid(c, "%lld columns for %lld heads", (long long)type_extent(given, 2),
                                (long long)r->heads);
                return NULL;
        } else {
                x = compose_reshape(c, x, 4,
                                    (const dim_t[]){ given->dims[0], given->dims[1],
                                                     dim_of(r->heads),
                                                     dim_of(type_extent(given, 2) / r->heads) });
        }
        x = compose_wide(c, x);
        if (!x)
                return NULL;
        int64_t size = value_extent(x, 3), turned = r->turned ? r->turned : size;
        if (turned % 2 || turned > size) {
                compose_invalid(c, "%lld elements turned of heads of %lld", (long long)turned,
                                (long long)size);
                return NULL;
        }
        int64_t half = turned / 2;
        struct value *a = r->interleaved ? columns(c, x, 0, 2, half) : columns(c, x, 0, 1, half);
        struct value *b = r->interleaved ? columns(c, x, 1, 2, half) : columns(c, x, half, 1, half);
        struct value *cosine = a ? angles(c, r->cosine, r->positions, a->type) : NULL,
                     *sine = cosine ? angles(c, r->sine, r->positions, a->type) : NULL;
        if (!sine || !b)
                return NULL;
        struct value *parts[3];
        struct value *right = mul(c, sine, b);
        parts[0] = sub(c, mul(c, cosine, a), right);
        struct value *other = mul(c, cosine, b);
        parts[1] = add(c, mul(c, sine, a), other);
        const dim_t *d = x->type->dims, pairs[5] = { d[0], d[1], d[2], dim_of(half), dim_of(1) },
                    flat[4] = { d[0], d[1], d[2], dim_of(turned) };
        struct value *y;
        if (r->interleaved) {
                parts[0] = compose_reshape(c, parts[0], 5, pairs);
                parts[1] = compose_reshape(c, parts[1], 5, pairs);
                y = compose_reshape(c, build_concat(c->b, parts, 2, 4), 4, flat);
        } else {
                y = build_concat(c->b, parts, 2, 3);
        }
        parts[0] = y;
        parts[1] = columns(c, x, turned, 1, size - turned);
        y = compose_cast(c, turned < size ? build_concat(c->b, parts, 2, 3) : y, given->element);
        return given->rank == 4 ? transposed(c, y, 0, 2, 1, 3)
                                : compose_reshape(c, y, 3, given->dims);
}
