/* SPDX-License-Identifier: MIT */
/* Predicts what sums in hardware tiles cost.
 *
 *      products   of tiles, which take their time however few of their positions count
 *      loads      of tiles of weights, and of positions once more where these are loaded in turn
 *      block      of sums, which are stored and become results vector by vector
 *      shapes     a change of the shape of all tiles takes as long as eleven products
 *
 * The rates were set by hand for a Xeon of 2023: a product of tiles takes 16 cycles by its
 * documentation. There is no table of layers as for convolve_packed
 * (docs/measurements/schedules.md), so the error is not known. */
#include "cost/tiles_cost.h"

#include "ir/target/rates.h"

double tiles_cost(const struct target *t, const struct multiply *m, double blocks, double steps,
                  double products, double loads)
{
        double step = products * rate_multiply(t, m) + loads * rate_tile_load(t);
        return blocks * (steps * step + rate_tile_block(t));
}

double tiles_panels_cost(const struct target *t, const struct multiply *m, int64_t panels,
                         int64_t vectors)
{
        return (double)panels * ((double)vectors * rate_multiply(t, m) + rate_tile_load(t));
}

double tiles_shapes_cost(const struct target *t) { return 2 * rate_tile_shape(t); }
