/* SPDX-License-Identifier: MIT */
/* This header has short names of arithmetic, for operators that are formulas. */
#ifndef FRONT_COMPOSE_COMPOSE_ARITHMETIC_H
#define FRONT_COMPOSE_COMPOSE_ARITHMETIC_H

#include "front/compose/compose.h"

static inline struct value *add(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_add, x, y);
}
static inline struct value *sub(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_sub, x, y);
}
static inline struct value *mul(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_mul, x, y);
}
static inline struct value *divide(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_div, x, y);
}
static inline struct value *plus(struct compose *c, struct value *x, double a)
{
        return compose_with(c, OP_add, x, a);
}
static inline struct value *times(struct compose *c, struct value *x, double a)
{
        return compose_with(c, OP_mul, x, a);
}
static inline struct value *clamp(struct compose *c, struct value *x, double low, double high)
{
        return compose_with(c, OP_min, compose_with(c, OP_max, x, low), high);
}
/* These are of truth values. */
static inline struct value *both(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_and, x, y);
}
static inline struct value *either(struct compose *c, struct value *x, struct value *y)
{
        return compose_binary(c, OP_or, x, y);
}
static inline struct value *inverse(struct compose *c, struct value *x)
{
        return compose_unary(c, OP_not, x);
}

#endif
