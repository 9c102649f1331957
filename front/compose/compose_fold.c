/* SPDX-License-Identifier: MIT */
/* Columns become images: each column is a window of an image, and what overlaps is added up. */
#include "front/compose/compose_window.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

struct fold {
        const struct compose_fold *in;
        struct compose_window w;
        int64_t padded[RANK_MAX];       /* These are the extents of an image with its pads. */
        int64_t taps;                   /* A window has so many elements. */
        int64_t positions;              /* An image has so many windows. */
        int64_t pixels;                 /* An image with its pads has so many pixels. */
        struct value *at;               /* It is the pixel that each tap of each window lies on. */
};

static struct value *also(struct compose *c, struct value *so_far, struct value *test)
{
        return so_far ? compose_binary(c, OP_and, so_far, test) : test;
}

/* Returns at * extent + more, the position with the next digit of a row-major number; where `at`
 * is NULL, `more` is the first digit. */
static struct value *digit(struct compose *c, struct value *at, int64_t extent, struct value *more)
{
        return at ? add(c, times(c, at, (double)extent), more) : more;
}

/* Returns where in its image, with its pads, tap [tap, position] lies: row-major, <taps x positions
 * x i64>. */
static struct value *tap_positions(struct compose *c, const struct fold *f)
{
        const struct compose_window *w = &f->w;
        dim_t dims[2 * RANK_MAX];
        struct value *sum = NULL;

        for (int d = 0; d < w->rank; d++) {
                dims[d] = dim_of(w->kernel[d]);
                dims[w->rank + d] = w->out[d];
        }
        const struct type *t = compose_type(c, E_I64, 2 * w->rank, dims);
        for (int d = 0; t && d < w->rank; d++) {
                struct value *place =
                        times(c, build_iota(c->b, t, w->rank + d), (double)w->strides[d]);
                struct value *at = times(c, build_iota(c->b, t, d), (double)w->dilations[d]);
                sum = digit(c, sum, f->padded[d], add(c, at, place));
        }
        return sum;
}

/* Places windows whose extents are known: finds where they lie in an image with its pads, and how
 * many there are. */
static bool place_known(struct compose *c, struct fold *f)
{
        const struct value *x = f->in->x;
        int64_t out[RANK_MAX];

        for (int d = 0; d < f->w.rank; d++) {
                int64_t reach = f->padded[d] - compose_window_extent(&f->w, d);
                if (reach < 0)
                        return compose_invalid(c, "a block of %lld in an extent of %lld",
                                               (long long)f->w.kernel[d], (long long)f->padded[d]);
                out[d] = reach / f->w.strides[d] + 1;
                f->w.out[d] = dim_of(out[d]);
        }
        if (!compose_elements(c, f->w.rank, f->w.kernel, &f->taps) ||
            !compose_elements(c, f->w.rank, out, &f->positions) ||
            !compose_elements(c, f->w.rank, f->padded, &f->pixels))
                return false;
        if (value_extent(x, 1) % f->taps || !dim_is(x->type->dims[2], f->positions))
                return compose_invalid(c, "columns %s, want a multiple of %lld by %lld",
                                       compose_text(c, x->type), (long long)f->taps,
                                       (long long)f->positions);
        f->at = tap_positions(c, f);
        return f->at != NULL;
}

/* Splits number `index`, of row-major order over run-time extents, into a subscript for each of
 * them. */
static void subscripts(struct compose *c, struct value *index, struct value *const *extents,
                       int count, struct value **digits)
{
        for (int d = count - 1; d >= 0; d--) {
                digits[d] = compose_binary(c, OP_rem, index, extents[d]);
                index = divide(c, index, extents[d]);
        }
}

/* Places windows whose extents only a run knows. How many channels and pixels there are is stated,
 * and the extents of a window say where its taps lie. Where they contradict that, all taps lie
 * outside. */
