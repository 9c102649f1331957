/* SPDX-License-Identifier: MIT */
/* Recurrent cells over sequences: simple ones, GRU, LSTM, also with weights of 8 bits. */
#ifndef FRONT_COMPOSE_COMPOSE_RECURRENT_H
#define FRONT_COMPOSE_COMPOSE_RECURRENT_H

#include "front/compose/compose_activation.h"
#include "front/compose/compose_quantize.h"

enum compose_cell { CELL_RNN, CELL_GRU, CELL_LSTM };
enum { RECURRENT_ACTIVATIONS_MAX = 6, RECURRENT_RESULTS = 3 };

/* The order in which weights, biases and zero points have the gates of a cell, `hidden` rows each.
 * Formats differ: a reader whose format has another order hands over weights in this one. */
enum compose_gate_gru { GRU_UPDATE, GRU_RESET, GRU_CANDIDATE };
enum compose_gate_lstm { LSTM_INPUT, LSTM_OUTPUT, LSTM_FORGET, LSTM_CANDIDATE };

/* all = gates * hidden; values of a direction lie along dimension 0. */
struct compose_recurrent {
        int cell;                       /* enum compose_cell */
        int directions;                 /* 2: forward and backward */
        bool backward;                  /* the only direction runs from the end */
        bool batch_first;               /* x, states and results have their batch in front */
        bool input_forget;              /* LSTM: the forget gate is 1 - the input gate */
        bool linear_before_reset;       /* GRU: the reset gate scales products, not the state */
        int64_t hidden;                 /* 0: as many as the recurrence weights have */
        float clip;                     /* the most that an activation of a gate reads; 0: any */
        /* for each direction: of gates, of the candidate, and of an LSTM's output */
        struct compose_activation act[RECURRENT_ACTIVATIONS_MAX];
        struct value *x;                /* floats <steps x batch x inputs> */
        struct compose_quantized w;     /* floats <directions x all x inputs>, without a scale and
                                         * zero point; or integers of 8 bits <directions x inputs x
                                         * all>, whose scale and zero point are <directions>, or
                                         * <directions x all> */
        struct compose_quantized r;     /* the recurrence weights: likewise, of `hidden` inputs */
        struct value *bias;             /* <directions x 2 all>: of w, then of r; or NULL */
        struct value *lengths;          /* integers <batch>, steps of each sequence; NULL: all */
        struct value *h, *c;            /* states <directions x batch x hidden>; NULL: 0 */
        struct value *peephole;         /* LSTM: <directions x 3 hidden>, in the order of the first
                                         * three gates; or NULL */
};
/* The wanted results: all outputs <steps x directions x batch x hidden>, the last h, and the
 * last c <directions x batch x hidden>. Beyond a sequence's own length, outputs are 0, and the
 * state stays as it is. False after an error. */
bool compose_recurrent(struct compose *c, const struct compose_recurrent *r,
                       const bool wanted[RECURRENT_RESULTS],
                       struct value *results[RECURRENT_RESULTS]);

#endif
