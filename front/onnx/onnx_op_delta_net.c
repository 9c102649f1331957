/* SPDX-License-Identifier: MIT */
/* This file imports com.microsoft's GatedDeltaNet: linear attention whose sequences may have
 * different lengths, with its gates and norms in the operator. */
#include <math.h>

#include "front/onnx/onnx_helpers.h"
#include "front/compose/compose_arithmetic.h"
#include "front/compose/compose_attention.h"
#include "front/compose/compose_move.h"
#include "front/compose/compose_packed.h"

enum gate { GATE_GIVEN, GATE_SOFTPLUS, GATE_SIGMOID };

struct delta_net {
        struct value *q, *k, *v;        /* These are [rows, heads, size]. */
        struct value *decay, *beta;     /* These are [rows, heads] or, of decay, [rows, heads,
                                         * depth]; NULL stands for none. */
        struct value *state;            /* Its extents are [sequences, heads, width, depth]; NULL
                                         * stands for 0. */
        struct value *limits;           /* Sequence i has the rows from limits[i] up to limits[i +
                                         * 1]; NULL: all have equally many. */
        struct compose_packed packed;   /* It is what the limits say. */
        int64_t rows, sequences, steps; /* steps: the most rows that a sequence may have */
        int64_t key_heads, heads, depth, width;
        float scale, bound;
        int gate;                       /* enum gate */
        int64_t captures;               /* So many first steps of each sequence are a result; at 0
                                         * none are. */
        bool sigmoid_beta, normalized;
        bool batched;                   /* Operands have a dimension for sequences and one for
                                         * steps in place of rows. */
};

static bool attributes_read(struct onnx_import *im, struct onnx_node *n, struct delta_net *d)
{
        static const char *const gates[] = { "none", "softplus", "qwen", "sigmoid", "kda", NULL };
        static const enum gate kinds[] = { GATE_GIVEN, GATE_SOFTPLUS, GATE_SOFTPLUS, GATE_SIGMOID,
                                           GATE_SIGMOID };
        static const char *const activations[] = { "none", "sigmoid", NULL };
        int64_t normalized;
        int gate, beta;

        if (!onnx_update_rule(im, n, d->decay, d->beta) ||
            !onnx_choice(im, n, "gate_activation", gates, 0, &gate) ||
            !onnx_choice(im, n, "beta_activation", activations, 0, &beta) ||
            !onnx_float(im, n, "scale", 0, &d->scale) ||
            !onnx_float(im, n, "gate_lower_bound", -5, &d->bound) ||
            !onnx_int_range(im, n, "qk_l2_norm", 0, 0, 1, &normalized) ||
            !onnx_ignore(im, n, "chunk_size"))
                return false;
        d->gate = kinds[gate];
        d->sigmoid_beta = beta;
        d->normalized = normalized;
        return true;
}

/* Returns x, whose first two dimensions may be batch and steps, with all of these as one. */
static struct value *as_rows(struct onnx_import *im, struct value *x, int rank)
{
        const struct type *t = x ? x->type : NULL;
        dim_t dims[RANK_MAX];

        if (!t || t->rank == rank)
                return x;
        dims[0] = dim_of(type_extent(t, 0) * type_extent(t, 1));
        for (int i = 1; i < rank; i++)
                dims[i] = t->dims[i + 1];
        return compose_reshape(im->c, x, rank, dims);
}

/* Cuts queries, keys and values out of one operand [rows, columns]. */
static bool cut_packed(struct onnx_import *im, struct onnx_node *n, struct delta_net *d)
{
        const int64_t columns = value_extent(d->q, value_rank(d->q) - 1);

        if (!d->state)
                return onnx_invalid(im, n, "packed queries, keys and values without a state");
        d->heads = value_extent(d->state, 1);
        d->width = value_extent(d->state, 2);
        d->depth = value_extent(d->state, 3);
        const int64_t keys = columns - d->heads * d->width;
        if (value_rank(d->q) != 2 || !d->depth || keys <= 0 || keys % (2 * d->depth))
                return onnx_invalid(im, n, "queries, keys and values %s for a state %s",
                                    compose_text(im->c, d->q->type),
                                    compose_text(im->c, d->state->type));
        d->rows = value_extent(d->q, 0);
        d->key_heads = keys / (2 * d->depth);
        const dim_t key[3] = { dim_of(d->rows), dim_of(d->key_heads), dim_of(d->depth) };
        const dim_t value[3] = { dim_of(d->rows), dim_of(d->heads), dim_of(d->width) };
        struct value *all = d->q;
        d->q = compose_reshape(im->c, compose_part(im->c, all, 1, 0, keys / 2), 3, key);
        d->k = compose_reshape(im->c, compose_part(im->c, all, 1, keys / 2, keys / 2), 3, key);
        d->v = compose_reshape(im->c, compose_part(im->c, all, 1, keys, columns - keys), 3, value);
        return d->q && d->k && d->v;
}

