/* SPDX-License-Identifier: MIT */
/* What lies between a sum of integers and a byte: operations of floats, or a rescale
 * (sequence.c). */
#ifndef PASSES_REQUANTIZE_SEQUENCE_H
#define PASSES_REQUANTIZE_SEQUENCE_H

#include "passes/requantize/multiplier.h"
#include "passes/requantize/requantize.h"

enum { SUMMANDS = 4 };

/* A sequence has the operations between a sum and a byte, in their order. Their numbers differ
 * along dimension `along` of the values at most; -1: along none. */
struct sequence {
        struct value *sum, *total;      /* sum: total without the bias, and all else that is
                                         * constant. */
        const struct type *type;
        int along, step_count, summand_count, operations;
        enum opcode codes[FORMULA_STEPS];
        struct spread steps[FORMULA_STEPS], summands[SUMMANDS];
        bool less[SUMMANDS];
        int low, high;                  /* The byte is at least low and at most high. */
        const struct op *rescale;       /* It is that in place of floats; NULL: it is none. */
        struct spread factor, exponent;
        const struct op *like;          /* Numbers lie as those that this broadcast spreads, along
                                         * several dimensions (blocks of channels); NULL: see
                                         * `along`. */
};
/* Finds the sequence that ends in op. Returns false if there is none. */
bool sequence_find(const struct op *op, struct sequence *c);
/* Returns how many numbers each step has. */
int64_t sequence_places(const struct sequence *c);
/* Returns what is added to all sums at place i. */
int64_t sequence_bias(const struct sequence *c, int64_t i);
/* Finds the formula at place i. Returns false if it is not monotone. */
bool sequence_formula(const struct sequence *c, int64_t i, struct formula *f);
/* Finds the ends of the bytes that any sum becomes, at any of `count` places: those of their type,
 * or of a bound. Returns false if there is no formula. */
bool sequence_ends(struct sequence *c, int64_t count);
/* Returns the thresholds of each place, or NULL where a sum may wrap. */
struct thresholds *sequence_thresholds(struct arena *arena, const struct sequence *c,
                                       int64_t count);

#endif
