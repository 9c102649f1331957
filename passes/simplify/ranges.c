/* SPDX-License-Identifier: MIT */
/* Finds ranges of integers, and of their sums. */
#include "passes/simplify/ranges.h"

#include "passes/layout/multiplies.h"

#include <math.h>

enum { DEPTH_MAX = 8 };

bool whole_multiplies(const struct pass_context *context, enum element x, enum element w)
{
        return element_is_integer(x) && target_engine(context->target)->blocks &&
               multiply_in(context, x, w);
}

struct whole_range whole_range_of_element(enum element e)
{
        int bits = 8 * element_info[e].bytes;
        bool negative = element_info[e].class == CLASS_SINT;
        return (struct whole_range){ negative ? -ldexp(1, bits - 1) : 0,
                                     ldexp(1, negative ? bits - 1 : bits) - 1 };
}

static struct whole_range range_of(const struct value *v, int depth)
{
        const struct op *op = v->kind == VALUE_RESULT ? v->op : NULL;
        const struct whole_range own = whole_range_of_element(v->type->element);
        struct whole_range x, y = { 0, 0 };
        if (value_is_splat(v, &x.low))
                return (struct whole_range){ x.low, x.low };
        if (!op || depth == DEPTH_MAX)
                return own;
        if (op->code == OP_sub || op->code == OP_add)
                y = range_of(op_operand(op, 1), depth + 1);
        else if (op->code != OP_reshape && op->code != OP_transpose && op->code != OP_broadcast &&
                 (op->code != OP_cast || !element_is_integer(op_operand(op, 0)->type->element)))
                return own;
        if (op->code == OP_sub)
                y = (struct whole_range){ -y.high, -y.low };
        x = range_of(op_operand(op, 0), depth + 1);
        /* Else the sum wraps. */
        bool fits = x.low + y.low >= own.low && x.high + y.high <= own.high;
        return fits ? (struct whole_range){ x.low + y.low, x.high + y.high } : own;
}

struct whole_range whole_range_of(const struct value *v) { return range_of(v, 0); }

double whole_largest_sum(struct arena *arena, const struct value *w, int along)
{
        const struct type *t = w->type;
        int64_t inner = 1, count = type_elements(t);
        double largest = 0, *sums = arena_array(arena, (size_t)type_extent(t, along), sizeof *sums);
        for (int d = along + 1; d < t->rank; d++)
                inner *= type_extent(t, d);
        for (int64_t i = 0; i < count; i++)
                sums[i / inner % type_extent(t, along)] += fabs(constant_element(w->constant, i).f);
        for (int64_t i = 0; i < type_extent(t, along); i++)
                largest = fmax(largest, sums[i]);
        return largest;
}

int whole_outputs(const struct op *op)
{
        int batch, contracted;
        if (op->code == OP_convolve)
                return 0;
        op_ints(op, "batch_b", &batch);
        const int64_t *contract = op_ints(op, "contract_b", &contracted);
        return op->code == OP_dot && !batch && contracted == 1 && op_operand(op, 1)->type->rank == 2
                       ? 1 - (int)contract[0]
                       : -1;
}

int64_t whole_products(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int count = 0;
        if (op->code == OP_convolve)
                return type_extent(w, 0) ? type_elements(w) / type_extent(w, 0) : 0;
        const int64_t *contract = op_ints(op, "contract_a", &count);
        int64_t products = 1;
        for (int k = 0; k < count; k++)
                products *= type_extent(x, contract[k]);
        return products;
}

double whole_products_most(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type;
        int count = 0;
        if (op->code == OP_convolve)
                return (double)whole_products(op);
        const int64_t *contract = op_ints(op, "contract_a", &count);
        double products = 1;
        for (int k = 0; k < count; k++)
                products *= (double)dim_bound(op->region->function->module, x->dims[contract[k]]);
        return products;
}

double whole_sum_bound(const struct op *op)
{
        return (double)whole_products(op) * whole_largest(whole_range_of(op_operand(op, 0))) *
               whole_largest(whole_range_of(op_operand(op, 1)));
}

bool whole_in_floats(const struct op *op) { return whole_sum_bound(op) <= WHOLE_IN_FLOATS; }

struct whole_range *whole_ranges_of_sums(struct arena *arena, const struct op *op)
{
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        int along = whole_outputs(op);
        if (along < 0 || !value_is_constant(w) || !element_is_integer(x->type->element) ||
            !element_is_integer(w->type->element) || !type_is_static(w->type))
                return NULL;
        const struct whole_range numbers = whole_range_of(x);
        const double low = fmin(numbers.low, 0), high = fmax(numbers.high, 0);
        const struct type *t = w->type;
        int64_t inner = 1, count = type_elements(t), outputs = type_extent(t, along);
        struct whole_range *sums = arena_array(arena, (size_t)outputs + 1, sizeof *sums);
        for (int d = along + 1; d < t->rank; d++)
                inner *= type_extent(t, d);
        for (int64_t i = 0; i < count; i++) {
                double number = (double)constant_element(w->constant, i).i;
                struct whole_range *sum = &sums[i / inner % outputs];
                sum->low += fmin(number * low, number * high);
                sum->high += fmax(number * low, number * high);
        }
        return sums;
}
