/* SPDX-License-Identifier: MIT */
/* Partial derivatives of element-wise operations, as ir/tensor/ops.def writes them: formulas over
 * the operands x and y and the result z. tie is what each of two equal operands of max or min gets:
 * nothing where one of them is a constant, else half. */
#include "ir/adjoint/adjoint.h"
#include "ir/adjoint/formula_text.h"

/* Is v the same number in every run, or numbers of a constant that were spread? A constant whose
 * derivative is asked for counts as an input. */
static bool is_fixed(const struct value *v)
{
        while (op_is(v, OP_broadcast) || op_is(v, OP_reshape) || op_is(v, OP_cast))
                v = op_operand(v->op, 0);
        return value_is_constant(v) && !v->constant->varies;
}

struct operation { struct builder *b; const struct op *op; };

static struct value *variable(void *context, const char *name, size_t length)
{
        const struct operation *o = context;
        const struct op *op = o->op;
        if (length == 3 && !memcmp(name, "tie", 3))
                return build_like(o->b, op_result(op),
                                  is_fixed(op_operand(op, 0)) || is_fixed(op_operand(op, 1)) ? 0
                                                                                             : 0.5);
        return *name == 'x'   ? op_operand(op, 0)
               : *name == 'y' ? op_operand(op, 1)
                              : op_result(op);
}

struct value *adjoint_partial(struct builder *b, const struct op *op, int i, struct value *d)
{
        static const char over[] = "1 / ";
        const char *partial = op_info[op->code].partials[i], *rest;
        struct operation o = { b, op };
        const struct formula f = { b, op_result(op), variable, &o };
        if (!strcmp(partial, "1"))
                return d;
        if (!strcmp(partial, "-1"))
                return build_unary(b, OP_neg, d);
        /* 1 / y is a division of d by y, which rounds once. */
        if (!strncmp(partial, over, strlen(over))) {
                struct value *by = formula_factor(&f, partial + strlen(over), &rest);
                if (!*rest)
                        return build_binary(b, OP_div, d, by);
        }
        return build_binary(b, OP_mul, d, formula_build(&f, partial));
}
