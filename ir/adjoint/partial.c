/* SPDX-License-Identifier: MIT */
/* Partial derivatives of element-wise operations, as ir/tensor/ops.def writes them: expressions
 *
 *      expression  sum, or two of them with  <  <=  >  >=  ==  between
 *      sum         products with + and - between
 *      product     factors with * and / between
 *      factor      number, x, y, z, tie, (expression), -factor, or NAME(expression, ..)
 *
 * where x and y are the operands, z the result, and NAME an element-wise operation, or select. tie
 * is what each of two equal operands of max or min gets: nothing where one of them is a constant,
 * else half. */
#include "ir/adjoint/adjoint.h"

#include <stdlib.h>

struct reader {
        struct builder *b;
        const struct op *op;
        const char *at;
};

static struct value *read_expression(struct reader *r);

static void skip(struct reader *r)
{
        while (*r->at == ' ')
                r->at++;
}

static bool accept(struct reader *r, const char *word)
{
        skip(r);
        size_t length = strlen(word);
        if (strncmp(r->at, word, length))
                return false;
        r->at += length;
        return true;
}

/* Is v the same number in every run, or numbers of a constant that were spread? A constant whose
 * derivative is asked for counts as an input. */
static bool is_fixed(const struct value *v)
{
        while (op_is(v, OP_broadcast) || op_is(v, OP_reshape) || op_is(v, OP_cast))
                v = op_operand(v->op, 0);
        return value_is_constant(v) && !v->constant->varies;
}

static struct value *read_variable(struct reader *r, const char *name, size_t length)
{
        const struct op *op = r->op;
        if (length == 3 && !memcmp(name, "tie", 3))
                return build_like(r->b, op_result(op),
                                  is_fixed(op_operand(op, 0)) || is_fixed(op_operand(op, 1)) ? 0
                                                                                             : 0.5);
        return *name == 'x'   ? op_operand(op, 0)
               : *name == 'y' ? op_operand(op, 1)
                              : op_result(op);
}

static struct value *read_call(struct reader *r, const char *name, size_t length)
{
        struct value *operands[3];
        int count = 0;
        enum opcode code = OP_select;
        if (!opcode_from_text(name, length, &code))
                return NULL;
        do
                operands[count++] = read_expression(r);
        while (accept(r, ","));
        accept(r, ")");
        for (int i = 0; i < count; i++)
                if (!operands[i])
                        return NULL;
        return value_build(r->b, code, operands, count, NULL, NULL);
}

static struct value *read_factor(struct reader *r)
{
        if (accept(r, "-"))
                return build_unary(r->b, OP_neg, read_factor(r));
        if (accept(r, "(")) {
                struct value *inside = read_expression(r);
                accept(r, ")");
                return inside;
        }
        const char *start = r->at;
        if (*start >= '0' && *start <= '9') {
                char *end;
                double number = strtod(start, &end);
                r->at = end;
                return build_like(r->b, op_result(r->op), number);
        }
        while ((*r->at >= 'a' && *r->at <= 'z') || *r->at == '_' ||
               (*r->at >= '0' && *r->at <= '9'))
                r->at++;
        size_t length = (size_t)(r->at - start);
        return accept(r, "(") ? read_call(r, start, length) : read_variable(r, start, length);
}

static struct value *read_product(struct reader *r)
{
        struct value *v = read_factor(r);
        for (;;)
                if (accept(r, "*"))
                        v = build_binary(r->b, OP_mul, v, read_factor(r));
                else if (accept(r, "/"))
                        v = build_binary(r->b, OP_div, v, read_factor(r));
                else
                        return v;
}

static struct value *read_sum(struct reader *r)
{
        struct value *v = read_product(r);
        for (;;)
                if (accept(r, "+"))
                        v = build_binary(r->b, OP_add, v, read_product(r));
                else if (accept(r, "-"))
                        v = build_binary(r->b, OP_sub, v, read_product(r));
                else
                        return v;
}

static struct value *read_expression(struct reader *r)
{
        static const struct { const char *word; enum opcode code; } comparisons[] = {
                { "<=", OP_le }, { ">=", OP_ge }, { "==", OP_eq }, { "<", OP_lt }, { ">", OP_gt }
        };
        struct value *v = read_sum(r);
        for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
                if (accept(r, comparisons[i].word))
                        return build_binary(r->b, comparisons[i].code, v, read_sum(r));
        return v;
}

struct value *adjoint_partial(struct builder *b, const struct op *op, int i, struct value *d)
{
        struct reader r = { b, op, op_info[op->code].partials[i] };
        if (!strcmp(r.at, "1"))
                return d;
        if (!strcmp(r.at, "-1"))
                return build_unary(b, OP_neg, d);
        /* 1 / y is a division of d by y, which rounds once. */
        if (accept(&r, "1 / ")) {
                struct value *by = read_factor(&r);
                skip(&r);
                if (!*r.at)
                        return build_binary(b, OP_div, d, by);
                r.at = op_info[op->code].partials[i];
        }
        return build_binary(b, OP_mul, d, read_expression(&r));
}
