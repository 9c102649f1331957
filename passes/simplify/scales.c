/* SPDX-License-Identifier: MIT */
/* The rules of simplify.def that bring scales and shifts into contractions, and leave out elements
 * that nothing reads. */
#include "passes/simplify/simplify.h"

#include <string.h>

static enum element element_of(const struct op *op) { return op->results[0].type->element; }

bool simplify_is_spread_constant(const struct value *v)
{
        while (op_is(v, OP_broadcast) || op_is(v, OP_reshape))
                v = op_operand(v->op, 0);
        return value_is_constant(v);
}

/* Has each index of dimension d the same numbers? */
static bool is_repeated(const struct constant *c, int d)
{
        const struct type *t = c->value.type;
        const size_t bytes = (size_t)element_info[t->element].bytes;
        int64_t inner = 1;
        if (c->kind == CONSTANT_SPLAT)
                return true;
        for (int k = d + 1; k < t->rank; k++)
                inner *= type_extent(t, k);
        for (int64_t i = 0; i < type_elements(t); i++) {
                int64_t first = i - i / inner % type_extent(t, d) * inner;
                if (memcmp((const char *)constant_data(c) + (size_t)i * bytes,
                           (const char *)constant_data(c) + (size_t)first * bytes, bytes))
                        return false;
        }
        return true;
}

struct value *simplify_spread_source(struct builder *b, struct value *v, int64_t onto[RANK_MAX])
{
        enum { SMALL = 64 };            /* fold spreads no larger constants. */
        int64_t starts[RANK_MAX] = { 0 }, ones[RANK_MAX];
        dim_t first[RANK_MAX], kept[RANK_MAX];
        bool less = false;
        int rank = 0;
        if (op_is(v, OP_broadcast)) {
                struct value *source = op_operand(v->op, 0);
                memcpy(onto, op_ints(v->op, "dims", NULL),
                       (size_t)source->type->rank * sizeof *onto);
                return source;
        }
        if (!value_is_constant(v))
                return NULL;
        if (!type_is_static(v->type))   /* It is a splat. */
                return constant_splat(b->m, type_scalar(b->m, v->type->element),
                                      constant_data(v->constant));
        for (int d = 0; d < v->type->rank; d++) {
                bool varies = type_elements(v->type) > SMALL ? !dim_is(v->type->dims[d], 1)
                                                             : !is_repeated(v->constant, d);
                ones[d] = 1;
                first[d] = dim_of(varies ? type_extent(v->type, d) : 1);
                less |= !dim_equal(first[d], v->type->dims[d]);
                if (varies) {
                        kept[rank] = first[d];
                        onto[rank++] = d;
                }
        }
        if (less)
                v = constant_sliced(b->m, v->constant, starts, ones, first);
        return constant_reshaped(b->m, v->constant, rank, kept);
}

/* ---- constants in one operation ---- */

/* A constant, and the dimensions that its own become, in ascending order; none is of extent 1. */
struct spread { struct value *source; int rank; int64_t onto[RANK_MAX]; };

static bool spread_of(struct builder *b, struct value *v, struct spread *s)
{
        dim_t dims[RANK_MAX];
        int64_t onto[RANK_MAX];
        struct value *source = simplify_spread_source(b, v, onto);
        if (!source || !value_is_constant(source) || !type_is_static(source->type))
                return false;
        s->rank = 0;
        for (int d = 0; d < source->type->rank; d++) {
                if (dim_is(source->type->dims[d], 1))
                        continue;
                dims[s->rank] = source->type->dims[d];
                s->onto[s->rank++] = onto[d];
        }
        s->source = constant_reshaped(b->m, source->constant, s->rank, dims);
        return true;
}

/* Returns the constant with the dimensions of `wide`, which has all of its own; or NULL. */
static struct value *widened(struct builder *b, const struct spread *s, const struct spread *wide)
{
        const struct type *t = wide->source->type;
        int64_t onto[RANK_MAX];
        double number;
        int found = 0;
        for (int d = 0; d < wide->rank; d++)
                if (found < s->rank && wide->onto[d] == s->onto[found])
                        onto[found++] = d;
        if (found < s->rank)
                return NULL;
        if (s->rank == wide->rank)
                return s->source;
        return value_is_splat(s->source, &number)
                       ? constant_splat(b->m, t, constant_data(s->source->constant))
                       : build_broadcast(b, s->source, t, onto);
}

