/* SPDX-License-Identifier: MIT */
/* Matrix products of floats: MatMul, Gemm, FusedMatMul. onnx_op_matmul_integer.c has those of
 * integers. */
#include "compiler/import/onnx_helpers.h"

struct value *onnx_dot(struct onnx_import *im, struct value *a, struct value *b, int batch,
                       int contract_a, int contract_b, int accumulator)
{
        struct attr *attrs = attrs_new(im->m, OP_dot);
        int64_t dims[RANK_MAX], at_a = contract_a, at_b = contract_b;

        if (!a || !b)
                return NULL;
        for (int d = 0; d < batch; d++)
                dims[d] = d;
        attr_set_ints(im->m, attrs, OP_dot, "batch_a", dims, batch);
        attr_set_ints(im->m, attrs, OP_dot, "batch_b", dims, batch);
        attr_set_ints(im->m, attrs, OP_dot, "contract_a", &at_a, 1);
        attr_set_ints(im->m, attrs, OP_dot, "contract_b", &at_b, 1);
        attr_set(attrs, OP_dot, "accumulator", accumulator);
        return value_build(&im->b, OP_dot, (struct value *[]){ a, b }, 2, attrs, NULL);
}

/* x's batch dimensions (all but the last two) over `dims` */
static struct value *over_batch(struct onnx_import *im, struct value *x, int batch,
                                const dim_t *dims)
{
        dim_t full[RANK_MAX];

        for (int d = 0; d < batch; d++)
                full[d] = dims[d];
        full[batch] = dim_of(value_extent(x, value_rank(x) - 2));
        full[batch + 1] = dim_of(value_extent(x, value_rank(x) - 1));
        return build_broadcast_numpy(&im->b, x, batch + 2, full);
}

static bool all_one(const struct value *x)
{
        for (int d = 0; d < value_rank(x) - 2; d++)
                if (value_extent(x, d) != 1)
                        return false;
        return true;
}

struct value *onnx_matmul_as(struct onnx_import *im, const struct onnx_node *n, struct value *a,
                             struct value *b, int accumulator)
{
        dim_t batch[RANK_MAX], dims[RANK_MAX];

        if (!a || !b)
                return NULL;
        const struct type *ta = a->type, *tb = b->type;
        int rank_a = ta->rank, rank_b = tb->rank, rank = 0;
        if (rank_a < 1 || rank_b < 1) {
                onnx_invalid(im, n, "a product with a scalar");
                return NULL;
        }
        if (rank_a == 1)
                a = compose_reshape(im->c, a, 2, (const dim_t[]){ dim_of(1), ta->dims[0] });
        if (rank_b == 1)
                b = compose_reshape(im->c, b, 2, (const dim_t[]){ tb->dims[0], dim_of(1) });
        if (!a || !b)
                return NULL;
        int more = value_rank(a) > value_rank(b) ? value_rank(a) : value_rank(b),
            batches = more - 2;
        int64_t rows = value_extent(a, value_rank(a) - 2),
                inner = value_extent(a, value_rank(a) - 1);
        int64_t inner_b = value_extent(b, value_rank(b) - 2),
                columns = value_extent(b, value_rank(b) - 1);
        if (inner != inner_b) {
                onnx_invalid(im, n, "%s by %s: the inner extents %lld and %lld differ",
                             type_text(im->arena, im->m, ta), type_text(im->arena, im->m, tb),
                             (long long)inner, (long long)inner_b);
                return NULL;
        }
        for (int d = 0; d < batches; d++) {
                int at_a = d - (more - value_rank(a)), at_b = d - (more - value_rank(b));
                int64_t in_a = at_a >= 0 ? value_extent(a, at_a) : 1,
                        in_b = at_b >= 0 ? value_extent(b, at_b) : 1;
                if (in_a != in_b && in_a != 1 && in_b != 1) {
                        onnx_invalid(im, n, "%s by %s: the batches do not broadcast",
                                     type_text(im->arena, im->m, ta),
                                     type_text(im->arena, im->m, tb));
                        return NULL;
                }
                batch[d] = dims[d] = dim_of(in_a == 1 ? in_b : in_a);
        }
        rank = batches;
        if (rank_a > 1)
                dims[rank++] = dim_of(rows);
        if (rank_b > 1)
                dims[rank++] = dim_of(columns);
        if (!compose_type(im->c, ta->element, rank, dims))
                return NULL;
        struct value *y;
        if (all_one(b)) {
                /* one matrix on the right: the rows of all batches by it */
                a = over_batch(im, a, batches, batch);
                y = onnx_dot(im, a,
                             compose_reshape(im->c, b, 2,
                                             (const dim_t[]){ dim_of(inner), dim_of(columns) }),
                             0, batches + 1, 0, accumulator);
        } else {
                struct value *right = over_batch(im, b, batches, batch);
                y = onnx_dot(im, over_batch(im, a, batches, batch), right, batches, batches + 1, batches, accumulator);
        }
        return compose_reshape(im->c, y, rank, dims);
}

struct value *onnx_matmul(struct onnx_import *im, const struct onnx_node *n, struct value *a,
                          struct value *b)
{
        return onnx_matmul_as(im, n, a, b, E_COMPUTE);
}

