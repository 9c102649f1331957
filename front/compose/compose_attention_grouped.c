/* SPDX-License-Identifier: MIT */
/* Attention over a cache goes on with it: new keys and values are put behind those that each
 * sequence has, and queries see the cache as far as it is filled.
 *
 *      cache of a sequence   | k0 k1 k2 | n0 n1 | . . . |      held = 3, steps = 2
 *      query n1 sees           1  1  1    1  1    0 0 0        causal; a window of 3: 0 0 1 1 1
 *
 * Where it evicts, or has steps that do not count, the cache that queries see has room for the
 * steps behind its own, and what follows is cut out of it. */
#include "front/compose/compose_attention.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_norm.h"

struct grouped {
        const struct compose_grouped_attention *in;
        dim_t batch;                    /* There are so many sequences. */
        int64_t steps, size;
        dim_t extent;                   /* It is the number of steps, which a run may give; `steps`
                                         * is 0 then. */
        int64_t room, keys;             /* The resulting cache has `room` rows, the one that queries
                                         * see `keys`. */
        struct value *held;             /* These i64 [batch] are the number of keys that each
                                         * sequence has before this call. */
        struct value *left;             /* These i64 [batch] are how many of all keys then are not
                                         * in the resulting cache; NULL stands for 0. */
        struct value *positions;        /* These i64 [batch, steps] are the positions of the
                                         * queries. */
        struct value *places;           /* These are their rows in the cache. */
};

/* Returns x, [batch, steps, heads * size], as [batch, heads, steps, size]. */
static struct value *by_heads(struct compose *c, const struct grouped *g, struct value *x,
                              int64_t heads)
{
        const dim_t dims[4] = { g->batch, g->extent, dim_of(heads), dim_of(g->size) };
        x = compose_reshape(c, x, 4, dims);
        return x ? build_transpose(c->b, x, (const int64_t[]){ 0, 2, 1, 3 }) : NULL;
}

bool compose_grouped_grows(const struct compose_grouped_attention *in)
{
        return !dim_is_static(in->q->type->dims[1]) ||
               (in->past_k && value_rank(in->past_k) == 4 &&
                !dim_is_static(in->past_k->type->dims[2]));
}

/* Finds queries, keys and values of this call, of rank 3 each, in one value or in three. */
static bool operands_split(struct compose *c, const struct compose_grouped_attention *in,
                           struct grouped *g, struct value *parts[3])
{
        const int64_t all = value_extent(in->q, 2),
                      heads = in->heads + (in->k ? 0 : 2 * in->groups);

        if (in->heads % in->groups || all % heads || all < heads || !in->k != !in->v)
                return compose_invalid(c, "queries %s for %lld heads of %lld groups",
                                       type_text(c->arena, c->m, in->q->type), (long long)in->heads,
                                       (long long)in->groups);
        *g = (struct grouped){ .in = in,
                               .batch = in->q->type->dims[0],
                               .steps = compose_grouped_grows(in) ? 0 : value_extent(in->q, 1),
                               .extent = in->q->type->dims[1],
                               .size = all / heads };
        const int64_t of_q = in->heads * g->size, of_k = in->groups * g->size;
        const dim_t want[3] = { g->batch, g->extent, dim_of(of_k) };
        for (int i = 0; i < 2; i++) {
                const struct value *x = i ? in->v : in->k;
                if (x && x->type != type_tensor(c->m, value_element(in->q), 3, want))
                        return compose_invalid(c, "%s are %s for queries %s", i ? "values" : "keys",
                                               type_text(c->arena, c->m, x->type),
                                               type_text(c->arena, c->m, in->q->type));
        }
        parts[0] = in->k ? in->q : compose_part(c, in->q, 2, 0, of_q);
        parts[1] = in->k ? in->k : compose_part(c, in->q, 2, of_q, of_k);
        parts[2] = in->v ? in->v : compose_part(c, in->q, 2, of_q + of_k, of_k);
        return parts[0] && parts[1] && parts[2];
}

/* Is there one sequence in every run? */
static bool is_one(const struct grouped *g) { return dim_is(g->batch, 1); }