struct value *simplify_join(struct builder *b, enum opcode code, struct value *x, struct value *y)
{
        struct spread a, c;
        struct value *both = NULL;
        if (value_is_constant(x) && value_is_constant(y)) {
                both = build_binary(b, code, x, y);
                return both && value_is_constant(both) ? both : NULL;
        }
        if (!spread_of(b, x, &a) || !spread_of(b, y, &c))
                return NULL;
        const struct spread *wide = a.rank < c.rank ? &c : &a;
        struct value *first = widened(b, &a, wide), *second = widened(b, &c, wide);
        if (first && second)
                both = build_binary(b, code, first, second);
        return both && value_is_constant(both)
                       ? build_broadcast(b, both, x->type, wide->onto)
                       : NULL;
}

/* ---- behind a contraction ---- */

/* Can a scale go on into the operation that makes x: a contraction, or a product by a constant? */
static bool takes_scale(const struct value *x)
{
        if (!value_has_one_use(x))
                return false;
        return op_is(x, OP_convolve) || op_is(x, OP_dot) ||
               (op_is(x, OP_mul) && (simplify_is_spread_constant(op_operand(x->op, 0)) ||
                                     simplify_is_spread_constant(op_operand(x->op, 1))));
}

/* Rewrites (x + c) * d so that the scale can go on into what makes x. */
struct value *rewrite_mul_over_add(struct builder *b, struct op *op, struct pass_context *context)
{
        (void)context;
        for (int i = 0; i < 2; i++) {
                struct value *d = op_operand(op, i), *sum = op_operand(op, 1 - i);
                if (!simplify_is_spread_constant(d) || !op_is(sum, OP_add) ||
                    !value_has_one_use(sum))
                        continue;
                for (int j = 0; j < 2; j++) {
                        struct value *c = op_operand(sum->op, j), *x = op_operand(sum->op, 1 - j);
                        if (!simplify_is_spread_constant(c) || !takes_scale(x))
                                continue;
                        struct value *product = simplify_join(b, OP_mul, c, d);
                        if (!product)
                                continue;
                        return build_binary(b, OP_add, build_binary(b, OP_mul, x, d), product);
                }
        }
        return NULL;
}

/* Returns the factor s of contraction * s when it is constant and varies along result dimension
 * `along` only: as a constant of type <extent>, or a splat. */
static struct value *factor_along(struct builder *b, struct value *s, int along, dim_t extent)
{
        double number;
        const struct type *vector = type_tensor(b->m, s->type->element, 1, &extent);
        if (value_is_splat(s, &number))
                return constant_splat(b->m, vector, constant_data(s->constant));
        if (!op_is(s, OP_broadcast))
                return NULL;
        struct value *x = op_operand(s->op, 0);
        const int64_t *dims = op_ints(s->op, "dims", NULL);
        if (!value_is_constant(x))
                return NULL;
        for (int k = 0; k < x->type->rank; k++)
                if (!dim_is(x->type->dims[k], 1) && dims[k] != along)
                        return NULL;
        if (type_elements(x->type) == 1)        /* The constant is one number for all. */
                return x->constant->kind == CONSTANT_SPLAT
                               ? constant_splat(b->m, vector, constant_data(x->constant))
                               : NULL;
        return build_reshape(b, x, 1, &extent);
}

struct value *rewrite_scale_into_convolve(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        for (int i = 0; i < 2; i++) {
                struct value *y = op_operand(op, i);
                if (!op_is(y, OP_convolve) || !value_has_one_use(y) ||
                    !element_is_float(element_of(op)))
                        continue;
                struct value *w = op_operand(y->op, 1);
                struct value *s = value_is_constant(w) ? factor_along(b, op_operand(op, 1 - i), 1,
                                                                      w->type->dims[0])
                                                       : NULL;
                struct value *scaled = s ? fold_scaled(b, w, s, 0, context) : NULL;
                if (!scaled)
                        continue;
                struct value *operands[] = { op_operand(y->op, 0), scaled };
                return value_build(b, OP_convolve, operands, 2, y->op->attrs, y->type);
        }
        return NULL;
}

