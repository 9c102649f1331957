/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that recover what an operator means from the steps that exporters, and
 * the functions of the ONNX standard, make of it, where that computes better: without cancellation,
 * overflow or a factor and its inverse. */
#include "passes/simplify/simplify.h"

#include <math.h>

/* Lists the dimensions of a mask, ascending, and returns their number. */
static int masked_dims(unsigned mask, int rank, int64_t dims[RANK_MAX])
{
        int count = 0;
        for (int d = 0; d < rank; d++)
                if (mask >> d & 1)
                        dims[count++] = d;
        return count;
}

/* ---- variances ---- */

static struct value *without_reshape(struct value *v)
{
        return op_is(v, OP_reshape) ? op_operand(v->op, 0) : v;
}

/* Is v a mean: sum * (1 / n), or sum / n, where the sum of floats adds n elements? Returns the sum,
 * and the factor or divisor in *number. */
static const struct op *mean_of(const struct value *v, struct value **number)
{
        double found;
        if (!(op_is(v, OP_mul) || op_is(v, OP_div)) || !element_is_float(v->type->element))
                return NULL;
        for (int i = 0; i < (v->op->code == OP_mul ? 2 : 1); i++) {
                const struct value *sum = op_operand(v->op, i);
                *number = op_operand(v->op, 1 - i);
                if (!op_is(sum, OP_reduce) || op_int(sum->op, "kind") != REDUCE_sum ||
                    !value_is_splat(*number, &found) ||
                    !type_is_static(op_operand(sum->op, 0)->type) || type_elements(sum->type) == 0)
                        continue;
                double n = (double)(type_elements(op_operand(sum->op, 0)->type) /
                                    type_elements(sum->type));
                if (fabs(v->op->code == OP_mul ? n * found - 1 : found / n - 1) < 1e-6)
                        return sum->op;
        }
        return NULL;
}

/* The difference of two means cancels; and where there is a variance, differences from the mean are
 * needed anyway. */
struct value *rewrite_sub_variance(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *first = op_operand(op, 0), *of_squares = without_reshape(first),
                     *square = op_operand(op, 1), *number, *unused;
        if (!op_is(square, OP_mul) || op_operand(square->op, 0) != op_operand(square->op, 1) ||
            !value_has_one_use(first) || !value_has_one_use(of_squares))
                return NULL;
        struct value *mean = without_reshape(op_operand(square->op, 0));
        const struct op *sum = mean_of(mean, &unused),
                        *sum_of_squares = mean_of(of_squares, &number);
        if (!sum || !sum_of_squares || mean->type != of_squares->type)
                return NULL;
        struct value *x = op_operand(sum, 0), *squares = op_operand(sum_of_squares, 0);
        unsigned mask, other;
        if (!op_is(squares, OP_mul) || op_operand(squares->op, 0) != x ||
            op_operand(squares->op, 1) != x || !simplify_axes(sum, &mask) ||
            !simplify_axes(sum_of_squares, &other) || mask != other)
                return NULL;
        int64_t kept[RANK_MAX];
        masked_dims(~mask, x->type->rank, kept);
        struct value *from_mean =
                build_binary(b, OP_sub, x, build_broadcast(b, mean, x->type, kept));
        struct value *spread = simplify_reduce(b, sum_of_squares,
                                               build_binary(b, OP_mul, from_mean, from_mean), mask);
        return build_reshape(b, build_binary(b, of_squares->op->code, spread, number),
                             first->type->rank, first->type->dims);
}

/* ---- functions ---- */

/* Returns x where sum = exp x + 1 and nothing else reads exp x, or NULL. */
static struct value *one_more_than_exp(const struct value *sum)
{
        for (int i = 0; op_is(sum, OP_add) && i < 2; i++) {
                const struct value *e = op_operand(sum->op, i);
                if (op_is(e, OP_exp) && value_has_one_use(e) &&
                    simplify_is(op_operand(sum->op, 1 - i), 1))
                        return op_operand(e->op, 0);
        }
        return NULL;
}

