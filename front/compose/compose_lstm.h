/* SPDX-License-Identifier: MIT */
/* LSTMs whose state begins as it is given and goes on in the next run, of floats or of integers in
 * fixed point. */
#ifndef FRONT_COMPOSE_COMPOSE_LSTM_H
#define FRONT_COMPOSE_COMPOSE_LSTM_H

#include "front/compose/compose_fixed.h"

enum compose_lstm_part { LSTM_PART_INPUT, LSTM_PART_FORGET, LSTM_PART_CELL, LSTM_PART_OUTPUT };
enum { LSTM_PARTS = 4 };

/* A gate, or the candidate: the sum of w x, r h and bias. */
struct compose_lstm_gate {
        struct value *w, *r; /* They are [cells, inputs] and [cells, outputs]; those of
                                         * the input gate may be NULL: it is 1 less the forget
                                         * gate. */
        struct value *bias; /* It is [cells]. */
        struct value *peephole; /* Of floats: c times these, [cells], is a part of the sum, of the
                                         * output gate the new c; or NULL. */
        struct value *norm; /* Of floats: the sum without its bias is normalized to mean 0 and
                                         * variance 1, and multiplied by these, [cells]; or NULL. */
        struct compose_multiplier by_x, by_h; /* Sums of integers times these have 12 fraction
                                                 * bits. */
};
struct compose_lstm {
        struct value *x; /* It is [steps, batch, inputs]: floats, or integers less
                                         * their zero point (i32). */
        struct value *h, *c; /* They are [batch, outputs] and [batch, cells]; of integers i8 and
                                         * i16. There are as many outputs as cells where there is
                                         * no projection. */
        struct compose_lstm_gate gates[LSTM_PARTS];
        /* Of floats, c is bounded by this magnitude, and h; 0: it is not. */
        double clip, h_clip;
        struct value *projection; /* Of floats: h is these, [outputs, cells], times what the gates
                                         * give; or NULL. */
        struct value *projection_bias; /* It is [outputs], or NULL. */
        /* Of integers: */
        bool integer;
        int64_t h_zero; /* It is the zero point of h. */
        int cell_power; /* c stands for c * 2^cell_power. */
        struct compose_multiplier hidden; /* A product of the output gate and the tanh of c
                                                 * times it is a number of h, */
        int64_t hidden_zero; /* less its zero point. */
        int64_t most; /* c is bounded by this magnitude; 0: it is not. */
};
/* Returns all h as [steps, batch, outputs]; *h and *c become the last ones. */
struct value *compose_lstm(struct compose *c, const struct compose_lstm *in, struct value **h,
                           struct value **cell);

/* Functions of 16 bits (i32), with integer_bits before the point: 1 / (1 + e^-x) and the hyperbolic
 * tangent, with 15 fraction bits (compose_fixed_narrow.c). */
struct value *compose_narrow_logistic(struct compose *c, struct value *x, int integer_bits);
struct value *compose_narrow_tanh(struct compose *c, struct value *x, int integer_bits);

#endif
