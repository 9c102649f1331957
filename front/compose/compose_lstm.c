/* SPDX-License-Identifier: MIT */
/* LSTMs. What the gates read of x is computed for all steps at once; a loop carries h and c. */
#include "front/compose/compose_lstm.h"

#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_move.h"

struct lstm {
        const struct compose_lstm *in;
        int64_t steps, batch, cells;
};

/* Returns sums of integers, times the multiplier, between the ends of 16 bits, as i32. */
static struct value *narrowed(struct compose *c, struct value *sum, struct compose_multiplier by,
                              struct value *more)
{
        struct value *y = compose_scaled(c, sum, &(struct compose_multipliers){ &by, 1, 0 });
        if (more)
                y = add(c, y, more);
        return y ? clamp(c, y, INT16_MIN, INT16_MAX) : NULL;
}

/* Returns what a gate reads of x, [steps, batch, cells]. */
static struct value *of_x(struct compose *c, const struct lstm *l,
                          const struct compose_lstm_gate *g)
{
        const dim_t rows[2] = { dim_of(l->steps * l->batch), l->in->x->type->dims[2] };
        const dim_t dims[3] = { dim_of(l->steps), dim_of(l->batch), dim_of(l->cells) };
        struct value *w = l->in->integer ? compose_cast(c, g->w, E_I32) : g->w;
        struct value *x = compose_reshape(c, l->in->x, 2, rows);
        struct value *y =
                x && w ? compose_dot(c, x, w, 0, 1, 1, l->in->integer ? E_I32 : E_COMPUTE) : NULL;
        y = compose_with_bias(c, y, g->norm ? NULL : g->bias);
        if (l->in->integer)
                y = narrowed(c, y, g->by_x, NULL);
        return compose_reshape(c, y, 3, dims);
}

/* Returns v, [cells], times y, [batch, cells]. */
static struct value *by_cell(struct compose *c, struct value *y, struct value *v)
{
        return y ? mul(c, y, compose_along(c, v, y->type, 1)) : NULL;
}

/* Returns y with rows of mean 0 and variance 1. */
static struct value *normalized(struct compose *c, struct value *y, int64_t cells)
{
        const double epsilon = 1e-8;
        const int64_t axis = 1;
        if (!y)
                return NULL;
        struct value *mean = compose_reduce(c, REDUCE_sum, y, &axis, 1, E_COMPUTE);
        mean = compose_with(c, OP_div, mean, (double)cells);
        y = mean ? sub(c, y, compose_unreduce(c, mean, y->type, &axis, 1)) : NULL;
        struct value *square = mul(c, y, y);
        struct value *spread =
                square ? compose_reduce(c, REDUCE_sum, square, &axis, 1, E_COMPUTE) : NULL;
        spread = plus(c, compose_with(c, OP_div, spread, (double)cells), epsilon);
        spread = compose_unary(c, OP_sqrt, spread);
        return spread ? divide(c, y, compose_unreduce(c, spread, y->type, &axis, 1)) : NULL;
}

/* Returns a gate of floats, or the candidate, in one step; *row, what it reads of x, becomes that
 * of the next one. */
static struct value *float_gate(struct compose *c, const struct lstm *l, int k,
                                struct value *const **row, struct value *h, struct value *cell)
{
        const struct compose_lstm_gate *g = &l->in->gates[k];
        struct value *y = h ? compose_dot(c, h, g->r, 0, 1, 1, E_COMPUTE) : NULL;
        y = add(c, *(*row)++, y);
        if (g->peephole)
                y = add(c, y, by_cell(c, cell, g->peephole));
        if (g->norm)
                y = compose_with_bias(c, by_cell(c, normalized(c, y, l->cells), g->norm), g->bias);
        return compose_unary(c, k == LSTM_PART_CELL ? OP_tanh : OP_sigmoid, y);
}

/* Returns the gate's sum of integers in one step. */
static struct value *gate(struct compose *c, const struct compose_lstm_gate *g, struct value *row,
                          struct value *h)
{
        struct value *r = compose_cast(c, g->r, E_I32);
        struct value *sum = h && r ? compose_dot(c, h, r, 0, 1, 1, E_I32) : NULL;
        return narrowed(c, sum, g->by_h, row);
}

static bool step_floats(struct compose *c, const struct lstm *l, struct value *const *rows,
                        struct value **h, struct value **cell)
{
        const struct compose_lstm *in = l->in;
        struct value *gates[LSTM_PARTS] = { 0 };
        for (int k = 0; k < LSTM_PART_OUTPUT; k++)
                if (in->gates[k].w && !(gates[k] = float_gate(c, l, k, &rows, *h, *cell)))
                        return false;
        if (!gates[LSTM_PART_INPUT])
                gates[LSTM_PART_INPUT] = compose_from(c, OP_sub, 1, gates[LSTM_PART_FORGET]);
        struct value *kept = mul(c, gates[LSTM_PART_FORGET], *cell);
        *cell = add(c, kept, mul(c, gates[LSTM_PART_INPUT], gates[LSTM_PART_CELL]));
        if (in->clip > 0 && *cell)
                *cell = clamp(c, *cell, -in->clip, in->clip);
        struct value *output = float_gate(c, l, LSTM_PART_OUTPUT, &rows, *h, *cell);
        *h = output ? mul(c, output, compose_unary(c, OP_tanh, *cell)) : NULL;
        if (in->projection && *h)
                *h = compose_with_bias(c, compose_dot(c, *h, in->projection, 0, 1, 1, E_COMPUTE),
                                       in->projection_bias);
        if (in->h_clip > 0 && in->projection && *h)
                *h = clamp(c, *h, -in->h_clip, in->h_clip);
        return *h && *cell;
}

