/* SPDX-License-Identifier: MIT */
/* Attention is softmax(scale q k' + bias) v over heads; rotary position embeddings are here as
 * well. */
#ifndef FRONT_COMPOSE_COMPOSE_ATTENTION_H
#define FRONT_COMPOSE_COMPOSE_ATTENTION_H

#include "front/compose/compose_quantize.h"

/* The operands of attention are queries q [batch, heads, length, size], keys k [batch, groups,
 * keys, size] and values v [batch, groups, keys, columns]; operands of rank 3 have heads and sizes
 * side by side in the last dimension. Consecutive heads share the keys and values of a group. */
struct compose_attention {
        struct value *q, *k, *v;
        int64_t heads, groups;          /* They are read where operands have rank 3. */
        struct value *past_k, *past_v;  /* They have rank 4, and are put in front of k and v; or
                                         * they are NULL. */
        struct value *before;           /* Where k and v have keys in front of the queries' own
                                         * already, their number (i64); else NULL. */
        struct value *mask;             /* It broadcasts to [batch, heads, length, keys] from the
                                         * right. Floats are added to scores; a bool says which keys
                                         * count. Keys behind its end do not count. It may be
                                         * NULL. */
        struct value *lengths;          /* These integers <batch> say how many keys count; where it
                                         * is NULL all do. */
        bool causal;                    /* A query sees no later keys. */
        bool early_text;                /* A row none of whose keys counts is NaN, and with lengths
                                         * the first causal query stands at the first key, as ONNX's
                                         * text said before its erratum to opsets 23 and 24. */
        bool scales_queries;            /* Queries alone are multiplied by the scale; else they and
                                         * keys are, by its root, as ONNX's text says. */
        bool scaled;                    /* `scale` is stated. */
        double scale;                   /* It is the factor of scores; where it is not stated it is
                                         * 1 / sqrt(size). */
        float softcap;                  /* Scores become softcap * tanh(scores / softcap); at 0 they
                                         * stay. */
        struct value *sink;             /* It has for each head [heads] a further score of each row,
                                         * which takes its share and has no value; it may be
                                         * NULL. */
        enum element precision;         /* The softmax has this type: f64, or the wide type of q. */
};
/* The stages at which scores are asked for: products, capped, masked, and after the softmax. */
enum compose_scores { SCORES_PRODUCTS, SCORES_CAPPED, SCORES_MASKED, SCORES_SHARES, SCORES_COUNT };
struct compose_attended {
        struct value *y;                /* The result, which has q's rank. */
        struct value *k, *v;            /* They have rank 4, with past keys and values in front. */
        struct value *scores[SCORES_COUNT];
};
/* Computes attention. A row none of whose keys counts is 0. With lengths, causal queries are
 * counted back from the last key that counts. */
bool compose_attention(struct compose *c, const struct compose_attention *a,
                       struct compose_attended *result);

/* These are its steps, for operands of rank 4. _fits checks that the shapes fit; _scores returns
 * the scaled products; _for_heads repeats what a group has, [batch, groups, length, size], for each
 * of its heads, [batch, heads, length, size]. */
bool compose_attention_fits(struct compose *c, const struct value *q, const struct value *k,
                            const struct value *v);
struct value *compose_attention_scores(struct compose *c, struct value *q, struct value *k,
                                       double scale);
struct value *compose_for_heads(struct compose *c, struct value *x, int64_t heads);

/* Attention of one operand, whose projections to queries, keys and values are one product of
 * integers, is in compose_attention_quantized.c. Floats have the type of the bias. */
