/* SPDX-License-Identifier: MIT */
/* What the inputs add to the gates of a cell is one product for all steps; the steps are a loop or,
 * when they are few, written one after the other. */
#include "front/compose/compose_recurrent.h"

#include "front/compose/compose_arithmetic.h"

/* ---- operands ---- */

struct recurrent {
        const struct compose_recurrent *in;
        int gates;
        bool quantized;
        dim_t extent;                   /* There are so many steps, */
        int64_t steps;                  /* and at most so many, where a run gives the extent. */
        dim_t batch;
        int64_t hidden;
        enum element e;                 /* It is the type of the operand x. */
        struct value *x;                /* It is <steps x batch x inputs>, of the wide type. */
        struct value *lengths;          /* It is <batch x i64>, or NULL. */
        struct compose_remembered attended[2]; /* There is one for each direction, where a memory
                                              * is. */
        int64_t attention;              /* So many inputs of w are attention. */
};

static bool want_shape(struct compose *c, const char *what, const struct value *v,
                       const dim_t *dims, int rank)
{
        bool fits = !v || value_rank(v) == rank;

        for (int d = 0; v && d < rank && fits; d++)
                fits = dim_equal(dims[d], v->type->dims[d]);
        return fits ||
               compose_invalid(c, "%s %s, want %s", what, compose_text(c, v->type),
                               compose_text(c, type_tensor(c->m, value_element(v), rank, dims)));
}

/* Checks that scales and zero points are one number, or one for each gate and hidden unit, in
 * each direction. */
static bool quantization_fits(struct compose *c, const struct recurrent *r)
{
        const struct compose_recurrent *in = r->in;
        const struct {
                const char *what;
                struct value *v;
        } numbers[4] = { { "the scales of the weights are", in->w.scale },
                         { "the zero points of the weights are", in->w.zero },
                         { "the scales of the recurrence weights are", in->r.scale },
                         { "the zero points of the recurrence weights are", in->r.zero } };
        const dim_t dims[2] = { dim_of(in->directions), dim_of(r->gates * r->hidden) };

        for (int i = 0; i < 4; i++)
                if (!want_shape(c, numbers[i].what, numbers[i].v, dims,
                                value_rank(numbers[i].v) == 1 ? 1 : 2))
                        return false;
        return true;
}

static bool operands_fit(struct compose *c, const struct recurrent *r)
{
        const struct compose_recurrent *in = r->in;
        const bool q = r->quantized;
        const dim_t d = dim_of(in->directions), all = dim_of(r->gates * r->hidden),
                    inputs = dim_of(value_extent(r->x, 2) + r->attention),
                    hidden = dim_of(r->hidden), batch = r->batch,
                    w[3] = { d, q ? inputs : all, q ? all : inputs },
                    recurrence[3] = { d, q ? hidden : all, q ? all : hidden },
                    bias[2] = { d, dim_of(2 * r->gates * r->hidden) },
                    peephole[2] = { d, dim_of(3 * r->hidden) },
                    state[3] = { in->batch_first ? batch : d, in->batch_first ? d : batch, hidden };

        return want_shape(c, "the weights are", in->w.numbers, w, 3) &&
               want_shape(c, "the recurrence weights are", in->r.numbers, recurrence, 3) &&
               (!q || quantization_fits(c, r)) &&
               want_shape(c, "the biases are", in->bias, bias, 2) &&
               want_shape(c, "the lengths are", in->lengths, &batch, 1) &&
               want_shape(c, "the state is", in->h, state, 3) &&
               want_shape(c, "the state of the cells is", in->c, state, 3) &&
               want_shape(c, "the peephole weights are", in->peephole, peephole, 2);
}