/* Checks that there is a length for each sequence. */
static bool lengths_fit(struct compose *c, const struct grouped *g)
{
        const struct type *t = g->in->last->type;

        return (t->rank <= 2 && element_is_integer(t->element) &&
                dim_equal(type_product(c->m, t, 0, t->rank), g->batch)) ||
               compose_invalid(c, "the lengths are %s, want %s integers", compose_text(c, t),
                               dim_text(c->arena, c->m, g->batch));
}

static bool cache_fits(struct compose *c, struct grouped *g)
{
        const struct compose_grouped_attention *in = g->in;
        const struct value *past[2] = { in->past_k, in->past_v };
        const int64_t room = past[0] && value_rank(past[0]) == 4 ? value_extent(past[0], 2) : 0;
        const dim_t want[4] = { g->batch, dim_of(in->groups), dim_of(room),
                                dim_of(in->k_scale ? g->size * in->bits / 8 : g->size) };
        const enum element e = !in->k_scale ? value_element(in->q) : in->bits == 8 ? E_I8 : E_U8;

        for (int i = 0; i < 2; i++)
                if (!past[i] != !past[0] ||
                    (past[i] && past[i]->type != type_tensor(c->m, e, 4, want)))
                        return compose_invalid(c, "the past is %s for queries %s",
                                               past[i] ? type_text(c->arena, c->m, past[i]->type)
                                                       : "not there",
                                               type_text(c->arena, c->m, in->q->type));
        g->room = in->evicts ? room : compose_max(in->keys, room);
        g->keys = g->room + (in->evicts || in->counts ? g->steps : 0);
        if (g->keys < g->steps)
                return compose_invalid(c, "%lld steps in a cache of %lld", (long long)g->steps,
                                       (long long)g->keys);
        if (in->evicts && room < in->window)
                return compose_invalid(c, "a window of %lld in a cache of %lld",
                                       (long long)in->window, (long long)room);
        if (in->counts &&
            (value_rank(in->counts) != 1 || !dim_equal(in->counts->type->dims[0], g->batch)))
                return compose_invalid(c, "the numbers of steps are %s, want %s",
                                       compose_text(c, in->counts->type),
                                       dim_text(c->arena, c->m, g->batch));
        return lengths_fit(c, g);
}

/* Returns steps [batch, steps] that count from first[batch] on. */
static struct value *numbered(struct compose *c, const struct grouped *g, struct value *first)
{
        const dim_t rows[2] = { g->batch, g->extent };
        const struct type *t = type_tensor(c->m, E_I64, 2, rows);

        first = compose_spread(c, first, t, (const int64_t[]){ 0 });
        return first ? add(c, build_iota(c->b, t, 1), first) : NULL;
}

/* Finds how many keys each sequence has, and where its queries stand: a first call begins at 0,
 * however many of its steps count. */
static bool positions_make(struct compose *c, struct grouped *g)
{
        const dim_t rows[1] = { g->batch };
        struct value *last = compose_reshape(c, compose_cast(c, g->in->last, E_I64), 1, rows);
        struct value *total = plus(c, last, 1), *first;

        if (g->in->counts)
                first = sub(c, total, compose_cast(c, g->in->counts, E_I64));
        else
                first = plus(c, last, 1 - (double)g->steps);
        g->held = compose_with(c, OP_max, first, 0);
        if (!g->held)
                return false;
        g->places = g->positions = numbered(c, g, g->held);
        if (!g->in->evicts || !g->positions)
                return g->positions != NULL;
        struct value *before = g->held;
        g->held = compose_cache_resident(c, before, g->room, g->in->window);
        g->places = g->held ? numbered(c, g, g->held) : NULL;
        struct value *kept = compose_cache_resident(c, total, g->room, g->in->window);
        struct value *all = add(c, g->held, sub(c, total, before));
        g->left = sub(c, all, kept);
        return g->places && g->left;
}

static struct value *turned(struct compose *c, const struct grouped *g, struct value *x)
{
        const struct compose_rotary rotary = { .x = x,
                                               .cosine = g->in->cosine,
                                               .sine = g->in->sine,
                                               .positions = g->in->positions ? g->in->positions
                                                                             : g->positions,
                                               .turned = 2 * value_extent(g->in->cosine, 1),
                                               .interleaved = g->in->interleaved };
        return compose_rotary(c, &rotary);
}

