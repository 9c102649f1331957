/* SPDX-License-Identifier: MIT */
/* Makes values of loops and branches values of the function around them, so that a program can have
 * them as outputs:
 *
 *      %r = loop(none, none, %h) steps=9 {(%i, %a)      %r, %s = loop(none, none, %h) steps=9 {(%i, %a)
 *        %1 = dot(%a, @w)                         ->      %1 = dot(%a, @w)
 *        %2 = tanh(%1)                                    %2 = tanh(%1)
 *        yield(%2)                                        yield(%2, reshape(%1))
 *      }                                                }                     ; %s: %1 of 9 iterations
 *
 * A branch hands its values out beside zeros of the other one, and a flag that says which of the
 * two ran. A loop that may end early becomes one that always runs the same number of iterations,
 * each of which is a branch on the condition that the loop goes on. */
#ifndef PASSES_CALIBRATE_EXPOSE_H
#define PASSES_CALIBRATE_EXPOSE_H

#include "passes/pass.h"

struct exposed {
        struct value *value;            /* The function's body has this value, which holds all
                                         * computed values, one after the other. */
        int64_t elements;               /* The value itself has this many elements; -1: as many as
                                         * its output has in a run. */
        int64_t times;                  /* The value may be computed this often in a run. */
        int flags;                      /* The exposed_flags with this number say when the value was
                                         * computed; -1: always. */
};

/* Flags are of u8, in the function's body. */
struct exposed_flags {
        struct value *value;
        int64_t times;
        const char *overrun;            /* NULL: a flag is 1 where the value was computed. Else the
                                         * name of a loop, and a flag is 1 where it would have run
                                         * more iterations than were allowed for. */
};

struct exposition {
        struct exposed *values;         /* [count], in the order that was asked for. */
        struct exposed_flags *flags;
        int flag_count;
};

/* Changes the module's first function so that it has these values, which are results of its
 * operations, or arguments of it and of loops. most_steps: the number of iterations of a loop that
 * may end early. Returns false after an error. */
bool expose_values(struct exposition *e, struct arena *arena, struct module *m,
                   struct value *const *values, int count, int64_t most_steps, struct diag *diag);

#endif