static bool operands_read(struct onnx_import *im, struct onnx_node *n, struct delta_net *d)
{
        struct value *same[3] = { d->q, d->k, d->v };
        const int rank = value_rank(d->q);

        if (!onnx_want_float(im, n, 0) || !onnx_want_rank(im, n, 0, 2, 4) ||
            !onnx_same_element(im, n, same, 3) || !onnx_want_rank(im, n, 6, 4, 4) ||
            !onnx_want_element(im, n, 6, E_F32))
                return false;
        if (!d->k && !d->v)
                return cut_packed(im, n, d);
        if (!d->k || !d->v || rank < 3 || rank > 4 || value_rank(d->k) != rank ||
            value_rank(d->v) != rank || (rank == 4 && d->limits))
                return onnx_invalid(im, n, "queries %s, and keys and values of another form",
                                    compose_text(im->c, d->q->type));
        if (rank == 4)
                d->sequences = value_extent(d->q, 0);
        d->q = as_rows(im, d->q, 3);
        d->k = as_rows(im, d->k, 3);
        d->v = as_rows(im, d->v, 3);
        if (!d->q || !d->k || !d->v)
                return false;
        d->rows = value_extent(d->q, 0);
        d->key_heads = value_extent(d->q, 1);
        d->depth = value_extent(d->q, 2);
        d->heads = value_extent(d->v, 1);
        d->width = value_extent(d->v, 2);
        return (type_same_dims(d->q->type, d->k->type) && value_extent(d->v, 0) == d->rows) ||
               onnx_invalid(im, n, "queries %s for keys %s and values %s",
                            compose_text(im->c, d->q->type), compose_text(im->c, d->k->type),
                            compose_text(im->c, d->v->type));
}

/* Finds how many sequences there are, and checks that heads and states fit them. */
static bool sequences_read(struct onnx_import *im, struct onnx_node *n, struct delta_net *d)
{
        const struct type *t = d->state ? d->state->type : NULL;

        if (!onnx_want_element(im, n, 3, E_I32) || !onnx_want_rank(im, n, 3, 1, 1))
                return false;
        if (d->limits)
                d->sequences = value_extent(d->limits, 0) - 1;
        else if (!d->sequences)
                d->sequences = t ? type_extent(t, 0) : 0;
        if (d->sequences < 1 || (!d->limits && d->rows % d->sequences) || !d->rows ||
            !d->key_heads || d->heads % d->key_heads || !d->depth)
                return onnx_invalid(im, n, "%lld rows in %lld sequences, heads %lld and %lld",
                                    (long long)d->rows, (long long)d->sequences,
                                    (long long)d->key_heads, (long long)d->heads);
        d->steps = d->limits ? d->rows : d->rows / d->sequences;
        return !t ||
               (type_extent(t, 0) == d->sequences && type_extent(t, 1) == d->heads &&
                type_extent(t, 2) == d->width && type_extent(t, 3) == d->depth) ||
               onnx_invalid(im, n, "a state %s", compose_text(im->c, t));
}

/* Returns x in f32 with heads of length 1, if they are to be. What is added to a sum of squares is
 * not in the operator's text: onnxruntime 1.32 adds 1e-12, and 1e-6 where the gate is a sigmoid. */
static struct value *normal(struct onnx_import *im, const struct delta_net *d, struct value *x)
{
        const double least = d->gate == GATE_SIGMOID ? 1e-6 : 1e-12;
        const int64_t last = 2;
        x = compose_cast(im->c, x, E_F32);
        if (!d->normalized || !x)
                return x;
        struct value *squares =
                compose_reduce(im->c, REDUCE_sum, mul(im->c, x, x), &last, 1, E_COMPUTE);
        struct value *length = compose_unary(im->c, OP_sqrt, plus(im->c, squares, least));
        return divide(im->c, x, compose_unreduce(im->c, length, x->type, &last, 1));
}

/* Returns decays [rows, heads] or [rows, heads, depth] as the gate makes them, in f32. */
static struct value *gated(struct onnx_import *im, struct onnx_node *n, const struct delta_net *d)
{
        struct value *x = compose_cast(im->c, d->decay, E_F32), *bias = onnx_input(n, 8);

