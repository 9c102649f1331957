/* SPDX-License-Identifier: MIT */
#include "ir/tensor/packed_multiply.h"

#include "ir/target/target.h"
#include "ir/tensor/block_weights.h"

const struct multiply *packed_multiply(const struct op *op, const struct target *target,
                                       enum packed_sums sums)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        const int lanes = sums == SUMS_IN_VECTORS ? 0 : (int)packed_lanes(x, w),
                  group = (int)packed_group(x, w);
        return sums == SUMS_OF_ROWS
                       ? multiply_find_rows(target, x->element, w->element, lanes, group)
                       : multiply_find(target, x->element, w->element, sums == SUMS_IN_TILES, lanes,
                                       group, (int)op_int(op, "limit"));
}

const struct multiply *packed_multiply_widest(const struct op *op, const struct target *target,
                                              enum packed_sums sums)
{
        const struct multiply *m = packed_multiply(op, target, sums);
        return m || !target->wide ? m : packed_multiply(op, target->wide, sums);
}

const struct multiply *packed_bits_multiply(const struct op *op, const struct target *target)
{
        const struct packed_bits p = packed_bits_of(op);
        if (op_operand(op, 0)->type->element == E_F32)
                return multiply_find(target, E_F32, E_U8, false, 0, (int)p.group, 0);
        return multiply_find(target, E_I8, E_U8, false, 0, (int)p.group,
                             block_weights_limit(p.bits));
}