struct value *rewrite_log_softplus(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *x = one_more_than_exp(op_operand(op, 0));
        return x ? build_unary(b, OP_softplus, x) : NULL;
}

/* Builds 1 / (1 + exp -x) as one operation; v is the sum. */
static struct value *logistic(struct builder *b, const struct value *v)
{
        const struct value *negated = value_has_one_use(v) ? one_more_than_exp(v) : NULL;
        return negated && op_is(negated, OP_neg)
                       ? build_unary(b, OP_sigmoid, op_operand(negated->op, 0))
                       : NULL;
}

struct value *rewrite_reciprocal_logistic(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        (void)context;
        return logistic(b, op_operand(op, 0));
}

struct value *rewrite_div_logistic(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *y = logistic(b, op_operand(op, 1));
        return y ? build_binary(b, OP_mul, op_operand(op, 0), y) : NULL;
}

/* Was something subtracted from x that is spread? It is a maximum, most likely. */
static bool is_shifted(const struct value *x)
{
        while (op_is(x, OP_reshape) || op_is(x, OP_transpose))
                x = op_operand(x->op, 0);
        return op_is(x, OP_sub) && op_is(op_operand(x->op, 1), OP_broadcast);
}

/* Subtracts the maximum, so that the largest term becomes 1 and nothing overflows; an infinite term
 * stays infinite, and so does the sum. */
struct value *rewrite_log_sum_exp(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *sum = op_operand(op, 0),
                     *e = op_is(sum, OP_reduce) ? op_operand(sum->op, 0) : NULL;
        unsigned mask;
        if (!e || op_int(sum->op, "kind") != REDUCE_sum || !op_is(e, OP_exp) ||
            !value_has_one_use(sum) || !value_has_one_use(e) || !simplify_axes(sum->op, &mask) ||
            !mask || !type_is_static(e->type) || type_elements(e->type) == 0 ||
            is_shifted(op_operand(e->op, 0)))
                return NULL;
        struct value *x = op_operand(e->op, 0);
        int64_t axes[RANK_MAX], kept[RANK_MAX];
        int count = masked_dims(mask, x->type->rank, axes);
        masked_dims(~mask, x->type->rank, kept);
        struct value *most = build_reduce(b, REDUCE_max, x, axes, count),
                     *size = build_unary(b, OP_abs, most);
        most = size ? build_select(b, build_binary(b, OP_lt, size, build_like(b, size, INFINITY)),
                                   most, build_like(b, most, 0))
                    : NULL;
        if (!most)
                return NULL;
        e = build_unary(b, OP_exp,
                        build_binary(b, OP_sub, x, build_broadcast(b, most, x->type, kept)));
        return e ? build_binary(b, OP_add,
                                build_unary(b, OP_log, simplify_reduce(b, sum->op, e, mask)), most)
                 : NULL;
}

/* Returns x where v = code(x, splat) and nothing else reads v, or NULL. */
static struct value *other_than_splat(const struct value *v, enum opcode code, struct value **splat)
{
        for (int i = 1; i >= 0 && op_is(v, code) && value_has_one_use(v); i--)
                if (value_is_splat(*splat = op_operand(v->op, i), NULL))
                        return op_operand(v->op, 1 - i);
        return NULL;
}

/* Rewrites min(max(x + k, a), b) * c so that product and sum are one multiply-add where the target
 * has it. */
static struct value *scaled_clamp(struct builder *b, const struct value *v, struct value *c)
{
        struct value *k, *least, *most, *below = other_than_splat(v, OP_min, &most), *x = NULL;
        if (below)
                x = other_than_splat(below, OP_max, &least);
        if (x)
                x = other_than_splat(x, OP_add, &k);
        if (!x)
                return NULL;
        struct value *right = build_binary(b, OP_mul, k, c);
        x = build_binary(b, OP_add, build_binary(b, OP_mul, x, c), right);
        x = build_binary(b, OP_max, x, build_binary(b, OP_mul, least, c));
        return build_binary(b, OP_min, x, build_binary(b, OP_mul, most, c));
}

