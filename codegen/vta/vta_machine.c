/* SPDX-License-Identifier: MIT */
/* This is VTA (apache/tvm-vta, HW_VER 0.0.2; Moreau and others, IEEE Micro 2019) as all its sample
 * configurations have it: an array of 16 x 16 multipliers for int8 with sums in int32. Memories
 * stand in the order of their numbers in instructions.
 *
 * Cycles are near its Chisel design: a bus of 8 bytes whose one read channel all loads share,
 * memory that answers after 16 cycles (24 with the address), at most 256 beats a burst, products
 * and operations at one step a cycle. They serve to compare schedules and have not been verified
 * against the circuit. The processor beside it is a Cortex-A9 at 650 MHz, the array runs at 100
 * (PYNQ-Z1). These are estimates: ten microseconds for registers behind a bus and for polling
 * whether it is done, two lines of 32 bytes cleaned in 40 ns. */
#include "codegen/vta/vta.h"

const struct machine machine_vta = {
        .name = "vta",
        .doc = "TVM's accelerator: 16 x 16 products of int8 a cycle, load, compute and store beside each other",
        .batch = 1, .block_in = 16, .block_out = 16,
        .memories = {
                [VTA_UOP] = { "uop", 32 << 10, 1, 1, 32, VTA_STAGE_COMPUTE, false },
                [VTA_WGT] = { "wgt", 256 << 10, 16, 16, 8, VTA_STAGE_LOAD, false },
                [VTA_INP] = { "inp", 32 << 10, 1, 16, 8, VTA_STAGE_LOAD, false },
                [VTA_ACC] = { "acc", 128 << 10, 1, 16, 32, VTA_STAGE_COMPUTE, false },
                [VTA_OUT] = { "out", 32 << 10, 1, 16, 8, VTA_STAGE_COMPUTE, false },
        },
        .inputs = VTA_INP, .weights = VTA_WGT, .sums = VTA_ACC, .leaves = VTA_ACC,
        .stored = VTA_OUT, .lists = VTA_UOP,
        .stages = { [VTA_STAGE_LOAD] = "load", [VTA_STAGE_COMPUTE] = "compute",
                    [VTA_STAGE_STORE] = "store" },
        .stage_count = VTA_STAGES, .compute = VTA_STAGE_COMPUTE, .store = VTA_STAGE_STORE,
        .limits = {
                .counters = 2, .count = 16383,
                .list = 2048,           /* Chisel's memory of micro-ops has no more. */
                .apart = 3,
                .rows = 65535, .pad = 15,
                .immediate_bits = 16, .shift = 15,
                .tokens = VTA_TOKENS_MOST,
        },
        .cycles = {
                .beat_bytes = 8, .burst_beats = 256,
                .load_latency = 24, .load_burst = 2,
                .store_latency = 8, .store_burst = 5,
                .fetch_latency = 24,
                .product_fill = 10, .operation_fill = 6,
                .idle = 2,
                .processor = 6.5, .launch = 1000, .clean_bytes = 16,
        },
};
