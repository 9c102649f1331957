/* SPDX-License-Identifier: MIT */
/* Random numbers are functions of a key and of a position: nothing keeps a state, so the numbers do
 * not depend on the order in which they are computed, and a run with the same key repeats them. */
#ifndef FRONT_COMPOSE_COMPOSE_RANDOM_H
#define FRONT_COMPOSE_COMPOSE_RANDOM_H

#include "front/compose/compose.h"

/* This says where the numbers of one operator come from. */
struct compose_draw {
        struct value *key;              /* It is a u64, the key of Philox 4 x 32-10 (random_bits);
                                         * where it is NULL the numbers are those of
                                         * numpy.random.RandomState(seed), computed here as a
                                         * constant. */
        uint32_t seed;                  /* It is the seed of RandomState; with a key it is
                                         * unused. */
};

/* Returns a key that depends on another one and on an integer of any type, a scalar. */
struct value *compose_key(struct compose *c, struct value *key, struct value *number);

/* Return numbers of the shape of t, in compose_wide_element of its element: uniform in [0, 1), or
 * normal with mean 0 and standard deviation 1. Those of a key have 24 random bits in f32. In f64,
 * uniform ones have 53, and normal ones are made of two numbers of 32 bits (Box and Muller's
 * method). */
struct value *compose_uniform(struct compose *c, const struct compose_draw *draw,
                              const struct type *t);
struct value *compose_normal(struct compose *c, const struct compose_draw *draw,
                             const struct type *t);
/* Returns 1 with the probability that p (a float) has there, else 0, as bool. */
struct value *compose_bernoulli(struct compose *c, const struct compose_draw *draw,
                                struct value *p);
/* x [batch, classes] has logarithms of probabilities, up to a summand for each row. Returns classes
 * [batch, count] that are drawn so, of element e. */
struct value *compose_multinomial(struct compose *c, const struct compose_draw *draw,
                                  struct value *x, int64_t count, enum element e);
/* Returns x with each element kept with probability 1 - ratio, and multiplied by 1 / (1 - ratio),
 * or replaced by 0. The ratio is a scalar of a float type. *kept becomes the mask, of bool. */
struct value *compose_dropout(struct compose *c, const struct compose_draw *draw, struct value *x,
                              struct value *ratio, struct value **kept);

#endif
