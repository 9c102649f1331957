/* SPDX-License-Identifier: MIT */
/* Linear attention has a state <depth x width> for each head instead of all keys and values, and
 * computes one step after the other:
 *
 *   state = exp(decay) state + k write      where write = v, or beta (v - state' k)
 *   output = scale q state */
#include "front/compose/compose_attention.h"

#include <math.h>

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

enum { QUERY, KEY, VALUE, DECAY, BETA, SCANS }; /* Steps read these sequences in this order. */

struct linear {
        const struct compose_linear_attention *in;
        struct value *scanned[SCANS];   /* These are the sequences, or NULL. */
        dim_t batch, steps;
        int64_t depth, width;           /* They are the extents of a head's keys and values. */
        double scale;
};

/* Returns whether x is [batch, steps, columns], where columns is one of two numbers. It is an error
 * if not. */
static bool want_columns(struct compose *c, const struct linear *l, const char *what,
                         const struct value *x, int64_t columns, int64_t other)
{
        const dim_t *d = x ? x->type->dims : NULL;
        if (!x || (value_rank(x) == 3 && dim_equal(d[0], l->batch) && dim_equal(d[1], l->steps) &&
                   (dim_is(d[2], columns) || dim_is(d[2], other))))
                return true;
        return compose_invalid(c, "the %s are %s, want <%s x %s x %lld>", what,
                               compose_text(c, x->type), dim_text(c->arena, c->m, l->batch),
                               dim_text(c->arena, c->m, l->steps), (long long)columns);
}

static bool linear_new(struct compose *c, const struct compose_linear_attention *in,
                       struct linear *l)
{
        const dim_t *q = in->q->type->dims;

        if (in->heads < 1 || in->groups < 1 || in->heads > NUMBER_MAX || in->heads % in->groups)
                return compose_invalid(c, "%lld heads of queries share %lld of keys",
                                       (long long)in->heads, (long long)in->groups);
        *l = (struct linear){ .in = in,
                              .scanned = { in->q, in->k, in->v, in->decay, in->beta },
                              .batch = q[0],
                              .steps = q[1],
                              .depth = dim_extent(q[2]) / in->heads,
                              .width = value_extent(in->v, 2) / in->groups };
        l->scale = in->scale != 0 ? in->scale : 1 / sqrt((double)l->depth);
        const int64_t keys = l->depth * in->groups;
        return want_columns(c, l, "queries", in->q, l->depth * in->heads, -1) &&
               want_columns(c, l, "keys", in->k, keys, -1) &&
               want_columns(c, l, "values", in->v, l->width * in->groups, -1) &&
               want_columns(c, l, "decays", in->decay, in->groups, keys) &&
               want_columns(c, l, "betas", in->beta, in->groups, 1) &&
               (l->depth || compose_invalid(c, "heads of 0 columns"));
}

/* Returns x, [batch, steps, heads * size], as [steps, batch, heads, size]. */
static struct value *by_steps(struct compose *c, const struct linear *l, struct value *x,
                              int64_t heads)
{
        x = compose_reshape(c, x, 4,
                            (const dim_t[]){ l->batch, l->steps, dim_of(heads),
                                             dim_of(value_extent(x, 2) / heads) });
        return compose_transpose(c, x, (const int64_t[]){ 1, 0, 2, 3 });
}

/* Returns x, [batch, heads, size], as a row or a column of a product of matrices. */
static struct value *as_matrix(struct compose *c, struct value *x, bool row)
{
        const dim_t *d = x ? x->type->dims : NULL;
        return d ? compose_reshape(c, x, 4,
                                   (const dim_t[]){ d[0], d[1], dim_of(row ? 1 : dim_extent(d[2])),
                                                    dim_of(row ? dim_extent(d[2]) : 1) })
                 : NULL;
}

