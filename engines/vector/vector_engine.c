/* SPDX-License-Identifier: MIT */
/* The vector engine computes contractions in register tiles of vectors, by schedules; the pass
 * vectorize handles everything else. */
#include "engines/vector/vector_engine.h"
#include "ir/target/engine.h"
#include "ir/target/target.h"
#include "kernels/kernel_state.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

static const struct lowering lowerings[] = {
        { .code = OP_convolve_packed,
          .reads = CONTRACT_READS,
          .prepare = contract_prepare,
          .choose = packed_choose,
          .images = true,
          .positions = true },
        { .code = OP_convolve_lanes,
          .reads = READS(F32) | READS(I8) | READS(U8),
          .prepare = lanes_prepare,
          .choose = lanes_choose,
          .images = true,
          .positions = true },
        { .code = OP_convolve_winograd,
          .reads = READS(F32),
          .prepare = winograd_prepare,
          .choose = winograd_choose,
          .images = true,
          .positions = true },
        { .code = OP_dot_blocks,
          .reads = READS(I8) | READS(F32),
          .prepare = blocks_prepare,
          .choose = blocks_choose,
          .images = true,
          .positions = true },
        { .code = OP_reduce_window,
          .reads = READS(F32) | READS(BF16) | READS(F16),
          .serves = windows_serve,
          .prepare = windows_prepare,
          .choose = windows_choose,
          .images = true,
          .positions = true },
        { .reads = 0 }
};

static bool fits(const struct target *target)
{
        enum { WORD = 4 };
        return target_vector_bytes(target) > WORD && target_vector_registers(target) > 0;
}

const struct engine engine_vector = {
        .name = "vector",
        .doc = "vectors of elements, and register tiles of them",
        .fits = fits,
        .vectors = true,
        .blocks = true,
        .float_schedules = true,
        .lowerings = lowerings,
};