struct value *rewrite_mul_clamp(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *c = op_operand(op, i), *v = op_operand(op, 1 - i), *y = NULL;
                double factor;
                if (!value_is_splat(c, &factor) || !(factor > 0) || isinf(factor) ||
                    !element_is_float(c->type->element))
                        continue;
                if ((y = scaled_clamp(b, v, c)))
                        return y;
                for (int k = 0; op_is(v, OP_mul) && value_has_one_use(v) && k < 2; k++)
                        if ((y = scaled_clamp(b, op_operand(v->op, k), c)))
                                return build_binary(b, OP_mul, op_operand(v->op, 1 - k), y);
        }
        return NULL;
}

/* As in Gelu: the factor goes into the sum, and is a part of a multiply-add where the target has
 * it. */
struct value *rewrite_mul_gate(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 4; i++) {
                struct value *d = op_operand(op, i & 1), *product = op_operand(op, !(i & 1)), *c;
                if (!value_is_splat(d, NULL) || !element_is_float(d->type->element) ||
                    !op_is(product, OP_mul) || !value_has_one_use(product))
                        continue;
                struct value *x = op_operand(product->op, i >> 1),
                             *y = other_than_splat(op_operand(product->op, !(i >> 1)), OP_add, &c);
                if (!y || !(op_is(y, OP_erf) || op_is(y, OP_tanh)))
                        continue;
                struct value *sum = build_binary(b, OP_mul, c, d);
                sum = build_binary(b, OP_add, build_binary(b, OP_mul, y, d), sum);
                return build_binary(b, OP_mul, x, sum);
        }
        return NULL;
}

struct value *rewrite_add_logistic(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *c;
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *y = other_than_splat(op_operand(op, i), OP_mul, &c);
                if (!y || !op_is(y, OP_tanh) || !value_has_one_use(y) || !simplify_is(c, 0.5) ||
                    !simplify_is(op_operand(op, !i), 0.5))
                        continue;
                struct value *x = op_operand(y->op, 0);
                return build_unary(b, OP_sigmoid, build_binary(b, OP_mul, x, build_like(b, x, 2)));
        }
        return NULL;
}

/* Moves a factor outward, where it can meet another factor or the weights of a contraction. */
struct value *rewrite_mul_factor(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *c, *y = op_operand(op, 1 - i),
                                 *x = other_than_splat(op_operand(op, i), OP_mul, &c);
                if (x && element_is_float(c->type->element) && !simplify_is_spread_constant(x) &&
                    !simplify_is_spread_constant(y))
                        return build_binary(b, OP_mul, build_binary(b, OP_mul, x, y), c);
        }
        return NULL;
}

/* Are c and d inverse to each other, as far as floats can be? */
static bool are_inverse(const struct value *c, const struct value *d)
{
        double x, y;
        return value_is_splat(c, &x) && value_is_splat(d, &y) &&
               fabs(x * y - 1) < (c->type->element == E_F64 ? 0x1p-52 : 0x1p-23);
}

/* Moves a factor into a selection, one side of which was scaled by its inverse. */
struct value *rewrite_mul_select(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *chosen = op_operand(op, i), *m = op_operand(op, 1 - i);
                if (!op_is(chosen, OP_select) || !value_has_one_use(chosen) ||
                    !element_is_float(m->type->element))
                        continue;
                for (int side = 1; side <= 2; side++) {
                        const struct value *product = op_operand(chosen->op, side);
                        struct value *sides[3];
                        for (int k = 0; k < 2 && op_is(product, OP_mul); k++) {
                                if (!are_inverse(op_operand(product->op, k), m))
                                        continue;
                                sides[side] = op_operand(product->op, 1 - k);
                                sides[3 - side] = build_binary(b, OP_mul,
                                                               op_operand(chosen->op, 3 - side), m);
                                return build_select(b, op_operand(chosen->op, 0), sides[1],
                                                    sides[2]);
                        }
                }
        }
        return NULL;
}

/* ---- loops that count ---- */

