/* SPDX-License-Identifier: MIT */
/* The stream engine turns convolutions of bytes into streams of instructions for a machine beside
 * the processor; the scalar engine handles everything else. */
#include "engines/stream/streams.h"
#include "ir/target/engine.h"
#include "ir/target/target.h"
#include "kernels/kernels.h"
#include "schedule/choose.h"

static const struct lowering lowerings[] = {
        { .code = OP_convolve_packed, .reads = CONTRACT_READS, .kind = SCHEDULE_stream },
        { .reads = 0 }
};

static bool fits(const struct target *target) { return target_accelerator(target); }

const struct engine engine_stream = {
        .name = "stream",
        .fixed = true,
        .doc = "streams of instructions for a machine beside the processor",
        .base = &engine_scalar,
        .fits = fits,
        .blocks = true,
        .layout = LAYOUT_IN_BLOCKS,
        .lowerings = lowerings,
        .schedule = stream_choose,
        .kernel = stream_kernel,
};