struct compose_attention_quantized {
        struct compose_quantized x;     /* It has 8 bits, [batch, steps, inputs]; its scale and zero
                                         * point are one number each. */
        struct compose_quantized w;     /* It has 8 bits, [inputs, 3 * heads * size]: columns of
                                         * queries, of keys, then of values. */
        struct value *bias;             /* It has the extents [3 * heads * size]. */
        struct value *past;             /* These are the keys and values in front of the call's own,
                                         * [2, batch, heads, past, size]; or it is NULL. */
        struct value *mask;             /* These i32 say where the keys of each sequence end,
                                         * [batch], or where they end, and then where they start, [2
                                         * * batch]; or they are not 0 for keys that count, [batch,
                                         * keys] or [batch, steps, keys]. It may be NULL. */
        int64_t heads;
        bool causal;                    /* A query sees no later keys. */
        double scale;                   /* It is the factor of scores; 0 stands for 1 /
                                         * sqrt(size). */
        double filter;                  /* It is added to scores of keys that do not count. */
};
/* Sets *y to [batch, steps, heads * size] and, unless kept is NULL, *kept to past with the keys and
 * values of this call behind it. Returns false after an error. */
bool compose_attention_quantized(struct compose *c, const struct compose_attention_quantized *in,
                                 struct value **y, struct value **kept);

/* Sets *added to what such a mask of keys adds to scores of the extents batch, steps, keys, f32
 * [batch, 1, steps, keys]: `filter` where a key does not count, else 0; it is NULL where the mask
 * hides none. Returns false after an error. */
bool compose_attention_filter(struct compose *c, struct value *mask, const dim_t extents[3],
                              double filter, struct value **added);
/* Returns keys and values, [batch, heads, keys, size] each, as one value of element e that goes
 * into the next call: [2, batch, heads, keys, size]. */
struct value *compose_attention_present(struct compose *c, struct value *k, struct value *v,
                                        enum element e);

/* Attention over a cache is in compose_attention_grouped.c: keys and values of this call are put
 * behind those that each sequence has. */
struct compose_grouped_attention {
        struct value *q;                /* Its extents are [batch, steps, heads * size] or, where k
                                         * and v are NULL, [.., (heads + 2 * groups) * size], which
                                         * are queries, keys and values. */
        struct value *k, *v;            /* Their extents are [batch, steps, groups * size]. */
        struct value *past_k, *past_v;  /* They are the cache, [batch, groups, room, size], or
                                         * NULL. */
        struct value *last;             /* These integers [batch] are the last position of each
                                         * sequence, with the steps of this call. */
        struct value *cosine, *sine;    /* Queries and keys are turned by these [positions, turned /
                                         * 2]; where they are NULL nothing is turned. */
        struct value *positions;        /* These are the positions of the steps, i64 [batch, steps];
                                         * where it is NULL they are those behind the cache. */
        struct value *bias;             /* It is added to scores, [batch or 1, heads or 1, steps,
                                         * keys]; or it is NULL. */
        struct value *sink;             /* It is as in struct compose_attention. */
        int64_t heads, groups;
        int64_t keys;                   /* The resulting cache has room for at least so many
                                         * keys; scores that are asked for have as many. */
        struct value *k_scale, *v_scale; /* Of a cache of integers, they are f32 that broadcast to
                                          * it; else they are NULL. */
        int bits;                       /* A number of a cache of integers has 8 bits, and is an
                                         * i8; or it has 4, two numbers in a byte, the first one
                                         * lowest, each plus 8. */
        struct value *q_norm, *k_norm;  /* Before they are turned, each head of queries and of keys
                                         * is divided by the root of its mean square plus epsilon,
                                         * and multiplied by these [size]; or they are NULL. */
        float q_epsilon, k_epsilon;
        struct value *counts;           /* Of the steps of each sequence, so many (integers [batch])
                                         * count, the first ones; where it is NULL all do. What the
                                         * others make in y, and in the cache behind the last
                                         * position, is not defined. */
        bool evicts;                    /* The cache, which there is then, keeps keys of the latest
                                         * positions alone: at least those of the window, which is
                                         * not larger than it. Where a key does not fit any more,
                                         * the fewest are left that still have the window once its
                                         * room is full again. It comes without bias. */
        int64_t window;                 /* A query sees so many keys, with its own; at 0 it sees
                                         * all. */
        struct value *pattern;          /* It is f32 [layouts, blocks, blocks], and is added to
                                         * scores of a block of positions and one of keys; heads
                                         * have the layouts in turn. It comes without bias and
                                         * window, or is NULL. */
        int64_t pattern_block;          /* A block has so many positions. */
        bool causal, interleaved;
        bool scores;                    /* Scores are asked for. */
        double scale;                   /* At 0 it is 1 / sqrt(size). */
        float softcap;
};
/* Returns whether a run gives how many steps there are, or how many rows the cache has. The cache
 * that follows is then the old one with the rows of this call behind it, and `keys` is not read. */
