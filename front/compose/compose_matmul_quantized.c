/* SPDX-License-Identifier: MIT */
/* In products of matrices of integers, operands are less their zero points, products are summed in
 * i32, and scales are multiplied by the sums. */
#include "front/compose/compose_quantize.h"

#include "front/compose/compose_arithmetic.h"

/* Returns the numbers, as i32, less their zero point, which lies along dimension `line` where it is
 * a vector. */
static struct value *centered(struct compose *c, const char *what,
                              const struct compose_quantized *q, int line)
{
        struct value *zero = q->zero;

        if (zero && value_element(zero) != value_element(q->numbers)) {
                compose_invalid(c, "%s of %s for an operand of %s", what,
                                element_info[value_element(zero)].text,
                                element_info[value_element(q->numbers)].text);
                return NULL;
        }
        if (zero && !(zero = compose_per_line(c, what, zero, q->numbers->type, line)))
                return NULL;
        return compose_centered(c, q->numbers, zero, E_I32);
}

static struct value *left(struct compose *c, const struct compose_quantized *a, int line)
{
        return centered(c, "the zero point of the left operand is", a, line);
}

static struct value *right(struct compose *c, const struct compose_quantized *b, int line)
{
        return centered(c, "the zero point of the right operand is", b, line);
}

struct value *compose_matmul_integer(struct compose *c, const struct compose_quantized *a,
                                     const struct compose_quantized *b)
{
        struct value *x = left(c, a, value_rank(a->numbers) - 2);

        return x ? compose_matmul_as(c, x, right(c, b, value_rank(b->numbers) - 1), E_I32) : NULL;
}

struct value *compose_matmul_quantized(struct compose *c, const struct compose_quantized *a,
                                       const struct compose_quantized *b,
                                       const struct compose_quantized *y)
{
        struct value *sum = compose_matmul_integer(c, a, b), *a_scale, *b_scale, *y_scale;

        if (!sum)
                return NULL;
        const struct type *t = sum->type;
        const bool row = value_rank(a->numbers) == 1, column = value_rank(b->numbers) == 1;
        const int rows = t->rank - (column ? 1 : 2);
        if (!(a_scale = compose_per_line(c, "the scale of the left operand is", a->scale, t,
                                         row ? -1 : rows)) ||
            !(b_scale = compose_per_line(c, "the scale of the right operand is", b->scale, t,
                                         column ? -1 : t->rank - 1)) ||
            !(y_scale = compose_per_line(c, "the scale of the result is", y->scale, t, rows)))
                return NULL;
        y_scale = compose_wide(c, y_scale);
        b_scale = compose_wide(c, b_scale);
        struct value *factor = mul(c, compose_wide(c, a_scale), b_scale);
        factor = divide(c, factor, y_scale);
        struct value *real = mul(c, compose_cast(c, sum, E_F32), factor);
        struct value *zero =
                compose_per_line(c, "the zero point of the result is", y->zero, t, rows);
        return zero ? compose_requantize(c, real, zero, value_element(zero)) : NULL;
}

/* Returns the sum times both scales and alpha, divided by `divisor` unless that is NULL. */
static struct value *rescaled(struct compose *c, struct value *sum, struct value *a_scale,
                              struct value *b_scale, double alpha, struct value *divisor)
{
        if (alpha != 1)
                a_scale = times(c, compose_wide(c, a_scale), alpha);
        b_scale = compose_wide(c, b_scale);
        struct value *factor = mul(c, compose_wide(c, a_scale), b_scale);
        if (divisor)
                factor = divide(c, factor, divisor);
        return mul(c, compose_cast(c, sum, E_F32), factor);
}

