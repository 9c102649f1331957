/* SPDX-License-Identifier: MIT */
/* This header has recurrent cells over sequences: simple ones, GRU, LSTM, also with weights of 8
 * bits. */
#ifndef FRONT_COMPOSE_COMPOSE_RECURRENT_H
#define FRONT_COMPOSE_COMPOSE_RECURRENT_H

#include "front/compose/compose_activation.h"
#include "front/compose/compose_quantize.h"

enum compose_cell { CELL_RNN, CELL_GRU, CELL_LSTM };
enum { RECURRENT_ACTIVATIONS_MAX = 6, RECURRENT_RESULTS = 3 };

/* In this order weights, biases and zero points have the gates of a cell, `hidden` rows each.
 * Formats differ: a reader whose format has another order hands over weights in this one. */
enum compose_gate_gru { GRU_UPDATE, GRU_RESET, GRU_CANDIDATE };
enum compose_gate_lstm { LSTM_INPUT, LSTM_OUTPUT, LSTM_FORGET, LSTM_CANDIDATE };

/* An LSTM may attend to a memory, as Bahdanau et al., "Neural Machine Translation by Jointly
 * Learning to Align and Translate" (2014), have it. After each step
 *
 *      share = softmax over places of sum of vector * tanh(memory x layer + h x query)
 *      attention = sum over places of share * memory, or (h, this sum) x out
 *
 * and attention, which begins as 0, stands behind the next step's input, so that w has as many more
 * inputs. Operands are floats, of the type of x. */
struct compose_memory {
        struct value *memory;           /* It is <batch x places x depth>. */
        struct value *lengths;          /* These integers <batch> are the places that each sequence
                                         * has; where it is NULL all have all places. */
        struct value *query;            /* It is <directions x hidden x size>. */
        struct value *layer;            /* It is <directions x depth x size>. */
        struct value *vector;           /* It is <directions x size>. */
        struct value *out;              /* It is <directions x (hidden + depth) x outputs>, or
                                         * NULL. */
};
/* This is the memory as one direction reads it, in the wide type. */
struct compose_remembered {
        struct value *values;           /* They are <batch x places x depth>, 0 beyond a length. */
        struct value *hidden;           /* It is <batch x places x bool>, the places beyond it; or
                                         * NULL. */
        struct value *keys;             /* They are <batch x places x size>. */
        struct value *query, *vector, *out; /* They are as above, without the first dimension. */
        int64_t outputs;                /* Attention has so many elements. */
};
/* Reads direction `number` of the memory, for sequences of x. Returns false after an error. */
bool compose_remember(struct compose *c, const struct compose_memory *m, int directions, int number,
                      int64_t batch, int64_t hidden, struct compose_remembered *a);
/* Returns attention <batch x outputs> by the state h <batch x hidden>. */
struct value *compose_attend(struct compose *c, const struct compose_remembered *a,
                             struct value *h);

/* In the following, `all` is gates * hidden; values of a direction lie along dimension 0. */
struct compose_recurrent {
        int cell;                       /* It is an enum compose_cell. */
        int directions;                 /* Where it is 2 they are forward and backward. */
        bool backward;                  /* The only direction runs from the end. */
        bool batch_first;               /* x, states and results have their batch in front. */
        bool input_forget;              /* In an LSTM the forget gate is 1 - the input gate. */
        bool linear_before_reset;       /* In a GRU the reset gate scales products, not the
                                         * state. */
        int64_t hidden;                 /* At 0 there are as many as the recurrence weights have. */
        float clip;                     /* Activations of gates read at most this magnitude; at 0
                                         * any. */
        /* There is for each direction an activation of gates, one of the candidate, and one of an
         * LSTM's output. */
        struct compose_activation act[RECURRENT_ACTIVATIONS_MAX];
        struct value *x;                /* It is floats <steps x batch x inputs>. */
        struct compose_quantized w;     /* These are floats <directions x all x inputs>, without a
                                         * scale and zero point; or integers of 8 bits <directions x
                                         * inputs x all>, whose scale and zero point are
                                         * <directions>, or <directions x all>. */
        struct compose_quantized r;     /* These are the recurrence weights, which are the same but
                                         * have `hidden` inputs. */
        struct value *bias;             /* It is <directions x 2 all>, that of w, then that of r; or
                                         * NULL. */
        struct value *lengths;          /* These integers <batch> are the steps of each sequence;
                                         * where it is NULL all have all steps. */
        struct value *h, *c;            /* These are states <directions x batch x hidden>; NULL
                                         * stands for 0. */
        struct value *peephole;         /* An LSTM has <directions x 3 hidden> here, in the order of
                                         * the first three gates; or it is NULL. */
        const struct compose_memory *memory; /* An LSTM of floats attends to it; or it is NULL. */
};
/* Makes the wanted results: all outputs <steps x directions x batch x hidden>, the last h, and the
 * last c <directions x batch x hidden>. Beyond a sequence's own length, outputs are 0, and the
 * state stays as it is. Returns false after an error. */
bool compose_recurrent(struct compose *c, const struct compose_recurrent *r,
                       const bool wanted[RECURRENT_RESULTS],
                       struct value *results[RECURRENT_RESULTS]);

#endif
