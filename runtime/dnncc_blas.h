/* SPDX-License-Identifier: MIT */
/* libdnncc_blas computes products for generated code that dnncc wrote with --libraries=blas:always.
 * It stands on a CBLAS: OpenBLAS, BLIS, MKL, or the reference one. A program may have a
 * dnncc_blas_gemm of its own instead. */
#ifndef DNNCC_BLAS_H
#define DNNCC_BLAS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes `batch` products y = a b of f32, row by row: y [m, n], a [m, k], or [k, m] where
 * transposed_a is not 0, b [k, n], or [n, k] where transposed_b is not 0. Matrices of a batch lie
 * step_a and step_b elements apart (0: all have the same), results m n. Returns 0, or -1 where an
 * extent is more than the library's integers hold, before anything is computed. */
int dnncc_blas_gemm(size_t batch, size_t m, size_t n, size_t k, size_t transposed_a,
                    size_t transposed_b, size_t step_a, size_t step_b, const float *a,
                    const float *b, float *y);

#ifdef __cplusplus
}
#endif
#endif
