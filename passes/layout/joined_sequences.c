/* SPDX-License-Identifier: MIT */
/* Builds one contraction of several, and one sequence of the element-wise operations that follow
 * all of them alike: constants for each output stand side by side, as the outputs do. */
#include "passes/layout/joined.h"

#include <string.h>

/* ---- constants side by side ---- */

struct value *joined_constants(struct layout *l, struct value *const *parts, int count, int at)
{
        const struct type *first = parts[0]->type;
        dim_t dims[RANK_MAX];
        int64_t rows = 1, bytes = element_info[first->element].bytes, outputs = 0, from = 0;
        memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
        for (int d = 0; d < first->rank; d++) {
                rows *= d < at ? dim_extent(dims[d]) : 1;
                bytes *= d > at ? dim_extent(dims[d]) : 1;
        }
        for (int i = 0; i < count; i++)
                outputs += type_extent(parts[i]->type, at);
        dims[at] = dim_of(outputs);
        const struct type *type = type_tensor(l->m, first->element, first->rank, dims);
        char *data = constant_room(l->m, (size_t)type_bytes(type));
        for (int i = 0; i < count; i++) {
                const size_t width = (size_t)(type_extent(parts[i]->type, at) * bytes);
                for (int64_t r = 0; r < rows; r++)
                        memcpy(data + r * outputs * bytes + from,
                               (const char *)constant_data(parts[i]->constant) + (size_t)r * width,
                               width);
                from += (int64_t)width;
        }
        return constant_dense(l->m, type, data, parts[0]->constant->name);
}

/* ---- what follows all of them alike ---- */

/* Returns the constant with a number for each output that v broadcasts over all else, or NULL. */
static struct value *spread_constant(const struct joined *s, const struct value *v)
{
        struct value *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : NULL;
        return x && value_is_constant(x) && x->constant->kind != CONSTANT_SPLAT &&
                               x->type->rank == 1 && op_ints(v->op, "dims", NULL)[0] == s->axis
                       ? x
                       : NULL;
}

/* Are the operands i of the operations behind the contractions alike: the value followed so far,
 * the same number, or constants for each output? */
static bool operands_alike(const struct joined *s, int i)
{
        const struct value *first = op_operand(s->ends[0]->uses->user, i);
        double number, other;
        const bool chain = first == s->ends[0], splat = value_is_splat(first, &number);
        for (int k = 0; k < s->count; k++) {
                const struct value *v = op_operand(s->ends[k]->uses->user, i);
                bool alike = chain   ? v == s->ends[k]
                             : splat ? value_is_splat(v, &other) && other == number
                                     : spread_constant(s, v) != NULL;
                if (!alike || v->type->element != first->type->element)
                        return false;
        }
        return true;
}

bool joined_follow(const struct joined *s)
{
        const struct op *first = s->ends[0]->uses ? s->ends[0]->uses->user : NULL;
        for (int k = 0; k < s->count; k++) {
                const struct op *user = s->ends[k]->uses ? s->ends[k]->uses->user : NULL;
                if (!user || !value_has_one_use(s->ends[k]) || user->code != first->code ||
                    user->result_count != 1 || user->region != s->ops[0]->region ||
                    !(op_info[user->code].traits & TRAIT_ELEMENTWISE) ||
                    op_result(user)->type->element != op_result(first)->type->element)
                        return false;
        }
        for (int i = 0; i < first->operand_count; i++)
                if (!operands_alike(s, i))
                        return false;
        return true;
}

/* Returns the operand that stands for operand i of all these operations. */
static struct value *operand_joined(struct layout *l, const struct joined *s, int i)
{
        struct value *parts[JOINED_MOST], *first = op_operand(s->ends[0]->uses->user, i);
        const struct type *type = type_with_element(l->m, s->all->type, first->type->element);
        double number;
        if (first == s->ends[0])
                return s->all;
        if (value_is_splat(first, &number))
                return constant_number(l->m, type, number);
        for (int k = 0; k < s->count; k++)
                parts[k] = spread_constant(s, op_operand(s->ends[k]->uses->user, i));
        return build_broadcast(&l->b, joined_constants(l, parts, s->count, 0), type,
                               (int64_t[]){ s->axis });
}

void joined_step(struct layout *l, struct joined *s)
{
        struct value *operands[OPERAND_ROW_MAX];
        const struct op *first = s->ends[0]->uses->user;
        for (int i = 0; s->all && i < first->operand_count; i++)
                operands[i] = operand_joined(l, s, i);
        if (s->all)
                s->all = value_build(&l->b, first->code, operands, first->operand_count,
                                     first->attrs, NULL);
        for (int k = 0; k < s->count; k++)
                s->ends[k] = op_result(s->ends[k]->uses->user);
}

/* ---- building, erasing ---- */

void joined_build(struct layout *l, struct joined *s, int steps)
{
        struct value *weights[JOINED_MOST], *x = op_operand(s->ops[0], 0);
        for (int k = 0; k < s->count; k++)
                weights[k] = op_operand(s->ops[k], 1);
        l->b = builder_before(s->ops[0], l->b.diag);
        struct value *w = joined_constants(l, weights, s->count, s->weights);
        s->all = value_build(&l->b, s->ops[0]->code, (struct value *[]){ x, w }, 2,
                             s->ops[0]->attrs, NULL);
        while (steps--)
                joined_step(l, s);
}

void joined_erase(const struct joined *s)
{
        for (int k = 0; k < s->count; k++)
                for (struct op *op = s->ends[k]->op, *before; op; op = before) {
                        before = NULL;
                        for (int i = 0; op != s->ops[k] && i < op->operand_count; i++)
                                if (op_operand(op, i)->kind == VALUE_RESULT &&
                                    !op_is(op_operand(op, i), OP_broadcast))
                                        before = op_operand(op, i)->op;
                        op_erase(op);
                }
}
