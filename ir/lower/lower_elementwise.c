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

/* Returns x * m + b, shifted by 32, where b counts 1 << 32. */
static struct loop_expr *high_word(struct emit *e, const struct op *op,
                                   struct loop_expr *const *index)
{
        struct loop_expr *operands[] = { emit_element(e, op_operand(op, 0), index),
                                         emit_element(e, op_operand(op, 1), index),
                                         emit_element(e, op_operand(op, 2), index) };
        return loop_call(e->arena, loop_library_find(e->library, "multiply_high", E_I32),
                         operands);
}

/* Returns x between the operation's bounds and those of the result's element, as that. */
static struct loop_expr *bounded(struct emit *e, const struct op *op, int result,
                                 struct loop_expr *x)
{
        const enum element wide = x->type.element;
        const enum element to = op->results[result].type->element;
        const int64_t values = INT64_C(1) << 8 * element_info[to].bytes,
                      least = element_info[to].class == CLASS_SINT ? -values / 2 : 0,
                      largest = least + values - 1, low = op_int(op, "low"),
                      high = op_int(op, "high");
        x = emit_op(e, LOOP_MAX, x, emit_number(e, wide, low < least ? least : low));
        x = emit_op(e, LOOP_MIN, x, emit_number(e, wide, high > largest ? largest : high));
        return loop_cast(e->arena, to, x);
}

/* A number that was shifted by 32 or more fits into i32, whose bounds are cheaper on small
 * machines. */
struct loop_expr *element_requantize(struct emit *e, const struct op *op, int result,
                                     struct loop_expr *const *index)
{
        enum { HALF = 32 };
        double never;
        const int64_t shift = op_int(op, "shift");
        const bool halves = !value_is_splat(op_operand(op, 3), &never) || never != 0,
                   raised = op_operand(op, 2)->type->element == E_I32;
        if (raised && !halves && shift >= HALF) {
                struct loop_expr *x = high_word(e, op, index);
                if (shift > HALF)
                        x = emit_op(e, LOOP_SHR, x, emit_number(e, E_I32, shift - HALF));
                return bounded(e, op, result, x);
        }
        struct loop_expr *x = emit_as(e, E_I64, op_operand(op, 0), index);
        struct loop_expr *m = emit_as(e, E_I64, op_operand(op, 1), index);
        struct loop_expr *b = emit_as(e, E_I64, op_operand(op, 2), index);
        if (raised)
                b = emit_op(e, LOOP_SHL, b, emit_number(e, E_I64, HALF));
        x = emit_op(e, LOOP_ADD, emit_op(e, LOOP_MUL, x, m), b);
        if (halves) {
                x = emit_let(e, "scaled", x);
                struct loop_expr *even = emit_as(e, E_I64, op_operand(op, 3), index);
                struct loop_expr *odd = emit_op_int(e, LOOP_SUB, x, INT64_C(1) << (shift - 1));
                odd = emit_op_int(e, LOOP_AND, emit_op_int(e, LOOP_SHR, odd, shift), 1);
                x = emit_op(e, LOOP_ADD, x, emit_op(e, LOOP_MUL, odd, even));
        }
        x = emit_op(e, LOOP_SHR, x, emit_number(e, E_I64, shift));
        return bounded(e, op, result, loop_cast(e->arena, shift >= HALF ? E_I32 : E_I64, x));
}

/* Returns the exponent of a rescale, one number of i64 where it is known. */
static struct loop_expr *exponent(struct emit *e, const struct op *op,
                                  struct loop_expr *const *index, int64_t *known)
{
        enum { MODULO = 32 };
        double number;
        *known = -1;
        if (value_is_splat(op_operand(op, 2), &number)) {
                *known = (int64_t)number & (MODULO - 1);
                return emit_number(e, E_I64, *known);
        }
        return emit_let(e, "exponent",
                        emit_op_int(e, LOOP_AND, emit_as(e, E_I64, op_operand(op, 2), index),
                                    MODULO - 1));
}

/* A negative number is moved by one where it is rounded again, unless results at most as large as
 * those of 0 are bounded anyway. */
struct loop_expr *element_rescale(struct emit *e, const struct op *op, int result,
                                  struct loop_expr *const *index)
{
        enum { LOW = 31, SIGN = 63 };
        int64_t known;
        const int64_t zero = op_int(op, "zero");
        struct loop_expr *by = exponent(e, op, index, &known),
                         *x = emit_op(e, LOOP_MUL, emit_as(e, E_I64, op_operand(op, 0), index),
                                      emit_as(e, E_I64, op_operand(op, 1), index));
        if (op_int(op, "once")) {
                struct loop_expr *half = emit_number(e, E_I64, INT64_C(1) << (LOW - 1));
                half = emit_op(e, LOOP_SHL, half, by);
                x = emit_op(e, LOOP_SHR, emit_op(e, LOOP_ADD, x, half),
                            emit_op_int(e, LOOP_ADD, by, LOW));
        } else {
                x = emit_op_int(e, LOOP_ADD, x, INT64_C(1) << (LOW - 1));
                x = emit_op_int(e, LOOP_SHR, x, LOW);
                if (known && op_int(op, "low") < zero) {
                        x = emit_let(e, "scaled", x);
                        struct loop_expr *less = emit_op_int(e, LOOP_SHR, x, SIGN);
                        if (known < 0)
                                less = emit_op(e, LOOP_MUL, less, emit_op_int(e, LOOP_MIN, by, 1));
                        x = emit_op(e, LOOP_ADD, x, less);
                }
                struct loop_expr *half = emit_op_int(
                        e, LOOP_SHR, emit_op(e, LOOP_SHL, emit_number(e, E_I64, 1), by), 1);
                if (known)
                        x = emit_op(e, LOOP_SHR, emit_op(e, LOOP_ADD, x, half), by);
        }
        if (zero)
                x = emit_op_int(e, LOOP_ADD, x, zero);
        return bounded(e, op, result, x);
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
