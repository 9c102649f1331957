/* SPDX-License-Identifier: MIT */
/* A recurrent cell attends to a memory: keys are made once, before the first step. */
#include <math.h>

#include "front/compose/compose_recurrent.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_softmax.h"

/* Checks an operand's shape; the error's text begins with `what`: "the memory is". */
static bool fits(struct compose *c, const char *what, const struct value *v, int rank,
                 const int64_t *extents)
{
        bool same = value_rank(v) == rank;

        for (int d = 0; d < rank && same; d++)
                same = value_extent(v, d) == extents[d];
        return same ||
               compose_invalid(c, "%s %s, want %s", what, compose_text(c, v->type),
                               compose_text(c, type_static(c->m, value_element(v), rank, extents)));
}

static bool memory_fits(struct compose *c, const struct compose_memory *m, int64_t directions,
                        int64_t batch, int64_t hidden)
{
        if (value_rank(m->memory) != 3 || value_rank(m->query) != 3 ||
            (m->out && value_rank(m->out) != 3))
                return compose_invalid(c, "the memory is %s, for a query layer %s",
                                       compose_text(c, m->memory->type),
                                       compose_text(c, m->query->type));
        const int64_t places = value_extent(m->memory, 1), depth = value_extent(m->memory, 2),
                      size = value_extent(m->query, 2);
        return fits(c, "the memory is", m->memory, 3, (const int64_t[]){ batch, places, depth }) &&
               (places > 0 || compose_invalid(c, "a memory without places")) &&
               (!m->lengths || fits(c, "the lengths of the memory are", m->lengths, 1, &batch)) &&
               fits(c, "the query layer is", m->query, 3,
                    (const int64_t[]){ directions, hidden, size }) &&
               fits(c, "the memory layer is", m->layer, 3,
                    (const int64_t[]){ directions, depth, size }) &&
               fits(c, "the vector is", m->vector, 2, (const int64_t[]){ directions, size }) &&
               (!m->out ||
                fits(c, "the attention layer is", m->out, 3,
                     (const int64_t[]){ directions, hidden + depth, value_extent(m->out, 2) }));
}

/* Returns what one direction has of an operand, in the wide type. */
static struct value *of_direction(struct compose *c, struct value *v, int number)
{
        return v ? compose_wide(c, compose_pick(c, v, 0, number)) : NULL;
}

bool compose_remember(struct compose *c, const struct compose_memory *m, int directions,
                          int number, int64_t batch, int64_t hidden, struct compose_remembered *a)
{
        if (!memory_fits(c, m, directions, batch, hidden))
                return false;
        const int64_t places = value_extent(m->memory, 1);
        struct value *values = compose_wide(c, m->memory);

        *a = (struct compose_remembered){ .outputs = value_extent(m->out ? m->out : m->memory, 2) };
        if (m->lengths && values) {
                const struct type *t =
                        type_static(c->m, E_I64, 2, (const int64_t[]){ batch, places });
                struct value *length = compose_cast(c, m->lengths, E_I64);
                length = compose_spread(c, length, t, (const int64_t[]){ 0 });
                a->hidden = compose_binary(c, OP_ge, build_iota(c->b, t, 1), length);
                struct value *all =
                        compose_spread(c, a->hidden, values->type, (const int64_t[]){ 0, 1 });
                values = compose_select(c, all, build_like(c->b, values, 0), values);
        }
        a->values = values;
        struct value *layer = of_direction(c, m->layer, number);
        a->keys = values && layer ? compose_matmul(c, values, layer) : NULL;
        a->query = of_direction(c, m->query, number);
        a->vector = of_direction(c, m->vector, number);
        a->out = of_direction(c, m->out, number);
        return a->keys && a->query && a->vector && (a->out || !m->out);
}

struct value *compose_attend(struct compose *c, const struct compose_remembered *a, struct value *h)
{
        const int64_t batch = value_extent(a->values, 0), places = value_extent(a->values, 1),
                      depth = value_extent(a->values, 2), last = 2, places_at = 1;
        struct value *query = h ? compose_matmul(c, h, a->query) : NULL;

        if (!query)
                return NULL;
        query = compose_reshape(
                c, query, 3, (const dim_t[]){ dim_of(batch), dim_of(1), a->keys->type->dims[2] });
        struct value *scores = compose_unary(c, OP_tanh, add(c, a->keys, query));
        scores = mul(c, scores, a->vector);
        scores = compose_reduce(c, REDUCE_sum, scores, &last, 1, E_COMPUTE);
        if (a->hidden && scores)
                scores = compose_select(c, a->hidden, build_like(c->b, scores, -INFINITY), scores);
        struct value *share = scores ? compose_masked_softmax(c, scores, &places_at, 1) : NULL;
        share = compose_reshape(c, share, 3,
                                (const dim_t[]){ dim_of(batch), dim_of(1), dim_of(places) });
        struct value *sum = share ? compose_matmul(c, share, a->values) : NULL;
        sum = compose_reshape(c, sum, 2, (const dim_t[]){ dim_of(batch), dim_of(depth) });
        if (!a->out || !sum)
                return sum;
        struct value *both = compose_concat(c, (struct value *[]){ h, sum }, 2, 1);
        return both ? compose_matmul(c, both, a->out) : NULL;
}