        if (d->gate == GATE_GIVEN || !x)
                return x;
        struct value *rate = onnx_input(n, 7);
        const bool each = value_rank(x) == 3;
        const int64_t count = each ? d->heads * d->depth : d->heads;
        if (!rate || value_element(rate) != E_F32 || type_elements(rate->type) != d->heads ||
            (bias && (value_element(bias) != E_F32 || (type_elements(bias->type) != count &&
                                                       type_elements(bias->type) != d->heads)))) {
                onnx_invalid(im, n, "a gate without its rates, or of another number of heads");
                return NULL;
        }
        const dim_t heads[2] = { dim_of(d->heads), dim_of(1) };
        const dim_t all[2] = { dim_of(d->heads), dim_of(d->depth) };
        const bool whole = bias && each && type_elements(bias->type) == count;
        rate = compose_unary(im->c, OP_exp, rate);
        rate = compose_reshape(im->c, rate, each ? 2 : 1, heads);
        if (bias)
                x = add(im->c, x, compose_reshape(im->c, bias, each ? 2 : 1, whole ? all : heads));
        if (!x || !rate)
                return NULL;
        if (d->gate == GATE_SOFTPLUS) {
                struct value *soft = compose_unary(im->c, OP_softplus, x);
                return mul(im->c, compose_unary(im->c, OP_neg, rate), soft);
        }
        return times(im->c, compose_unary(im->c, OP_sigmoid, mul(im->c, rate, x)), d->bound);
}

/* Returns x [rows, heads, size] as [sequences, steps, d->heads * size], where each head stands as
 * often as value heads share it. Steps that a sequence has not are 0, which change no state. NULL
 * for NULL. */
static struct value *by_sequences(struct onnx_import *im, const struct delta_net *d,
                                  struct value *x)
{
        if (!x)
                return NULL;
        const int64_t heads = value_extent(x, 1), size = value_extent(x, 2);
        const dim_t flat[3] = { dim_of(d->sequences), dim_of(d->steps), dim_of(d->heads * size) };

        if (heads != d->heads) {
                const struct type *t = compose_type_static(
                        im->c, value_element(x), 4,
                        (const int64_t[]){ d->rows, heads, d->heads / heads, size });
                x = t ? compose_spread(im->c, x, t, (const int64_t[]){ 0, 1, 3 }) : NULL;
        }
        if (!d->limits)
                return compose_reshape(im->c, x, 3, flat);
        x = compose_reshape(im->c, x, 2, (const dim_t[]){ dim_of(d->rows), flat[2] });
        return compose_packed_apart(im->c, &d->packed, x, d->packed.lengths, d->steps);
}

/* Reads decays and betas, and makes them [rows, heads, ..]. */
static bool rates_read(struct onnx_import *im, struct onnx_node *n, struct delta_net *d)
{
        const dim_t each[3] = { dim_of(d->rows), dim_of(d->heads), dim_of(1) };
        const int64_t count = d->rows * d->heads;

        if (d->decay) {
                const int64_t there = type_elements(d->decay->type);
                const int rank = value_rank(d->decay) - d->batched;
                if (rank < 2 || rank > 3 || (there != count && there != count * d->depth))
                        return onnx_invalid(im, n, "decays %s",
                                            compose_text(im->c, d->decay->type));
                d->decay = as_rows(im, d->decay, rank);
                d->decay = gated(im, n, d);
                if (d->decay && value_rank(d->decay) == 2)
                        d->decay = compose_reshape(im->c, d->decay, 3, each);
                if (!d->decay)
                        return false;
        }
        if (!d->beta)
                return true;
        if (type_elements(d->beta->type) != count)
                return onnx_invalid(im, n, "betas %s", compose_text(im->c, d->beta->type));
        d->beta = compose_cast(im->c, d->beta, E_F32);
        if (d->sigmoid_beta)
                d->beta = compose_unary(im->c, OP_sigmoid, d->beta);
        d->beta = compose_reshape(im->c, d->beta, 3, each);
        return d->beta != NULL;
}

/* Returns of x [sequences, steps, columns], f32, what the first steps have, [sequences, captures *
 * columns], with 0 for steps that there are not. */
static struct value *first_steps(struct onnx_import *im, const struct delta_net *d, struct value *x)
{
        x = x ? compose_fitted(im->c, x, 1, d->captures) : NULL;
        return x ? compose_reshape(im->c, x, 2,
                                   (const dim_t[]){ dim_of(d->sequences),
                                                    dim_of(d->captures * value_extent(x, 2)) })
                 : NULL;
}

/* Returns keys [rows, key heads, depth] as [sequences, steps, columns]. */
static struct value *keys_by_sequences(struct onnx_import *im, const struct delta_net *d,
                                       struct value *k)
{
        struct delta_net shared = *d;
        shared.heads = d->key_heads; /* No head is repeated. */
        return by_sequences(im, &shared, k);
}

