/* SPDX-License-Identifier: MIT */
#include "engines/stream/processor_cost.h"

#include "cost/scalars.h"
#include "ir/lower/lower_emit.h"
#include "ir/target/rates.h"

/* Returns the cycles of a product and its sum, in tiles of 2 x 2 as `jam` makes them; outside of
 * them floats wait for each other. */
static double product_cycles(bool floats, const struct target *t)
{
        enum { SIDE = 2 };
        const struct scalar_step step = { .sums = SIDE * SIDE,
                                          .loads = 2 * SIDE,
                                          .held = SIDE * SIDE + 2 * SIDE,
                                          .floats = floats };
        return scalars_step_cost(&step, t) / (SIDE * SIDE);
}

static double elements(const struct value *v) { return (double)type_elements(v->type); }

static bool is_constant(const struct value *v)
{
        return value_is_constant(v) ||
               (op_is(v, OP_broadcast) && value_is_constant(op_operand(v->op, 0)));
}

/* Is the convolution in fact elements times a number, or numbers per output, by one block for all,
 * or one element of x? */
static bool is_for_elements(const struct op *op)
{
        if (op->code != OP_convolve_packed)
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        const struct type *y = op_result(op)->type;
        const bool single = op_is(w, OP_broadcast) && is_constant(w);
        for (int d = 2; d < y->rank - 1; d++)
                if (!dim_is(w->type->dims[d], 1))
                        return false;
        return dim_is(y->dims[1], op_int(op, "groups")) && (single || is_constant(x));
}

static double op_cycles(const struct op *op, const struct target *t)
{
        const struct op_info *info = &op_info[op->code];
        const struct value *y = op->result_count ? op_result(op) : NULL;
        const double operation = rate_code_operation(t);
        if (!y || !op->operand_count || is_constant(y) || op->code == OP_reshape ||
            op->code == OP_broadcast || !type_is_static(y->type))
                return 0;
        const bool floats = element_is_float(op_operand(op, 0)->type->element);
        if (is_for_elements(op))
                return 2 * operation * elements(y);
        if (info->traits & TRAIT_CONTRACTION)
                return op_flops(op) / 2 * product_cycles(floats, t);
        if (op->code == OP_reduce_window) {
                double window = 1;
                int count;
                const int64_t *extents = op_ints(op, "window", &count);
                for (int d = 0; d < count; d++)
                        window *= (double)extents[d];
                return elements(y) * window * 2 * operation;
        }
        if (info->traits & TRAIT_REDUCTION)
                return elements(op_operand(op, 0)) * 2 * operation;
        const double one = op->code == OP_div                         ? rate_code_divide(t)
                           : op->code == OP_min || op->code == OP_max ? rate_code_extreme(t)
                           : info->traits & TRAIT_ELEMENTWISE && element_is_float(y->type->element)
                                   ? operation * rate_code_float(t)
                                   : operation;
        return one * elements(y);
}

double processor_cycles(const struct op *kernel, const struct target *target)
{
        /* Each result is loaded and stored. */
        const double moved = 2 * rate_code_operation(target);
        double cycles = 0;
        for (int k = 0; k < kernel->result_count; k++)
                cycles += type_is_static(kernel->results[k].type)
                                  ? moved * elements(&kernel->results[k])
                                  : 0;
        if (kernel->code != OP_fusion)
                return cycles + op_cycles(kernel, target);
        for (const struct op *op = kernel->regions[0]->first; op; op = op->next)
                cycles += op_cycles(op, target);
        return cycles;
}
