/* SPDX-License-Identifier: MIT */
/* Fixed-point arithmetic of numbers, for tables that are made while a model is read, as in Jacob et
 * al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
 * Inference" (2018). */
#include "front/compose/compose_fixed.h"

#include <math.h>

struct compose_multiplier compose_multiplier_of(double real)
{
        int shift = 0;
        const double fraction = real > 0 && isfinite(real) ? frexp(real, &shift) : 0;
        int64_t m = (int64_t)round(fraction * (double)(INT64_C(1) << 31));
        if (m == INT64_C(1) << 31) {
                m /= 2;
                shift++;
        }
        if (shift < -31 || !m)
                return (struct compose_multiplier){ 0, 0 };
        if (shift > 30)
                return (struct compose_multiplier){ INT32_MAX, 30 };
        return (struct compose_multiplier){ (int32_t)m, shift };
}

/* Returns x / 2^shift, rounded down. */
static int64_t floor_shift(int64_t x, int shift)
{
        return x >= 0 ? x >> shift : -((-x - 1) >> shift) - 1;
}

int32_t compose_fixed_shift(int32_t x, int exponent)
{
        if (!exponent)
                return x;
        return (int32_t)floor_shift(x + (INT64_C(1) << (exponent - 1)) - (x < 0), exponent);
}