/* Returns, of the first steps, what the state is multiplied by, the keys, and what is added for
 * these, [sequences, all of these]; 0 where the operand state_update_active is. */
static struct value *captured(struct onnx_import *im, struct onnx_node *n,
                              const struct delta_net *d, struct value *keys, struct value *decay,
                              struct value *added)
{
        struct value *parts[3];

        if (decay) {
                parts[0] = first_steps(im, d, compose_unary(im->c, OP_exp, decay));
        } else {
                const dim_t ones[2] = { dim_of(d->sequences), dim_of(d->captures * d->heads) };
                parts[0] = constant_number(im->m, type_tensor(im->m, E_F32, 2, ones), 1);
        }
        parts[1] = first_steps(im, d, keys_by_sequences(im, d, keys));
        parts[2] = first_steps(im, d, added);
        struct value *all =
                parts[0] && parts[1] && parts[2] ? compose_concat(im->c, parts, 3, 1) : NULL;
        if (!all || !onnx_input(n, 10))
                return all;
        struct value *active = onnx_scalar(im, n, 10);
        active = compose_with(im->c, OP_ne, active, 0);
        return compose_select(im->c, active, all, build_like(&im->b, all, 0));
}

/* Computes the result [rows, heads, width], the states [sequences, heads, depth, width] and, where
 * that is asked for, what is captured. */
static bool delta_net(struct onnx_import *im, struct onnx_node *n, const struct delta_net *d,
                      struct value **y, struct value **state, struct value **update)
{
        static const int64_t swap[4] = { 0, 1, 3, 2 };
        struct value *q = normal(im, d, d->q), *k = normal(im, d, d->k);
        struct value *v = compose_cast(im->c, d->v, E_F32), *added = NULL;
        struct compose_linear_attention l = { .heads = d->heads,
                                              .groups = d->heads,
                                              .scale = d->scale };
        l.q = by_sequences(im, d, q);
        l.k = by_sequences(im, d, k);
        l.v = by_sequences(im, d, v);
        l.decay = by_sequences(im, d, d->decay);
        l.beta = by_sequences(im, d, d->beta);
        if (!l.q || !l.k || !l.v || (d->decay && !l.decay) || (d->beta && !l.beta))
                return false;
        l.past = d->state ? compose_transpose(im->c, d->state, swap) : NULL;
        l.added = d->captures ? &added : NULL;
        if (!compose_linear_attention(im->c, &l, y, state) ||
            (d->captures && !(*update = captured(im, n, d, k, l.decay, added))))
                return false;
        if (d->limits)
                *y = compose_packed_joined(im->c, &d->packed, *y);
        *y = compose_reshape(
                im->c, *y, 3,
                (const dim_t[]){ dim_of(d->rows), dim_of(d->heads), dim_of(d->width) });
        *state = compose_transpose(im->c, *state, swap);
        return *y && *state;
}

/* Operands are queries, keys, values, limits of sequences, decays, betas, states, the gate's rates
 * and biases, how many steps of each sequence are captured, and whether any are. Steps behind those
 * that are captured are not defined: all that the capacity has room for are given. */
bool onnx_import_gated_delta_net(struct onnx_import *im, struct onnx_node *n)
{
        const struct type *t = n->inputs[0]->type;
        struct delta_net d = { .q = n->inputs[0],
                               .k = onnx_input(n, 1),
                               .v = onnx_input(n, 2),
                               .limits = onnx_input(n, 3),
                               .decay = onnx_input(n, 4),
                               .beta = onnx_input(n, 5),
                               .state = onnx_input(n, 6),
                               .batched = t->rank == 4 };
        struct value *y, *state, *update = NULL, *counts;

        if (!attributes_read(im, n, &d) || !operands_read(im, n, &d) ||
            !sequences_read(im, n, &d) || !rates_read(im, n, &d) ||
            !onnx_captures_read(im, n, 9, d.sequences, &d.captures, &counts) ||
            !onnx_want_integer(im, n, 10) ||
            (d.limits && !onnx_packed_read(im, n, 3, d.rows, &d.packed)) ||
            !delta_net(im, n, &d, &y, &state, &update))
                return false;
        if (onnx_wants(n, 2) && !update)
                return onnx_invalid(im, n, "state_update with a capacity of 0");
        onnx_output(n, 2, update);
        y = compose_cast(im->c, y, t->element);
        if (d.batched)
                y = compose_reshape(im->c, y, 4,
                                    (const dim_t[]){ t->dims[0], t->dims[1], dim_of(d.heads),
                                                     dim_of(d.width) });
        return onnx_output(n, 0, y) && (!onnx_wants(n, 1) || onnx_output(n, 1, state));
}
