/* SPDX-License-Identifier: MIT */
/* Sequences of different lengths lie as rows of one matrix. This file finds what stands before a
 * row, and what a sequence ends with. Rows are found by index, and the past of all sequences lies
 * in one matrix. */
#include "front/compose/compose_packed.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

bool compose_packed_read(struct compose *c, struct value *limits, int64_t rows,
                         struct compose_packed *p)
{
        const int64_t first = 0, second = 1;
        const int64_t sequences = value_extent(limits, 0) - 1;

        limits = compose_cast(c, limits, E_I64);
        const struct type *t =
                compose_type_static(c, E_I64, 2, (const int64_t[]){ rows, sequences });
        if (!limits || !t)
                return false;
        p->rows = rows;
        p->sequences = sequences;
        p->begins = compose_part(c, limits, 0, 0, sequences);
        struct value *ends = compose_part(c, limits, 0, 1, sequences);
        p->lengths = sub(c, ends, p->begins);
        /* A row belongs to the sequence whose number is how many sequences end at or before it. */
        struct value *row = build_iota(c->b, t, 0);
        struct value *over = compose_binary(c, OP_le, compose_spread(c, ends, t, &second), row);
        p->sequence = compose_reduce(c, REDUCE_sum, compose_cast(c, over, E_I64), &second, 1,
                                     E_COMPUTE);
        p->sequence = compose_with(c, OP_min, p->sequence, (double)(sequences - 1));
        struct value *begin = p->sequence ? build_gather(c->b, p->begins, p->sequence, 0) : NULL;
        p->place = begin ? sub(c, compose_pick(c, row, 1, first), begin) : NULL;
        return p->place != NULL;
}

/* Returns x, [sequences, length, columns], as a matrix of sequences * length rows. */
static struct value *as_rows(struct compose *c, struct value *x)
{
        const dim_t dims[2] = { dim_of(value_extent(x, 0) * value_extent(x, 1)),
                                x->type->dims[2] };
        return compose_reshape(c, x, 2, dims);
}

struct value *compose_packed_before(struct compose *c, const struct compose_packed *p,
                                    struct value *x, struct value *past, int64_t distance)
{
        const int64_t length = value_extent(past, 1);

        if (!distance)
                return x;
        struct value *row = compose_with(c, OP_max,
                                         plus(c, compose_iota(c, E_I64, p->rows),
                                              (double)-distance), 0);
        struct value *from_end = plus(c, p->place, (double)(length - distance));
        struct value *old = add(c, times(c, p->sequence, (double)length),
                                clamp(c, from_end, 0, (double)(length - 1)));
        struct value *inside = compose_with(c, OP_ge, p->place, (double)distance);
        if (!row || !old || !inside)
                return NULL;
        inside = compose_reshape(c, inside, 2, (const dim_t[]){ dim_of(p->rows), dim_of(1) });
        struct value *earlier = build_gather(c->b, as_rows(c, past), old, 0);
        return compose_select(c, inside, build_gather(c->b, x, row, 0), earlier);
}

struct value *compose_packed_append(struct compose *c, const struct compose_packed *p,
                                    struct value *x, struct value *past, struct value *counts)
{
        const int64_t length = value_extent(past, 1), first = 0;
        const struct type *t =
                compose_type_static(c, E_I64, 2, (const int64_t[]){ p->sequences, length });
        if (!t || !counts)
                return NULL;
        struct value *k = build_iota(c->b, t, 1), *sequence = build_iota(c->b, t, 0);
        struct value *count = compose_spread(c, counts, t, &first);
        struct value *begin = compose_spread(c, p->begins, t, &first);
        /* Place k of the result is place k + count of past and the rows behind it. */
        struct value *at = add(c, k, count);
        struct value *row = plus(c, add(c, begin, at), (double)-length);
        struct value *old = add(c, times(c, sequence, (double)length),
                                compose_with(c, OP_min, at, (double)(length - 1)));
        struct value *is_new = compose_with(c, OP_ge, at, (double)length);
        if (!row || !old || !is_new)
                return NULL;
        struct value *fresh = build_gather(c->b, x, clamp(c, row, 0, (double)(p->rows - 1)), 0);
        struct value *earlier = build_gather(c->b, as_rows(c, past), old, 0);
        is_new = compose_reshape(c, is_new, 3,
                                 (const dim_t[]){ t->dims[0], t->dims[1], dim_of(1) });
        return compose_select(c, is_new, fresh, earlier);
}

struct value *compose_packed_apart(struct compose *c, const struct compose_packed *p,
                                   struct value *x, struct value *counts, int64_t places)
{
        const int64_t first = 0;
        const struct type *t =
                compose_type_static(c, E_I64, 2, (const int64_t[]){ p->sequences, places });
        if (!x || !counts || !t)
                return NULL;
        struct value *place = build_iota(c->b, t, 1);
        struct value *count = compose_binary(c, OP_min, p->lengths, counts);
        struct value *taken = compose_binary(c, OP_lt, place, compose_spread(c, count, t, &first));
        struct value *row = add(c, place, compose_spread(c, p->begins, t, &first));
        row = clamp(c, row, 0, (double)(p->rows - 1));
        taken = compose_reshape(c, taken, 3, (const dim_t[]){ t->dims[0], t->dims[1], dim_of(1) });
        struct value *rows = row ? build_gather(c->b, x, row, 0) : NULL;
        struct value *zero = rows ? build_scalar(c->b, value_element(x), 0) : NULL;
        return compose_select(c, taken, rows, zero);
}

struct value *compose_packed_joined(struct compose *c, const struct compose_packed *p,
                                    struct value *x)
{
        if (!x)
                return NULL;
        const int64_t places = value_extent(x, 1);
        struct value *at = add(c, times(c, p->sequence, (double)places), p->place);
        x = as_rows(c, x);
        return at && x ? build_gather(c->b, x, at, 0) : NULL;
}
