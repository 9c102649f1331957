/* SPDX-License-Identifier: MIT */
/* What layers cost over a few images of a batch: products at the speed that register tiles reach,
 * and reads from where their bytes were left. A byte is still in a cache if fewer bytes than the
 * cache has were touched since; what lies between that size and room_shared times as much is in
 * caches that cores share. Compare: all 32 images at a time took 1.19 and 1.21 times as long as one
 * at a time for SqueezeNet 1.1 and MobileNetV2, and as long for ResNet-18 (Zen 4, f32). */
#include "cost/microbatch_cost.h"

#include "cost/core.h"
#include "ir/target/rates.h"

double microbatch_room(int threads, const struct target *target)
{
        return (double)target_l2_bytes(target) * threads;
}

double microbatch_reading_cost(double bytes, double touched, int threads,
                               const struct target *target)
{
        const double room = microbatch_room(threads, target);
        if (touched <= room)
                return (1 - rate_l2_hidden(target)) * bytes / rate_l2(target);
        return (touched <= rate_room_shared(target) * room ? 1 : rate_far(target)) *
               cost_of_weights(bytes, target);
}

double microbatch_products_cost(double products, int width, const struct target *target)
{
        return products * width / 4 / cost_products_per_cycle(target);
}

double microbatch_elements_cost(double elements, int width, const struct target *target)
{
        return elements * width / 4 * rate_code_operation(target) / target_lanes(target, E_F32);
}

double microbatch_entry_cost(int threads, const struct target *target)
{
        return rate_kernel_entry(target) + (threads > 1 ? rate_hand_off(target) : 0);
}
