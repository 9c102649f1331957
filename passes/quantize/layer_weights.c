/* SPDX-License-Identifier: MIT */
#include "passes/quantize/layer_weights.h"

#include <math.h>
#include <string.h>

#include "passes/simplify/ranges.h"
#include "passes/simplify/simplify.h"

struct weight_places weight_places_of(const struct op *op)
{
        const struct type *t = op_operand(op, 1)->type;
        struct weight_places w = { .along = whole_outputs(op), .outputs = 1, .inner = 1 };
        if (w.along >= 0)
                w.outputs = type_extent(t, w.along);
        for (int d = w.along + 1; d < t->rank && w.along >= 0; d++)
                w.inner *= type_extent(t, d);
        w.depth = type_elements(t) / w.outputs;
        return w;
}

int layer_outputs(const struct op *op)
{
        return op->code == OP_convolve ? 1 : op_result(op)->type->rank - 1;
}

bool is_constant_of_floats(const struct value *v)
{
        return value_is_constant(v) && v->type->element == E_F32 && type_is_static(v->type);
}

bool constant_is_finite(const struct constant *c)
{
        int64_t count = c->kind == CONSTANT_SPLAT ? 1 : type_elements(c->value.type);
        for (int64_t i = 0; i < count; i++)
                if (!isfinite(constant_float(c, i)))
                        return false;
        return true;
}

float *constant_numbers(struct arena *arena, const struct constant *c)
{
        const int64_t count = type_elements(c->value.type);
        float *numbers = arena_array(arena, (size_t)count + 1, sizeof *numbers);
        for (int64_t i = 0; i < count; i++)
                numbers[i] = constant_float(c, i);
        return numbers;
}

float *numbers_along(struct arena *arena, struct builder *b, struct value *v, int along,
                     int64_t count)
{
        int64_t onto[RANK_MAX];
        struct value *from = simplify_spread_source(b, v, onto);
        if (!from || !is_constant_of_floats(from))
                return NULL;
        int64_t there = type_elements(from->type);
        for (int d = 0; d < from->type->rank; d++)
                if (!dim_is(from->type->dims[d], 1) && onto[d] != along)
                        return NULL;
        bool splat = from->constant->kind == CONSTANT_SPLAT || there == 1;
        if (!splat && there != count)
                return NULL;
        float *numbers = arena_array(arena, (size_t)count + 1, sizeof *numbers);
        for (int64_t i = 0; i < count; i++)
                numbers[i] = (float)constant_element(from->constant, splat ? 0 : i).f;
        return numbers;
}

struct value *spread_along(struct builder *b, const struct type *to, int along, int64_t count,
                           const float *numbers, const char *name)
{
        float *data = constant_room(b->m, (size_t)count * sizeof *data);
        memcpy(data, numbers, (size_t)count * sizeof *data);
        struct value *v = constant_dense(b->m, type_static(b->m, E_F32, 1, &count), data, name);
        return build_broadcast(b, v, to, (const int64_t[]){ along });
}
