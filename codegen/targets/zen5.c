/* AMD Zen 5 (2024): Turin, Granite Ridge. Not those for laptops, models from 0x20 to 0x2f and from
 * 0x60 on, whose vectors of 512 bits run as two halves.
 *
 * Not measured. AMD's Software Optimization Guide for the Zen 5 Microarchitecture (58455) has two
 * multiply-adds of 512 bits in a cycle, latency 4, and 64 bytes in a cycle from the second cache:
 * as neutral, where three quarters of these are reached. So it says its caches alone. */
#include "ir/target.h"

extern const struct target target_x86_64_v4_bf16, target_zen5;

const struct target target_zen5 = {
        .name = "zen5",
        .doc = "AMD Zen 5: what x86-64-v4-bf16 has, and a larger first cache",
        .base = &target_x86_64_v4_bf16,
        .processors = (const struct processor[]){
                { "AuthenticAMD", 26, 0x00, 0x1f },       /* Turin */
                { "AuthenticAMD", 26, 0x40, 0x4f },       /* Granite Ridge */
                { 0 }
        },
        .l1_bytes = 49152,
};
