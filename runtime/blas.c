/* SPDX-License-Identifier: MIT */
#include "runtime/dnncc_blas.h"

#include <cblas.h>
#include <limits.h>

/* The integers of a CBLAS may have 64 bits; those of 32 hold what is taken here. */
int dnncc_blas_gemm(size_t batch, size_t m, size_t n, size_t k, size_t transposed_a,
                    size_t transposed_b, size_t step_a, size_t step_b, const float *a,
                    const float *b, float *y)
{
        if (m > INT_MAX || n > INT_MAX || k > INT_MAX)
                return -1;
        for (size_t i = 0; i < batch; i++)
                cblas_sgemm(CblasRowMajor, transposed_a ? CblasTrans : CblasNoTrans,
                            transposed_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1.0f,
                            a + i * step_a, (int)(transposed_a ? m : k), b + i * step_b,
                            (int)(transposed_b ? k : n), 0.0f, y + i * m * n, (int)n);
        return 0;
}
