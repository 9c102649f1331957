/* SPDX-License-Identifier: MIT */
/* This machine is like the first TPU; README.md says which numbers come from its paper. These are
 * our assumptions: a row takes 512 cycles through the array (256 each way, as in the paper's
 * picture of the wave); it is activated in one cycle and 8 more; there are 64 KiB of parameters; a
 * launch takes five microseconds from a processor of 2.3 GHz. */
#include "codegen/unified/unified.h"

const struct machine machine_unified = {
        .name = "unified",
        .doc = "like the first TPU: 256 x 256 products of int8, activations in a unified buffer, weights through a FIFO",
        .batch = 1, .block_in = 256, .block_out = 256,
        .memories = {
                [UNIFIED_UB] = { "ub", 24 << 20, 1, 256, 8, UNIFIED_STAGE_HOST, false },
                [UNIFIED_FIFO] = { "fifo", 256 << 10, 256, 256, 8, UNIFIED_STAGE_WEIGHTS,
                                   .fifo = true },
                [UNIFIED_ACC] = { "acc", 4 << 20, 1, 256, 32, -1, false },
                [UNIFIED_PAR] = { "par", 64 << 10, 1, 256, 32, UNIFIED_STAGE_HOST, false },
        },
        .inputs = UNIFIED_UB, .weights = UNIFIED_FIFO, .sums = UNIFIED_ACC, .leaves = UNIFIED_UB,
        .stored = UNIFIED_UB, .lists = -1,
        .activates = true, .parameters = UNIFIED_PAR,
        .stages = { [UNIFIED_STAGE_HOST] = "host", [UNIFIED_STAGE_WEIGHTS] = "weights",
                    [UNIFIED_STAGE_MULTIPLY] = "multiply",
                    [UNIFIED_STAGE_ACTIVATE] = "activate" },
        .stage_count = UNIFIED_STAGES, .compute = UNIFIED_STAGE_MULTIPLY,
        .store = UNIFIED_STAGE_HOST, .activate = UNIFIED_STAGE_ACTIVATE,
        .awaits = true,
        .limits = {
                .counters = 2, .count = 65535,
                .list = 1, .apart = 1,
                .rows = 98304,
                .immediate_bits = 32, .shift = 31,
        },
        .cycles = {
                .beat_bytes = 20, .weight_bytes = 43,
                .change = 256, .product_fill = 512, .operation_fill = 8,
                .processor = 3.3, .launch = 3500,
        },
};
