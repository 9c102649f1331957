/* SPDX-License-Identifier: MIT */
/* y = relu(x w + bias) by the units of sm_90a: what gemm.cu does, with fewer instructions.
 *
 *     block 128 x 128, two warpgroups of 64 x 128, 64 channels a stage, 4 stages of 32 KB
 *     x  by cp.async, row by row        w  one bulk copy a stage: it is packed at compile time as the very
 *     bytes that a stage holds, so that no tensor map (and no driver call to make one) is needed */
#include <stdint.h>
#include "leaf.h"

enum { TILE = 128, DEPTH = 64, STAGES = 4, THREADS = 256 };
enum { HALF_STAGE = TILE * DEPTH * 2, STAGE_BYTES = 2 * HALF_STAGE, HOPPER_SHARED = STAGES * STAGE_BYTES + 1024 };

static __device__ __forceinline__ void fetch(unsigned char *stage, uint64_t *full, const uint16_t *x, const unsigned char *w,
                                             int m, int turn, int turns, int M, int K)
{
#pragma unroll
        for (int i = 0; i < TILE * 8 / THREADS; i++) {
                int row = (int)threadIdx.x / 8 + i * (THREADS / 8), chunk = (int)threadIdx.x % 8;
                bool there = m + row < M && turn < turns;
                copy_async(stage + row * 128 + ((chunk ^ (row & 7)) << 4),
                           there ? x + (int64_t)(m + row) * K + turn * DEPTH + chunk * 8 : x, there);
        }
        if (threadIdx.x == 0 && turn < turns) {
                barrier_expect(full, HALF_STAGE);
                copy_bulk(stage + HALF_STAGE, w + (int64_t)turn * HALF_STAGE, HALF_STAGE, full);
        }
}

__global__ void __launch_bounds__(THREADS, 1)
hopper(const uint16_t *__restrict__ x, const unsigned char *__restrict__ w, const float *__restrict__ bias,
       uint16_t *__restrict__ y, int M, int N, int K)
{
        unsigned char *const shared = shared_memory();
        uint64_t *const full = (uint64_t *)(shared + STAGES * STAGE_BYTES);
        int group = (int)threadIdx.x / 128, warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
        int m = (int)blockIdx.y * TILE, n = (int)blockIdx.x * TILE, turns = K / DEPTH;
        const unsigned char *ws = w + (int64_t)blockIdx.x * turns * HALF_STAGE;
        float acc[64] = {};
        if (threadIdx.x < STAGES)
                barrier_begin(full + threadIdx.x, 1);
        shared_to_units();
        __syncthreads();
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
                fetch(shared + s * STAGE_BYTES, full + s, x, ws, m, s, turns, M, K);
                copy_commit();
        }
        for (int t = 0; t < turns; t++) {
                unsigned char *stage = shared + t % STAGES * STAGE_BYTES;
                copy_wait(STAGES - 2);
                units_wait(0);        /* for who reads the stage that is fetched next */
                shared_to_units();
                __syncthreads();
                barrier_wait(full + t % STAGES, (unsigned)(t / STAGES % 2));
                units_begin();
#pragma unroll
                for (int k = 0; k < DEPTH / 16; k++)
                        wgmma_f16(acc, stage + group * (HALF_STAGE / 2) + k * 32, stage + HALF_STAGE + k * 32);
                units_commit();
                fetch(shared + (t + STAGES - 1) % STAGES * STAGE_BYTES, full + (t + STAGES - 1) % STAGES, x, ws, m,
                      t + STAGES - 1, turns, M, K);
                copy_commit();
        }
        units_wait(0);
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                        int p = m + group * 64 + warp * 16 + lane / 4 + h * 8, o = n + j * 8 + lane % 4 * 2;
                        if (p < M && o < N) {
                                float v0 = acc[4 * j + 2 * h] + bias[o], v1 = acc[4 * j + 2 * h + 1] + bias[o + 1];
                                *(uint32_t *)(y + (int64_t)p * N + o) = half_of_float(v0 > 0 ? v0 : 0) |
                                                                        (uint32_t)half_of_float(v1 > 0 ? v1 : 0) << 16;
                        }
                }
}

extern "C" int gemm_prepare(void)
{
        return cudaFuncSetAttribute(hopper, cudaFuncAttributeMaxDynamicSharedMemorySize, HOPPER_SHARED) == cudaSuccess ? 0 : -1;
}
/* as the compiler would: for every 128 outputs and 64 channels the bytes of a stage */
static void pack(unsigned char *to, const uint16_t *w, int N, int K)
{
        for (int n = 0; n < (N + TILE - 1) / TILE * TILE; n++)
                for (int k = 0; k < K; k++) {
                        unsigned char *stage = to + ((int64_t)(n / TILE) * (K / DEPTH) + k / DEPTH) * HALF_STAGE;
                        int row = n % TILE, chunk = k % DEPTH / 8;
                        *(uint16_t *)(stage + row * 128 + ((chunk ^ (row & 7)) << 4) + k % 8 * 2) = n < N ? w[(int64_t)n * K + k] : 0;
                }
}
extern "C" int gemm_run(const uint16_t *x, const unsigned char *w, const float *bias, uint16_t *y, int M, int N, int K,
                        cudaStream_t stream)
{
        dim3 grid, block;
        grid.x = (unsigned)(N + TILE - 1) / TILE;
        grid.y = (unsigned)(M + TILE - 1) / TILE;
        block.x = THREADS;
        void *args[] = { &x, &w, &bias, &y, &M, &N, &K };
        return cudaLaunchKernel(hopper, grid, block, args, HOPPER_SHARED, stream) == cudaSuccess ? 0 : -1;
}
