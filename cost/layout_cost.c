/* SPDX-License-Identifier: MIT */
/* Predicts what layouts cost: what is moved, and what contractions lose by them.
 *
 *      moves          copies in order, and conversions where channels and positions change places
 *      plain nests    a cost for each vector's product with a weight, larger the more of its loads
 *                     straddle two lines; a multiple of that where strides set neighbours apart; a
 *                     cost for each vector of results; one more vector, masked, at the ends of rows
 *      blocks         products at the peak speed; those of few channels, or of few outputs, and
 *                     depthwise ones reach a part of it
 *      losses         shares of a contraction's time
 *
 * The rates were set by hand; the loss by rows that are far apart was measured with gcc (10 to 18
 * %), convolutions of few channels are among the cases of make bench-operators. The error for a
 * region has not been recorded: a layout other than blocks must be better by a tenth. */
#include "cost/layout_cost.h"

#include "base/size.h"
#include "ir/target/rates.h"

double layout_copy_cost(double bytes, const struct target *target)
{
        return bytes / rate_copied(target);
}

double layout_conversion_cost(double bytes, bool whole, const struct target *target)
{
        return bytes / (whole ? rate_transposed_whole(target) : rate_transposed(target));
}

double layout_plain_cost(const struct op *convolve, const struct target *target)
{
        const struct type *w = op_operand(convolve, 1)->type, *y = op_result(convolve)->type;
        int spatial;
        const int64_t *strides = op_ints(convolve, "strides", &spatial),
                      extent = dim_bound(op_module(convolve), y->dims[y->rank - 1]);
        int64_t lanes = target_lanes(target, E_F32);
        double vectors = (double)(type_most_elements(op_module(convolve), y) / extent) *
                         (double)(divide_up(extent, lanes) + (type_extent(w, w->rank - 1) > 1));
        double product =
                (rate_plain_product(target) + rate_plain_straddling(target) * (double)lanes) *
                (strides[spatial - 1] == 1 ? 1 : rate_plain_strided(target));
        return vectors * ((double)type_elements(w) / (double)type_extent(w, 0) * product +
                          rate_plain_result(target));
}

double layout_blocks_cost(const struct op *convolve, bool one_by_one, const struct target *target)
{
        const struct type *w = op_operand(convolve, 1)->type, *y = op_result(convolve)->type;
        int64_t lanes = target_lanes(target, E_F32), rest = type_extent(y, 1) % lanes;
        double products = (double)type_elements(w) / (double)type_extent(w, 0) *
                          (double)type_most_elements(op_module(convolve), y) /
                          (double)type_extent(y, 1);
        return products * (double)(type_extent(y, 1) / lanes + (one_by_one ? rest : rest > 0)) /
               rate_issue(target);
}

double layout_reached_cost(double cycles, const struct target *target)
{
        return cycles / rate_layout_reached(target);
}

double layout_far_cost(double cycles, const struct target *target)
{
        return rate_layout_far(target) * cycles;
}

double layout_short_cost(double cycles, int group, const struct target *target)
{
        return rate_layout_short(target) * cycles / group;
}

double layout_direct_cost(double cycles, const struct target *target)
{
        return rate_layout_direct(target) * cycles;
}

double layout_again_cost(double cycles, const struct target *target)
{
        return rate_layout_again(target) * cycles;
}
