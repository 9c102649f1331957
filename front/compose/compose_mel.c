/* SPDX-License-Identifier: MIT */
/* The matrix of mel weights has triangles over the bins of a spectrum, as many as bands of the mel
 * scale. */
#include "front/compose/compose_fourier.h"
#include "front/compose/compose_arithmetic.h"

static const double mel_factor = 2595, mel_hertz = 700, ln10 = 2.302585092994045684;

static struct value *mel_of(struct compose *c, struct value *hertz)
{
        struct value *at =
                plus(c,
                     compose_with(c, OP_div, compose_cast(c, hertz, E_F64), mel_hertz), 1);

        return times(c, compose_unary(c, OP_log, at), mel_factor / ln10);
}

/* Returns where the bands begin, <bands + 2 x f64>, in whole bins of the spectrum. Each has its
 * peak at the beginning of the next and ends at that after it. */
static struct value *edges(struct compose *c, const struct compose_mel *in, int64_t bands)
{
        struct value *size = in->size, *rate = in->rate, *low = mel_of(c, in->low);
        struct value *band =
                compose_with(c, OP_div, sub(c, mel_of(c, in->high), low), (double)bands + 2);
        struct value *mel =
                add(c, mul(c, compose_iota(c, E_F64, bands + 2), band), low);
        struct value *hertz = compose_unary(c, OP_exp, times(c, mel, ln10 / mel_factor));
        hertz = times(c, plus(c, hertz, -1), mel_hertz);
        struct value *bins = mul(c, hertz, plus(c, compose_cast(c, size, E_F64), 1));
        return compose_unary(c, OP_floor,
                             divide(c, bins, compose_cast(c, rate, E_F64)));
}

/* Returns edge number k of each band, over <bins x bands>. */
static struct value *edge(struct compose *c, struct value *all, struct value *shift,
                          const struct type *to, int k)
{
        struct value *at = compose_iota(c, E_I64, type_extent(to, 1));

        at = plus(c, shift ? add(c, at, shift) : at, k);
        return at && all ? compose_spread(c, build_gather(c->b, all, at, 0), to,
                                          (const int64_t[]){ 1 })
                         : NULL;
}

/* Returns 0 where run-time sizes are those of the result; else what leads outside of the edges. */
static struct value *contradiction(struct compose *c, const struct compose_mel *in,
                                   const struct type *to)
{
        struct value *bands = compose_cast(c, in->bands, E_I64),
                     *size = compose_cast(c, in->size, E_I64);
        struct value *fits = compose_with(c, OP_eq, bands, (double)type_extent(to, 1));

        fits = compose_binary(
                c, OP_and, fits,
                compose_with(c, OP_ge, size, 2 * ((double)type_extent(to, 0) - 1)));
        fits = compose_binary(c, OP_and, fits,
                              compose_with(c, OP_lt, size, 2 * (double)type_extent(to, 0)));
        return compose_select(c, fits, compose_integer(c, E_I64, 0),
                              compose_integer(c, E_I64, type_extent(to, 1) + 2));
}

struct value *compose_mel_weights(struct compose *c, const struct compose_mel *in,
                                  const struct type *to, enum element e)
{
        to = type_with_element(c->m, to, E_F64);
        struct value *shift = in->known ? NULL : contradiction(c, in, to);
        struct value *all = edges(c, in, type_extent(to, 1));
        struct value *left = edge(c, all, shift, to, 0), *peak = edge(c, all, shift, to, 1),
                     *right = edge(c, all, shift, to, 2);
        struct value *at = build_iota(c->b, to, 0), *none = at ? build_like(c->b, at, 0) : NULL;
        /* A band that begins at its peak has no rising side. */
        struct value *up = sub(c, at, left);
        up = divide(c, up, sub(c, peak, left));
        struct value *alone = compose_binary(c, OP_eq, left, peak);
        up = compose_select(c, alone, compose_from(c, OP_add, 1, none), up);
        struct value *rising = compose_binary(c, OP_ge, at, left);
        rising = compose_binary(c, OP_and, rising, compose_binary(c, OP_le, at, peak));
        struct value *falling = compose_binary(c, OP_ge, at, peak);
        falling = compose_binary(c, OP_and, falling, compose_binary(c, OP_lt, at, right));
        struct value *down = sub(c, right, at);
        down = divide(c, down, sub(c, right, peak));
        struct value *y =
                compose_select(c, falling, down, compose_select(c, rising, up, none));
        return compose_cast(c, y, e);
}
