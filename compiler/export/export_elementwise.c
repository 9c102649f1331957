/* SPDX-License-Identifier: MIT */
/* Operands of element-wise operations have the result's shape; nodes of ONNX broadcast, so what is
 * a broadcast, or one number, is written as it was before. */
#include <math.h>
#include <string.h>

#include "compiler/export/exporter.h"

/* ---- operands ---- */

enum { RESHAPED_BYTES = 64 * 1024 }; /* Constants up to here are stored in the shape wanted. */

static bool is_one_number(const struct value *v)
{
        return value_is_constant(v) && v->constant->kind == CONSTANT_SPLAT;
}

static bool all_one_number(const struct op *op)
{
        bool all = true;
        for (int i = 0; i < op->operand_count; i++)
                all &= is_one_number(op_operand(op, i));
        return all;
}

/* Returns the dimensions of the result in which this operand has the whole extent. */
static unsigned reached_by(const struct value *v)
{
        const struct type *t = v->type;
        unsigned set = 0;
        int64_t dim;
        if (is_one_number(v))
                return 0;
        if (!op_is(v, OP_broadcast))
                return (1u << t->rank) - 1;
        const struct type *source = op_operand(v->op, 0)->type;
        for (int d = 0; d < source->rank; d++) {
                dim = op_ints(v->op, "dims", NULL)[d];
                if (dim_equal(source->dims[d], t->dims[dim]))
                        set |= 1u << dim;
        }
        return set;
}

/* Returns the operand that gives the result its rank, where all are broadcasts along the first
 * dimensions. */
static int leading(const struct op *op)
{
        int found = -1;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (is_one_number(v) && v->type->rank)
                        continue;
                if (!op_is(v, OP_broadcast) ||
                    (op_operand(v->op, 0)->type->rank && op_ints(v->op, "dims", NULL)[0] == 0))
                        return -1;
                found = found < 0 ? i : found;
        }
        return found;
}

void plan_elementwise(struct export *e, const struct op *op, struct plan *plan)
{
        const struct type *t = op_result(op)->type;
        unsigned reached = 0;
        (void)e;
        for (int i = 0; i < op->operand_count; i++)
                reached |= reached_by(op_operand(op, i));
        for (int d = 0; d < t->rank; d++)
                if (dim_is(t->dims[d], 1))
                        reached |= 1u << d;
        plan->full = reached != (1u << t->rank) - 1 || (t->rank && all_one_number(op));
        plan->leading = plan->full ? -1 : leading(op);
        for (int i = plan->full; i < op->operand_count; i++)
                if (op_is(op_operand(op, i), OP_broadcast))
                        plan->wants[i] = op_operand(op_operand(op, i)->op, 0);
}

/* Returns x with its dimensions at dims of `rank`, and with leading ones of extent 1 only where
 * `whole`. */
static struct made *placed(struct export *e, const struct value *x, const int64_t *dims, int rank,
                           bool whole)
{
        const struct type *t = x->type;
        dim_t full[RANK_MAX];
        int first = whole ? 0 : t->rank ? (int)dims[0] : rank;
        for (int d = first; d < rank; d++)
                full[d - first] = dim_of(1);
        for (int d = 0; d < t->rank; d++)
                full[dims[d] - first] = t->dims[d];
        const struct type *to = type_tensor(e->m, t->element, rank - first, full);
        if (to != t && value_is_constant(x) && x->constant->kind != CONSTANT_SPLAT &&
            type_bytes(t) <= RESHAPED_BYTES)
                return export_constant_as(e, export_base(e, x->constant->name), x->constant, to);
        return export_reshape(e, export_value(e, x), rank - first, full);
}

/* Returns the operand as it broadcasts to the result. */
static struct made *export_over(struct export *e, const struct op *op, int operand,
                                const struct plan *plan)
{
        const struct value *v = op_operand(op, operand);
        if (plan->full && operand == 0)
                return export_value(e, v);
        if (is_one_number(v) && v->type->rank)
                return export_dense(e, export_base(e, v->constant->name),
                                    type_scalar(e->m, v->type->element),
                                    constant_data(v->constant));
        if (op_is(v, OP_broadcast))
                return placed(e, op_operand(v->op, 0), op_ints(v->op, "dims", NULL), v->type->rank,
                              operand == plan->leading);
        return export_value(e, v);
}

/* ---- elements ---- */

/* Returns the type that a node computes elements of e in. */
static enum element computed_in(enum element_set set, enum element e)
{
        enum element_class class = element_info[e].class;
        bool small = element_info[e].bytes < 4;
        switch (set) {
        case NUMBERS:
        case COMPARED: return class == CLASS_BOOL ? E_U8 : e;
        case FLOATS: return class == CLASS_FLOAT ? e : E_F32;
        case LONG_NUMBERS:
                return class == CLASS_FLOAT || e == E_I32 || e == E_I64 ? e : small ? E_I32 : E_I64;
        default: return e;
        }
}

