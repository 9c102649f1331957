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
