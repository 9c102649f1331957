/* SPDX-License-Identifier: MIT */
/* Attention: softmax(scale q k' + bias) v over heads, and rotary position embeddings. */
#ifndef FRONT_COMPOSE_COMPOSE_ATTENTION_H
#define FRONT_COMPOSE_COMPOSE_ATTENTION_H

#include "front/compose/compose_quantize.h"

/* Queries q [batch, heads, length, size], keys k [batch, groups, keys, size] and values v [batch,
 * groups, keys, columns], or of rank 3 with heads and sizes side by side in the last dimension;
 * consecutive heads share the keys and values of a group. */
struct compose_attention {
        struct value *q, *k, *v;
        int64_t heads, groups;          /* of rank 3 */
        struct value *past_k, *past_v;  /* of rank 4, put in front of k and v; or NULL */
        struct value *mask;             /* broadcasts to [batch, heads, length, keys] from the
                                         * right. Floats are added to scores; bool says which keys
                                         * count. Keys behind its end do not count. Or NULL */
        struct value *lengths;          /* integers <batch>: how many keys count; NULL: all */
        bool causal;                    /* a query sees no later keys */
        bool scaled;                    /* `scale` is stated */
        double scale;                   /* of scores; where it is not stated, 1 / sqrt(size) */
        float softcap;                  /* scores become softcap * tanh(scores / softcap); 0: they
                                         * do not */
        struct value *sink;             /* [heads]: a further score of each row, which takes its
                                         * share and has no value; NULL: none */
        enum element precision;         /* the type of the softmax: f64, or the wide type of q */
};
/* Scores at each stage: products, capped, masked, after the softmax. */
enum compose_scores { SCORES_PRODUCTS, SCORES_CAPPED, SCORES_MASKED, SCORES_SHARES, SCORES_COUNT };
struct compose_attended {
        struct value *y;                /* the result, of q's rank */
        struct value *k, *v;            /* of rank 4, with past keys and values in front */
        struct value *scores[SCORES_COUNT];
};
/* A row none of whose keys counts is 0; under --exact it is NaN. With lengths, causal queries are
 * counted back from the last key that counts; under --exact, from the first key on. */
bool compose_attention(struct compose *c, const struct compose_attention *a,
                       struct compose_attended *result);

/* Its steps, for operands of rank 4: whether the shapes fit; the scaled products; what a group
 * has, [batch, groups, length, size], for each of its heads, [batch, heads, length, size]. */
bool compose_attention_fits(struct compose *c, const struct value *q, const struct value *k,
                            const struct value *v);
struct value *compose_attention_scores(struct compose *c, struct value *q, struct value *k,
                                       double scale);
struct value *compose_for_heads(struct compose *c, struct value *x, int64_t heads);

/* Attention of one operand, whose projections to queries, keys and values are one product of
 * integers (compose_attention_quantized.c). Floats have the type of the bias. */
struct compose_attention_quantized {
        struct compose_quantized x;     /* of 8 bits, [batch, steps, inputs]; its scale and zero
                                         * point are one number each */
        struct compose_quantized w;     /* of 8 bits, [inputs, 3 * heads * size]: columns of
                                         * queries, of keys, of values */
        struct value *bias;             /* [3 * heads * size] */
        struct value *past;             /* [2, batch, heads, past, size]: keys and values in front
                                         * of these; or NULL */
        struct value *mask;             /* i32: where the keys of each sequence end, [batch], or
                                         * end, and then start, [2 * batch]; or not 0 for keys that
                                         * count, [batch, keys] or [batch, steps, keys]; or NULL */
        int64_t heads;
        bool causal;                    /* a query sees no later keys */
        double scale;                   /* the factor of scores; 0: 1 / sqrt(size) */
        double filter;                  /* what is added to scores of keys that do not count */
};
/* *y: [batch, steps, heads * size]. *kept, unless NULL: past, with the keys and values of this call
 * behind it. False after an error. */
bool compose_attention_quantized(struct compose *c, const struct compose_attention_quantized *in,
                                 struct value **y, struct value **kept);

/* What such a mask of keys adds to scores, f32 [batch, 1, steps, keys]: `filter` where a key
 * does not count, else 0; NULL where it hides none. False after an error. */