static void finish(struct export *e, const struct op *op, struct made *y)
{
        export_result(e, op, 0, export_cast(e, y, op_result(op)->type->element));
}

static const struct type *result_as(struct export *e, const struct op *op, enum element element)
{
        return type_with_element(e->m, op_result(op)->type, element);
}

void write_one(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct node_row *row = &export_rows[op->code];
        struct made *operands[3];
        enum element in = op_operand(op, op->operand_count - 1)->type->element,
                     computed = computed_in(row->set, in), out = op_result(op)->type->element;
        for (int i = 0; i < op->operand_count; i++) {
                operands[i] = export_over(e, op, i, plan);
                if (computed != in)
                        operands[i] = export_cast(e, operands[i], computed);
        }
        if (row->set == NUMBERS || row->set == LONG_NUMBERS)
                out = computed;
        finish(e, op,
               export_node(e, row->onnx, result_as(e, op, out), operands, op->operand_count));
}

/* ---- operations with writers of their own ---- */

static struct made *zero_like(struct export *e, const struct made *x)
{
        return export_scalar(e, x->type->element, 0);
}

static const struct type *bools(struct export *e, const struct made *x)
{
        return type_with_element(e->m, x->type, E_BOOL);
}

static struct made *where(struct export *e, struct made *c, struct made *x, struct made *y)
{
        return export_node(e, "Where", type_with_element(e->m, c->type, x->type->element),
                           (struct made *[]){ c, x, y }, 3);
}

/* Returns x rem y, as C's % and fmod compute it. */
static struct made *remainder_of(struct export *e, const struct op *op, struct made *x,
                                 struct made *y, bool fmod)
{
        struct made *r = export_binary(e, "Mod", op_result(op)->type, x, y);
        if (fmod)
                export_int(e, "fmod", 1);
        return r;
}

void write_rem(struct export *e, const struct op *op, const struct plan *plan)
{
        finish(e, op,
               remainder_of(e, op, export_over(e, op, 0, plan), export_over(e, op, 1, plan), true));
}

/* Writes mod of floats as fmod, and y more where that has another sign than y. */
void write_mod(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_over(e, op, 0, plan), *y = export_over(e, op, 1, plan);
        bool real = element_is_float(op_result(op)->type->element);
        struct made *r = remainder_of(e, op, x, y, real);
        if (real) {
                const struct type *b = result_as(e, op, E_BOOL);
                struct made *zero = zero_like(e, x);
                struct made *negative = export_binary(e, "Less", b, r, zero),
                            *wants = export_binary(e, "Less", bools(e, y), y, zero);
                struct made *differ = export_binary(e, "Xor", b, negative, wants);
                struct made *some =
                        export_unary(e, "Not", b, export_binary(e, "Equal", b, r, zero));
                differ = export_binary(e, "And", b, differ, some);
                r = where(e, differ, export_binary(e, "Add", r->type, r, y), r);
        }
        finish(e, op, r);
}

void write_neg(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *x = export_over(e, op, 0, plan);
        bool is_unsigned = element_info[x->type->element].class == CLASS_UINT;
        finish(e, op,
               is_unsigned ? export_binary(e, "Sub", op_result(op)->type, zero_like(e, x), x)
                           : export_unary(e, "Neg", op_result(op)->type, x));
}

void write_trunc(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *t = op_result(op)->type;
        struct made *x = export_over(e, op, 0, plan);
        struct made *negative =
                export_binary(e, "Less", result_as(e, op, E_BOOL), x, zero_like(e, x));
        struct made *up = export_unary(e, "Ceil", t, x);
        finish(e, op, where(e, negative, up, export_unary(e, "Floor", t, x)));
}

void write_expm1(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *t = op_result(op)->type;
        struct made *power = export_unary(e, "Exp", t, export_over(e, op, 0, plan));
        finish(e, op,
               export_binary(e, "Sub", t, power, export_scalar(e, t->element, 1)));
}

static void write_logic(struct export *e, const struct op *op, const struct plan *plan,
                        const char *of_bools, const char *of_bits)
{
        struct made *operands[2];
        for (int i = 0; i < op->operand_count; i++)
                operands[i] = export_over(e, op, i, plan);
        bool truth = op_result(op)->type->element == E_BOOL;
        finish(e, op,
               export_node(e, truth ? of_bools : of_bits, op_result(op)->type, operands,
                           op->operand_count));
}

void write_and(struct export *e, const struct op *op, const struct plan *plan)
{
        write_logic(e, op, plan, "And", "BitwiseAnd");
}
void write_or(struct export *e, const struct op *op, const struct plan *plan)
{
        write_logic(e, op, plan, "Or", "BitwiseOr");
}
void write_xor(struct export *e, const struct op *op, const struct plan *plan)
{
        write_logic(e, op, plan, "Xor", "BitwiseXor");
}
void write_not(struct export *e, const struct op *op, const struct plan *plan)
{
        write_logic(e, op, plan, "Not", "BitwiseNot");
}