bool onnx_import_matmul(struct onnx_import *im, struct onnx_node *n)
{
        return onnx_same_element(im, n, n->inputs, 2) &&
               onnx_output(n, 0, onnx_matmul(im, n, n->inputs[0], n->inputs[1]));
}

struct value *onnx_per_line(struct onnx_import *im, const struct onnx_node *n, int input,
                            const struct type *to, int line)
{
        struct value *v = onnx_input(n, input);
        const struct type *t = v ? v->type : NULL;

        if (!v)
                return NULL;
        if (type_elements(t) == 1 ||
            (t->rank == 1 && line >= 0 && dim_equal(t->dims[0], to->dims[line])))
                return compose_along(im->c, v, to, line);
        for (int d = 0; d < t->rank; d++) {
                int at = to->rank - t->rank + d;
                if (at < 0 || (!dim_is(t->dims[d], 1) && !dim_equal(t->dims[d], to->dims[at]))) {
                        onnx_invalid(im, n, "operand %d is %s, which does not broadcast to %s",
                                     input, type_text(im->arena, im->m, t),
                                     type_text(im->arena, im->m, to));
                        return NULL;
                }
        }
        return build_broadcast_numpy(&im->b, v, to->rank, to->dims);
}

/* x times a number that an attribute states as a float; exact for integers when it is whole */
static struct value *scaled(struct onnx_import *im, const struct onnx_node *n, struct value *x,
                            float factor, const char *name)
{
        if (!x || factor == 1)
                return x;
        if (element_is_integer(value_element(x)) && factor != (float)(int)factor) {
                onnx_unsupported(im, n, "%s = %g of integers", name, (double)factor);
                return NULL;
        }
        return compose_with(im->c, OP_mul, x, factor);
}

bool onnx_import_gemm(struct onnx_import *im, struct onnx_node *n)
{
        struct value *v[3] = { n->inputs[0], n->inputs[1], onnx_input(n, 2) };
        float alpha, beta;
        int64_t trans_a, trans_b, broadcast;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_float(im, n, "beta", 1, &beta) ||
            !onnx_int(im, n, "transA", 0, &trans_a) || !onnx_int(im, n, "transB", 0, &trans_b) ||
            (n->opset < 7 && !onnx_int(im, n, "broadcast", 0, &broadcast)))
                return false;
        if (!onnx_want_rank(im, n, 0, 2, 2) || !onnx_want_rank(im, n, 1, 2, 2) ||
            !onnx_same_element(im, n, v, 3))
                return false;
        if (!(alpha > -1e9f && alpha < 1e9f && beta > -1e9f && beta < 1e9f) &&
            element_is_integer(value_element(v[0])))
                return onnx_invalid(im, n, "alpha = %g, beta = %g of integers", (double)alpha,
                                    (double)beta);
        int contract_a = trans_a ? 0 : 1, contract_b = trans_b ? 1 : 0;
        if (value_extent(v[0], contract_a) != value_extent(v[1], contract_b))
                return onnx_invalid(im, n, "the inner extents %lld and %lld differ",
                                    (long long)value_extent(v[0], contract_a),
                                    (long long)value_extent(v[1], contract_b));
        const dim_t dims[2] = { dim_of(value_extent(v[0], !contract_a)),
                                dim_of(value_extent(v[1], !contract_b)) };
        const struct type *to = compose_type(im->c, value_element(v[0]), 2, dims);
        if (!to)
                return false;
        struct value *y =
                scaled(im, n, onnx_dot(im, v[0], v[1], 0, contract_a, contract_b, E_COMPUTE),
                       alpha, "alpha");
        if (v[2] && beta != 0) {
                struct value *c = scaled(im, n, onnx_per_line(im, n, 2, to, 1), beta, "beta");
                y = c ? compose_binary(im->c, OP_add, y, c) : NULL;
        }
        return onnx_output(n, 0, y);
}

static struct value *transposed_last(struct onnx_import *im, struct value *x)
{
        int64_t perm[RANK_MAX];
        int rank = value_rank(x);

        for (int d = 0; d < rank; d++)
                perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
        return rank < 2 ? x : build_transpose(&im->b, x, perm);
}

/* com.microsoft FusedMatMul: MatMul with transposed operands and a factor */
bool onnx_import_fused_matmul(struct onnx_import *im, struct onnx_node *n)
{
        float alpha;
        int64_t trans_a, trans_b, batch_a, batch_b;

        if (!onnx_float(im, n, "alpha", 1, &alpha) || !onnx_int(im, n, "transA", 0, &trans_a) ||
            !onnx_int(im, n, "transB", 0, &trans_b) ||
            !onnx_int(im, n, "transBatchA", 0, &batch_a) ||
            !onnx_int(im, n, "transBatchB", 0, &batch_b) || !onnx_want_float(im, n, 0) ||
            !onnx_same_element(im, n, n->inputs, 2))
                return false;
        if (batch_a || batch_b)
                return onnx_unsupported(im, n, "transBatchA or transBatchB");
        struct value *a = trans_a ? transposed_last(im, n->inputs[0]) : n->inputs[0];
        struct value *b = trans_b ? transposed_last(im, n->inputs[1]) : n->inputs[1];
        return onnx_output(n, 0, scaled(im, n, onnx_matmul(im, n, a, b), alpha, "alpha"));
}
