/* SPDX-License-Identifier: MIT */
#include "front/compose/compose_fourier.h"

#include "front/compose/compose_arithmetic.h"
#include "ir/tensor/spectrum.h"

static const double turn = 6.283185307179586477; /* It is 2 pi. */

struct value *compose_transform(struct compose *c, struct value *x, int axis,
                                const struct compose_transform *t)
{
        const bool half = t->folded || t->out < t->period;
        const struct spectrum_request request = { .axes = { axis },
                                                  .count = 1,
                                                  .parts = -1,
                                                  .inverse = t->inverse,
                                                  .half = half,
                                                  .length = t->folded ? t->period : 0 };

        if (t->period > SPECTRUM_EXTENT_MAX) {
                compose_unsupported(c, "a transform of %lld elements, want at most %d",
                                    (long long)t->period, SPECTRUM_EXTENT_MAX);
                return NULL;
        }
        return build_spectrum(c->b, compose_fitted(c, x, axis, t->in), &request);
}

bool compose_transform_of(const struct type *x, int axis, int64_t length, bool inverse,
                          bool onesided, struct compose_transform *t)
{
        int64_t extent = type_extent(x, axis), parts = type_extent(x, x->rank - 1);

        *t = (struct compose_transform){ .inverse = inverse,
                                         .folded = inverse && onesided,
                                         .in_parts = parts };
        t->period = length >= 0 ? length : t->folded ? 2 * (extent - 1) : extent;
        t->in = t->folded ? t->period / 2 + 1 : t->period;
        t->out = onesided && !inverse ? t->period / 2 + 1 : t->period;
        t->out_parts = t->folded ? 1 : 2;
        return (parts == 1 || parts == 2) && t->period >= 1 && t->period <= NUMBER_MAX;
}

/* ---- frames and windows ---- */

struct value *compose_frames(struct compose *c, const struct compose_frames *f, int64_t length,
                             int64_t other)
{
        const dim_t dims[4] = { f->x->type->dims[0], f->count, dim_of(length),
                                f->x->type->dims[2] };
        const struct type *cut = compose_type(c, value_element(f->x), 4, dims),
                          *table = cut ? compose_type(c, E_I64, 2, dims + 1) : NULL;
        struct compose_transform t;

        if (!table)
                return NULL;
        struct value *index = mul(c, build_iota(c->b, table, 0), f->step);
        index = add(c, index, build_iota(c->b, table, 1));
        if (f->length) {
                struct value *fits = compose_with(c, OP_eq, f->length, (double)length);
                struct value *outside =
                        compose_select(c, compose_with(c, OP_eq, f->length, (double)other),
                                       compose_integer(c, E_I64, 0),
                                       compose_integer(c, E_I64, value_extent(f->x, 1)));
                index = compose_select(c, fits, index, outside);
        }
        struct value *x = index ? build_gather(c->b, f->x, index, 1) : NULL;
        if (f->window)
                x = mul(c, x, compose_spread(c, f->window, cut, (const int64_t[]){ 2 }));
        if (!x)
                return NULL;
        if (!compose_transform_of(x->type, 2, -1, false, f->onesided, &t)) {
                compose_invalid(c, "the signal is %s", compose_text(c, f->x->type));
                return NULL;
        }
        return compose_type(c, value_element(x), 4,
                            (const dim_t[]){ dims[0], f->count, dim_of(t.out), dim_of(2) })
                       ? compose_transform(c, x, 2, &t)
                       : NULL;
}

struct value *compose_frames_open(struct compose *c, const struct compose_frames *f, int64_t bins)
{
        const int64_t lengths[2] = { f->onesided ? 2 * bins - 1 : bins,
                                     f->onesided ? 2 * bins - 2 : 0 };
        struct value *y = NULL;

        for (int k = 0; k < 2; k++) {
                if (lengths[k] < 1 || lengths[k] > value_extent(f->x, 1))
                        continue;
                bool other = lengths[1 - k] >= 1 && lengths[1 - k] <= value_extent(f->x, 1);
                struct value *here = compose_frames(c, f, lengths[k], other ? lengths[1 - k] : -1);
                if (!here)
                        return NULL;
                y = y ? compose_select(c, compose_with(c, OP_eq, f->length, (double)lengths[k]),
                                       here, y)
                      : here;
        }
        if (!y)
                compose_invalid(c, "no frame of a signal of %lld has %lld bins, as is declared",
                                (long long)value_extent(f->x, 1), (long long)bins);
        return y;
}

struct value *compose_cosine_window(struct compose *c, const double a[3], int64_t size,
                                    bool periodic)
{
        const int64_t period = periodic ? size : size - 1;
        struct value *i = compose_iota(c, E_F64, size);
        struct value *x = times(c, i, period > 0 ? turn / (double)period : 0);
        struct value *w =
                compose_from(c, OP_sub, a[0], times(c, compose_unary(c, OP_cos, x), a[1]));

        if (a[2] != 0)
                w = add(c, w, times(c, compose_unary(c, OP_cos, times(c, x, 2)), a[2]));
        return w;
}
