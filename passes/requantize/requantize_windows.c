/* SPDX-License-Identifier: MIT */
/* Adds up decoded bytes, of windows or whole dimensions, by integers: sum(cast(x) * c) =
 * cast(sum(x)) * c, which floats would round. */
#include <string.h>

#include "passes/requantize/requantize.h"

int requantize_windows(struct op *op, struct pass_context *context)
{
        bool window = op->code == OP_reduce_window;
        if ((!window && op->code != OP_reduce) || op_int(op, "kind") != REDUCE_sum ||
            op_result(op)->type->element != E_F32 || !type_is_static(op_operand(op, 0)->type))
                return 0;
        struct value *v = op_operand(op, 0), *factor = NULL;
        if (op_is(v, OP_mul) && value_is_splat(op_operand(v->op, 1), NULL)) {
                factor = op_operand(v->op, 1);
                v = op_operand(v->op, 0);
        }
        struct value *x = op_is(v, OP_cast) ? op_operand(v->op, 0) : NULL;
        if (!x || !element_is_integer(x->type->element) ||
            element_info[x->type->element].bytes > 4 ||
            whole_largest(whole_range_of(x)) * (double)type_elements(x->type) > INT32_MAX)
                return 0;
        struct builder b = builder_before(op, context->diag);
        struct attr attrs[ATTR_MAX];
        struct value *operands[] = { build_cast(&b, x, E_I32), window ? NULL : op_operand(op, 1) };
        memcpy(attrs, op->attrs, sizeof *attrs * (size_t)op_info[op->code].attr_count);
        attr_set(attrs, op->code, "accumulator", E_COMPUTE);
        struct value *sum = value_build(&b, op->code, operands, window ? 1 : 2, attrs,
                                        type_with_element(b.m, op_result(op)->type, E_I32));
        sum = build_cast(&b, sum, E_F32);
        if (factor && sum)
                sum = build_binary(&b, OP_mul, sum,
                                   constant_splat(b.m, sum->type, constant_data(factor->constant)));
        if (!sum)
                return -1;
        value_replace(op_result(op), sum);
        op_erase(op);
        return 1;
}