static struct value *as_vector(struct compose *c, struct value *x)
{
        const dim_t *d = x ? x->type->dims : NULL;
        return d ? compose_reshape(c, x, 3,
                                   (const dim_t[]){ d[0], d[1],
                                                    dim_of(dim_extent(d[2]) * dim_extent(d[3])) })
                 : NULL;
}

/* Builds one step from rows of the sequences, in the order of the inputs. yielded becomes the next
 * state, the output, and what was added to the state for the key. */
static void build_step(struct compose *c, const struct linear *l, const struct compose_loop *loop,
                       struct value **yielded)
{
        struct value *row[SCANS] = { NULL }, *state = loop->held;
        for (int i = 0, scan = 0; i < SCANS; i++)
                if (l->scanned[i])
                        row[i] = compose_cast(c, loop->rows[scan++], E_F32);
        struct value *key = as_matrix(c, row[KEY], false), *write = row[VALUE];
        if (row[DECAY])
                state = mul(c, state, as_matrix(c, compose_unary(c, OP_exp, row[DECAY]), false));
        if (row[BETA] && state) {
                struct value *across = compose_transpose(c, state, (const int64_t[]){ 0, 1, 3, 2 });
                struct value *known = as_vector(c, compose_matmul(c, across, key));
                write = mul(c, row[BETA], sub(c, write, known));
        }
        state = add(c, state, compose_matmul(c, key, as_matrix(c, write, true)));
        struct value *right = compose_for_heads(c, state, l->in->heads);
        struct value *y = as_vector(c, compose_matmul(c, as_matrix(c, row[QUERY], true), right));
        yielded[0] = state;
        yielded[1] = compose_cast(c, times(c, y, l->scale), value_element(l->in->q));
        yielded[2] = write;
}

bool compose_linear_attention(struct compose *c, const struct compose_linear_attention *in,
                              struct value **y, struct value **state)
{
        struct value *scans[SCANS], *yielded[3], *past = in->past;
        struct compose_loop loop;
        struct linear l;
        int scanned = 0;

        if (!linear_new(c, in, &l))
                return false;
        const dim_t dims[4] = { l.batch, dim_of(in->groups), dim_of(l.depth), dim_of(l.width) };
        const struct type *type = compose_type(c, E_F32, 4, dims);
        if (!type)
                return false;
        if (past && (!element_is_float(value_element(past)) || !type_same_dims(past->type, type)))
                return compose_invalid(c, "the state is %s, want %s", compose_text(c, past->type),
                                       compose_text(c, type));
        struct value *first = past ? compose_cast(c, past, E_F32) : constant_number(c->m, type, 0);
        for (int i = 0; i < SCANS; i++) {
                int64_t heads = i == QUERY              ? in->heads
                                : i == BETA && in->beta ? value_extent(in->beta, 2)
                                                        : in->groups;
                if (l.scanned[i] && !(scans[scanned++] = by_steps(c, &l, l.scanned[i], heads)))
                        return false;
        }
        const struct compose_loop_parts parts = { .steps = dim_bound(c->m, l.steps),
                                                  .first = &first,
                                                  .carried = 1,
                                                  .scans = scans,
                                                  .scanned = scanned,
                                                  .stacked = in->added ? 2 : 1 };
        if (!first || !compose_loop_open(c, &parts, &loop))
                return false;
        build_step(c, &l, &loop, yielded);
        if (!compose_loop_close(c, &loop, yielded))
                return false;
        *y = compose_transpose(c, loop.stacks[0], (const int64_t[]){ 1, 0, 2, 3 });
        *y = compose_reshape(c, *y, 3,
                             (const dim_t[]){ dims[0], l.steps, dim_of(in->heads * l.width) });
        *state = compose_cast(c, &loop.op->results[0], value_element(past ? past : in->q));
        if (in->added) {
                struct value *all =
                        compose_transpose(c, loop.stacks[1], (const int64_t[]){ 1, 0, 2, 3 });
                *in->added = compose_reshape(
                        c, all, 3,
                        (const dim_t[]){ dims[0], l.steps, dim_of(in->groups * l.width) });
        }
        return *y && *state && (!in->added || *in->added);
}

