/* SPDX-License-Identifier: MIT */
/* y = relu(x w + bias) in fp16, sums in f32: what a scheduled product could print as.
 *
 *     x  M x K, rows as they lie        w  N x K, as packed at compile time        y  M x N
 *     block 128 x 128, 8 warps of 64 x 32, 32 channels a stage, 4 stages by cp.async
 *
 * A row of a stage is 64 bytes, four chunks; chunk c of row r lies at c ^ (r / 2 % 4), so that ldmatrix
 * reads eight rows from all banks. */
#include <stdint.h>
#include "leaf.h"

enum { ROWS = 128, COLUMNS = 128, DEPTH = 32, STAGES = 4, THREADS = 256 };
enum { STAGE_BYTES = (ROWS + COLUMNS) * DEPTH * 2, GEMM_SHARED = STAGES * STAGE_BYTES };

static __device__ __forceinline__ int chunk_at(int row, int chunk) { return row * 64 + ((chunk ^ (row >> 1 & 3)) << 4); }

/* one stage: 128 rows of x and of w, 4 chunks each, 256 threads */
static __device__ __forceinline__ void fetch(unsigned char *stage, const uint16_t *x, const uint16_t *w, int m, int n,
                                             int k, int M, int N, int K)
{
#pragma unroll
        for (int i = 0; i < ROWS * 4 / THREADS; i++) {
                int row = (int)threadIdx.x / 4 + i * (THREADS / 4), chunk = (int)threadIdx.x % 4;
                bool there = m + row < M && k < K;
                copy_async(stage + chunk_at(row, chunk), there ? x + (int64_t)(m + row) * K + k + chunk * 8 : x, there);
        }
#pragma unroll
        for (int i = 0; i < COLUMNS * 4 / THREADS; i++) {
                int row = (int)threadIdx.x / 4 + i * (THREADS / 4), chunk = (int)threadIdx.x % 4;
                bool there = n + row < N && k < K;
                copy_async(stage + ROWS * 64 + chunk_at(row, chunk), there ? w + (int64_t)(n + row) * K + k + chunk * 8 : w,
                           there);
        }
}

__global__ void __launch_bounds__(THREADS, 2)
gemm(const uint16_t *__restrict__ x, const uint16_t *__restrict__ w, const float *__restrict__ bias,
     uint16_t *__restrict__ y, int M, int N, int K)
{
        unsigned char *const shared = shared_memory();
        int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
        int m = (int)blockIdx.y * ROWS, n = (int)blockIdx.x * COLUMNS;
        int row = warp / 4 * 64, column = warp % 4 * 32;
        float acc[4][4][4] = {};
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
                fetch(shared + s * STAGE_BYTES, x, w, m, n, s * DEPTH, M, N, K);
                copy_commit();
        }
        int turns = K / DEPTH;
        for (int t = 0; t < turns; t++) {
                copy_wait(STAGES - 2);
                __syncthreads();
                fetch(shared + (t + STAGES - 1) % STAGES * STAGE_BYTES, x, w, m, n, (t + STAGES - 1) * DEPTH, M, N, K);
                copy_commit();
                const unsigned char *xs = shared + t % STAGES * STAGE_BYTES, *ws = xs + ROWS * 64;
#pragma unroll
                for (int k = 0; k < 2; k++) {
                        uint32_t a[4][4], b[2][4];
#pragma unroll
                        for (int i = 0; i < 4; i++)
                                load_matrices(a[i], xs + chunk_at(row + i * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
                        for (int j = 0; j < 2; j++)
                                load_matrices(b[j], ws + chunk_at(column + j * 16 + lane % 8 + lane / 16 * 8,
                                                                  k * 2 + lane / 8 % 2));
#pragma unroll
                        for (int i = 0; i < 4; i++)
#pragma unroll
                                for (int j = 0; j < 4; j++)
                                        mma_f16(acc[i][j], a[i], b[j / 2] + j % 2 * 2);
                }
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
#pragma unroll
                        for (int h = 0; h < 2; h++) {
                                int p = m + row + i * 16 + lane / 4 + h * 8, o = n + column + j * 8 + lane % 4 * 2;
                                if (p < M && o < N) {
                                        float v0 = acc[i][j][2 * h] + bias[o], v1 = acc[i][j][2 * h + 1] + bias[o + 1];
                                        uint32_t pair = half_of_float(v0 > 0 ? v0 : 0) |
                                                        (uint32_t)half_of_float(v1 > 0 ? v1 : 0) << 16;
                                        *(uint32_t *)(y + (int64_t)p * N + o) = pair;
                                }
                        }
}

/* once per device and process, outside of captures */
extern "C" int gemm_prepare(void)
{
        return cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, GEMM_SHARED) == cudaSuccess ? 0 : -1;
}

extern "C" int gemm_run(const uint16_t *x, const uint16_t *w, const float *bias, uint16_t *y, int M, int N, int K,
                        cudaStream_t stream)
{
        dim3 grid, block;
        grid.x = (unsigned)(N + COLUMNS - 1) / COLUMNS;
        grid.y = (unsigned)(M + ROWS - 1) / ROWS;
        block.x = THREADS;
        void *args[] = { &x, &w, &bias, &y, &M, &N, &K };
        return cudaLaunchKernel(gemm, grid, block, args, GEMM_SHARED, stream) == cudaSuccess ? 0 : -1;
}
