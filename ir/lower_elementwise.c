/* Lowering of element-wise operations: each is its formula in the compute type, rounded once to the
 * element type. */
#include "ir/lower_emit.h"
#include "ir/ops.h"

struct loop_expr *element_formula(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        struct loop_expr *args[3];
        for (int i = 0; i < op->operand_count && i < 3; i++)
                args[i] = emit_compute(e, op_operand(op, i), index);
        struct loop_expr *x = emit_formula(e, op_info[op->code].formula, args, op->operand_count);
        return loop_cast(e->arena, op->results[result].type->element, x);
}

/* Both sides are computed, as they would be by kernels of their own; what has no statements is read
 * only when chosen. */
struct loop_expr *element_select(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *const *index)
{
        (void)result;
        struct loop_expr *c = emit_element(e, op_operand(op, 0), index);
        struct loop_expr *x = emit_element(e, op_operand(op, 1), index);
        struct loop_expr *y = emit_element(e, op_operand(op, 2), index);
        return loop_op(e->arena, LOOP_SELECT, c, x, y);
}

struct loop_expr *element_cast(struct emit *e, const struct op *op, int result,
                               struct loop_expr *const *index)
{
        return emit_as(e, op->results[result].type->element, op_operand(op, 0), index);
}

struct loop_expr *element_bitcast(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        return loop_bitcast(e->arena, element_carrier(op->results[result].type->element),
                            emit_element(e, op_operand(op, 0), index));
}

struct loop_expr *element_iota(struct emit *e, const struct op *op, int result,
                               struct loop_expr *const *index)
{
        return loop_cast(e->arena, op->results[result].type->element, index[op_int(op, "axis")]);
}
