/* SPDX-License-Identifier: MIT */
/* The tile engine is the vector engine, with some products in hardware tiles (AMX), or in tiles of
 * vector registers (i8mm). */
#include "engines/tile/tile_engine.h"
#include "ir/target/engine.h"
#include "ir/target/target.h"
#include "kernels/contract.h"
#include "kernels/kernel_state.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

static bool has_tiles(const struct op *op, const struct target *target)
{
        return contract_multiply(op, target, true);
}

static const struct lowering lowerings[] = {
        { .code = OP_convolve_packed,
          .reads = CONTRACT_READS,
          .serves = has_tiles,
          .prepare = contract_prepare,
          .choose = tiles_choose,
          .images = true },
        { .reads = 0 }
};

static bool fits(const struct target *target)
{
        return engine_vector.fits(target) && multiply_registers(target);
}

const struct engine engine_tile = {
        .name = "tile",
        .doc = "vectors, and products in hardware tiles",
        .base = &engine_vector,
        .fits = fits,
        .vectors = true,
        .blocks = true,
        .float_schedules = true,
        .hardware_tiles = true,
        .lowerings = lowerings,
};
