/* SPDX-License-Identifier: MIT */
#include "sums.h"

float float_of_half(uint16_t h)
{
        uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;
        if (e == 0)
                return (sign ? -1.0f : 1.0f) * (float)m * 0x1p-24f;
        return __uint_as_float(sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13);
}
uint16_t half_of_float(float f)
{
        uint32_t u = __float_as_uint(f);
        uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
        float a = fabsf(f);
        if (a != a)
                return 0x7fff;
        if (a >= 65520)
                return sign | 0x7c00;
        if (a < 0x1p-14f)               /* to a multiple of 2^-24 */
                return sign | (uint16_t)(int)nearbyintf(a * 0x1p24f);
        u = __float_as_uint(a);
        u += 0xfff + (u >> 13 & 1);
        return sign | (uint16_t)((u >> 13) - (112 << 10));
}

uint16_t bf16_of_float(float f)
{
        uint32_t u = __float_as_uint(f);
        return f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

enum { KEPT = 25 };     /* bits of an aligned term: one more than f32 has */

/* towards zero to a multiple of 2^unit */
static double cut(double a, int unit) { return ldexp(trunc(ldexp(a, -unit)), unit); }

static float as_cores(const double *terms, int n)
{
        int largest = -1000, e;
        double sum = 0;
        for (int i = 0; i < n; i++)
                if (terms[i] != 0) {
                        frexp(terms[i], &e);
                        largest = e > largest ? e : largest;
                }
        if (largest == -1000)
                return 0;
        for (int i = 0; i < n; i++)
                sum += cut(terms[i], largest - KEPT);
        if (sum == 0)
                return 0;
        frexp(sum, &e);
        return (float)cut(sum, e - 24 > -149 ? e - 24 : -149);
}
float sum_as_cores(const double *terms, int n)
{
        double sum = 0;
        for (int i = 0; i < n; i++)
                sum += terms[i];
        return isfinite(sum) ? as_cores(terms, n) : (float)sum;
}
static float column_as_cores(float c, const float *a, const float (*b)[128], int column, int depth)
{
        double terms[65];
        for (int k = 0; k < depth; k++)
                terms[k] = (double)(a[k] * b[k][column]);
        terms[depth] = c;
        return sum_as_cores(terms, depth + 1);
}
void add_products(float *d, const uint16_t *a, const uint16_t *b, int rows, int columns, int depth)
{
        float x[64], w[64][128];        /* products of two f16 are exact in f32 */
        for (int k = 0; k < depth; k++)
                for (int n = 0; n < columns; n++)
                        w[k][n] = float_of_half(b[n * depth + k]);
        for (int m = 0; m < rows; m++) {
                double sums[128];
                for (int k = 0; k < depth; k++)
                        x[k] = float_of_half(a[m * depth + k]);
                for (int n = 0; n < columns; n++)
                        sums[n] = d[m * columns + n];
                for (int k = 0; k < depth; k++)
                        for (int n = 0; n < columns; n++)
                                sums[n] += (double)(x[k] * w[k][n]);
                for (int n = 0; n < columns; n++)
                        d[m * columns + n] = executor.cut_off ? column_as_cores(d[m * columns + n], x, w, n, depth) : (float)sums[n];
        }
}