struct value *rewrite_scale_into_dot(struct builder *b, struct op *op, struct pass_context *context)
{
        for (int i = 0; i < 2; i++) {
                struct value *y = op_operand(op, i);
                if (!op_is(y, OP_dot) || !value_has_one_use(y) || !element_is_float(element_of(op)))
                        continue;
                struct value *w = op_operand(y->op, 1);
                int contracted, batch;
                const int64_t *contract = op_ints(y->op, "contract_b", &contracted);
                op_ints(y->op, "batch_b", &batch);
                if (!value_is_constant(w) || batch || contracted != 1 || w->type->rank != 2)
                        continue;
                int column = 1 - (int)contract[0];
                struct value *s = factor_along(b, op_operand(op, 1 - i), y->type->rank - 1,
                                               w->type->dims[column]);
                struct value *scaled = s ? fold_scaled(b, w, s, column, context) : NULL;
                if (!scaled)
                        continue;
                struct value *operands[] = { op_operand(y->op, 0), scaled };
                return value_build(b, OP_dot, operands, 2, y->op->attrs, y->type);
        }
        return NULL;
}

/* ---- before a contraction ---- */

/* Returns the dimension of w that meets dimension 1 of x, for a convolution or a matrix product by
 * constant weights; -1: op is neither. *along: the dimension of x. */
static int contracted_dim(const struct op *op, int *along)
{
        const struct value *w = op_operand(op, 1);
        int batch, contracted, count;
        if (!value_is_constant(w) || !element_is_float(element_of(op)))
                return -1;
        if (op->code == OP_convolve) {
                *along = 1;
                return op_int(op, "groups") == 1 ? 1 : -1;
        }
        const int64_t *a = op_ints(op, "contract_a", &contracted),
                      *b = op_ints(op, "contract_b", &count);
        op_ints(op, "batch_b", &batch);
        if (batch || contracted != 1 || w->type->rank != 2)
                return -1;
        *along = (int)a[0];
        return (int)b[0];
}

/* Rewrites contraction(x * s, w) to contraction(x, w * s); the zeros around a convolution's operand
 * stay zeros. */
static struct value *scale_before(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *v = op_operand(op, 0);
        int along = 1, dim = contracted_dim(op, &along);
        bool grouped = dim < 0 && op->code == OP_convolve && value_is_constant(op_operand(op, 1)) &&
                       element_is_float(element_of(op));
        dim = grouped ? 1 : dim;
        if (dim < 0 || !op_is(v, OP_mul) || !value_has_one_use(v))
                return NULL;
        for (int i = 0; i < 2; i++) {
                if (grouped && !value_is_splat(op_operand(v->op, i), NULL))
                        continue;
                struct value *w = op_operand(op, 1),
                             *s = factor_along(b, op_operand(v->op, i), along, w->type->dims[dim]);
                struct value *scaled = s ? fold_scaled(b, w, s, dim, context) : NULL;
                if (!scaled)
                        continue;
                struct value *operands[] = { op_operand(v->op, 1 - i), scaled };
                return value_build(b, op->code, operands, 2, op->attrs, op_result(op)->type);
        }
        return NULL;
}

struct value *rewrite_scale_before_convolve(struct builder *b, struct op *op,
                                            struct pass_context *context)
{
        return scale_before(b, op, context);
}

struct value *rewrite_scale_before_dot(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        return scale_before(b, op, context);
}

/* Returns what the contraction makes of c in every place: one number for each output, as a
 * constant; NULL: it would take more than the budget. */
static struct value *shift_behind(struct builder *b, const struct op *op, struct value *c, int dim,
                                  struct pass_context *context)
{
        struct value *w = op_operand(op, 1), *weighted = fold_scaled(b, w, c, dim, context);
        int64_t axes[RANK_MAX];
        int count = 0, outputs = op->code == OP_convolve ? 0 : 1 - dim;
        for (int d = 0; d < w->type->rank; d++)
                if (d != outputs)
                        axes[count++] = d;
        struct value *sums = weighted ? build_reduce(b, REDUCE_sum, weighted, axes, count) : NULL;
        return sums && value_is_constant(sums) ? sums : NULL;
}

/* Rewrites contraction(x + c, w) to contraction(x, w) + contraction(c, w). It is not done with
 * zeros around x, to which nothing is added. The bias of another contraction stays with that one:
 * it costs nothing there, and without it sums near zero may be denormal numbers, which are slow to
 * read. */
