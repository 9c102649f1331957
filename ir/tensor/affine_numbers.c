/* SPDX-License-Identifier: MIT */
#include "ir/tensor/affine_numbers.h"

static struct value *spread(struct builder *b, struct value *v, const struct type *over)
{
        return v ? build_broadcast_numpy(b, v, over->rank, over->dims) : NULL;
}

struct value *build_rounded(struct builder *b, struct value *real, struct value *zero,
                            enum element to)
{
        double number;
        real = build_unary(b, OP_round, real);
        if (real && zero && !(value_is_splat(zero, &number) && number == 0)) {
                zero = build_cast(b, zero, real->type->element);
                real = build_binary(b, OP_add, real, spread(b, zero, real->type));
        }
        return build_cast(b, real, to);
}

/* Is v a constant, perhaps spread, of zeros alone? */
static bool is_zero(const struct value *v)
{
        while (op_is(v, OP_broadcast))
                v = op_operand(v->op, 0);
        double number;
        if (!type_is_static(v->type))
                return value_is_splat(v, &number) && number == 0;
        int64_t count = value_is_constant(v) && element_is_integer(v->type->element)
                                ? type_elements(v->type)
                                : 0,
                i = 0;
        while (i < count && !constant_element(v->constant, i).i)
                i++;
        return count && i == count;
}

static bool is_weights(const struct value *x) { return value_is_constant(x) && x->type->rank > 1; }

struct value *build_centered(struct builder *b, struct value *x, struct value *zero,
                             enum element as)
{
        if (!x || !zero || is_zero(zero))
                return x;
        zero = build_cast(b, zero, as);
        struct builder own = *b;
        if (is_weights(x))
                own.fold = NULL;
        struct value *right = spread(b, zero, x->type);
        return build_binary(&own, OP_sub, build_cast(&own, x, as), right);
}

struct value *build_quantize(struct builder *b, struct value *x, struct value *scale,
                             struct value *zero, enum element to)
{
        return build_rounded(b, build_binary(b, OP_div, x, scale), zero, to);
}

struct value *build_dequantize(struct builder *b, struct value *x, struct value *scale,
                               struct value *zero)
{
        struct builder own = *b;
        if (!x || !scale)
                return NULL;
        if (is_weights(x))
                own.fold = NULL;
        enum element e = x->type->element;
        /* Differences of 32-bit numbers are computed in integers, which wrap only where the type
         * cannot hold the difference. */
        x = build_centered(b, x, zero, element_info[e].bytes < 4 ? E_I32 : e);
        return build_binary(&own, OP_mul, build_cast(&own, x, scale->type->element),
                            scale);
}