static bool recurrent_new(struct compose *c, const struct compose_recurrent *in,
                          struct recurrent *r)
{
        static const int gates[] = { [CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4 };
        struct value *x = in->x;

        *r = (struct recurrent){ .in = in,
                                 .gates = gates[in->cell],
                                 .quantized = in->w.scale != NULL,
                                 .hidden = in->hidden,
                                 .e = value_element(x) };
        if (in->batch_first)
                x = compose_transpose(c, x, (const int64_t[]){ 1, 0, 2 });
        r->x = compose_wide(c, x);
        if (!r->x)
                return false;
        r->extent = r->x->type->dims[0];
        r->steps = dim_bound(c->m, r->extent);
        r->batch = r->x->type->dims[1];
        if (!r->hidden && value_rank(in->r.numbers) == 3)
                r->hidden = value_extent(in->r.numbers, r->quantized ? 1 : 2);
        if (r->hidden < 1 || r->hidden > NUMBER_MAX)
                return compose_invalid(c,
                                       "the hidden size is not stated, and the recurrence "
                                       "weights are %s",
                                       compose_text(c, in->r.numbers->type));
        for (int d = 0; in->memory && d < in->directions; d++)
                if (!compose_remember(c, in->memory, in->directions, d, dim_extent(r->batch),
                                      r->hidden, &r->attended[d]))
                        return false;
        r->attention = in->memory ? r->attended[0].outputs : 0;
        if (!operands_fit(c, r))
                return false;
        r->lengths = in->lengths ? compose_cast(c, in->lengths, E_I64) : NULL;
        return compose_type(c, r->e, 4,
                            (const dim_t[]){ r->extent, dim_of(in->directions), r->batch,
                                             dim_of(r->hidden) }) != NULL;
}

/* Returns direction d of a weight operand, without that dimension, in the wide type. NULL where
 * the operand is absent. */
static struct value *weights(struct compose *c, struct value *v, int d)
{
        return compose_wide(c, compose_pick(c, v, 0, d));
}

/* Returns the initial state of direction d: <batch x hidden>. */
static struct value *initial(struct compose *c, const struct recurrent *r, struct value *v, int d)
{
        if (!v) {
                const struct type *t =
                        type_tensor(c->m, value_element(r->x), 2,
                                    (const dim_t[]){ r->batch, dim_of(r->hidden) });
                return dim_is_static(r->batch)
                               ? constant_number(c->m, t, 0)
                               : build_broadcast(c->b, build_scalar(c->b, t->element, 0), t, NULL);
        }
        return compose_wide(c, compose_pick(c, v, r->in->batch_first ? 1 : 0, d));
}

/* ---- one step ---- */

static struct value *clipped(struct compose *c, const struct recurrent *r, struct value *x)
{
        return r->in->clip > 0 && x ? clamp(c, x, -r->in->clip, r->in->clip) : x;
}

/* Returns activation `use` of a gate, whose input is clipped. */
static struct value *activate(struct compose *c, const struct recurrent *r,
                              const struct compose_activation *use, struct value *x)
{
        return compose_activate(c, use, clipped(c, r, x));
}

/* One direction computes with these, and has this state; `all` is gates * hidden. */
struct direction {
        const struct compose_activation *act;
        struct value *gates;            /* These <steps x batch x all> are what inputs and biases
                                         * add. */
        struct value *recurrence;       /* It is <all x hidden>; a quantized one is <hidden x
                                         * all>. */
        struct value *scale;            /* A quantized recurrence has this scale, a scalar or <all>;
                                         * else it is NULL. */
        struct value *hidden_bias;      /* In a GRU it is the recurrence bias of the last gate, kept
                                         * apart. */
        struct value *peephole;         /* In an LSTM it is <3 * hidden>, of input, output,
                                         * forget. */
        const struct compose_remembered *attended; /* It is what the direction attends to, or
                                                  * NULL. */
        struct value *of_attention;     /* It is <attention x all>, the weights of attention. */
        struct value *h, *c, *attention;
};

/* Returns, in floats, the product of x, which is quantized here, by integers that are centered. */
static struct value *dynamic_product(struct compose *c, struct value *x, struct value *w,
                                     struct value *scale)
{
        if (!x || !w || !scale)
                return NULL;
        const struct compose_quantized q = compose_quantize_dynamic(c, x);
        struct value *sum =
                compose_matmul_as(c, compose_centered(c, q.numbers, q.zero, E_I32), w, E_I32);
        return mul(c, compose_cast(c, sum, E_F32), mul(c, q.scale, scale));
}

/* Returns x times rows [from, from + count) of the recurrence weights; where they are quantized,
 * times all rows. */
static struct value *recur(struct compose *c, const struct direction *d, struct value *x,
                           int64_t from, int64_t count)
{
        if (d->scale)
                return dynamic_product(c, x, d->recurrence, d->scale);
        struct value *rows = compose_part(c, d->recurrence, 0, from, count);

        return rows && x
                       ? compose_matmul(c, x, compose_transpose(c, rows, (const int64_t[]){ 1, 0 }))
                       : NULL;
}

static struct value *gate(struct compose *c, const struct recurrent *r, struct value *gates, int k)
{
        return compose_part(c, gates, 1, k * r->hidden, r->hidden);
}

/* Returns gate k of an LSTM, with the product of the cell's state by the peephole weights added. */
static struct value *peep(struct compose *c, const struct recurrent *r, const struct direction *d,
                          struct value *gates, int k, struct value *cell)
{
        struct value *x = gate(c, r, gates, k);

