/* SPDX-License-Identifier: MIT */
/* Rules for the word that follows a sequence. Each takes scores, f32 [rows, words], and gives words
 * that must not come the least number. */
#include <float.h>
#include <math.h>

#include "front/compose/compose_search.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_ngrams.h"

/* Returns scores x, where those of words that are there already are weakened. */
static struct value *penalized(struct compose *c, struct value *sequences, struct value *x,
                               struct value *penalty)
{
        const struct type *t = type_with_element(c->m, sequences->type, E_F32);
        struct value *none = build_like(c->b, x, 0), *one = constant_number(c->m, t, 1);
        struct value *there = compose_scatter(c, none, sequences, one, 1, SCATTER_REPLACE);
        there = compose_with(c, OP_ne, there, 0);
        struct value *weaker = divide(c, x, penalty);
        struct value *lower = mul(c, x, penalty);
        weaker = compose_select(c, compose_with(c, OP_lt, x, 0), lower, weaker);
        return compose_select(c, there, weaker, x);
}

/* Returns the largest score of a row among words of which the flags hold, f32 [rows, 1]. */
static struct value *largest(struct compose *c, struct value *flags, struct value *x)
{
        const int64_t last = 1;
        const dim_t dims[2] = { x ? x->type->dims[0] : dim_of(1), dim_of(1) };
        x = compose_select(c, flags, x, build_scalar(c->b, E_F32, -INFINITY));
        x = x ? compose_reduce(c, REDUCE_max, x, &last, 1, E_COMPUTE) : NULL;
        return compose_reshape(c, x, 2, dims);
}

/* Where are times in sequences? All are [rows, 1]. */
struct times {
        struct value *any;              /* There is a time. */
        struct value *later;            /* The first time is not the last word. */
        struct value *ends;             /* The last word is a time. */
        struct value *paired;           /* The word before the last one is a time, or there is no
                                         * such word behind the first time. */
        struct value *last;             /* It is the last time. */
};

static bool times_find(struct compose *c, struct value *sequences, int64_t first, struct times *t)
{
        const int64_t length = value_extent(sequences, 1);
        const dim_t column[2] = { sequences->type->dims[0], dim_of(1) };
        struct value *is = compose_with(c, OP_ge, sequences, (double)first);
        struct value *flags = compose_cast(c, is, E_I32);
        if (!flags)
                return false;
        struct value *from = compose_arg_reduce(c, flags, REDUCE_max, 1, false);
        from = compose_reshape(c, from, 2, column);
        struct value *to = compose_arg_reduce(c, flags, REDUCE_max, 1, true);
        to = compose_cast(c, compose_reshape(c, to, 2, column), E_I64);
        t->any = to ? compose_gather_elements(c, is, to, 1) : NULL;
        t->last = to ? compose_gather_elements(c, sequences, to, 1) : NULL;
        t->later = both(c, t->any, compose_with(c, OP_lt, from, (double)(length - 1)));
        t->ends = compose_part(c, is, 1, length - 1, 1);
        t->paired = compose_unary(c, OP_not, t->later);
        if (length > 1)
                t->paired = either(c, t->paired, compose_part(c, is, 1, length - 2, 1));
        return t->last && t->later && t->ends && t->paired;
}

/* Returns x by the rules of transcripts with timestamps, which come in pairs and do not fall. Their
 * words may come where they are likelier together than each other word. */
static struct value *timed(struct compose *c, const struct compose_words *rules,
                           struct value *sequences, struct value *x)
{
        enum { FIRST_MOST = 50 };       /* The first time is at most this one. */
        const struct compose_timestamps *r = rules->timestamps;
        struct value *never = build_scalar(c->b, E_F32, -FLT_MAX);
        struct value *word = compose_iota(c, E_I64, value_extent(x, 1));
        struct times t;

        if (!times_find(c, sequences, r->first, &t))
                return NULL;
        struct value *time = compose_with(c, OP_ge, word, (double)r->first);
        struct value *out = compose_with(c, OP_eq, word, (double)r->none);
        out = either(c, out, compose_with(c, OP_eq, word, (double)r->start_of_model));
        struct value *started = compose_with(c, OP_eq, word, (double)r->start);
        started = either(c, started, compose_with(c, OP_eq, word, (double)r->translate));
        started = either(c, started, compose_with(c, OP_eq, word, (double)r->transcribe));
        out = either(c, out, both(c, t.later, started));
        out = either(c, out, both(c, both(c, t.ends, t.paired), time));
        struct value *open = both(c, t.ends, compose_unary(c, OP_not, t.paired));
        out = either(c, out, both(c, open, compose_with(c, OP_lt, word, (double)rules->end)));
        struct value *bound = compose_select(c, open, t.last, plus(c, t.last, 1));
        struct value *early = both(c, time, compose_binary(c, OP_lt, word, bound));
        out = either(c, out, both(c, t.any, early));
        struct value *late = compose_with(c, OP_gt, word, (double)(r->first + FIRST_MOST));
        out = either(c, out, both(c, compose_unary(c, OP_not, t.later), late));
        x = compose_select(c, out, never, x);

        const int64_t last = 1;
        struct value *most = largest(c, time, x);
        struct value *other = largest(c, compose_unary(c, OP_not, time), x);
        struct value *some = x ? both(c, time, compose_with(c, OP_gt, x, -FLT_MAX)) : NULL;
        struct value *part = compose_unary(c, OP_exp, sub(c, x, most));
        part = compose_select(c, some, part, build_scalar(c->b, E_F32, 0));
        struct value *sum = part ? compose_reduce(c, REDUCE_sum, part, &last, 1, E_COMPUTE) : NULL;
        sum = most ? compose_reshape(c, sum, 2, most->type->dims) : NULL;
        struct value *together = add(c, compose_unary(c, OP_log, sum), most);
        together = compose_select(c, compose_with(c, OP_gt, sum, 0), together, never);
        struct value *likelier = compose_binary(c, OP_gt, together, other);
        out = both(c, likelier, compose_unary(c, OP_not, time));
        return compose_select(c, out, never, x);
}

struct value *compose_word_scores(struct compose *c, const struct compose_words *rules,
                                  struct value *sequences, struct value *x, bool first)
{
        const int64_t length = value_extent(sequences, 1);
        struct value *never = build_scalar(c->b, E_F32, -FLT_MAX);

        if (rules->penalty && x)
                x = penalized(c, sequences, x, rules->penalty);
        if (rules->ngram && x)
                x = compose_forbid_repeats(c, sequences, x, rules->ngram, -FLT_MAX);
        if (rules->allowed)
                x = compose_select(c, rules->allowed, x, never);
        if (rules->allowed_first && first)
                x = compose_select(c, rules->allowed_first, x, never);
        if (rules->least && x) {
                struct value *word = compose_iota(c, E_I64, value_extent(x, 1));
                struct value *ends = compose_with(c, OP_eq, word, (double)rules->end);
                struct value *early = compose_with(c, OP_gt, rules->least, (double)length);
                x = compose_select(c, both(c, ends, early), never, x);
        }
        if (rules->temperature)
                x = divide(c, x, rules->temperature);
        return rules->timestamps && x ? timed(c, rules, sequences, x) : x;
}
