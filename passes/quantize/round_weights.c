/* SPDX-License-Identifier: MIT */
/* round_weights: a tensor of weights takes few values, in even steps, so that the model's file
 * compresses better.
 *
 *   @w : <8 x 1 x 5 x 5 x f32>         ->      @w : <8 x 1 x 5 x 5 x f32>, with at most 256 different elements
 *
 * --limit round_steps says how many; one value is 0, and they lie equally far apart, from the least
 * weight to the largest. Each weight becomes the nearest of them, at most half a step away, where a
 * step is (largest - least) / (round_steps - 1). A tensor with a weight that is not finite stays as
 * it is. */
#include "passes/quantize/weights.h"

enum { STEPS_MAX = 65536 };

static bool round_constant(struct module *m, struct constant *c, int64_t steps)
{
        const struct type *t = c->value.type;
        struct weight_scheme scheme;
        int64_t count = type_elements(t);
        if (!weights_scheme(c, 0, count, steps, &scheme))
                return false;
        void *data = constant_room(m, (size_t)type_bytes(t));
        for (int64_t i = 0; i < count; i++) {
                double q = (double)weights_number(&scheme, c, i, steps);
                element_store(t->element, data, (size_t)i,
                              (union scalar){ .f = (q - scheme.zero) * scheme.step });
        }
        value_replace(&c->value, constant_dense(m, t, data, c->name));
        return true;
}

int pass_round_weights(struct function *f, struct pass_context *context)
{
        int64_t steps = context->limits.round_steps;
        if (steps < 2 || steps > STEPS_MAX) {
                diag_error(context->diag, EXIT_USAGE, "--limit round_steps: want 2 to %d",
                           STEPS_MAX);
                return -1;
        }
        struct arena *arena = arena_new();
        int count, rounded = 0;
        struct constant **weights = weights_find(arena, f, &context->limits, &count);
        for (int i = 0; i < count; i++)
                rounded += round_constant(f->module, weights[i], steps);
        arena_free(arena);
        return rounded;
}