        return d->peephole ? add(c, x,
                                 mul(c, compose_part(c, d->peephole, 0, k * r->hidden, r->hidden),
                                     cell))
                           : x;
}

static void lstm_step(struct compose *c, const struct recurrent *r, const struct direction *d,
                      struct value *x, struct value **h, struct value **cell)
{
        struct value *g = add(c, x, recur(c, d, d->h, 0, 4 * r->hidden));
        if (d->attended)
                g = g ? add(c, g, compose_matmul(c, d->attention, d->of_attention)) : NULL;
        struct value *in = activate(c, r, &d->act[0], peep(c, r, d, g, LSTM_INPUT, d->c));
        struct value *forget = r->in->input_forget ? compose_from(c, OP_sub, 1, in)
                                                   : activate(c, r, &d->act[0],
                                                              peep(c, r, d, g, LSTM_FORGET, d->c));
        struct value *candidate = activate(c, r, &d->act[1], gate(c, r, g, LSTM_CANDIDATE));

        *cell = add(c, mul(c, forget, d->c), mul(c, in, candidate));
        struct value *out = activate(c, r, &d->act[0], peep(c, r, d, g, LSTM_OUTPUT, *cell));
        /* The cell's state is no gate: it is not clipped. */
        *h = mul(c, out, compose_activate(c, &d->act[2], *cell));
}

/* Reads the weights of attention, and the state before the first step. */
static bool attention_new(struct compose *c, const struct recurrent *r, int number,
                          struct direction *d, struct value *w)
{
        const dim_t dims[2] = { r->batch, dim_of(r->attention) };

        d->attended = &r->attended[number];
        d->of_attention = compose_part(c, w, 0, value_extent(r->x, 2), r->attention);
        d->attention = constant_number(c->m, type_tensor(c->m, value_element(r->x), 2, dims), 0);
        return d->of_attention != NULL;
}

static void gru_step(struct compose *c, const struct recurrent *r, const struct direction *d,
                     struct value *x, struct value **h)
{
        int64_t size = r->hidden;
        struct value *right = recur(c, d, d->h, 0, 2 * size);
        struct value *g = add(c, compose_part(c, x, 1, 0, 2 * size), right);
        struct value *update = activate(c, r, &d->act[0], gate(c, r, g, GRU_UPDATE)),
                     *reset = activate(c, r, &d->act[0], gate(c, r, g, GRU_RESET));
        struct value *inner = r->in->linear_before_reset
                                      ? recur(c, d, d->h, 2 * size, size)
                                      : recur(c, d, mul(c, reset, d->h), 2 * size, size);

        inner = d->hidden_bias ? add(c, inner, d->hidden_bias) : inner;
        inner = r->in->linear_before_reset ? mul(c, reset, inner) : inner;
        struct value *candidate =
                activate(c, r, &d->act[1], add(c, gate(c, r, x, GRU_CANDIDATE), inner));
        *h = add(c, mul(c, compose_from(c, OP_sub, 1, update), candidate), mul(c, update, d->h));
}

/* Advances the state by step t, whose row of gates is x. Returns the output of the step. */
static struct value *step(struct compose *c, const struct recurrent *r, struct direction *d,
                          struct value *t, struct value *x)
{
        struct value *h = NULL, *cell = d->c;

        if (r->in->cell == CELL_LSTM)
                lstm_step(c, r, d, x, &h, &cell);
        else if (r->in->cell == CELL_GRU)
                gru_step(c, r, d, x, &h);
        else
                h = activate(c, r, &d->act[0], add(c, x, recur(c, d, d->h, 0, r->hidden)));
        struct value *attention = h && d->attended ? compose_attend(c, d->attended, h) : NULL;
        if (d->attended && !attention)
                return NULL;
        if (!h || !r->lengths) {
                d->h = h;
                d->c = cell;
                d->attention = attention;
                return h;
        }
        struct value *runs = compose_spread(c, compose_binary(c, OP_gt, r->lengths, t), h->type,
                                            (const int64_t[]){ 0 });
        d->h = compose_select(c, runs, h, d->h);
        d->c = cell ? compose_select(c, runs, cell, d->c) : NULL;
        if (attention) { /* Backward, the steps behind a sequence's end come first. */
                struct value *attends = compose_binary(c, OP_gt, r->lengths, t);
                attends = compose_spread(c, attends, attention->type, (const int64_t[]){ 0 });
                d->attention = compose_select(c, attends, attention, d->attention);
        }
        return compose_select(c, runs, h, build_like(c->b, h, 0));
}

/* ---- one direction, and the whole ---- */

/* Returns the inputs that count: steps that no sequence has are 0, which is in any range. */
static struct value *counted_inputs(struct compose *c, const struct recurrent *r)
{
        const struct type *t = type_with_element(c->m, r->x->type, E_I64);

