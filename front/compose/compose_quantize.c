/* SPDX-License-Identifier: MIT */
/* Quantization computes q = saturate(round_half_even(real / scale) + zero). It is a division, never
 * a product with 1 / scale, which differs at halves; the quotient is rounded first, then moved by
 * the zero point. */
#include "front/compose/compose_quantize.h"

#include "front/compose/compose_arithmetic.h"
#include "ir/tensor/affine_numbers.h"

static struct value *quantize(struct compose *c, struct value *real, struct value *zero_point,
                              enum element to, bool saturate)
{
        double number, least, most;

        if (real && element_is_integer(to))
                return build_rounded(c->b, real, zero_point, to);
        if (!element_is_float(compose_plain_element(to)))
                real = compose_unary(c, OP_round, real);
        if (real && zero_point && !(value_is_splat(zero_point, &number) && number == 0))
                real = add(c, real, compose_cast(c, zero_point, value_element(real)));
        if (compose_integer_range(to, &least, &most))
                real = compose_with(c, OP_min, compose_with(c, OP_max, real, least), most);
        return compose_convert(c, real, to, &(struct compose_conversion){ .saturate = saturate });
}

struct value *compose_requantize(struct compose *c, struct value *real, struct value *zero_point,
                                 enum element to)
{
        return quantize(c, real, zero_point, to, true);
}

struct value *compose_centered(struct compose *c, struct value *x, struct value *zero_point,
                               enum element as)
{
        if (!x || !zero_point || element_is_integer(value_element(x)))
                return build_centered(c->b, x, zero_point, as);
        /* Constants of several numbers in a byte are not folded: passes want to see them. */
        struct value *(*fold)(struct builder *, struct op *, void *) = c->b->fold;
        c->b->fold = value_is_constant(x) && x->type->rank > 1 ? NULL : fold;
        struct value *right = compose_cast(c, zero_point, as);
        x = sub(c, compose_cast(c, x, as), right);
        c->b->fold = fold;
        return x;
}

struct value *compose_quantize(struct compose *c, struct value *x,
                               const struct compose_quantization *q)
{
        struct value *scale = compose_cast(c, q->scale, q->computed);
        struct value *real = divide(c, compose_cast(c, x, q->computed), scale);
        return quantize(c, real, q->zero, q->to, q->saturate);
}

struct value *compose_dequantize(struct compose *c, struct value *x, struct value *scale,
                                 struct value *zero, enum element to)
{
        if (!x || !scale)
                return NULL;
        enum element computed = value_element(scale) == E_F64 ? E_F64 : E_F32;
        /* 32-bit differences are taken in integers, which wrap only where the difference itself
         * does not fit. */
        enum element plain = compose_plain_element(value_element(x));
        scale = compose_cast(c, scale, computed);
        if (element_is_integer(value_element(x)) && to == computed)
                return build_dequantize(c->b, x, scale, zero);
        struct value *(*fold)(struct builder *, struct op *, void *) = c->b->fold;
        if (value_is_constant(x) && x->type->rank > 1) /* Passes want to see constants of several
                                                        * numbers in a byte. */
                c->b->fold = NULL;
        x = compose_centered(c, x, zero, element_info[plain].bytes < 4 ? E_I32 : plain);
        struct value *real = compose_cast(c, mul(c, compose_cast(c, x, computed), scale), to);
        c->b->fold = fold;
        return real;
}

struct compose_quantized compose_quantize_dynamic(struct compose *c, struct value *x)
{
        int64_t axes[RANK_MAX];
        int count = compose_axes_from(0, value_rank(x), axes);
        struct value *most = compose_with(
                c, OP_max, compose_reduce(c, REDUCE_max, x, axes, count, E_COMPUTE), 0);
        struct value *least = compose_with(
                c, OP_min, compose_reduce(c, REDUCE_min, x, axes, count, E_COMPUTE), 0);
        struct compose_quantized q;

        q.scale = compose_with(c, OP_div, sub(c, most, least), 255);
        /* For nothing but zeros the standard's formula is 0 / 0; onnxruntime scales by 1. */
        q.scale = compose_select(c, compose_with(c, OP_eq, q.scale, 0),
                                 q.scale ? build_like(c->b, q.scale, 1) : NULL, q.scale);
        q.zero = compose_unary(c, OP_neg, divide(c, least, q.scale));
        q.zero = compose_with(c, OP_min, compose_with(c, OP_max, q.zero, 0), 255);
        q.zero = compose_cast(c, compose_unary(c, OP_round, q.zero), E_U8);
        q.numbers = compose_requantize(c, divide(c, x, q.scale), q.zero, E_U8);
        return q;
}

struct value *compose_per_block(struct compose *c, const char *what, struct value *v,
                                const struct type *x, int64_t axis, int64_t block)
{
        const struct type *t = v->type;
        const int rank = x->rank;

        if (t->rank == 0 || (t->rank == 1 && dim_is(t->dims[0], 1) && block == 0))
                return compose_along(c, v, x, 0);
        if (axis < -rank || axis >= rank) {
                compose_invalid(c, "axis %lld in a tensor of rank %d, want %d to %d",
                                (long long)axis, rank, -rank, rank - 1);
                return NULL;
        }
        const int at = (int)(axis < 0 ? axis + rank : axis);
        if (t->rank == 1 && block == 0) {
                if (dim_equal(t->dims[0], x->dims[at]))
                        return compose_along(c, v, x, at);
                compose_invalid(c, "%s %s, want %s numbers for axis %d", what, compose_text(c, t),
                                dim_text(c->arena, c->m, x->dims[at]), at);
                return NULL;
        }
        bool fits = t->rank == rank && block > 0 && block <= NUMBER_MAX;
        for (int d = 0; d < rank && fits; d++) {
                dim_t want = x->dims[d];
                if (d == at) {
                        want = dim_binary(c->m, DIM_ADD, want, dim_of(block - 1));
                        want = dim_binary(c->m, DIM_DIV, want, dim_of(block));
                }
                fits = dim_equal(t->dims[d], want);
        }
        if (!fits) {
                compose_invalid(c, "%s %s for an input %s in blocks of %lld along axis %d", what,
                                compose_text(c, t), compose_text(c, x), (long long)block, at);
                return NULL;
        }
        struct value *index = build_iota(c->b, type_tensor(c->m, E_I64, 1, &x->dims[at]), 0);
        index = compose_with(c, OP_div, index, (double)block);
        return index ? build_gather(c->b, v, index, at) : NULL;
}

/* Finds the scale and the zero point of `as` as scalars; the zero point, unless NULL, is of element
 * e. Returns false after an error. */
static bool scalars(struct compose *c, const struct compose_quantized *as, enum element e,
                    struct value **scale, struct value **zero)
{
        *scale = compose_one_number(c, "the scale", as->scale, E_F32);
        *zero = *scale && as->zero ? compose_one_number(c, "the zero point", as->zero, e) : NULL;
        return *scale && (*zero || !as->zero);
}

struct value *compose_real(struct compose *c, const struct compose_quantized *q)
{
        struct value *scale, *zero;

        if (!scalars(c, q, value_element(q->numbers), &scale, &zero))
                return NULL;
        struct value *x = compose_centered(c, q->numbers, zero, E_I32);
        return mul(c, compose_cast(c, x, E_F32), scale);
}

struct value *compose_of_real(struct compose *c, struct value *real,
                              const struct compose_quantized *as, enum element to)
{
        struct value *scale, *zero;

        if (!real || !scalars(c, as, to, &scale, &zero))
                return NULL;
        return compose_requantize(c, divide(c, real, scale), zero, to);
}
