/* SPDX-License-Identifier: MIT */
/* Values of loops and branches as values of the function around them, so that a program can give
 * them as outputs:
 *
 *      %r = loop(none, none, %h) steps=9 {(%i, %a)      %r, %s = loop(none, none, %h) steps=9 {(%i, %a)
 *        %1 = dot(%a, @w)                         ->      %1 = dot(%a, @w)
 *        %2 = tanh(%1)                                    %2 = tanh(%1)
 *        yield(%2)                                        yield(%2, reshape(%1))
 *      }                                                }                     ; %s: %1 of 9 iterations
 *
 * A branch hands its values out beside zeros of the other one, and a flag that says which of the
 * two ran. A loop that may end early becomes one that always runs as many iterations, each of
 * which is a branch of the condition that it goes on. */
#ifndef PASSES_CALIBRATE_EXPOSE_H
#define PASSES_CALIBRATE_EXPOSE_H

#include "passes/pass.h"

struct exposed {
        struct value *value;            /* of the function's body: all that it was, one after the
                                         * other */
        int64_t elements;               /* of the value itself */
        int64_t times;                  /* that it may be computed in a run */
        int flags;                      /* number of the exposed_flags that say when; -1: always */
};

/* Of u8, in the function's body. */
struct exposed_flags {
        struct value *value;
        int64_t times;
        const char *overrun;            /* NULL: 1 where it was computed. Else the loop that
                                         * would have run more iterations than were allowed for,
                                         * where 1 */
};

struct exposition {
        struct exposed *values;         /* [count], in the order that was asked for */
        struct exposed_flags *flags;
        int flag_count;
};

/* Changes the module's first function, results of whose operations the values may be, and
 * arguments of it and of loops; most_steps: iterations of a loop that may end early. False after
 * an error. */
bool expose_values(struct exposition *e, struct arena *arena, struct module *m,
                   struct value *const *values, int count, int64_t most_steps, struct diag *diag);

#endif