        if (!r->lengths)
                return r->x;
        struct value *most =
                compose_reduce(c, REDUCE_max, r->lengths, (const int64_t[]){ 0 }, 1, E_COMPUTE);
        struct value *runs = compose_binary(c, OP_lt, build_iota(c->b, t, 0), most);
        return compose_select(c, runs, r->x, build_like(c->b, r->x, 0));
}

/* Makes, of weights that are integers, the recurrence weights and the gates of all steps, as far as
 * inputs make them. */
static void quantized_new(struct compose *c, const struct recurrent *r, int number,
                          struct direction *d)
{
        const struct compose_quantized *const both[2] = { &r->in->w, &r->in->r };
        struct value *at = compose_integer(c, E_I64, number), *w[2], *scale[2];

        for (int i = 0; i < 2; i++) {
                struct value *zero = build_gather(c->b, both[i]->zero, at, 0);
                w[i] = build_gather(c->b, both[i]->numbers, at, 0);
                scale[i] = build_gather(c->b, both[i]->scale, at, 0);
                w[i] = w[i] ? compose_centered(c, w[i], compose_along(c, zero, w[i]->type, 1),
                                               E_I32)
                            : NULL;
        }
        d->gates = dynamic_product(c, counted_inputs(c, r), w[0], scale[0]);
        d->recurrence = w[1];
        d->scale = scale[1];
}

static bool direction_new(struct compose *c, const struct recurrent *r, int number,
                          struct direction *d)
{
        int64_t all = r->gates * r->hidden;
        struct value *bias = weights(c, r->in->bias, number);

        *d = (struct direction){ .act = r->in->act + number * (r->in->cell == CELL_RNN   ? 1
                                                               : r->in->cell == CELL_GRU ? 2
                                                                                         : 3) };
        d->h = initial(c, r, r->in->h, number);
        d->c = r->in->cell == CELL_LSTM ? initial(c, r, r->in->c, number) : NULL;
        d->peephole = r->in->cell == CELL_LSTM ? weights(c, r->in->peephole, number) : NULL;
        if (r->quantized) {
                quantized_new(c, r, number, d);
        } else {
                struct value *w = weights(c, r->in->w.numbers, number);
                w = compose_transpose(c, w, (const int64_t[]){ 1, 0 });
                d->recurrence = weights(c, r->in->r.numbers, number);
                if (r->attention) {
                        if (!w || !attention_new(c, r, number, d, w))
                                return false;
                        w = compose_part(c, w, 0, 0, value_extent(r->x, 2));
                }
                d->gates = w ? compose_matmul(c, r->x, w) : NULL;
        }
        if (!d->gates || !d->recurrence || !d->h)
                return false;
        if (!bias)
                return true;
        struct value *of_input = compose_part(c, bias, 0, 0, all),
                     *of_state = compose_part(c, bias, 0, all, all);
        if (r->in->cell == CELL_GRU) {
                d->hidden_bias = compose_part(c, of_state, 0, 2 * r->hidden, r->hidden);
                struct value *zero = d->hidden_bias ? build_like(c->b, d->hidden_bias, 0) : NULL;
                of_state = build_concat(
                        c->b,
                        (struct value *[]){ compose_part(c, of_state, 0, 0, 2 * r->hidden), zero },
                        2, 0);
        }
        d->gates = add(c, d->gates, add(c, of_input, of_state));
        return d->gates != NULL;
}

/* Returns values[] of type t, stacked along a new first dimension. */
static struct value *stacked(struct compose *c, struct value **values, int64_t count,
                             const struct type *t)
{
        dim_t dims[RANK_MAX] = { dim_of(1) };

        for (int d = 0; d < t->rank; d++)
                dims[d + 1] = t->dims[d];
        for (int64_t i = 0; i < count; i++)
                values[i] = compose_reshape(c, values[i], t->rank + 1, dims);
        if (count)
                return build_concat(c->b, values, (int)count, 0);
        dims[0] = dim_of(0);
        return constant_number(c->m, type_tensor(c->m, t->element, t->rank + 1, dims), 0);
}

static bool recurrent_outputs(struct compose *c, const struct recurrent *r, struct value **y,
                              struct value **h, struct value **cells, const bool *wanted,
                              struct value **results)
{
        const struct type *state = h[0]->type;
        /* It is <directions x steps x batch x hidden>. */
        struct value *all = stacked(c, y, r->in->directions, y[0]->type);
        struct value *outputs[3] = { NULL, stacked(c, h, r->in->directions, state),
                                     cells[0] ? stacked(c, cells, r->in->directions, state)
                                              : NULL };

