/* SPDX-License-Identifier: MIT */
/* Predicts what dot_blocks costs.
 *
 *      products   multiply-adds of words, and loads that overlap with them; numbers unpacked for
 *                 each tile; where x has floats they become such, less their zero points
 *      totals     the sums of a block become floats, times the two scales; those of floats are
 *                 multiplied by one
 *      results    the epilogue and the store of each vector
 *
 * The sums of each block begin anew, so no latency has to be waited for. */
#include "engines/vector/dot_blocks_cost.h"

#include "cost/core.h"
#include "ir/tensor/block_weights.h"
#include "ir/target/rates.h"
#include "ir/tensor/packed_multiply.h"

double blocks_weights(const struct op *op)
{
        double bytes = 0;
        for (int i = 0; i < op->operand_count; i++) {
                const struct value *v = op_operand(op, i);
                if (v && value_is_constant(v))
                        bytes += (double)(type_elements(v->type) *
                                          element_info[v->type->element].bytes);
        }
        return bytes;
}

double blocks_tile_cost(const struct op *op, int64_t positions, int64_t vectors,
                        const struct target *target)
{
        /* A conversion to floats is three instructions: convert, multiply, multiply-add. Unpacking
         * is two: shift, mask; and two more for floats: convert, subtract. */
        const bool floats = op_operand(op, 0)->type->element == E_F32;
        const struct packed_bits p = packed_bits_of(op);
        const int to_float = floats ? 1 : 3 + p.minima, unpack = floats ? 4 : 2;
        /* Scales that have scales, and zeros, are converted and multiplied by these. */
        const int loaded = p.outers ? p.minima ? 6 : 3 : 1;
        const struct multiply *m = packed_bits_multiply(op, target);
        double words = (double)(p.bytes / p.group), planes = 8 / p.bits,
               sums = (double)(positions * vectors), issue = rate_issue(target),
               operation = rate_code_operation(target);
        double adds = words * planes * sums * rate_multiply(target, m),
               loads = words * (planes * (double)positions + (double)vectors) / issue,
               unpacked = p.bits < 8 || floats
                                  ? words * planes * (double)vectors * unpack * operation
                                  : 0,
               totals = sums * to_float / issue + (double)(positions + vectors * loaded) / issue;
        double block = cost_overlapped(adds, loads, target);
        return (double)p.blocks * (block + unpacked + totals) + rate_packed_result(target) * sums;
}
