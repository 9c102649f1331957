/* SPDX-License-Identifier: MIT */
/* In a mixture of experts each token goes through the few of many small networks that a router
 * gives most weight. */
#ifndef FRONT_COMPOSE_COMPOSE_EXPERTS_H
#define FRONT_COMPOSE_COMPOSE_EXPERTS_H

#include "front/compose/compose_activation.h"

/* A layer of each expert has floats [experts, outputs, inputs] or, with scales, numbers of `bits`
 * bits in bytes u8, lowest bits first along the last dimension, which stand for (number - zero) *
 * scale. */
struct compose_expert_layer {
        struct value *weights;          /* Where it is NULL there is no such layer. */
        struct value *scales;           /* Their extents are [experts, outputs], or [.., inputs /
                                         * block]; it may be NULL. */
        struct value *zeros;            /* They are u8, packed along the scales' last dimension;
                                         * NULL stands for 2^(bits - 1). */
        struct value *bias;             /* It is [experts, outputs], or NULL. */
        int bits;
        int64_t block;                  /* So many inputs share a scale; at 0 all have one. */
};

/* This says how a layer's result becomes what the second layer reads. With a gate it is gate *
 * sigmoid(alpha * gate) * (linear + beta), of linear and gate clamped to `limit`. */
enum compose_gate {
        GATE_NONE,                      /* The first layer's result goes through the activation. */
        GATE_INTERLEAVED,               /* Gate and linear are neighbours in the first layer. */
        GATE_HALVES,                    /* The first layer has all gates, then all linears. */
        GATE_APART                      /* Gates are of the first layer, linears of the third. */
};

struct compose_experts {
        struct value *x;                /* It is floats [tokens, inputs]. */
        struct value *router;           /* These are logits [tokens, experts]. */
        struct value *mix;              /* These are the weights of the experts that the router
                                         * chose, of the router's type; where it is NULL the
                                         * router's own are taken. */
        struct compose_expert_layer first, second, third;
        struct compose_activation activation;     /* It is read with GATE_NONE. */
        int gate;                       /* It is an enum compose_gate. */
        double alpha, beta, limit;      /* These are numbers of the gate; the limit may be
                                         * infinite. */
        int64_t chosen;                 /* A token has so many experts. */
        bool normalize;                 /* The weights of a token's experts add up to 1. */
};
/* Returns the result [tokens, inputs]. */
struct value *compose_experts(struct compose *c, const struct compose_experts *in);

#endif
