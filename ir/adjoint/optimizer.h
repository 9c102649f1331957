/* SPDX-License-Identifier: MIT */
/* Steps of optimizers, as the rows of optimizers.def say them. */
#ifndef IR_ADJOINT_OPTIMIZER_H
#define IR_ADJOINT_OPTIMIZER_H

#include "ir/tensor/tensor.h"

enum { OPTIMIZER_STATES_MAX = 2, OPTIMIZER_NUMBERS_MAX = 4, OPTIMIZER_FORMULAS_MAX = 5 };

struct optimizer_number { const char *name; double preset, least, bound; };
/* A row. Lists end with NULL. */
struct optimizer_row {
        const char *name, *doc;
        const char *states[OPTIMIZER_STATES_MAX + 1];
        struct optimizer_number numbers[OPTIMIZER_NUMBERS_MAX + 1];
        const char *scalars[OPTIMIZER_FORMULAS_MAX + 1], *updates[OPTIMIZER_FORMULAS_MAX + 1];
};
/* Sets *rows to the table and returns how many there are. */
int optimizer_rows(const struct optimizer_row **rows);
int optimizer_state_count(const struct optimizer_row *row);

/* What a step is made by: a row, its numbers, and scalars that are computed once. */
struct optimizer {
        const struct optimizer_row *row;
        double numbers[OPTIMIZER_NUMBERS_MAX];    /* In the row's order. */
        struct value *rate, *t;         /* The learning rate and the number of the step, 1 at
                                         * first: scalars of f64. */
        struct value *scalars[OPTIMIZER_FORMULAS_MAX];    /* optimizer_begin sets them. */
};
/* Computes the scalars. Returns false after an error of the builder. */
bool optimizer_begin(struct builder *b, struct optimizer *o);
/* Builds the new tensor, made[0], and its new states, made[1..], of w, its gradient g and its
 * states, all of one type. Returns false after an error of the builder. */
bool optimizer_step(struct builder *b, const struct optimizer *o, struct value *w, struct value *g,
                    struct value *const *states, struct value **made);

#endif