/* Returns queries or keys, [batch, heads, steps, size], normalized, where that is asked for. */
static struct value *normalized(struct compose *c, const struct grouped *g, struct value *x,
                                struct value *scale, float epsilon)
{
        const struct compose_layer_norm l = {
                .axis = 3, .scale = scale, .epsilon = epsilon, .computed = E_F32, .stash = E_F32
        };

        if (!scale)
                return x;
        if (value_rank(scale) != 1 || value_extent(scale, 0) != g->size) {
                compose_invalid(c, "a norm of heads is %s, want %lld numbers",
                                compose_text(c, scale->type), (long long)g->size);
                return NULL;
        }
        return compose_cast(c, compose_layer_norm(c, x, &l, NULL, NULL), value_element(x));
}

/* Sets *all to the cache that queries see, with the new keys or values in it, [batch, groups, keys,
 * size], and *next to the resulting one. */
static bool cached(struct compose *c, const struct grouped *g, struct value *past, struct value *x,
                   struct value *scale, struct value **all, struct value **next)
{
        const enum element e = value_element(x);

        x = scale ? compose_cache_encode(c, x, scale, g->in->bits) : x;
        if (!x)
                return false;
        const dim_t dims[4] = { g->batch, dim_of(g->in->groups), dim_of(g->keys),
                                x->type->dims[3] };
        const struct type *t = compose_type(c, value_element(x), 4, dims);
        if (!t)
                return false;
        struct value *room =
                past ? compose_fitted(c, past, 2, g->keys) : constant_number(c->m, t, 0);
        room = room ? compose_cache_update(c, room, x, g->held, 2, false) : NULL;
        if (!room)
                return false;
        *next = g->left              ? compose_cache_from(c, room, g->left, g->room)
                : g->keys != g->room ? compose_part(c, room, 2, 0, g->room)
                                     : room;
        *all = scale ? compose_cast(c, compose_cache_decode(c, room, scale, g->in->bits), e) : room;
        return *all && *next;
}

/* Returns what the pattern adds to scores, [batch, heads, steps, keys]. */
static struct value *pattern_mask(struct compose *c, const struct grouped *g)
{
        struct value *pattern = g->in->pattern;
        const double block = (double)g->in->pattern_block;
        const double layouts = (double)value_extent(pattern, 0);

        struct value *rows = compose_with(c, OP_div, g->places, block);
        struct value *columns = compose_with(c, OP_div, compose_iota(c, E_I64, g->keys), block);
        struct value *heads = compose_iota(c, E_I64, g->in->heads);
        heads = compose_with(c, OP_mod, heads, layouts);
        if (!rows || !columns || !heads)
                return NULL;
        pattern = build_gather(c->b, pattern, heads, 0);
        pattern = pattern ? build_gather(c->b, pattern, columns, 2) : NULL;
        pattern = pattern ? build_gather(c->b, pattern, rows, 1) : NULL;
        pattern = compose_transpose(c, pattern, (const int64_t[]){ 1, 0, 2, 3 });
        return compose_cast(c, pattern, value_element(g->in->q));
}

/* Makes what is added to scores, [batch, 1, steps, keys]: the pattern; or the bias, plus -inf for
 * keys that lie before a query's window, where there is one. *mask is NULL where nothing is
 * added. */
static bool mask_make(struct compose *c, const struct grouped *g, struct value **mask)
{
        const enum element e = value_element(g->in->q);
        const dim_t dims[4] = { g->batch, dim_of(1), dim_of(g->steps), dim_of(g->keys) };
        const struct type *t = type_tensor(c->m, E_I64, 4, dims),
                          *f = type_tensor(c->m, e, 4, dims);
        struct value *bias = g->in->bias;

        *mask = g->in->pattern ? pattern_mask(c, g) : bias;
        if (g->in->pattern)
                return *mask != NULL;
        if (bias && value_rank(bias) != 4)
                return compose_invalid(c, "the bias of the scores is %s, want rank 4",
                                       type_text(c->arena, c->m, bias->type));
        if (!g->in->window)
                return true;
        struct value *first = plus(c, g->places, 1 - (double)g->in->window);
        first = compose_spread(c, first, t, (const int64_t[]){ 0, 2 });
        struct value *before = compose_binary(c, OP_lt, build_iota(c->b, t, 3), first);
        struct value *hidden = compose_select(c, before, constant_number(c->m, f, -INFINITY),
                                              constant_number(c->m, f, 0));
        if (bias && hidden) {           /* The bias has fewer keys than the cache: it is 0 for the
                                         * rest, which no query sees. */
                struct value *both[2] = { hidden, compose_fitted(c, bias, 3, g->keys) };
                if (!both[1] || !compose_broadcast(c, both, 2))
                        return false;
                hidden = add(c, both[0], both[1]);
        }
        *mask = hidden;
        return hidden != NULL;
}

