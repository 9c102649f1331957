/* SPDX-License-Identifier: MIT */
/* This file has the steps of Momentum (also Nesterov's), Adagrad and Adam. */
#include "front/compose/compose_optimizer.h"
#include "front/compose/compose_arithmetic.h"

bool compose_optimizer_rate(struct compose *c, struct compose_optimizer *o, struct value *rate,
                            struct value *updates)
{
        o->first = compose_with(c, OP_le, updates, 0);
        updates = compose_cast(c, updates, E_F64);
        o->rate = compose_cast(c, rate, E_F64);
        if (o->kind == OPTIMIZER_ADAGRAD)
                o->rate = divide(c, o->rate, plus(c, times(c, updates, o->decay), 1));
        if (o->kind == OPTIMIZER_ADAM) {
                struct value *above = compose_from(c, OP_sub, 1,
                                                   compose_from(c, OP_pow, o->beta, updates)),
                             *below = compose_from(c, OP_sub, 1,
                                                   compose_from(c, OP_pow, o->alpha, updates));
                struct value *later = divide(
                        c, mul(c, o->rate, compose_unary(c, OP_sqrt, above)), below);
                o->rate = compose_select(c, o->first, o->rate, later);
        }
        return o->first && o->rate;
}

bool compose_optimizer_update(struct compose *c, const struct compose_optimizer *o,
                              struct value *const *v, struct value **made)
{
        enum element e = value_element(v[0]);
        struct value *rate = compose_cast(c, o->rate, e),
                     *gradient = add(c, times(c, v[0], o->norm), v[1]);

        if (o->kind == OPTIMIZER_MOMENTUM) {
                struct value *beta = compose_select(c, o->first, build_scalar(c->b, e, 1),
                                                    build_scalar(c->b, e, o->beta));
                made[1] = add(c, times(c, v[2], o->alpha), mul(c, gradient, beta));
                struct value *way = o->nesterov
                                            ? add(c, gradient, times(c, made[1], o->alpha))
                                            : made[1];
                made[0] = sub(c, v[0], mul(c, way, rate));
        } else if (o->kind == OPTIMIZER_ADAGRAD) {
                made[1] = add(c, v[2], mul(c, gradient, gradient));
                struct value *size =
                        plus(c, compose_unary(c, OP_sqrt, made[1]), o->epsilon);
                made[0] = sub(c, v[0], divide(c, mul(c, gradient, rate), size));
        } else {
                made[1] = add(c, times(c, v[2], o->alpha),
                              times(c, gradient, 1 - (double)o->alpha));
                made[2] = add(c, times(c, v[3], o->beta),
                              times(c, mul(c, gradient, gradient), 1 - (double)o->beta));
                struct value *size =
                        plus(c, compose_unary(c, OP_sqrt, made[2]), o->epsilon);
                made[0] = sub(c, v[0], divide(c, mul(c, made[1], rate), size));
                if (o->norm_after != 0)
                        made[0] = times(c, made[0], 1 - (double)o->norm_after);
        }
        return made[0] && made[1];
}