/* Returns the product of a, which is centered, by b, in f32. */
static struct value *to_float(struct compose *c, struct value *a, struct value *a_scale,
                              const struct compose_quantized *b, struct value *bias)
{
        const int columns = value_rank(b->numbers) - 1;
        struct value *sum = compose_matmul_as(c, a, right(c, b, columns ? columns : -1), E_I32);

        if (!sum)
                return NULL;
        const int line = columns ? value_rank(sum) - 1 : -1;
        struct value *b_scale =
                compose_per_line(c, "the scale of the right operand is", b->scale, sum->type, line);
        struct value *y = b_scale ? rescaled(c, sum, a_scale, b_scale, 1, NULL) : NULL;
        if (!y || !bias)
                return y;
        bias = compose_per_line(c, "the bias is", bias, y->type, line);
        return bias ? add(c, y, compose_wide(c, bias)) : NULL;
}

struct value *compose_matmul_to_float(struct compose *c, const struct compose_quantized *a,
                                      const struct compose_quantized *b, struct value *bias)
{
        struct value *scale = compose_one_number(c, "the scale of the left operand", a->scale,
                                                 value_element(a->scale));

        return scale ? to_float(c, left(c, a, value_rank(a->numbers) - 1), scale, b, bias) : NULL;
}

struct value *compose_matmul_dynamic(struct compose *c, struct value *x,
                                     const struct compose_quantized *b, struct value *bias)
{
        const struct compose_quantized q = compose_quantize_dynamic(c, x);

        return to_float(c, compose_centered(c, q.numbers, q.zero, E_I32), q.scale, b, bias);
}

/* Returns whether v is one number, or one for each index of dimension `line` of the matrix `to`. */
static bool is_along(struct compose *c, const char *what, const struct value *v,
                     const struct type *to, int line)
{
        const struct type *t = v->type;

        return type_elements(t) == 1 || (t->rank == 1 && dim_equal(t->dims[0], to->dims[line])) ||
               compose_invalid(c, "%s %s, want one number or %lld", what, compose_text(c, t),
                               (long long)type_extent(to, line));
}

struct value *compose_gemm_quantized(struct compose *c, const struct compose_gemm_quantized *g)
{
        const struct type *ta = g->a.numbers->type, *tb = g->b.numbers->type;
        const int inner_a = g->trans_a ? 0 : 1, inner_b = g->trans_b ? 1 : 0;
        struct value *y_scale = NULL, *y_zero = NULL, *bias = NULL;

        if (!dim_equal(ta->dims[inner_a], tb->dims[inner_b])) {
                compose_invalid(c, "the inner extents %lld and %lld differ",
                                (long long)type_extent(ta, inner_a),
                                (long long)type_extent(tb, inner_b));
                return NULL;
        }
        const struct type *to = compose_type(
                c, E_F32, 2, (const dim_t[]){ ta->dims[!inner_a], tb->dims[!inner_b] });
        if (!to || !is_along(c, "the scale of the right operand is", g->b.scale, to, 1) ||
            (g->b.zero &&
             !is_along(c, "the zero point of the right operand is", g->b.zero, tb, !inner_b)))
                return NULL;
        struct value *a_scale =
                compose_one_number(c, "the scale of the left operand", g->a.scale, E_F32);
        if (!a_scale ||
            (g->a.zero && !compose_one_number(c, "the zero point of the left operand", g->a.zero,
                                              value_element(g->a.numbers))) ||
            (g->y.scale &&
             (!(y_scale = compose_one_number(c, "the scale of the result", g->y.scale, E_F32)) ||
              !(y_zero = compose_one_number(c, "the zero point of the result", g->y.zero,
                                            value_element(g->y.zero))))))
                return NULL;
        struct value *b_scale =
                compose_per_line(c, "the scale of the right operand is", g->b.scale, to, 1);
        struct value *b = right(c, &g->b, !inner_b);
        struct value *sum = compose_dot(c, left(c, &g->a, -1), b, 0, inner_a, inner_b, E_I32);
        if (g->bias) {
                bias = compose_per_line(c, "the bias is", g->bias, to, 1);
                sum = bias ? add(c, sum, bias) : NULL;
        }
        struct value *y = rescaled(c, sum, a_scale, b_scale, g->alpha, y_scale);
        return y_zero ? compose_requantize(c, y, y_zero, value_element(y_zero)) : y;
}