/* Returns scores with 0 for keys that a query does not see, cut to the keys that are asked for. */
static struct value *shown_scores(struct compose *c, const struct grouped *g, struct value *x,
                                  struct value *count)
{
        const struct type *t = type_with_element(c->m, x->type, E_I64);
        struct value *key = build_iota(c->b, t, 3);
        struct value *place = compose_spread(c, g->places, t, (const int64_t[]){ 0, 2 });
        struct value *hidden;

        if (g->in->causal)
                hidden = compose_binary(c, OP_gt, key, place);
        else
                hidden = compose_binary(c, OP_ge, key,
                                        compose_spread(c, count, t, (const int64_t[]){ 0 }));
        if (g->in->window) {
                struct value *first = plus(c, place, 1 - (double)g->in->window);
                hidden = compose_binary(c, OP_or, hidden, compose_binary(c, OP_lt, key, first));
        }
        x = hidden ? compose_select(c, hidden, build_like(c->b, x, 0), x) : NULL;
        return x ? compose_part(c, x, 3, 0, g->in->keys) : NULL;
}

/* Makes queries, keys and values, [batch, heads, steps, size], from those of rank 3. */
static bool parts_make(struct compose *c, const struct grouped *g, struct value *parts[3])
{
        const struct compose_grouped_attention *in = g->in;

        for (int i = 0; i < 3; i++) {
                parts[i] = by_heads(c, g, parts[i], i ? in->groups : in->heads);
                if (parts[i] && i < 2)
                        parts[i] = normalized(c, g, parts[i], i ? in->k_norm : in->q_norm,
                                              i ? in->k_epsilon : in->q_epsilon);
                if (parts[i] && i < 2 && in->cosine)
                        parts[i] = turned(c, g, parts[i]);
                if (!parts[i])
                        return false;
        }
        return true;
}

/* Returns attention of these queries, keys and values, without a mask. */
static struct compose_attention attention_of(const struct compose_grouped_attention *in,
                                             struct value *const parts[3])
{
        return (struct compose_attention){ .q = parts[0],
                                           .k = parts[1],
                                           .v = parts[2],
                                           .causal = in->causal,
                                           .scaled = in->scale != 0,
                                           .scale = in->scale,
                                           .softcap = in->softcap,
                                           .sink = in->sink,
                                           .precision = E_F32 };
}

/* Sets result->y to y, [batch, heads, steps, size], as [batch, steps, heads * size]. */
static bool y_make(struct compose *c, const struct grouped *g, struct compose_attended *result)
{
        const dim_t rows[3] = { g->batch, g->extent, dim_of(g->in->heads * g->size) };
        struct value *y = build_transpose(c->b, result->y, (const int64_t[]){ 0, 2, 1, 3 });

        result->y = compose_reshape(c, y, 3, rows);
        return result->y != NULL;
}

/* ---- a cache that grows ---- */

/* A run gives the number of rows of the cache, of steps, or both: the resulting cache has as many
 * rows as both. Of one sequence it is the old one with the new rows behind it, and the length says
 * nothing else. Of several sequences each has rows of its own number, and its new rows behind
 * these; what lies behind them is of no sequence:
 *
 *      | k0 k1 k2 n0 . |       past 3, steps 1: lengths 3 and 1
 *      | k0 n0 .  .  . |
 *
 * Where a length says otherwise, the run ends with an index that is wrong. */