/* Returns what every iteration adds to the carried value `held`, or NULL. */
static struct value *step_of(const struct op_loop *loop, const struct value *held)
{
        const struct value *next = loop->next[held - loop->held].value;
        for (int i = 0; op_is(next, OP_add) && i < 2; i++)
                if (op_operand(next->op, i) == held &&
                    !value_is_inside(op_operand(next->op, 1 - i), held->region))
                        return op_operand(next->op, 1 - i);
        return NULL;
}

/* Builds a range: floats as the operator Range computes them, so that no rounding errors add up. */
static struct value *counted(struct builder *b, const struct type *t, struct value *first,
                             struct value *step)
{
        int64_t dims[RANK_MAX];
        const struct type *wide =
                element_is_float(t->element) ? type_with_element(b->m, t, E_F64) : t;
        for (int d = 0; d < t->rank; d++)
                dims[d] = d + 1;
        struct value *number = build_iota(b, wide, 0);
        struct value *steps = build_broadcast(b, build_cast(b, step, wide->element), wide, dims);
        struct value *start = build_broadcast(b, build_cast(b, first, wide->element), wide, dims);
        return build_cast(b, build_binary(b, OP_add, start, build_binary(b, OP_mul, number, steps)),
                          t->element);
}

static struct value *count_rows(struct builder *b, struct op *op, bool floats)
{
        const struct op_loop loop = op_loop(op);
        bool found = false;
        const int64_t *backward = loop.stacked ? op_ints(op, "stack_backward", NULL) : NULL;
        for (int i = 0; i < loop.stacked; i++) {
                struct value *rows = &loop.stacks[i], *held = loop.stacked_rows[i].value;
                bool carried = held >= loop.held && held < loop.held + loop.carried;
                struct value *step =
                        carried && rows->uses && !backward[i] ? step_of(&loop, held) : NULL;
                if (!step || !type_is_static(rows->type) ||
                    element_is_float(rows->type->element) != floats)
                        continue;
                value_replace(rows,
                              counted(b, rows->type, loop.first[held - loop.held].value, step));
                found = true;
        }
        return found ? op_result(op) : NULL;
}

struct value *rewrite_loop_counts_exact(struct builder *b, struct op *op,
                                        struct pass_context *context)
{
        (void)context;
        return count_rows(b, op, false);
}

struct value *rewrite_loop_counts(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        return count_rows(b, op, true);
}

/* ---- f16 between f32 ----
 *
 * Values that are computed in f32 anyway are not rounded to f16 on the way. (bf16 stays:
 * --precision rounds to it.) */

static struct value *widened(struct builder *b, const struct op *op)
{
        struct value *operands[OPERAND_ROW_MAX];
        for (int i = 0; i < op->operand_count; i++) {
                operands[i] = op_operand(op, i);
                if (operands[i]->type->element == E_F16)
                        operands[i] = build_cast(b, operands[i], E_F32);
        }
        return value_build(b, op->code, operands, op->operand_count, op->attrs, NULL);
}

struct value *rewrite_cast_half(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        struct value *v = op_operand(op, 0);
        if (v->type->element != E_F16 || op_result(op)->type->element != E_F32 ||
            v->kind != VALUE_RESULT || !value_has_one_use(v))
                return NULL;
        bool product = v->op->code == OP_dot && !value_is_constant(op_operand(v->op, 0)) &&
                       !value_is_constant(op_operand(v->op, 1));
        bool computes = op_info[v->op->code].traits & TRAIT_ELEMENTWISE && v->op->code != OP_cast &&
                        v->op->code != OP_bitcast;
        return product || computes ? widened(b, v->op) : NULL;
}

struct value *rewrite_dot_half(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2 && op_result(op)->type->element == E_F16; i++) {
                struct value *x = op_operand(op, i), *y = op_operand(op, 1 - i), *operands[2];
                if (!op_is(x, OP_cast) || op_operand(x->op, 0)->type->element != E_F32 ||
                    !value_has_one_use(x) || value_is_constant(y))
                        continue;
                operands[i] = op_operand(x->op, 0);
                operands[1 - i] = build_cast(b, y, E_F32);
                return build_cast(b, value_build(b, OP_dot, operands, 2, op->attrs, NULL), E_F16);
        }
        return NULL;
}
