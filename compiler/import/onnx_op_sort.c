/* Operators that order elements. */
#include "compiler/import/onnx_helpers.h"

/* The first `count` of the indices along axis that bring x into order. */
static struct value *argsort(struct onnx_import *im, struct value *x, int axis, int64_t descending, int64_t count)
{
        struct attr *attrs = attrs_new(im->m, OP_argsort);
        dim_t dims[RANK_MAX];

        for (int d = 0; x && d < onnx_rank(x); d++)
                dims[d] = d == axis ? count : onnx_dim(x, d);
        attr_set(attrs, OP_argsort, "axis", axis);
        attr_set(attrs, OP_argsort, "descending", descending);
        return x ? value_build(&im->b, OP_argsort, &x, 1, attrs, type_tensor(im->m, E_I64, onnx_rank(x), dims)) : NULL;
}

/* Sorted or not: sorted is one of the orders that are allowed where it is not asked for. */
bool onnx_import_top_k(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0];
        int64_t stated, largest = 1, sorted, k;
        bool known = true;
        int axis;

        if (!onnx_int(im, n, "axis", -1, &stated) || !onnx_axis(im, n, stated, onnx_rank(x), &axis) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "largest", 1, 0, 1, &largest)) ||
            (n->opset >= 11 && !onnx_int_range(im, n, "sorted", 1, 0, 1, &sorted)) ||
            (n->opset < 10 ? !onnx_int_required(im, n, "k", &k) : !onnx_operand_int(im, n, 1, 0, &k, &known)))
                return false;
        if (!known) {
                const struct type *declared = onnx_declared_as(im, n, 0, onnx_element(x), onnx_rank(x));
                if (!declared)
                        return false;
                k = declared->dims[axis];
        }
        if (k < 0 || k > onnx_dim(x, axis))
                return onnx_invalid(im, n, "the %lld first of %lld elements", (long long)k, (long long)onnx_dim(x, axis));
        struct value *order = argsort(im, x, axis, largest, k);
        if (!order || (onnx_wants(n, 1) && !onnx_output(n, 1, order)))
                return false;
        struct attr *attrs = attrs_new(im->m, OP_gather_elements);
        attr_set(attrs, OP_gather_elements, "axis", axis);
        return onnx_output(n, 0, value_build(&im->b, OP_gather_elements, (struct value *[]){ x, order }, 2, attrs, NULL));
}

/* ---- what holds ---- */

static int64_t count_true(const struct value *flags)
{
        int64_t elements = type_elements(flags->type), count = 0;

        for (int64_t i = 0; i < elements; i++)
                count += constant_element(flags->constant, i).u != 0;
        return count;
}

/* The positions of the true ones of flags <n x bool>, `count` of them; code that finds another number fails: no slice begins
 * at -1. */
static struct value *positions(struct onnx_import *im, struct value *flags, int64_t count)
{
        struct value *order = argsort(im, flags, 0, 1, count);
        struct value *found = onnx_reduce(im, REDUCE_sum, onnx_cast(im, flags, E_I64), (const int64_t[]){ 0 }, 1, E_COMPUTE);
        struct value *fits = onnx_with(im, OP_eq, found, (double)count);
        struct value *start = onnx_select(im, fits, onnx_integer(im, E_I64, 0), onnx_integer(im, E_I64, -1));
        struct value *step = constant_ints(im->m, (const int64_t[]){ 1 }, 1);
        struct value *operands[3] = { order, onnx_reshape(im, start, 1, (const dim_t[]){ 1 }), step };

        return order && operands[1] ? value_build(&im->b, OP_slice, operands, 3, NULL, order->type) : NULL;
}

/* how many there are: of constant flags; else what the model declares for that dimension of its result */
static bool how_many(struct onnx_import *im, struct onnx_node *n, const struct value *flags, enum element e, int rank, int dimension,
                     int64_t *count)
{
        if (value_is_constant(flags)) {
                *count = count_true(flags);
                return true;
        }
        const struct type *declared = onnx_declared_as(im, n, 0, e, rank);
        if (!declared)
                return false;
        *count = declared->dims[dimension];
        return *count <= onnx_dim(flags, 0) ||
               onnx_invalid(im, n, "output 0 is declared as %s, at most %lld are possible", type_text(im->arena, im->m, declared),
                            (long long)onnx_dim(flags, 0));
}

/* <rank x n>: a column for each element that is not 0 */
bool onnx_import_non_zero(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *rows[RANK_MAX];
        int rank = onnx_rank(x);
        int64_t elements = type_elements(x->type), count, inner = 1;

        struct value *flags = onnx_reshape(im, onnx_binary(im, OP_ne, x, build_like(&im->b, x, 0)), 1, (const dim_t[]){ elements });
        if (!flags || !onnx_want_rank(im, n, 0, 1, RANK_MAX) || !how_many(im, n, flags, E_I64, 2, 1, &count))
                return false;
        struct value *at = positions(im, flags, count);
        for (int d = rank - 1; d >= 0; d--) {
                struct value *index = inner > 1 ? onnx_with(im, OP_div, at, (double)inner) : at;
                index = d ? onnx_with(im, OP_rem, index, (double)onnx_max(1, onnx_dim(x, d))) : index;
                rows[d] = onnx_reshape(im, index, 2, (const dim_t[]){ 1, count });
                inner *= onnx_max(1, onnx_dim(x, d));
        }
        return onnx_output(n, 0, build_concat(&im->b, rows, rank, 0));
}

/* slices of x along axis, or elements of all of it, where condition <at most so many x bool> holds */
bool onnx_import_compress(struct onnx_import *im, struct onnx_node *n)
{
        struct value *x = n->inputs[0], *flags = n->inputs[1];
        int64_t stated, count;
        int axis = 0;

        if (!onnx_want_element(im, n, 1, E_BOOL) || !onnx_want_rank(im, n, 1, 1, 1) || !onnx_int(im, n, "axis", 0, &stated) ||
            (onnx_has(n, "axis") && !onnx_axis(im, n, stated, onnx_rank(x), &axis)))
                return false;
        if (!onnx_has(n, "axis"))
                x = onnx_reshape(im, x, 1, (const dim_t[]){ type_elements(x->type) });
        if (!x)
                return false;
        if (onnx_dim(flags, 0) > onnx_dim(x, axis))
                return onnx_invalid(im, n, "%lld conditions for an extent of %lld", (long long)onnx_dim(flags, 0),
                                    (long long)onnx_dim(x, axis));
        return how_many(im, n, flags, onnx_element(x), onnx_rank(x), axis, &count) &&
               onnx_output(n, 0, build_gather(&im->b, x, positions(im, flags, count), axis));
}