static bool grown_fits(struct compose *c, const struct grouped *g)
{
        const struct compose_grouped_attention *in = g->in;
        const struct value *past[2] = { in->past_k, in->past_v };
        const char *what = in->k_scale                                      ? "a quantized cache"
                           : in->evicts                                     ? "a cache that evicts"
                           : in->counts                                     ? "numbers of steps"
                           : in->pattern                                    ? "a pattern of blocks"
                           : in->scores                                     ? "scores as a result"
                           : in->bias && in->window                         ? "a bias with a window"
                                                                            : NULL;

        if (what)
                return compose_unsupported(c, "%s, where a run gives how many keys there are",
                                           what);
        if (!lengths_fit(c, g))
                return false;
        for (int i = 0; i < 2; i++) {
                if (!past[i] && !past[0])
                        continue;
                const dim_t want[4] = { g->batch, dim_of(in->groups),
                                        past[0] ? past[0]->type->dims[2] : dim_of(0),
                                        dim_of(g->size) };
                if (!past[i] || past[i]->type != type_tensor(c->m, value_element(in->q), 4, want))
                        return compose_invalid(c, "the past is %s for queries %s",
                                               past[i] ? compose_text(c, past[i]->type)
                                                       : "not there",
                                               compose_text(c, in->q->type));
        }
        return !past[0] || !dim_is_static(past[0]->type->dims[2]) ||
               compose_unsupported(c,
                                   "a cache of fixed room, where a run gives the number of steps");
}

/* Finds the positions of the queries. *none <batch x i64> is 0: whoever reads it has the lengths
 * checked. Several sequences may have fewer rows than the past, and none before a first call. */
static bool grown_positions(struct compose *c, struct grouped *g, struct value **none)
{
        const dim_t rows[1] = { g->batch };
        const struct type *t = type_tensor(c->m, E_I64, 1, rows);
        struct value *last = compose_reshape(c, compose_cast(c, g->in->last, E_I64), 1, rows);
        struct value *steps = compose_extent(c, g->extent);
        struct value *held =
                compose_extent(c, g->in->past_k ? g->in->past_k->type->dims[2] : dim_of(0));

        steps = compose_spread(c, steps, t, NULL);
        held = compose_spread(c, held, t, NULL);
        struct value *first = sub(c, plus(c, last, 1), steps), *wrong;
        if (is_one(g)) {
                wrong = sub(c, first, held);
                wrong = mul(c, wrong, wrong);
        } else {
                first = compose_with(c, OP_max, first, 0);
                wrong = compose_with(c, OP_max, sub(c, first, held), 0);
                held = first;
        }
        /* 0, or an index that is out of range. */
        struct value *index = times(c, wrong, 2);
        struct value *zeros = constant_ints(c->m, (const int64_t[]){ 0, 5 }, 2);
        *none = index ? build_gather(c->b, zeros, index, 0) : NULL;
        g->held = *none ? add(c, held, *none) : NULL;
        g->places = g->positions = g->held ? numbered(c, g, g->held) : NULL;
        return g->positions != NULL;
}

/* Returns queries, to which 0 is added that has the length checked. */
static struct value *checked(struct compose *c, struct value *q, struct value *none)
{
        none = compose_cast(c, none, value_element(q));
        return none ? add(c, q, compose_spread(c, none, q->type, (const int64_t[]){ 0 })) : NULL;
}

static dim_t grown_keys(struct compose *c, const struct grouped *g)
{
        const struct value *past = g->in->past_k;
        return past ? dim_binary(c->m, DIM_ADD, past->type->dims[2], g->extent) : g->extent;
}

/* Returns -inf for keys that a query does not see, else 0, [batch, 1, steps, keys]: those before
 * its window and, of several sequences, those behind it or behind all of its sequence. */
static struct value *grown_mask(struct compose *c, const struct grouped *g)
{
        const struct compose_grouped_attention *in = g->in;
        const dim_t dims[4] = { g->batch, dim_of(1), g->extent, grown_keys(c, g) };
        const struct type *t = compose_type(c, E_I64, 4, dims),
                          *f = compose_type(c, value_element(in->q), 4, dims);
        struct value *key = t && f ? build_iota(c->b, t, 3) : NULL, *hidden = NULL;