bool compose_grouped_grows(const struct compose_grouped_attention *in);
/* Sets result->y to [batch, steps, heads * size]; result->k and v become the cache that follows;
 * scores at the stages SCORES_MASKED, in which 0 stands for hidden keys, and SCORES_SHARES are
 * [batch, heads, steps, keys]. */
bool compose_grouped_attention(struct compose *c, const struct compose_grouped_attention *in,
                               struct compose_attended *result);

/* These are about a cache [batch, groups, room, size] (compose_attention_cache.c). */

/* Returns floats x as the integers of a cache, and back, in f32. */
struct value *compose_cache_encode(struct compose *c, struct value *x, struct value *scale,
                                   int bits);
struct value *compose_cache_decode(struct compose *c, struct value *numbers, struct value *scale,
                                   int bits);
/* Returns how many keys a cache that evicts has after `total` positions, both i64 [batch]. */
struct value *compose_cache_resident(struct compose *c, struct value *total, int64_t room,
                                     int64_t window);
/* Returns `room` rows of each sequence from begin[sequence] (i64) on; rows behind the last one are
 * that one again. */
struct value *compose_cache_from(struct compose *c, struct value *cache, struct value *begin,
                                 int64_t room);

/* Linear attention has a state for each head instead of all keys and values
 * (compose_attention_linear.c). Operands are of one float type; consecutive heads share the state
 * of a group. */
struct compose_linear_attention {
        struct value *q;                /* Its extents are [batch, steps, heads * depth]. */
        struct value *k;                /* Its extents are [batch, steps, groups * depth]. */
        struct value *v;                /* Its extents are [batch, steps, groups * width]. */
        struct value *past;             /* It is the state before the first step, [batch, groups,
                                         * depth, width], of any float type; NULL stands for 0. */
        struct value *decay;            /* These are logarithms of what the state is multiplied by,
                                         * [batch, steps, groups] or [.., groups * depth]; NULL
                                         * stands for 0. */
        struct value *beta;             /* By the delta rule, it says which part of what a key
                                         * stands for in the state changes, [batch, steps, groups]
                                         * or [.., 1]; where it is NULL, values are added to the
                                         * state. */
        int64_t heads, groups;
        double scale;                   /* It is the factor of the result; 0 stands for 1 /
                                         * sqrt(depth). */
        struct value **added;           /* Unless it is NULL, *added becomes what is added to the
                                         * state for each key, f32 [batch, steps, groups *
                                         * width]. */
};
/* Sets *y to [batch, steps, heads * width], and *state to the state after the last step; returns
 * false after an error. Where window is not 0, *state is [window, batch, ..], the states after each
 * of the last steps, and 0 for those before the first one; the last one of `past` is read. Heads of
 * queries that are fewer than groups are shared by consecutive groups. */
enum { LINEAR_WINDOW_MAX = 8 };
bool compose_linear_attention_window(struct compose *c, const struct compose_linear_attention *in,
                                     int64_t window, struct value **y, struct value **state);
bool compose_linear_attention(struct compose *c, const struct compose_linear_attention *in,
                              struct value **y, struct value **state);

/* Rotary embeddings turn pairs of elements by an angle that grows with the position. */
struct compose_rotary {
        struct value *x;                /* Its extents are [batch, heads, length, size], or [batch,
                                         * length, heads * size]. */
        int64_t heads;                  /* It is read where x has rank 3. */
        struct value *cosine, *sine;    /* Their extents are [positions, turned / 2] with positions,
                                         * else [batch, length, turned / 2]. */
        struct value *positions;        /* They are integers [batch, length], or NULL. */
        int64_t turned;                 /* So many of a head's first elements are turned; at 0 all
                                         * are. */
        bool interleaved;               /* Pairs lie side by side, not half a head apart. */
};
struct value *compose_rotary(struct compose *c, const struct compose_rotary *r);

#endif
