/* SPDX-License-Identifier: MIT */
/* Mixtures of experts: each token goes through the few of many small networks that a router gives
 * most weight. */
#ifndef FRONT_COMPOSE_COMPOSE_EXPERTS_H
#define FRONT_COMPOSE_COMPOSE_EXPERTS_H

#include "front/compose/compose_activation.h"

/* A layer of each expert: floats [experts, outputs, inputs]; or, with scales, numbers of `bits`
 * bits in bytes u8, lowest bits first along the last dimension: (number - zero) * scale. */
struct compose_expert_layer {
        struct value *weights;          /* NULL: there is no such layer */
        struct value *scales;           /* [experts, outputs], or [.., inputs / block]; or NULL */
        struct value *zeros;            /* u8, packed along the scales' last dimension; NULL:
                                         * 2^(bits - 1) */
        struct value *bias;             /* [experts, outputs], or NULL */
        int bits;
        int64_t block;                  /* 0: all inputs have one scale */
};

/* How a layer's result becomes what the second layer reads. With a gate: of linear and gate,
 * clamped to `limit`, gate * sigmoid(alpha * gate) * (linear + beta). */
enum compose_gate {
        GATE_NONE,                      /* the activation of the first layer */
        GATE_INTERLEAVED,               /* gate and linear are neighbours in the first layer */
        GATE_HALVES,                    /* the first layer has all gates, then all linears */
        GATE_APART                      /* gates are of the first layer, linears of the third */
};

struct compose_experts {
        struct value *x;                /* floats [tokens, inputs] */
        struct value *router;           /* [tokens, experts]: logits */
        struct value *mix;              /* of the same type: weights of the experts that the router
                                         * chose; NULL: the router's */
        struct compose_expert_layer first, second, third;
        struct compose_activation activation;     /* GATE_NONE */
        int gate;                       /* enum compose_gate */
        double alpha, beta, limit;      /* of the gate; the limit may be infinite */
        int64_t chosen;                 /* experts of a token */
        bool normalize;                 /* weights of a token's experts add up to 1 */
};
/* [tokens, inputs] */
struct value *compose_experts(struct compose *c, const struct compose_experts *in);

#endif
