/* SPDX-License-Identifier: MIT */
/* Beam search. A step takes the best 2 * beams words of all open sequences of a sample. Those among
 * the first half of them that end a sequence compete with the ones that have ended before; the best
 * of the others become the open sequences. */
#include <float.h>
#include <math.h>

#include "front/compose/compose_search.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_sort.h"

struct value *compose_repeat(struct compose *c, struct value *x, int axis, int64_t times)
{
        dim_t dims[RANK_MAX];
        int64_t to[RANK_MAX];
        if (!x || times == 1)
                return x;
        const int rank = value_rank(x);
        for (int d = 0, k = 0; d < rank; d++) {
                to[d] = k;
                dims[k++] = x->type->dims[d];
                if (d == axis)
                        dims[k++] = dim_of(times);
        }
        const struct type *t = compose_type(c, value_element(x), rank + 1, dims);
        x = t ? build_broadcast(c->b, x, t, to) : NULL;
        for (int d = axis; d < rank; d++)
                dims[d] = d == axis ? dim_of(type_extent(t, d) * times) : t->dims[d + 1];
        return compose_reshape(c, x, rank, dims);
}

/* Returns numbers [batch, beams] within a sample as numbers among all rows, of which a sample has
 * `rows`. */
static struct value *of_all(struct compose *c, const struct compose_beams *s, struct value *x,
                            int64_t rows)
{
        const dim_t column[2] = { dim_of(s->batch), dim_of(1) };
        struct value *begin = times(c, compose_iota(c, E_I64, s->batch), (double)rows);
        return add(c, x, compose_reshape(c, begin, 2, column));
}

/* Returns scores divided by what sequences of this length are. */
static struct value *by_length(struct compose *c, const struct compose_beams *s, struct value *x,
                               int64_t length)
{
        struct value *base = build_scalar(c->b, E_F32, (double)length);
        return divide(c, x, compose_binary(c, OP_pow, base, s->penalty));
}

bool compose_beams_start(struct compose *c, struct compose_beams *s, struct value *prompt)
{
        const dim_t open[3] = { dim_of(s->batch), dim_of(s->beams), dim_of(s->length) };
        const dim_t column[2] = { open[0], dim_of(1) };
        const struct type *scores = compose_type(c, E_F32, 2, open);
        const struct type *ended = compose_type(c, E_I64, 3, open);

        if (!scores || !ended)
                return false;
        /* The beams of a sample are equal at first, so that only the first may go on. */
        struct value *beam = compose_iota(c, E_I64, s->beams);
        beam = compose_select(c, compose_with(c, OP_gt, beam, 0), build_scalar(c->b, E_F32, -1e9),
                              build_scalar(c->b, E_F32, 0));
        s->scores = compose_spread(c, beam, scores, (const int64_t[]){ 1 });
        s->sequences = compose_repeat(c, prompt, 0, s->beams);
        s->ended = constant_number(c->m, ended, (double)s->pad);
        s->ended_scores = s->ended_keys = constant_number(c->m, scores, -INFINITY);
        s->ended_count = constant_number(c->m, type_tensor(c->m, E_I64, 2, column), 0);
        s->done = constant_number(c->m, type_tensor(c->m, E_BOOL, 2, column), 0);
        return s->scores && s->sequences;
}

/* Lets sequences of these numbers [batch, beams] among a sample's, where the flags hold, compete
 * with those that have ended. Returns false after an error. */
static bool compete(struct compose *c, struct compose_beams *s, struct value *numbers,
                    struct value *flags, struct value *scores)
{
        const int64_t length = value_extent(s->sequences, 1), both = 2 * s->beams;
        const dim_t flat = dim_of(s->batch * s->beams);
        const dim_t rest[3] = { dim_of(s->batch), dim_of(s->beams), dim_of(s->length - length) };
        const dim_t rows[2] = { dim_of(s->batch * both), dim_of(s->length) };

        numbers = compose_reshape(c, of_all(c, s, numbers, s->beams), 1, &flat);
        struct value *ends = numbers ? build_gather(c->b, s->sequences, numbers, 0) : NULL;
        ends = compose_reshape(c, ends, 3, (const dim_t[]){ rest[0], rest[1], dim_of(length) });
        if (ends && length < s->length) {
                struct value *parts[2] = { ends,
                                           constant_number(c->m, type_tensor(c->m, E_I64, 3, rest),
                                                           (double)s->pad) };
                ends = compose_concat(c, parts, 2, 2);
        }
        struct value *keys = compose_with(c, OP_max, scores, -FLT_MAX);
        keys = compose_select(c, flags, keys, build_scalar(c->b, E_F32, -INFINITY));
        if (!ends || !scores || !keys)
                return false;
        struct value *words[2] = { s->ended, ends }, *key[2] = { s->ended_keys, keys };
        struct value *score[2] = { s->ended_scores, scores };
        struct value *all = compose_reshape(c, compose_concat(c, words, 2, 1), 2, rows);
        keys = compose_concat(c, key, 2, 1);
        scores = compose_concat(c, score, 2, 1);
        struct value *order = compose_argsort(c, keys, 1, 1, s->beams);
        if (!all || !scores || !order)
                return false;
        s->ended_keys = compose_gather_elements(c, keys, order, 1);
        s->ended_scores = compose_gather_elements(c, scores, order, 1);
        order = of_all(c, s, order, both);
        s->ended = order ? build_gather(c->b, all, order, 0) : NULL;
        return s->ended && s->ended_keys && s->ended_scores;
}

