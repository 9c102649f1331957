/* SPDX-License-Identifier: MIT */
/* This is Xeon 6 with P-cores (2024): Granite Rapids.
 *
 * The rates were measured by probes of their own, not yet by make fit-cost, on a Xeon with its
 * caches (2 MB, third one 480 MB) at 3.4 to 3.8 GHz: f32 reaches 64 operations in a cycle, two
 * multiply-adds; vdpbf16ps 32, one in two cycles; vpdpbusd 256, two in one; tiles 1024 in bf16 and
 * 2048 in bytes, a product in 16 cycles. A core reads 160 to 174 GB/s from the second-level cache,
 * 26 to 30 from the third, 15 to 28 from memory. */
#include "ir/target/rates.h"

extern const struct target target_sapphirerapids, target_granite_rapids;

static const struct rates rates = {
        .memory = 7.5,
        .multiplies = (const struct multiply_rate[]){
                { "bf16_dot", 2 }, { "vnni", .5 }, { "fma", .5 }, { "amx_bf16", 16 },
                { "amx_int8", 16 }, { 0 }
        },
};

const struct target target_granite_rapids = {
        .name = "granite-rapids",
        .doc = "Xeon 6 with P-cores: what sapphirerapids has, and what it costs there",
        .base = &target_sapphirerapids,
        .processors = (const struct processor[]){
                { "GenuineIntel", 6, 173, 174 },          /* servers, and small servers */
                { 0 }
        },
        .rates = &rates,
};