static void step_integers(struct compose *c, const struct lstm *l, struct value *const *sums,
                          struct value **h, struct value **cell)
{
        enum { INTEGER_BITS = 3 };
        const struct compose_lstm *in = l->in;
        struct value *gates[LSTM_PARTS] = { 0 };
        for (int k = 0; k < LSTM_PARTS; k++)
                if (sums[k])
                        gates[k] = (k == LSTM_PART_CELL
                                            ? compose_narrow_tanh
                                            : compose_narrow_logistic)(c, sums[k], INTEGER_BITS);
        if (!sums[LSTM_PART_INPUT])
                gates[LSTM_PART_INPUT] =
                        compose_from(c, OP_sub, INT16_MAX, gates[LSTM_PART_FORGET]);
        struct value *kept = mul(c, gates[LSTM_PART_FORGET], compose_cast(c, *cell, E_I32));
        kept = compose_shifted(c, kept, 15);
        struct value *more = mul(c, gates[LSTM_PART_INPUT], gates[LSTM_PART_CELL]);
        more = compose_shifted(c, more, 30 + in->cell_power);
        struct value *now = add(c, kept, more);
        now = now ? clamp(c, now, INT16_MIN, INT16_MAX) : NULL;
        if (in->most > 0 && now)
                now = clamp(c, now, (double)-in->most, (double)in->most);
        *cell = compose_cast(c, now, E_I16);
        struct value *y = now ? compose_narrow_tanh(c, now, 15 + in->cell_power) : NULL;
        y = mul(c, gates[LSTM_PART_OUTPUT], y);
        *h = compose_rescale(c, y,
                             &(struct compose_rescale){ .by = { &in->hidden, 1, 0 },
                                                        .zero = in->hidden_zero,
                                                        .low = INT8_MIN,
                                                        .high = INT8_MAX,
                                                        .to = E_I8 });
}

/* Goes one step on, by rows of what the gates read of x, in the order of the gates that are. */
static bool step(struct compose *c, const struct lstm *l, struct value *const *rows,
                 struct value **h, struct value **cell)
{
        struct value *sums[LSTM_PARTS] = { 0 };
        if (!l->in->integer)
                return step_floats(c, l, rows, h, cell);
        struct value *last = compose_cast(c, *h, E_I32);
        if (l->in->h_zero)
                last = plus(c, last, (double)-l->in->h_zero);
        for (int k = 0, row = 0; k < LSTM_PARTS; k++)
                if (l->in->gates[k].w)
                        if (!(sums[k] = gate(c, &l->in->gates[k], rows[row++], last)))
                                return false;
        step_integers(c, l, sums, h, cell);
        return *h && *cell;
}

/* Writes the steps one after the other. */
static struct value *write_out(struct compose *c, const struct lstm *l, struct value *const *scans,
                               int count, struct value **h, struct value **cell)
{
        struct value **out = arena_array(c->arena, (size_t)l->steps, sizeof *out);
        for (int64_t t = 0; t < l->steps; t++) {
                struct value *rows[LSTM_PARTS];
                for (int k = 0; k < count; k++)
                        if (!(rows[k] = compose_pick(c, scans[k], 0, t)))
                                return NULL;
                if (!step(c, l, rows, h, cell))
                        return NULL;
                out[t] = *h;
        }
        return compose_stack(c, out, (int)l->steps, 0);
}

static struct value *write_loop(struct compose *c, const struct lstm *l, struct value *const *scans,
                                int count, struct value **h, struct value **cell)
{
        struct value *first[2] = { *h, *cell }, *state[2];
        struct compose_loop loop;
        const struct compose_loop_parts parts = { .steps = l->steps,
                                                  .first = first,
                                                  .carried = 2,
                                                  .scans = scans,
                                                  .scanned = count,
                                                  .stacked = 1 };
        if (!compose_loop_open(c, &parts, &loop))
                return NULL;
        state[0] = &loop.held[0];
        state[1] = &loop.held[1];
        const bool ok = step(c, l, loop.rows, &state[0], &state[1]);
        struct value *yielded[3] = { state[0], state[1], state[0] };
        if (!compose_loop_close(c, &loop, ok ? yielded : NULL))
                return NULL;
        *h = &loop.op->results[0];
        *cell = &loop.op->results[1];
        return loop.stacks[0];
}

struct value *compose_lstm(struct compose *c, const struct compose_lstm *in, struct value **h,
                           struct value **cell)
{
        const struct lstm l = { in, value_extent(in->x, 0), value_extent(in->x, 1),
                                value_extent(in->c, 1) };
        struct value *scans[LSTM_PARTS];
        int count = 0;
        if (l.steps < 1) {
                compose_invalid(c, "a sequence of %lld steps", (long long)l.steps);
                return NULL;
        }
        for (int k = 0; k < LSTM_PARTS; k++)
                if (in->gates[k].w && !(scans[count++] = of_x(c, &l, &in->gates[k])))
                        return NULL;
        *h = in->h;
        *cell = in->c;
        return (l.steps > c->limits->unrolled_steps ? write_loop : write_out)(c, &l, scans, count,
                                                                              h, cell);
}