static struct value *shift_before(struct builder *b, struct op *op, struct pass_context *context)
{
        struct value *v = op_operand(op, 0);
        int along, dim = contracted_dim(op, &along);
        if (dim < 0 || !op_is(v, OP_add) || !value_has_one_use(v))
                return NULL;
        for (int i = 0; i < 2; i++) {
                const struct value *x = op_operand(v->op, 1 - i);
                if (x->kind == VALUE_RESULT && op_info[x->op->code].traits & TRAIT_CONTRACTION)
                        continue;
                struct value *c = factor_along(b, op_operand(v->op, i), along,
                                               op_operand(op, 1)->type->dims[dim]);
                struct value *sums = c ? shift_behind(b, op, c, dim, context) : NULL;
                if (!sums)
                        continue;
                struct value *operands[] = { op_operand(v->op, 1 - i), op_operand(op, 1) };
                struct value *y =
                        value_build(b, op->code, operands, 2, op->attrs, op_result(op)->type);
                int64_t outputs = op->code == OP_convolve ? 1 : op_result(op)->type->rank - 1;
                return y ? build_binary(b, OP_add, y, build_broadcast(b, sums, y->type, &outputs))
                         : NULL;
        }
        return NULL;
}

struct value *rewrite_shift_before_convolve(struct builder *b, struct op *op,
                                            struct pass_context *context)
{
        int pads, gaps;
        const int64_t *pad = op_ints(op, "pads", &pads),
                      *gap = op_ints(op, "input_dilations", &gaps);
        for (int i = 0; i < pads; i++)
                if (pad[i] > 0)
                        return NULL;
        for (int i = 0; i < gaps; i++)
                if (gap[i] != 1)
                        return NULL;
        return shift_before(b, op, context);
}

struct value *rewrite_shift_before_dot(struct builder *b, struct op *op,
                                       struct pass_context *context)
{
        return shift_before(b, op, context);
}

/* ---- outputs that nothing reads ---- */

/* Does a slice take a part of dimension `along`, in steps of 1, and all of the others? */
static bool is_part(const struct op *op, int along, int64_t *start)
{
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        int n;
        const struct type *x = op_operand(op, 0)->type, *y = op->results[0].type;
        if (!type_is_static(x) || !type_is_static(y) ||
            !value_ints(op_operand(op, 1), starts, RANK_MAX, &n) ||
            !value_ints(op_operand(op, 2), steps, RANK_MAX, &n))
                return false;
        for (int d = 0; d < x->rank; d++)
                if ((d == along ? steps[d] != 1
                                : !dim_equal(x->dims[d], y->dims[d]) ||
                                          (steps[d] != 1 && type_extent(y, d) > 1)))
                        return false;
        *start = starts[along];
        return type_extent(y, along) > 0;
}

struct value *rewrite_part_of_contraction(struct builder *b, struct op *op,
                                          struct pass_context *context)
{
        struct value *y = op_operand(op, 0),
                     *w = y->kind == VALUE_RESULT && y->op->operand_count > 1 ? op_operand(y->op, 1)
                                                                              : NULL;
        int unused, dim, outputs, along;
        int64_t start;
        if (!(op_is(y, OP_convolve) || op_is(y, OP_dot)) || !value_has_one_use(y) ||
            !value_is_constant(w))
                return NULL;
        dim = contracted_dim(y->op, &unused);
        outputs = y->op->code == OP_convolve ? 0 : 1 - dim;
        along = y->op->code == OP_convolve ? 1 : y->type->rank - 1;
        if (dim < 0 || !is_part(op, along, &start))
                return NULL;
        int64_t starts[RANK_MAX] = { 0 }, steps[RANK_MAX];
        dim_t dims[RANK_MAX];
        for (int d = 0; d < w->type->rank; d++) {
                steps[d] = 1;
                dims[d] = d == outputs ? op_result(op)->type->dims[along] : w->type->dims[d];
        }
        starts[outputs] = start;
        (void)context;
        struct value *part = value_is_splat(w, NULL)
                                     ? build_slice(b, w, starts, steps, dims)
                                     : constant_sliced(b->m, w->constant, starts, steps, dims);
        struct value *operands[] = { op_operand(y->op, 0), part };
        return value_build(b, y->op->code, operands, 2, y->op->attrs, op_result(op)->type);
}