        if (!all || !outputs[1])
                return false;
        outputs[0] = compose_transpose(c, all,
                                       r->in->batch_first ? (const int64_t[]){ 2, 1, 0, 3 }
                                                          : (const int64_t[]){ 1, 0, 2, 3 });
        for (int i = 0; i < 3; i++) {
                if (i > 0 && r->in->batch_first && outputs[i])
                        outputs[i] = compose_transpose(c, outputs[i], (const int64_t[]){ 1, 0, 2 });
                if (wanted[i] && !(results[i] = compose_cast(c, outputs[i], r->e)))
                        return false;
        }
        return true;
}

/* Writes the steps one after the other, from the last one where backward. *y has all outputs. */
static bool write_out(struct compose *c, const struct recurrent *r, struct direction *d,
                      bool backward, struct value **y)
{
        const struct type *state = d->h->type;
        struct value **out = arena_array(c->arena, (size_t)r->steps + 1, sizeof *out);

        for (int64_t i = 0; i < r->steps; i++) {
                int64_t t = backward ? r->steps - 1 - i : i;
                struct value *number = compose_integer(c, E_I64, t);
                out[t] = step(c, r, d, number, build_gather(c->b, d->gates, number, 0));
                if (!out[t])
                        return false;
        }
        return (*y = stacked(c, out, r->steps, state)) != NULL;
}

/* Writes the same as a loop that carries the state. */
static bool write_loop(struct compose *c, const struct recurrent *r, struct direction *d,
                       bool backward, struct value **y)
{
        const int64_t direction = backward;
        struct value *first[3] = { d->h, d->c, d->attention };
        struct compose_loop loop;
        struct compose_loop_parts parts = { .steps = r->steps,
                                            .first = first,
                                            .carried = d->attended ? 3
                                                       : d->c      ? 2
                                                                   : 1,
                                            .scans = &d->gates,
                                            .scanned = 1,
                                            .stacked = 1,
                                            .scan_backward = &direction,
                                            .stack_backward = &direction };

        if (!compose_loop_open(c, &parts, &loop))
                return false;
        struct value *t = loop.number;
        if (backward)
                t = loop.last ? compose_binary(c, OP_sub, loop.last, t)
                              : compose_from(c, OP_sub, (double)(r->steps - 1), t);
        d->h = &loop.held[0];
        d->c = d->c ? &loop.held[1] : NULL;
        d->attention = d->attended ? &loop.held[2] : NULL;
        struct value *row = step(c, r, d, t, loop.rows[0]);
        struct value *yielded[4] = { d->h, d->c, d->attention, NULL };
        yielded[parts.carried] = row;
        if (!compose_loop_close(c, &loop, yielded))
                return false;
        d->h = &loop.op->results[0];
        d->c = d->c ? &loop.op->results[1] : NULL;
        *y = loop.stacks[0];
        return true;
}

/* Returns a state at the end. That of a sequence without steps is 0, as in onnxruntime; the
 * standard says nothing of it. */
static struct value *last_state(struct compose *c, const struct recurrent *r, struct value *state)
{
        if (!state || !r->lengths)
                return state;
        struct value *has_steps = compose_spread(c, compose_with(c, OP_gt, r->lengths, 0),
                                                 state->type, (const int64_t[]){ 0 });
        return compose_select(c, has_steps, state, build_like(c->b, state, 0));
}

bool compose_recurrent(struct compose *c, const struct compose_recurrent *in,
                       const bool wanted[RECURRENT_RESULTS],
                       struct value *results[RECURRENT_RESULTS])
{
        struct value *y[2] = { NULL, NULL }, *h[2] = { NULL, NULL }, *cells[2] = { NULL, NULL };
        struct recurrent r;

        if (!recurrent_new(c, in, &r))
                return false;
        for (int number = 0; number < in->directions; number++) {
                struct direction d;
                bool backward = in->backward || number == 1;
                if (!direction_new(c, &r, number, &d) ||
                    !(r.steps > c->limits->unrolled_steps || !dim_is_static(r.extent)
                              ? write_loop
                              : write_out)(c, &r, &d, backward, &y[number]))
                        return false;
                h[number] = last_state(c, &r, d.h);
                cells[number] = last_state(c, &r, d.c);
        }
        return recurrent_outputs(c, &r, y, h, cells, wanted, results);
}
