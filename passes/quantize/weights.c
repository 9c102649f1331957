/* SPDX-License-Identifier: MIT */
#include "passes/quantize/weights.h"

#include <math.h>

static bool is_weights(const struct constant *c, const struct limits *limits)
{
        const struct type *t = c->value.type;
        if (c->kind == CONSTANT_SPLAT || !c->value.uses || !element_is_float(t->element) ||
            !type_elements(t) || type_elements(t) < limits->weight_elements)
                return false;
        for (const struct use *u = c->value.uses; u; u = u->next)
                if (u->user->code == OP_dot_blocks ||   /* The floats of dot_blocks are scales. */
                    (!(op_info[u->user->code].traits & TRAIT_CONTRACTION) &&
                     (u->user->code != OP_gather || u->index != 0)))
                        return false;
        return true;
}

struct constant **weights_find(struct arena *arena, const struct function *f,
                               const struct limits *limits, int *count)
{
        struct constant **weights = NULL;
        *count = 0;
        for (struct constant *c = f == module_entry(f->module) ? f->module->constants : NULL; c;
             c = c->next)
                if (is_weights(c, limits)) {
                        ARENA_GROW(arena, weights, *count);
                        weights[(*count)++] = c;
                }
        return weights;
}

/* There may be hundreds of millions of weights, nearly all of them f32, so these have a path of
 * their own. */
static double weight(const struct constant *c, int64_t i)
{
        return c->value.type->element == E_F32 ? (double)constant_float(c, i)
                                               : constant_element(c, i).f;
}

bool weights_fit(const struct constant *c, enum element e)
{
        double most = 0;
        for (int64_t i = 0, count = type_elements(c->value.type); i < count; i++) {
                double size = fabs(weight(c, i));
                most = size > most && isfinite(size) ? size : most;
        }
        uint64_t rounded = 0;
        element_store(e, &rounded, 0, (union scalar){ .f = most });
        return isfinite(element_load(e, &rounded, 0).f);
}

/* Rounds to the nearest whole number, halves to even; |x| < 2^51. */
static double nearest(double x)
{
        const double magic = 0x1.8p52;
        return x + magic - magic;
}

bool weights_scheme(const struct constant *c, int64_t from, int64_t count, int64_t steps,
                  struct weight_scheme *scheme)
{
        double least = 0, most = 0;
        for (int64_t i = from; i < from + count; i++) {
                double v = weight(c, i);
                if (!isfinite(v))
                        return false;
                least = v < least ? v : least;
                most = v > most ? v : most;
        }
        double step = (most - least) / (double)(steps - 1);
        if (element_info[c->value.type->element].compute == E_F32)
                step = (double)(float)step;
        if (!isfinite(step) || (step == 0 && most > least))
                return false;
        scheme->step = step > 0 ? step : 1;
        scheme->zero = nearest(-least / scheme->step);
        return true;
}

int64_t weights_number(const struct weight_scheme *scheme, const struct constant *c, int64_t i,
                       int64_t steps)
{
        double q = nearest(weight(c, i) / scheme->step) + scheme->zero;
        return q < 0 ? 0 : q > (double)(steps - 1) ? steps - 1 : (int64_t)q;
}