bool compose_attention_filter(struct compose *c, struct value *mask, int64_t batch, int64_t steps,
                              int64_t keys, double filter, struct value **added);
/* Keys and values, [batch, heads, keys, size] each, as one value of element e that goes into the
 * next call: [2, batch, heads, keys, size]. */
struct value *compose_attention_present(struct compose *c, struct value *k, struct value *v,
                                        enum element e);

/* Attention over a cache (compose_attention_grouped.c): keys and values of this call are put behind
 * those that each sequence has. */
struct compose_grouped_attention {
        struct value *q;                /* [batch, steps, heads * size], or, where k and v are NULL,
                                         * (heads + 2 * groups) * size: queries, keys, values */
        struct value *k, *v;            /* [batch, steps, groups * size] */
        struct value *past_k, *past_v;  /* the cache, [batch, groups, room, size]; or NULL */
        struct value *last;             /* integers [batch]: the last position of each sequence,
                                         * with the steps of this call */
        struct value *cosine, *sine;    /* [positions, turned / 2], by which queries and keys are
                                         * turned; NULL: they are not */
        struct value *positions;        /* of the steps, i64 [batch, steps]; NULL: behind the cache
                                         * / */
        struct value *bias;             /* of scores, [batch or 1, heads or 1, steps, keys]; or NULL
                                         * / */
        struct value *sink;             /* as of compose_attention */
        int64_t heads, groups;
        int64_t keys;                   /* of the resulting cache, at least */
        int64_t window;                 /* keys that a query sees, with its own; 0: all */
        struct value *pattern;          /* f32 [layouts, blocks, blocks]: what is added to scores of
                                         * a block of positions and one of keys; heads have the
                                         * layouts in turn. Without bias and window. Or NULL */
        int64_t pattern_block;          /* positions of a block */
        bool causal, interleaved;
        double scale;                   /* 0: 1 / sqrt(size) */
        float softcap;
};
/* result->y [batch, steps, heads * size]; result->k and v are the cache that follows */
bool compose_grouped_attention(struct compose *c, const struct compose_grouped_attention *in,
                               struct compose_attended *result);

/* Attention by a state for each head, instead of all keys and values (compose_attention_linear.c).
 * Operands are of one float type; consecutive heads share the state of a group. */
struct compose_linear_attention {
        struct value *q;                /* [batch, steps, heads * depth] */
        struct value *k;                /* [batch, steps, groups * depth] */
        struct value *v;                /* [batch, steps, groups * width] */
        struct value *past;             /* [batch, groups, depth, width], of any float type: the
                                         * state before the first step; NULL: 0 */
        struct value *decay;            /* logarithms of what the state is multiplied by, [batch,
                                         * steps, groups] or [.., groups * depth]; NULL: 0 */
        struct value *beta;             /* the delta rule: which part of what a key stands for in
                                         * the state changes, [batch, steps, groups] or [.., 1];
                                         * NULL: values are added to the state */
        int64_t heads, groups;
        double scale;                   /* the factor of the result; 0: 1 / sqrt(depth) */
};
/* *y [batch, steps, heads * width], and the state after the last step; false after an error. Where
 * window is not 0, *state is [window, batch, ..], the states after each of the last steps, and 0
 * for those before the first one; the last one of `past` is read. Heads of queries that are fewer
 * than groups are shared by consecutive groups. */
enum { LINEAR_WINDOW_MAX = 8 };
bool compose_linear_attention_window(struct compose *c, const struct compose_linear_attention *in,
                                     int64_t window, struct value **y, struct value **state);
bool compose_linear_attention(struct compose *c, const struct compose_linear_attention *in,
                              struct value **y, struct value **state);

/* Rotary embeddings: pairs of elements are turned by an angle that grows with the position. */
struct compose_rotary {
        struct value *x;                /* [batch, heads, length, size], or [batch, length, heads *
                                         * size] */
        int64_t heads;                  /* of rank 3 */
        struct value *cosine, *sine;    /* [positions, turned / 2] with positions, else [batch,
                                         * length, turned / 2] */
        struct value *positions;        /* integers [batch, length], or NULL */
        int64_t turned;                 /* how many of a head's first elements are turned; 0: all */
        bool interleaved;               /* pairs lie side by side, not half a head apart */
};
struct value *compose_rotary(struct compose *c, const struct compose_rotary *r);

#endif