/* Repeats the queries of each head for the groups that share it, where groups are more. */
static bool queries_shared(struct compose *c, struct compose_linear_attention *l)
{
        const dim_t *d = l->q->type->dims;
        const int64_t columns = dim_extent(d[2]), heads = l->heads, times = l->groups;

        if (heads < 1 || times <= heads || times > NUMBER_MAX || times % heads || columns % heads)
                return true;
        const dim_t by_heads[4] = { d[0], d[1], dim_of(heads), dim_of(columns / heads) };
        const dim_t each[5] = { d[0], d[1], by_heads[2], dim_of(times / heads), by_heads[3] };
        const dim_t flat[3] = { d[0], d[1], dim_of(columns / heads * times) };
        const struct type *t = compose_type(c, value_element(l->q), 5, each);
        struct value *q = t ? compose_reshape(c, l->q, 4, by_heads) : NULL;
        q = compose_spread(c, q, t, (const int64_t[]){ 0, 1, 2, 4 });
        l->q = compose_reshape(c, q, 3, flat);
        l->heads = times;
        return l->q != NULL;
}

/* Makes the part of a sequence that begins at a step; `in` has the state before it. */
static bool steps_part(struct compose *c, const struct compose_linear_attention *in, int64_t first,
                       int64_t count, struct compose_linear_attention *part)
{
        struct value **const v[] = { &part->q, &part->k, &part->v, &part->decay, &part->beta };

        *part = *in;
        for (size_t i = 0; i < sizeof v / sizeof *v; i++)
                if (*v[i] && !(*v[i] = compose_part(c, *v[i], 1, first, count)))
                        return false;
        return true;
}

bool compose_linear_attention_window(struct compose *c, const struct compose_linear_attention *in,
                                     int64_t window, struct value **y, struct value **state)
{
        struct value *slots[LINEAR_WINDOW_MAX], *parts[LINEAR_WINDOW_MAX + 1];
        const struct value *v[] = { in->q, in->k, in->v, in->decay, in->beta };
        struct compose_linear_attention all = *in, part;
        const dim_t all_steps = in->q->type->dims[1];
        int count = 0;

        for (size_t i = 0; i < sizeof v / sizeof *v; i++)
                if (v[i] && (value_rank(v[i]) != 3 || !dim_equal(v[i]->type->dims[1], all_steps)))
                        return compose_invalid(c, "operands of %s steps are %s",
                                               dim_text(c->arena, c->m, all_steps),
                                               compose_text(c, v[i]->type));
        if (window && all.past) {
                if (value_rank(all.past) != 5 || value_extent(all.past, 0) != window)
                        return compose_invalid(c, "the state is %s for a window of %lld",
                                               compose_text(c, all.past->type), (long long)window);
                all.past = compose_pick(c, all.past, 0, window - 1);
        }
        if (!queries_shared(c, &all))
                return false;
        if (!window)
                return compose_linear_attention(c, &all, y, state);
        const int64_t steps = dim_extent(all_steps), singles = compose_min(window, steps);
        if (!steps)
                return compose_unsupported(c, "a window of no steps");
        for (int64_t at = 0; at < steps; count++) {
                const int64_t length = at < steps - singles ? steps - singles : 1;
                if (!steps_part(c, &all, at, length, &part) ||
                    !compose_linear_attention(c, &part, &parts[count], &all.past))
                        return false;
                at += length;
                if (at > steps - singles)
                        slots[window - steps + at - 1] = all.past;
        }
        for (int64_t i = 0; i < window - singles; i++)
                slots[i] = constant_number(c->m, all.past->type, 0);
        *y = compose_concat(c, parts, count, 1);
        *state = *y ? compose_stack(c, slots, (int)window, 0) : NULL;
        return *state != NULL;
}