static bool place_open(struct compose *c, struct fold *f)
{
        const struct compose_fold *in = f->in;
        const int rank = f->w.rank;
        struct value *fits = NULL, *tap[RANK_MAX], *place[RANK_MAX], *extents[RANK_MAX],
                     *outs[RANK_MAX], *elements = NULL, *windows = NULL;

        f->positions = value_extent(in->x, 2);
        f->taps = value_extent(in->x, 1) / in->channels;
        const double taps = (double)f->taps, positions = (double)f->positions;
        for (int d = 0; d < rank; d++) {
                struct value *number = compose_integer(c, E_I64, d),
                             *image = build_gather(c->b, in->image_stated, number, 0),
                             *extent = build_gather(c->b, in->kernel_stated, number, 0);
                fits = also(c, fits, compose_with(c, OP_eq, image, (double)in->image[d]));
                fits = also(c, fits, compose_with(c, OP_ge, extent, 1));
                extents[d] = clamp(c, extent, 1, taps + 1);
                struct value *reach = compose_with(c, OP_sub, extents[d], 1);
                reach = times(c, reach, (double)f->w.dilations[d]);
                reach = compose_from(c, OP_sub, (double)(f->padded[d] - 1), reach);
                fits = also(c, fits, compose_with(c, OP_ge, reach, 0));
                outs[d] = plus(c, compose_with(c, OP_div, reach, (double)f->w.strides[d]), 1);
                outs[d] = clamp(c, outs[d], 1, positions + 1);
                elements = elements ? mul(c, elements, extents[d]) : extents[d];
                elements = clamp(c, elements, 1, taps + 1);
                windows = windows ? mul(c, windows, outs[d]) : outs[d];
                windows = clamp(c, windows, 1, positions + 1);
        }
        fits = also(c, fits, compose_with(c, OP_eq, elements, taps));
        fits = also(c, fits, compose_with(c, OP_eq, windows, positions));
        const dim_t dims[2] = { dim_of(f->taps), dim_of(f->positions) };
        const struct type *t = compose_elements(c, rank, f->padded, &f->pixels)
                                       ? compose_type(c, E_I64, 2, dims)
                                       : NULL;
        if (!t || !fits)
                return false;
        subscripts(c, build_iota(c->b, t, 0), extents, rank, tap);
        subscripts(c, build_iota(c->b, t, 1), outs, rank, place);
        for (int d = 0; d < rank; d++) {
                struct value *at = times(c, tap[d], (double)f->w.dilations[d]);
                at = add(c, at, times(c, place[d], (double)f->w.strides[d]));
                f->at = digit(c, f->at, f->padded[d], at);
        }
        f->at = compose_select(c, fits, f->at, compose_integer(c, E_I64, f->pixels));
        return f->at != NULL;
}

struct value *compose_fold(struct compose *c, const struct compose_fold *in)
{
        struct value *x = in->x;
        struct fold f = { .in = in, .w = in->window };
        const int rank = f.w.rank;

        for (int d = 0; d < rank; d++)
                f.padded[d] = in->image[d] + f.w.pads[d] + f.w.pads[d + rank];
        if (!(in->kernel_stated ? place_open : place_known)(c, &f))
                return NULL;
        /* Images lie last, so that an update is one pixel of all of them. */
        int64_t pads[RANK_MAX] = { 0 }, ones[RANK_MAX] = { 1, 1 };
        dim_t dims[RANK_MAX] = { x->type->dims[0], dim_of(value_extent(x, 1) / f.taps) };
        const dim_t images = dim_binary(c->m, DIM_MUL, dims[0], dims[1]),
                    columns[3] = { images, dim_of(f.taps), dim_of(f.positions) },
                    places[3] = { columns[1], columns[2], dim_of(1) },
                    all[2] = { dim_of(f.pixels), images };
        x = compose_reshape(c, x, 3, columns);
        x = compose_transpose(c, x, (const int64_t[]){ 1, 2, 0 });
        struct value *at = compose_reshape(c, f.at, 3, places);
        const struct type *t = compose_type(c, value_element(in->x), 2, all);
        struct value *y =
                t ? compose_scatter(c, constant_number(c->m, t, 0), at, x, -1, 1 + REDUCE_sum)
                  : NULL;
        y = compose_transpose(c, y, (const int64_t[]){ 1, 0 });
        for (int d = 0; d < rank; d++) {
                dims[d + 2] = dim_of(f.padded[d]);
                pads[d + 2] = f.w.pads[d];
                ones[d + 2] = 1;
        }
        y = compose_reshape(c, y, rank + 2, dims);
        for (int d = 0; d < rank; d++)
                dims[d + 2] = dim_of(in->image[d]);
        return y ? build_slice(c->b, y, pads, ones, dims) : NULL;
}
