/* SPDX-License-Identifier: MIT */
/* Recurrent cells over sequences: simple ones, GRU, LSTM, also with weights of 8 bits. */
#ifndef FRONT_COMPOSE_COMPOSE_RECURRENT_H
#define FRONT_COMPOSE_COMPOSE_RECURRENT_H

#include "front/compose/compose_activation.h"

enum compose_cell { CELL_RNN, CELL_GRU, CELL_LSTM };
enum { RECURRENT_ACTIVATIONS_MAX = 6, RECURRENT_RESULTS = 3 };

/* Gates are in the order of ONNX: GRU update, reset, candidate; LSTM input, output, forget,
 * candidate. all = gates * hidden; values of a direction lie along dimension 0. */
struct compose_recurrent {
        int cell;
        int directions;                 /* 2: forward and backward */
        bool backward;                  /* the only direction runs from the end */
        bool batch_first;               /* x, states and results have their batch in front */
        bool input_forget;              /* LSTM: the forget gate is 1 - the input gate */
        bool linear_before_reset;       /* GRU: the reset gate scales products, not the state */
        int64_t hidden;                 /* 0: as many as the recurrence weights have */
        float clip;                     /* of what activations of gates read; 0: none */
        /* of each direction: gates; candidates; of an LSTM what it gives out */
        struct compose_activation act[RECURRENT_ACTIVATIONS_MAX];
        struct value *x;                /* floats <steps x batch x inputs> */
        struct value *w, *r;            /* <directions x all x inputs>, <directions x all x hidden>;
                                         * of 8 bits: <directions x inputs x all>, .. */
        struct value *bias;             /* <directions x 2 all>: of w, then of r; or NULL */
        struct value *lengths;          /* integers <batch>, steps of each sequence; NULL: all */
        struct value *h, *c;            /* states <directions x batch x hidden>; NULL: 0 */
        struct value *peephole;         /* LSTM: <directions x 3 hidden>, of input, output, forget;
                                         * or NULL */
        /* of weights of 8 bits, else NULL: <directions>, or <directions x all> */
        struct value *w_scale, *w_zero, *r_scale, *r_zero;
};
/* results: all outputs <steps x directions x batch x hidden>, the last h and c <directions x
 * batch x hidden>, those that are wanted. What lies beyond a sequence's own length is 0, and the
 * state stays as it is. False after an error. */
bool compose_recurrent(struct compose *c, const struct compose_recurrent *r,
                       const bool wanted[RECURRENT_RESULTS],
                       struct value *results[RECURRENT_RESULTS]);

#endif
