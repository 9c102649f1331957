/* SPDX-License-Identifier: MIT */
/* Every leaf on random operands, its results in hexadecimal, a line each: `make bench-cuda` compares what a GPU prints with what the executor does.
 * Lines of sums of products have the operands' sum of magnitudes behind them, those of exponentials their own, for these may be rounded in other ways. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/leaf.h"

enum { LANES = 32, WORDS = 64 };

/* in: 32 x 64 words at random; out: as many */
static __global__ void halves(const uint32_t *in, uint32_t *out)
{
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i++) {
                float f;
                memcpy(&f, in + l * WORDS + i, 4);
                float back = float_of_half((uint16_t)in[l * WORDS + i]);
                uint32_t bits;
                memcpy(&bits, &back, 4);
                /* which NaN is not compared: instructions keep none of its bits */
                out[l * WORDS + i] = (f == f ? half_of_float(f) : 0x7e00u) ^ (back == back ? bits << 1 : 1);
        }
}
/* numbers alone: which NaN it is, is not compared */
static __global__ void pairs(const uint32_t *in, uint32_t *out)
{
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i++) {
                float f[2];
                for (int k = 0; k < 2; k++) {
                        memcpy(f + k, in + l * WORDS + (i + k) % WORDS, 4);
                        f[k] = f[k] == f[k] ? f[k] : 0;
                }
                out[l * WORDS + i] = i % 2 ? pair_bf16(f[0], f[1]) : pair_f16(f[0], f[1]);
        }
}
static __global__ void shuffles(const uint32_t *in, uint32_t *out)
{
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i++) {
                uint32_t v = in[l * WORDS + i];
                out[l * WORDS + i] = i % 5 == 0   ? __shfl_xor_sync(0xffffffffu, v, i % 32)
                                     : i % 5 == 1 ? __shfl_sync(0xffffffffu, v, i)
                                     : i % 5 == 2 ? __shfl_up_sync(0xffffffffu, v, (unsigned)i % 32)
                                     : i % 5 == 3 ? __shfl_down_sync(0xffffffffu, v, (unsigned)i % 32)
                                                  : __ballot_sync(0xffffffffu, (int)(v >> 31));
        }
}
static __global__ void copies(const uint32_t *in, uint32_t *out)
{
        uint32_t *shared = (uint32_t *)shared_memory();
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i += 4)
                copy_async(shared + l * WORDS + i, in + l * WORDS + i, i % 3 != 0);
        copy_commit();
        copy_wait(0);
        __syncthreads();
        for (int i = 0; i < WORDS; i++)
                out[l * WORDS + i] = shared[(l ^ 1) * WORDS + i];
}
static __global__ void matrices(const uint32_t *in, uint32_t *out)
{
        uint32_t *shared = (uint32_t *)shared_memory();
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i++)
                shared[l * WORDS + i] = in[l * WORDS + i];
        __syncthreads();
        for (int i = 0; i < WORDS; i += 4)
                load_matrices(out + l * WORDS + i, shared + (l * 7 % 32) * WORDS + i);
}
/* small halves, so that sums do not overflow; out: 4 sums, 4 sums of magnitudes, for each of 8 products */
static __global__ void products(const uint32_t *in, uint32_t *out)
{
        int l = (int)threadIdx.x;
        for (int p = 0; p < 8; p++) {
                uint32_t a[4], b[2], a1[4], b1[2];
                float d[4], magnitudes[4];
                for (int i = 0; i < 6; i++) {
                        uint32_t w = in[l * WORDS + p * 6 + i] & 0x8fff8fffu, w2 = w | 0x20002000u;
                        if (i < 4)
                                a[i] = w2, a1[i] = w2 & 0x7fff7fffu;
                        else
                                b[i - 4] = w2, b1[i - 4] = w2 & 0x7fff7fffu;
                }
                for (int i = 0; i < 4; i++)
                        d[i] = (float)(int)(in[l * WORDS + 48 + i] % 2001) / 1000.0f - 1.0f, magnitudes[i] = d[i] < 0 ? -d[i] : d[i];
                mma_f16(d, a, b);
                mma_f16(magnitudes, a1, b1);
                memcpy(out + l * WORDS + p * 8, d, 16);
                memcpy(out + l * WORDS + p * 8 + 4, magnitudes, 16);
        }
}

/* of what is at most 0, as shares of attention are; out: 4 of them, 4 times the same as their magnitudes */
static __device__ float exponential(float x)
{
#ifdef CUDA_CPU
        const double share = exp2((double)(x * 1.442695f));
        return share < 1.17549435e-38 ? 0.0f : (float)share;
#else
        float share;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(x * 1.442695f));
        return share;
#endif
}
static __global__ void exponentials(const uint32_t *in, uint32_t *out)
{
        int l = (int)threadIdx.x;
        for (int i = 0; i < WORDS; i += 8) {
                float share[4], magnitude[4];
                for (int k = 0; k < 4; k++) {
                        const float x = (float)(in[l * WORDS + i + k] >> 8) * (k % 2 ? -1.0f / 262144.0f : -1.0f / 16777216.0f);
                        share[k] = exponential(k == 3 && i % 16 ? -1000.0f : x);
                        magnitude[k] = share[k] > 1e-30f ? share[k] : 1e-30f;
                }
                memcpy(out + l * WORDS + i, share, 16);
                memcpy(out + l * WORDS + i + 4, magnitude, 16);
        }
}

static int run(const char *name, void (*kernel)(const uint32_t *, uint32_t *), const uint32_t *in, uint32_t *out)
{
        static uint32_t host[LANES * WORDS];
        void *arguments[] = { &in, &out };
        if (cudaLaunchKernel(kernel, dim3(1), dim3(LANES), arguments, sizeof host, 0) ||
            cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)) {
                fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
                return 1;
        }
        for (int i = 0; i < LANES * WORDS; i++)
                printf("%s%s%08x", i % 8 ? "" : name, i % 8 ? " " : ": ", (unsigned)host[i]), i % 8 == 7 ? (void)putchar('\n') : (void)0;
        return 0;
}
int main(void)
{
        static uint32_t host[LANES * WORDS];
        uint32_t *in, *out, state = 1;
        for (int i = 0; i < LANES * WORDS; i++) {
                state = state * 1664525u + 1013904223u;
                host[i] = state >> 16;
                state = state * 1664525u + 1013904223u;
                host[i] |= state & 0xffff0000u;
        }
        if (cudaMalloc(&in, sizeof host) || cudaMalloc(&out, sizeof host) || cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice))
                return 1;
        return run("halves", halves, in, out) || run("pairs", pairs, in, out) || run("shuffles", shuffles, in, out) || run("copies", copies, in, out) ||
               run("matrices", matrices, in, out) || run("products", products, in, out) || run("exponentials", exponentials, in, out);
}
