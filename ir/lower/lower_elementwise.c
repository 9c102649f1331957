/* SPDX-License-Identifier: MIT */
/* Lowering of element-wise operations: each is its formula in the compute type, rounded once to the
 * element type. */
#include "ir/lower/lower_emit.h"
#include "ir/tensor/ops.h"

struct loop_expr *element_formula(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        struct loop_expr *args[3];
        for (int i = 0; i < op->operand_count && i < 3; i++)
                args[i] = emit_compute(e, op_operand(op, i), index);
        struct loop_expr *x = emit_formula(e, op_info[op->code].formula, args, op->operand_count);
        return loop_cast(e->arena, op->results[result].type->element, x);
}

/* Computes both sides, as kernels of their own would; a side without statements is read only when
 * it is chosen. */
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

/* A number that was shifted by 32 or more fits into i32, whose bounds are cheaper on small
 * machines. */
struct loop_expr *element_requantize(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index)
{
        enum { HALF = 32 };
        double never;
        const struct element_info *to = &element_info[op->results[result].type->element];
        int64_t shift = op_int(op, "shift"), values = INT64_C(1) << 8 * to->bytes,
                least = to->class == CLASS_SINT ? -values / 2 : 0, largest = least + values - 1,
                low = op_int(op, "low"), high = op_int(op, "high");
        low = low < least ? least : low;
        high = high > largest ? largest : high;
        struct loop_expr *x = emit_as(e, E_I64, op_operand(op, 0), index);
        struct loop_expr *m = emit_as(e, E_I64, op_operand(op, 1), index);
        struct loop_expr *b = emit_element(e, op_operand(op, 2), index);
        x = emit_op(e, LOOP_ADD, emit_op(e, LOOP_MUL, x, m), b);
        if (!value_is_splat(op_operand(op, 3), &never) || never != 0) {
                x = emit_let(e, "scaled", x);
                struct loop_expr *even = emit_as(e, E_I64, op_operand(op, 3), index);
                struct loop_expr *odd = emit_op_int(e, LOOP_SUB, x, INT64_C(1) << (shift - 1));
                odd = emit_op_int(e, LOOP_AND, emit_op_int(e, LOOP_SHR, odd, shift), 1);
                x = emit_op(e, LOOP_ADD, x, emit_op(e, LOOP_MUL, odd, even));
        }
        x = emit_op(e, LOOP_SHR, x, emit_number(e, E_I64, shift));
        enum element wide = shift >= HALF ? E_I32 : E_I64;
        x = emit_op(e, LOOP_MAX, loop_cast(e->arena, wide, x), emit_number(e, wide, low));
        x = emit_op(e, LOOP_MIN, x, emit_number(e, wide, high));
        return loop_cast(e->arena, op->results[result].type->element, x);
}

struct loop_expr *element_bitcast(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        return loop_bitcast(e->arena, element_storage(op->results[result].type->element),
                            emit_element(e, op_operand(op, 0), index));
}

struct loop_expr *element_extent(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *const *index)
{
        (void)result;
        (void)index;
        struct loop_expr *extent =
                emit_extent(e, op_operand(op, 0)->type, (int)op_int(op, "axis"));
        return loop_cast(e->arena, E_I64, extent);
}

struct loop_expr *element_counted(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        return loop_cast(e->arena, op->results[result].type->element, index[0]);
}

struct loop_expr *element_iota(struct emit *e, const struct op *op, int result,
                               struct loop_expr *const *index)
{
        return loop_cast(e->arena, op->results[result].type->element, index[op_int(op, "axis")]);
}
