/* SPDX-License-Identifier: MIT */
/* Random numbers of a key, or of numpy's RandomState, are made here: uniform ones, normal ones,
 * Bernoulli's, and classes. */
#include "front/compose/compose_random.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_window.h"

/* ---- numpy.random.RandomState ---- */

/* The generator is MT19937 (Matsumoto and Nishimura, 1998). */
enum { TWISTER_WORDS = 624, TWISTER_MIDDLE = 397 };
struct twister {
        uint32_t words[TWISTER_WORDS];
        int next;                       /* It is the number of the word that is drawn next. */
};

static void twister_seed(struct twister *t, uint32_t seed)
{
        for (int i = 0; i < TWISTER_WORDS; i++) {
                t->words[i] = seed;
                seed = 1812433253u * (seed ^ seed >> 30) + (uint32_t)i + 1;
        }
        t->next = TWISTER_WORDS;
}

static uint32_t twister_word(struct twister *t)
{
        uint32_t *w = t->words;

        for (int i = 0; t->next == TWISTER_WORDS && i < TWISTER_WORDS; i++) {
                const uint32_t y = (w[i] & 0x80000000u) |
                                   (w[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
                w[i] = w[(i + TWISTER_MIDDLE) % TWISTER_WORDS] ^ y >> 1 ^
                       (y & 1 ? 0x9908b0dfu : 0);
        }
        t->next = t->next == TWISTER_WORDS ? 0 : t->next;
        uint32_t y = w[t->next++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        return y ^ y >> 18;
}

/* Returns a multiple of 2^-53 in [0, 1). */
static double twister_uniform(struct twister *t)
{
        const uint32_t high = twister_word(t) >> 5, low = twister_word(t) >> 6;
        return (high * 67108864.0 + low) / 9007199254740992.0;
}

/* Returns numbers of the shape of t, of f32 or f64. */
static struct value *state_uniform(struct compose *c, uint32_t seed, const struct type *t,
                                   enum element e)
{
        const struct type *type = compose_type(c, e, t->rank, t->dims);
        struct twister *twister = ARENA_NEW(c->arena, struct twister);

        if (!type)
                return NULL;
        const int64_t count = type_elements(t);
        void *numbers = arena_array(c->m->arena, (size_t)count, (size_t)element_info[e].bytes);
        twister_seed(twister, seed);
        for (int64_t i = 0; i < count; i++) {
                const double u = twister_uniform(twister);
                if (e == E_F64)
                        ((double *)numbers)[i] = u;
                else
                        ((float *)numbers)[i] = (float)u;
        }
        return constant_dense(c->m, type, numbers, NULL);
}

/* Draws by Marsaglia's polar method: points (x, y) of the unit disk give a pair of numbers, of
 * which numpy takes that of y first. The logarithm is that of Tensor IR, so that all hosts agree on
 * it. */
static struct value *state_normal(struct compose *c, uint32_t seed, const struct type *t)
{
        const struct type *type = compose_type(c, E_F64, t->rank, t->dims);
        struct twister *twister = ARENA_NEW(c->arena, struct twister);
        double x = 0, y = 0, r = 0;

        if (!type)
                return NULL;
        const int64_t count = type_elements(t);
        double *part = arena_array(c->m->arena, (size_t)count, sizeof *part);
        double *square = arena_array(c->m->arena, (size_t)count, sizeof *square);
        twister_seed(twister, seed);
        for (int64_t i = 0; i < count; i++) {
                for (bool found = i & 1; !found; found = r > 0 && r < 1) {
                        x = 2 * twister_uniform(twister) - 1;
                        y = 2 * twister_uniform(twister) - 1;
                        r = x * x + y * y;
                }
                part[i] = i & 1 ? x : y;
                square[i] = r;
        }
        struct value *squares = constant_dense(c->m, type, square, NULL);
        struct value *logs = times(c, compose_unary(c, OP_log, squares), -2);
        struct value *factors = compose_unary(c, OP_sqrt, divide(c, logs, squares));
        return mul(c, factors, constant_dense(c->m, type, part, NULL));
}

/* ---- Philox ---- */

struct value *compose_key(struct compose *c, struct value *key, struct value *number)
{
        return compose_binary(c, OP_random_bits, key, compose_cast(c, number, E_U64));
}

static struct value *bits_for(struct compose *c, struct value *key, const struct type *t)
{
        struct value *positions = compose_iota(c, E_U64, type_elements(t));
        positions = compose_reshape(c, positions, t->rank, t->dims);
        return compose_binary(c, OP_random_bits, key, positions);
}

/* Returns the highest bits of each element, as f32 (at most 31 bits) or f64 (at most 63). */
static struct value *highest(struct compose *c, struct value *bits, int count, enum element e)
{
        struct value *part = compose_with(c, OP_shr, bits, 64 - count);
        return compose_cast(c, compose_cast(c, part, e == E_F64 ? E_I64 : E_I32), e);
}

struct value *compose_uniform(struct compose *c, const struct compose_draw *draw,
                              const struct type *t)
{
        const enum element e = compose_wide_element(t->element);

        if (!draw->key)
                return state_uniform(c, draw->seed, t, e);
        struct value *bits = bits_for(c, draw->key, t);
        return e == E_F64 ? times(c, highest(c, bits, 53, e), 1 / 9007199254740992.0)
                          : times(c, highest(c, bits, 24, e), 1 / 16777216.0);
}

struct value *compose_normal(struct compose *c, const struct compose_draw *draw,
                             const struct type *t)
{
        const enum element e = compose_wide_element(t->element);
        const int count = e == E_F64 ? 32 : 24;
        const double unit = 1 / (double)(INT64_C(1) << count);

        if (!draw->key)
                return compose_cast(c, state_normal(c, draw->seed, t), e);
        struct value *bits = bits_for(c, draw->key, t);
        struct value *first = times(c, plus(c, highest(c, bits, count, e), 1), unit);
        struct value *other = highest(c, compose_with(c, OP_shl, bits, 32), count, e);
        struct value *logs = times(c, compose_unary(c, OP_log, first), -2);
        struct value *angle = times(c, other, 6.283185307179586 * unit);
        struct value *radius = compose_unary(c, OP_sqrt, logs);
        return mul(c, radius, compose_unary(c, OP_cos, angle));
}

/* ---- what is made of them ---- */

struct value *compose_bernoulli(struct compose *c, const struct compose_draw *draw,
                                struct value *p)
{
        p = compose_wide(c, p);
        if (draw->key)
                return p ? compose_binary(c, OP_lt, compose_uniform(c, draw, p->type), p) : NULL;
        /* numpy inverts the distribution of the rarer outcome. */
        p = compose_cast(c, p, E_F64);
        struct value *u = p ? compose_uniform(c, draw, p->type) : NULL;
        struct value *rare = compose_binary(c, OP_gt, u, compose_from(c, OP_sub, 1, p));
        struct value *usual = compose_binary(c, OP_le, u, p);
        return compose_select(c, compose_with(c, OP_le, p, 0.5), rare, usual);
}

struct value *compose_multinomial(struct compose *c, const struct compose_draw *draw,
                                  struct value *x, int64_t count, enum element e)
{
        const int64_t last = 1;
        x = compose_wide(c, x);
        if (!x)
                return NULL;
        const int64_t classes = value_extent(x, 1);
        struct value *top = compose_reduce(c, REDUCE_max, x, &last, 1, E_COMPUTE);
        struct value *weights = compose_unary(
                c, OP_exp, sub(c, x, compose_unreduce(c, top, x->type, &last, 1)));
        struct value *sums = compose_cumulate(c, weights, REDUCE_sum, 1, false, false);
        struct value *whole = compose_part(c, sums, 1, classes - 1, 1);
        const struct type *t = compose_type(c, value_element(x), 2,
                                            (dim_t[]){ x->type->dims[0], dim_of(count) });
        if (!whole || !t)
                return NULL;
        struct value *u = mul(c, compose_uniform(c, draw, t), whole);
        /* The class is how many sums are not above u. */
        u = compose_reshape(c, u, 3, (dim_t[]){ x->type->dims[0], dim_of(count), dim_of(1) });
        sums = compose_reshape(c, sums, 3,
                               (dim_t[]){ x->type->dims[0], dim_of(1), dim_of(classes) });
        struct value *below = compose_cast(c, compose_binary(c, OP_le, sums, u), e);
        return compose_reduce(c, REDUCE_sum, below, (const int64_t[]){ 2 }, 1, E_COMPUTE);
}

struct value *compose_dropout(struct compose *c, const struct compose_draw *draw, struct value *x,
                              struct value *ratio, struct value **kept)
{
        const enum element e = value_element(x);
        const struct type *t = type_with_element(c->m, x->type, draw->key ? e : E_F64);
        struct value *u = compose_uniform(c, draw, t);
        struct value *wide = compose_cast(c, compose_wide(c, ratio), compose_wide_element(e));

        if (!u || !wide)
                return NULL;
        *kept = compose_binary(c, OP_ge, u, compose_cast(c, ratio, value_element(u)));
        struct value *factor = compose_from(c, OP_div, 1, compose_from(c, OP_sub, 1, wide));
        struct value *zero = constant_number(c->m, wide->type, 0);
        struct value *factors = compose_select(c, *kept, factor, zero);
        return compose_cast(c, mul(c, compose_wide(c, x), factors), e);
}