/* Returns x shifted; ONNX shifts unsigned integers alone. */
static struct made *shifted(struct export *e, struct made *x, struct made *by,
                            const struct type *to, const char *direction)
{
        static const enum element unsigned_of[] = {
                [E_I8] = E_U8,
                [E_I16] = E_U16,
                [E_I32] = E_U32,
                [E_I64] = E_U64,
        };
        enum element own = x->type->element;
        bool is_signed = element_info[own].class == CLASS_SINT;
        enum element bits = is_signed ? unsigned_of[own] : own;
        x = export_binary(e, "BitShift", type_with_element(e->m, to, bits), export_cast(e, x, bits),
                          export_cast(e, by, bits));
        export_text(e, "direction", direction);
        return export_cast(e, x, own);
}

void write_shl(struct export *e, const struct op *op, const struct plan *plan)
{
        finish(e, op,
               shifted(e, export_over(e, op, 0, plan), export_over(e, op, 1, plan),
                       op_result(op)->type, "LEFT"));
}

/* Writes a shift; a negative number is the complement of its complement, shifted. */
void write_shr(struct export *e, const struct op *op, const struct plan *plan)
{
        const struct type *to = op_result(op)->type;
        struct made *x = export_over(e, op, 0, plan), *by = export_over(e, op, 1, plan);
        struct made *y = shifted(e, x, by, to, "RIGHT");
        if (element_info[to->element].class == CLASS_SINT) {
                struct made *below =
                        shifted(e, export_unary(e, "BitwiseNot", x->type, x), by, to, "RIGHT");
                struct made *negative = export_binary(e, "Less", bools(e, x), x, zero_like(e, x));
                below = export_unary(e, "BitwiseNot", to, below);
                y = export_node(e, "Where", to, (struct made *[]){ negative, below, y }, 3);
        }
        finish(e, op, y);
}

void write_ne(struct export *e, const struct op *op, const struct plan *plan)
{
        struct made *equal =
                export_binary(e, "Equal", op_result(op)->type, export_over(e, op, 0, plan),
                              export_over(e, op, 1, plan));
        finish(e, op, export_unary(e, "Not", equal->type, equal));
}

/* ---- conversions ---- */

/* Returns whether v is written as a Clip within [least, most]. */
static bool is_within(struct export *e, const struct value *v, double least, double most)
{
        const struct plan *plan = v->kind == VALUE_RESULT && v->op->number >= PLANNED
                                          ? &e->plans[v->op->number - PLANNED]
                                          : NULL;
        return plan && plan->has_low && plan->has_high && plan->low >= least &&
               plan->high <= most && plan->low <= plan->high;
}

/* Floats to integers of 8 and 16 bits saturate in Tensor IR, and anything may come of them in ONNX;
 * the bounds of longer integers are no floats. */
void write_cast(struct export *e, const struct op *op, const struct plan *plan)
{
        enum element to = op_result(op)->type->element;
        const struct value *v = op_operand(op, 0);
        struct made *x = export_over(e, op, 0, plan);
        int bits = 8 * element_info[to].bytes;
        bool sign = element_info[to].class == CLASS_SINT;
        double least = sign ? -ldexp(1, bits - 1) : 0, most = ldexp(1, bits - sign) - 1;
        if (element_is_float(v->type->element) && element_is_integer(to) && bits <= 16 &&
            !is_within(e, v, least, most))
                x = export_node(e, "Clip", x->type,
                                (struct made *[]){ x, export_scalar(e, x->type->element, least),
                                                   export_scalar(e, x->type->element, most) },
                                3);
        x = export_unary(e, "Cast", type_with_element(e->m, x->type, to), x);
        export_int(e, "to", element_info[to].onnx);
        export_result(e, op, 0, x);
}

static bool is_packed(enum element e)
{
        return e == E_I4 || e == E_U4 || e == E_I2 || e == E_U2 || e == E_F4E2M1;
}

/* Types below 8 bits are bytes in Tensor IR and are not in ONNX; of these only the lowest bits
 * count. */
void write_bitcast(struct export *e, const struct op *op, const struct plan *plan)
{
        enum element to = op_result(op)->type->element, from = op_operand(op, 0)->type->element;
        bool packed = is_packed(from) || is_packed(to);
        struct made *x = export_over(e, op, 0, plan);
        if (packed && (from == E_F4E2M1 || to == E_F4E2M1)) {
                export_refuse(e, op, "a number of 4 bits as a byte");
                return;
        }
        x = export_unary(e, packed ? "Cast" : "BitCast", type_with_element(e->m, x->type, to), x);
        export_int(e, "to", element_info[to].onnx);
        export_result(e, op, 0, x);
}
