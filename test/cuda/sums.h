/* SPDX-License-Identifier: MIT */
/* f16, sums of products of it, and of what else tensor cores add up. */
#ifndef EXECUTOR_SUMS_H
#define EXECUTOR_SUMS_H
#include "executor.h"

/* d += a b: d is rows x columns, a rows x depth, b columns x depth. Products are exact and their sum is rounded once, from double;
 * with executor.cut_off in the manner of tensor cores: the terms are aligned to the largest exponent, cut off (towards zero) behind the bits
 * that the adder keeps, added, and the sum is cut off to f32 (arXiv 2512.07004). How many bits a GPU
 * keeps differs; `make bench-cuda` says how far its sums are from these. columns <= 128, depth <= 64. */
/* d and the others, n of them in all, in that manner; where one is no number, what adding them up makes */
float sum_as_cores(const double *terms, int n);
void add_products(float *d, const uint16_t *a, const uint16_t *b, int rows, int columns, int depth);
#endif