/* Marks samples that are done, by a step's best scores top [batch, 2 * beams] behind sequences of
 * this length. What could become better is judged as onnxruntime does it: of sample i by the 2 *
 * beams scores from i * beams on, which are its own for the first sample alone. */
static bool finish(struct compose *c, struct compose_beams *s, struct value *top, int64_t length)
{
        struct value *over = compose_with(c, OP_ge, s->ended_count, (double)s->beams);
        if (!s->stops_early) {
                const dim_t halves[2] = { dim_of(2 * s->batch), dim_of(s->beams) };
                struct value *half = compose_part(c, compose_reshape(c, top, 2, halves), 1, 0, 1);
                struct value *worst = compose_part(c, s->ended_scores, 1, s->beams - 1, 1);
                struct value *best = compose_part(c, half, 0, 0, s->batch);
                half = compose_part(c, half, 0, 1, s->batch);
                best = compose_binary(c, OP_max, best, half);
                best = by_length(c, s, best, length);
                over = compose_binary(c, OP_and, over, compose_binary(c, OP_ge, worst, best));
        }
        s->done = compose_binary(c, OP_or, s->done, over);
        return s->done != NULL;
}

/* Returns whether all samples are done, [1, 1]. */
static struct value *all_done(struct compose *c, const struct compose_beams *s)
{
        const dim_t one[2] = { dim_of(1), dim_of(1) };
        struct value *open = compose_cast(c, compose_unary(c, OP_not, s->done), E_I32);
        open = open ? compose_reduce(c, REDUCE_max, open, (const int64_t[]){ 0, 1 }, 2, E_COMPUTE)
                    : NULL;
        return compose_with(c, OP_eq, compose_reshape(c, open, 2, one), 0);
}

bool compose_beams_step(struct compose *c, struct compose_beams *s, struct value *x)
{
        const int64_t words = value_extent(x, 1), length = value_extent(s->sequences, 1);
        const dim_t cube[3] = { dim_of(s->batch), dim_of(s->beams), dim_of(words) };
        const dim_t row[2] = { cube[0], dim_of(s->beams * words) };
        const dim_t flat[2] = { dim_of(s->batch * s->beams), dim_of(1) };
        const dim_t open[3] = { cube[0], cube[1], dim_of(1) }, column[2] = { cube[0], dim_of(1) };

        x = compose_reshape(c, x, 3, cube);
        x = add(c, x, compose_reshape(c, s->scores, 3, open));
        x = compose_reshape(c, x, 2, row);
        struct value *order = x ? compose_argsort(c, x, 1, 1, 2 * s->beams) : NULL;
        struct value *top = order ? compose_gather_elements(c, x, order, 1) : NULL;
        struct value *word = compose_with(c, OP_rem, order, (double)words);
        struct value *beam = compose_with(c, OP_div, order, (double)words);
        struct value *ends = compose_with(c, OP_eq, word, (double)s->end);
        struct value *done = s->done;
        if (!top || !ends || !beam)
                return false;

        s->all = compose_select(c, all_done(c, s), build_scalar(c->b, E_F32, 0), x);
        s->all = compose_reshape(c, s->all, 3, cube);
        struct value *new_ends = compose_part(c, ends, 1, 0, s->beams);
        new_ends = compose_binary(c, OP_and, new_ends, compose_unary(c, OP_not, done));
        struct value *score = by_length(c, s, compose_part(c, top, 1, 0, s->beams), length);
        if (!compete(c, s, compose_part(c, beam, 1, 0, s->beams), new_ends, score))
                return false;
        struct value *count = compose_cast(c, new_ends, E_I64);
        count = count ? compose_reduce(c, REDUCE_sum, count, (const int64_t[]){ 1 }, 1, E_COMPUTE)
                      : NULL;
        s->ended_count = add(c, s->ended_count, compose_reshape(c, count, 2, column));
        if (!s->ended_count || !finish(c, s, top, length))
                return false;

        struct value *late = compose_cast(c, ends, E_I32);
        struct value *next = late ? compose_argsort(c, late, 1, 0, s->beams) : NULL;
        if (!next)
                return false;
        struct value *zero = compose_integer(c, E_I64, 0);
        s->scores = compose_gather_elements(c, top, next, 1);
        s->scores = compose_select(c, done, build_scalar(c->b, E_F32, 0), s->scores);
        s->words = compose_gather_elements(c, word, next, 1);
        s->words = compose_select(c, done, compose_integer(c, E_I64, s->pad), s->words);
        s->words = compose_reshape(c, s->words, 2, flat);
        s->from = of_all(c, s, compose_gather_elements(c, beam, next, 1), s->beams);
        s->from = compose_reshape(c, compose_select(c, done, zero, s->from), 1, flat);
        if (!s->from || !s->words)
                return false;
        struct value *both[2] = { build_gather(c->b, s->sequences, s->from, 0), s->words };
        s->sequences = both[0] ? compose_concat(c, both, 2, 1) : NULL;
        return s->sequences && s->scores && s->all;
}

struct value *compose_beams_end(struct compose *c, struct compose_beams *s, int64_t count,
                                struct value **scores)
{
        const dim_t open[2] = { dim_of(s->batch), dim_of(s->beams) };
        struct value *score = by_length(c, s, s->scores, s->length);
        struct value *beam = compose_iota(c, E_I64, s->beams);
        beam = compose_spread(c, beam, type_tensor(c->m, E_I64, 2, open), (const int64_t[]){ 1 });
        if (!compete(c, s, beam, compose_unary(c, OP_not, s->done), score))
                return NULL;
        *scores = compose_part(c, s->ended_scores, 1, 0, count);
        return compose_part(c, s->ended, 1, 0, count);
}