        if (!key)
                return NULL;
        if (in->window) {
                struct value *first = plus(c, g->places, 1 - (double)in->window);
                hidden = compose_binary(c, OP_lt, key,
                                        compose_spread(c, first, t, (const int64_t[]){ 0, 2 }));
        }
        if (!is_one(g)) {
                struct value *last = in->causal
                                             ? g->places
                                             : compose_reshape(c, compose_cast(c, in->last, E_I64),
                                                               1, g->held->type->dims);
                last = compose_spread(c, last, t, (const int64_t[]){ 0, 2 });
                struct value *behind = compose_binary(c, OP_gt, key, last);
                hidden = hidden ? compose_binary(c, OP_or, hidden, behind) : behind;
        }
        return compose_select(c, hidden, constant_number(c->m, f, -INFINITY),
                              constant_number(c->m, f, 0));
}

/* Returns the cache of several sequences with their new rows. */
static struct value *grown_cache(struct compose *c, const struct grouped *g, struct value *past,
                                 struct value *x)
{
        struct value *both[2] = { past, x };

        if (!past)
                return x;
        struct value *room = build_concat(c->b, both, 2, 2);
        return room ? compose_cache_update(c, room, x, g->held, 2, false) : NULL;
}

/* Sets what is masked, and what is kept: one sequence has its past in front of its keys. */
static bool grown_operands(struct compose *c, const struct grouped *g,
                           struct compose_attention *meant)
{
        const struct compose_grouped_attention *in = g->in;

        meant->mask = in->bias;
        if (is_one(g)) {
                meant->past_k = in->past_k;
                meant->past_v = in->past_v;
        } else {
                meant->k = grown_cache(c, g, in->past_k, meant->k);
                meant->v = meant->k ? grown_cache(c, g, in->past_v, meant->v) : NULL;
                meant->causal = false;
                if (!meant->v)
                        return false;
        }
        if (!in->window && is_one(g))
                return true;
        struct value *both[2] = { grown_mask(c, g), in->bias };
        if (!both[0] || (both[1] && !compose_broadcast(c, both, 2)))
                return false;
        meant->mask = both[1] ? add(c, both[0], both[1]) : both[0];
        return meant->mask != NULL;
}

static bool grown_attention(struct compose *c, struct grouped *g, struct value *parts[3],
                            struct compose_attended *result)
{
        const struct compose_grouped_attention *in = g->in;
        struct value *none;

        if (!grown_fits(c, g) || !grown_positions(c, g, &none) || !parts_make(c, g, parts))
                return false;
        if (!in->cosine || in->positions) /* Else positions are read. */
                parts[0] = checked(c, parts[0], none);
        if (!parts[0])
                return false;
        struct compose_attention meant = attention_of(in, parts);
        if (!grown_operands(c, g, &meant) || !compose_attention(c, &meant, result))
                return false;
        if (!is_one(g)) {
                result->k = meant.k;
                result->v = meant.v;
        }
        return y_make(c, g, result);
}

/* ---- all of them ---- */

bool compose_grouped_attention(struct compose *c, const struct compose_grouped_attention *in,
                               struct compose_attended *result)
{
        struct value *parts[3], *next[2], *mask, *count;
        struct grouped g;

        if (!operands_split(c, in, &g, parts))
                return false;
        if (compose_grouped_grows(in))
                return grown_attention(c, &g, parts, result);
        if (!cache_fits(c, &g) || !positions_make(c, &g) || !parts_make(c, &g, parts))
                return false;
        if (!cached(c, &g, in->past_k, parts[1], in->k_scale, &parts[1], &next[0]) ||
            !cached(c, &g, in->past_v, parts[2], in->v_scale, &parts[2], &next[1]) ||
            !mask_make(c, &g, &mask))
                return false;
        count = in->causal ? plus(c, g.held, (double)g.steps)
                           : plus(c,
                                  compose_reshape(c, compose_cast(c, in->last, E_I64), 1,
                                                  g.held->type->dims),
                                  1);
        struct compose_attention meant = attention_of(in, parts);
        meant.mask = mask;
        meant.lengths = count;
        if (!count || !compose_attention(c, &meant, result))
                return false;
        for (int i = SCORES_MASKED; i <= SCORES_SHARES && in->scores; i++)
                if (!(result->scores[i] = shown_scores(c, &g, result->scores[i], count)))
                        return false;
        result->k = next[0];
        result->v = next[1];
        return y_make(c, &g, result);
}
