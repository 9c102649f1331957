/* SPDX-License-Identifier: MIT */
/* What the instructions of sm_90a mean, on a GPU: where matrices lie in shared memory, which lane has which sum, when a barrier is passed, what
 * arrives where. A line each: right or wrong. Whole numbers, so that sums are exact; then how far sums of other numbers are off.
 *
 *     nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a groups_leaves.cu -o groups_leaves && ./groups_leaves */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"

enum layout { SWIZZLED, PLAIN, PLAIN_PADDED };
static const char *const layouts[] = { "swizzled", "plain", "plain padded" };
enum { ROW = 128, X_ROWS = 64 };        /* bytes of products side by side; four or more instructions' worth */

static void check(cudaError_t e, const char *what)
{
        if (e != cudaSuccess) {
                printf("%s: %s\n", what, cudaGetErrorString(e));
                exit(1);
        }
}
static int failures;
static void say(const char *what, long wrong)
{
        failures += wrong != 0;
        printf("%-60s %s", what, wrong ? "WRONG" : "right");
        if (wrong)
                printf(" (%ld)", wrong);
        putchar('\n');
        fflush(stdout);
}
static unsigned draw(void)
{
        static unsigned s = 12345;
        s = s * 1664525u + 1013904223u;
        return s >> 8;
}

/* ---- products ---- */

struct bf16_8 { typedef float sum; enum { N = 8 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_bf16_8(d, x, w, add); } };
struct bf16_64 { typedef float sum; enum { N = 64 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_bf16_64(d, x, w, add); } };
struct bf16_128 { typedef float sum; enum { N = 128 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_bf16_128(d, x, w, add); } };
struct bf16_192 { typedef float sum; enum { N = 192 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_bf16_192(d, x, w, add); } };
struct bf16_256 { typedef float sum; enum { N = 256 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_bf16_256(d, x, w, add); } };
struct f16_64 { typedef float sum; enum { N = 64 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_f16_64(d, x, w, add); } };
struct tf32_64 { typedef float sum; enum { N = 64 }; LEAF void run(float *d, uint64_t x, uint64_t w, int add) { wgmma_tf32_64(d, x, w, add); } };
struct s8_64 { typedef int sum; enum { N = 64 }; LEAF void run(int *d, uint64_t x, uint64_t w, int add) { wgmma_s8_64(d, x, w, add); } };
struct u8_64 { typedef int sum; enum { N = 64 }; LEAF void run(int *d, uint64_t x, uint64_t w, int add) { wgmma_u8_64(d, x, w, add); } };

/* x: 64 rows of 128 bytes, w: N rows; the first instruction does not add */
template <class F, int LAYOUT> static __global__ void multiply(const unsigned char *x, const unsigned char *w, typename F::sum *y)
{
        extern __shared__ __align__(1024) unsigned char shared[];
        constexpr int N = F::N, pad = LAYOUT == PLAIN_PADDED ? 16 : 0, across_x = X_ROWS * 16 + pad, across_w = N * 16 + pad;
        unsigned char *xs = shared, *ws = shared + 16384;
        for (int n = (int)threadIdx.x; n < (X_ROWS + N) * 8; n += 128) {
                int row = n / 8, chunk = n % 8;
                bool of_x = row < X_ROWS;
                unsigned char *to = of_x ? xs : ws;
                int r = of_x ? row : row - X_ROWS;
                *(uint4 *)(to + (LAYOUT == SWIZZLED ? r * 128 + ((chunk ^ (r & 7)) << 4) : chunk * (of_x ? across_x : across_w) + r * 16)) =
                        *(const uint4 *)((of_x ? x : w) + r * 128 + chunk * 16);
        }
        typename F::sum d[N / 2];
        for (int i = 0; i < N / 2; i++)
                d[i] = (typename F::sum)1000000;
        fence_units();
        __syncthreads();
        units_begin();
#pragma unroll
        for (int k = 0; k < 4; k++)
                if (LAYOUT == SWIZZLED)
                        F::run(d, matrix_swizzled(xs + k * 32), matrix_swizzled(ws + k * 32), k > 0);
                else
                        F::run(d, matrix_plain(xs + k * 2 * across_x, across_x, 128), matrix_plain(ws + k * 2 * across_w, across_w, 128), k > 0);
        units_commit();
        units_wait<0>();
        for (int i = 0; i < N / 2; i++)
                y[threadIdx.x * (N / 2) + i] = d[i];
}

enum type { BF16, F16, TF32, S8, U8 };
static const int type_bytes[] = { 2, 2, 4, 1, 1 };
static double number(const unsigned char *p, int type)
{
        float f;
        unsigned bits;
        uint16_t h;
        switch (type) {
        case S8: return (signed char)*p;
        case U8: return *p;
        case BF16: memcpy(&h, p, 2), bits = (unsigned)h << 16, memcpy(&f, &bits, 4); return f;
        case F16: { __half_raw r; memcpy(&r.x, p, 2); return __half2float(__half(r)); }
        default: memcpy(&f, p, 4); return f;
        }
}
static void put_number(unsigned char *p, int type, float f)
{
        unsigned bits;
        uint16_t h;
        switch (type) {
        case S8: case U8: *p = (unsigned char)(int)f; break;
        case BF16: h = __bfloat16_as_ushort(__float2bfloat16(f)), memcpy(p, &h, 2); break;
        case F16: h = __half_as_ushort(__float2half(f)), memcpy(p, &h, 2); break;
        default: memcpy(&bits, &f, 4), bits &= 0xffffe000u, memcpy(p, &bits, 4); break;
        }
}
template <class F, int LAYOUT> static void products(const char *name, int type, bool whole)
{
        constexpr int N = F::N;
        static unsigned char x[X_ROWS * ROW], w[256 * ROW];
        static typename F::sum y[128 * 128];
        const int bytes = type_bytes[type], depth = ROW / bytes, type_w = type == U8 ? S8 : type;
        for (int i = 0; i < X_ROWS * depth; i++)
                put_number(x + i * bytes, type, whole ? (float)((int)(draw() % 17) - (type == U8 ? 0 : 8)) : (float)(draw() % 65536) / 32768.0f - 1.0f);
        for (int i = 0; i < N * depth; i++)
                put_number(w + i * bytes, type_w, whole ? (float)((int)(draw() % 17) - 8) : (float)(draw() % 65536) / 32768.0f - 1.0f);
        unsigned char *xd, *wd;
        typename F::sum *yd;
        char line[128];
        snprintf(line, sizeof line, "%s 64x%dx%d of %d, %s", name, N, depth, depth / 4, layouts[LAYOUT]);
        check(cudaMalloc(&xd, sizeof x), line);
        check(cudaMalloc(&wd, sizeof w), line);
        check(cudaMalloc(&yd, sizeof y), line);
        check(cudaMemcpy(xd, x, sizeof x, cudaMemcpyHostToDevice), line);
        check(cudaMemcpy(wd, w, sizeof w, cudaMemcpyHostToDevice), line);
        check(cudaFuncSetAttribute(multiply<F, LAYOUT>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), line);
        multiply<F, LAYOUT><<<1, 128, 65536>>>(xd, wd, yd);
        check(cudaDeviceSynchronize(), line);
        check(cudaMemcpy(y, yd, sizeof(typename F::sum) * 128 * (N / 2), cudaMemcpyDeviceToHost), line);
        long wrong = 0;
        double worst = 0;
        for (int t = 0; t < 128; t++)
                for (int i = 0; i < N / 2; i++) {
                        int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
                        double sum = 0, size = 0;
                        for (int k = 0; k < depth; k++) {
                                double p = number(x + (row * depth + k) * bytes, type) * number(w + (column * depth + k) * bytes, type_w);
                                sum += p, size += fabs(p);
                        }
                        double off = fabs(sum - (double)y[t * (N / 2) + i]);
                        wrong += whole && off != 0;
                        worst = fmax(worst, size ? off / size : off);
                }
        if (whole)
                say(line, wrong);
        else {
                printf("%-60s off by 2^%.1f of the sum of magnitudes\n", line, log2(worst));
                failures += !(worst < 0x1p-20);
        }
        cudaFree(xd), cudaFree(wd), cudaFree(yd);
}

/* ---- x in registers, w across ---- */

struct across_f16_64 { enum { N = 64 }; LEAF void run(float *d, const unsigned *x, uint64_t w) { wgmma_f16_across_64(d, x, w); } };
struct across_f16_128 { enum { N = 128 }; LEAF void run(float *d, const unsigned *x, uint64_t w) { wgmma_f16_across_128(d, x, w); } };
struct across_bf16_256 { enum { N = 256 }; LEAF void run(float *d, const unsigned *x, uint64_t w) { wgmma_bf16_across_256(d, x, w); } };
enum { DEEP = 48 };                     /* channels */

/* x [64][DEEP], w [DEEP][N] */
template <class F> static __global__ void multiply_across(const uint16_t *x, const uint16_t *w, float *y)
{
        extern __shared__ __align__(1024) unsigned char shared[];
        constexpr int N = F::N;
        for (int i = (int)threadIdx.x; i < DEEP * N / 8; i += 128) {
                int k = i / (N / 8), chunk = i % (N / 8);
                *(uint4 *)(shared + (chunk / 8 * DEEP + k) * ROW + ((chunk % 8 ^ (k & 7)) << 4)) = *(const uint4 *)(w + k * N + chunk * 8);
        }
        float d[N / 2];
        for (int i = 0; i < N / 2; i++)
                d[i] = 1000.0f;
        unsigned a[DEEP / 16][4];
        const int row = (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4, pair = (int)threadIdx.x % 4 * 2;
        for (int k = 0; k < DEEP / 16; k++)
                for (int i = 0; i < 4; i++)
                        a[k][i] = *(const unsigned *)(x + (row + i % 2 * 8) * DEEP + k * 16 + i / 2 * 8 + pair);
        fence_units();
        __syncthreads();
        units_begin();
#pragma unroll
        for (int k = 0; k < DEEP / 16; k++)
                F::run(d, a[k], matrix_across(shared + k * 16 * ROW, DEEP * ROW));
        units_commit();
        units_wait<0>();
        for (int i = 0; i < N / 2; i++)
                y[threadIdx.x * (N / 2) + i] = d[i];
}
template <class F> static void products_across(const char *name, int type)
{
        constexpr int N = F::N;
        static uint16_t x[64 * DEEP], w[DEEP * 256];
        static float y[128 * 128];
        for (int i = 0; i < 64 * DEEP; i++)
                put_number((unsigned char *)(x + i), type, (float)((int)(draw() % 17) - 8));
        for (int i = 0; i < DEEP * N; i++)
                put_number((unsigned char *)(w + i), type, (float)((int)(draw() % 17) - 8));
        uint16_t *xd, *wd;
        float *yd;
        check(cudaMalloc(&xd, sizeof x), name);
        check(cudaMalloc(&wd, sizeof w), name);
        check(cudaMalloc(&yd, sizeof y), name);
        check(cudaMemcpy(xd, x, sizeof x, cudaMemcpyHostToDevice), name);
        check(cudaMemcpy(wd, w, sizeof w, cudaMemcpyHostToDevice), name);
        check(cudaFuncSetAttribute(multiply_across<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536), name);
        multiply_across<F><<<1, 128, 65536>>>(xd, wd, yd);
        check(cudaDeviceSynchronize(), name);
        check(cudaMemcpy(y, yd, sizeof(float) * 128 * (N / 2), cudaMemcpyDeviceToHost), name);
        long wrong = 0;
        for (int t = 0; t < 128; t++)
                for (int i = 0; i < N / 2; i++) {
                        int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
                        double sum = 1000;
                        for (int k = 0; k < DEEP; k++)
                                sum += number((unsigned char *)(x + row * DEEP + k), type) * number((unsigned char *)(w + k * N + column), type);
                        wrong += sum != (double)y[t * (N / 2) + i];
                }
        char line[128];
        snprintf(line, sizeof line, "%s 64x%dx%d, x in registers, w across", name, N, DEEP);
        say(line, wrong);
        cudaFree(xd), cudaFree(wd), cudaFree(yd);
}

/* ---- barriers and copies ---- */

enum { TURNS = 9, STAGES = 2, RUN = 4096 };
static __global__ void bulk(const unsigned char *from, unsigned *wrong)
{
        __shared__ __align__(128) unsigned char stages[STAGES][RUN];
        __shared__ uint64_t full[STAGES];
        if (threadIdx.x < STAGES)
                barrier_begin(full + threadIdx.x, 1);
        fence_units();
        __syncthreads();
        for (int t = 0; t < TURNS; t++) {
                int s = t % STAGES;
                unsigned parity = (unsigned)(t / STAGES % 2), bad = 0;
                bad += barrier_passed(full + s, parity);        /* not yet */
                bad += !barrier_passed(full + s, parity ^ 1);   /* the phase before is */
                __syncthreads();
                if (threadIdx.x == 0) {
                        barrier_expect(full + s, RUN);
                        copy_bulk(stages[s], from + t * RUN, RUN - 48, full + s);
                        copy_bulk(stages[s] + RUN - 48, from + t * RUN + RUN - 48, 48, full + s);
                }
                barrier_wait(full + s, parity);
                bad += !barrier_passed(full + s, parity);
                for (int i = (int)threadIdx.x; i < RUN; i += (int)blockDim.x)
                        bad += stages[s][i] != from[t * RUN + i];
                if (bad)
                        atomicAdd(wrong, bad);
                fence_units();
                __syncthreads();
        }
}
static __global__ void counted(const unsigned char *from, unsigned *wrong)
{
        __shared__ __align__(128) unsigned char stages[STAGES][RUN];
        __shared__ uint64_t full[STAGES];
        if (threadIdx.x < STAGES)
                barrier_begin(full + threadIdx.x, blockDim.x);
        __syncthreads();
        for (int t = 0; t < TURNS; t++) {
                int s = t % STAGES;
                for (int i = (int)threadIdx.x * 16; i < RUN; i += (int)blockDim.x * 16)
                        copy_async(stages[s] + i, from + t * RUN + i);
                barrier_arrive_copied(full + s);
                barrier_wait(full + s, (unsigned)(t / STAGES % 2));
                unsigned bad = 0;
                for (int i = (int)threadIdx.x; i < RUN; i += (int)blockDim.x)
                        bad += stages[s][i] != from[t * RUN + i];
                if (bad)
                        atomicAdd(wrong, bad);
                __syncthreads();
        }
}
/* two blocks, each copies half of what both need; one may go on when both have read */
static __global__ void __cluster_dims__(2, 1, 1) shared_copies(const unsigned char *from, unsigned *wrong)
{
        __shared__ __align__(128) unsigned char stages[STAGES][RUN];
        __shared__ uint64_t full[STAGES], empty[STAGES];
        unsigned rank = cluster_rank();
        if (threadIdx.x < STAGES) {
                barrier_begin(full + threadIdx.x, 1);
                barrier_begin(empty + threadIdx.x, 2);
        }
        fence_barriers();
        fence_units();
        cluster_barrier();
        for (int t = 0; t < TURNS; t++) {
                int s = t % STAGES;
                unsigned parity = (unsigned)(t / STAGES % 2), bad = 0;
                if (threadIdx.x == 0) {
                        barrier_wait(empty + s, parity ^ 1);
                        barrier_expect(full + s, RUN);
                        copy_bulk_to(stages[s] + rank * (RUN / 2), from + t * RUN + rank * (RUN / 2), RUN / 2, full + s, 3);
                }
                barrier_wait(full + s, parity);
                for (int i = (int)threadIdx.x; i < RUN; i += (int)blockDim.x)
                        bad += stages[s][i] != from[t * RUN + i];
                if (bad)
                        atomicAdd(wrong, bad);
                fence_units();
                __syncthreads();
                if (threadIdx.x < 2)
                        barrier_arrive_at(empty + s, threadIdx.x);
        }
        cluster_barrier();
}
static void copies(const char *name, void (*kernel)(const unsigned char *, unsigned *), int blocks)
{
        static unsigned char bytes[TURNS * RUN];
        for (int i = 0; i < TURNS * RUN; i++)
                bytes[i] = (unsigned char)draw();
        unsigned char *from;
        unsigned *wrong, bad = 0;
        check(cudaMalloc(&from, sizeof bytes), name);
        check(cudaMalloc(&wrong, 4), name);
        check(cudaMemcpy(from, bytes, sizeof bytes, cudaMemcpyHostToDevice), name);
        check(cudaMemset(wrong, 0, 4), name);
        kernel<<<blocks, 128>>>(from, wrong);
        check(cudaDeviceSynchronize(), name);
        check(cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost), name);
        say(name, bad);
        cudaFree(from), cudaFree(wrong);
}

int main(void)
{
        copies("bulk copies, parities of their barriers", bulk, 1);
        copies("copies of 16 bytes that a barrier counts", counted, 1);
        copies("bulk copies to two blocks, arrivals at the other's barrier", shared_copies, 2);
        products<bf16_64, SWIZZLED>("bf16", BF16, true);
        products<bf16_64, PLAIN>("bf16", BF16, true);
        products<bf16_64, PLAIN_PADDED>("bf16", BF16, true);
        products<bf16_8, SWIZZLED>("bf16", BF16, true);
        products<bf16_8, PLAIN>("bf16", BF16, true);
        products<bf16_128, SWIZZLED>("bf16", BF16, true);
        products<bf16_192, PLAIN>("bf16", BF16, true);
        products<bf16_256, SWIZZLED>("bf16", BF16, true);
        products<bf16_256, PLAIN_PADDED>("bf16", BF16, true);
        products<f16_64, SWIZZLED>("f16", F16, true);
        products<f16_64, PLAIN_PADDED>("f16", F16, true);
        products<tf32_64, SWIZZLED>("tf32", TF32, true);
        products<tf32_64, PLAIN_PADDED>("tf32", TF32, true);
        products<s8_64, SWIZZLED>("s8", S8, true);
        products<s8_64, PLAIN_PADDED>("s8", S8, true);
        products<u8_64, SWIZZLED>("u8 by s8", U8, true);
        products<u8_64, PLAIN_PADDED>("u8 by s8", U8, true);
        products<bf16_64, SWIZZLED>("bf16", BF16, false);
        products<f16_64, SWIZZLED>("f16", F16, false);
        products<tf32_64, SWIZZLED>("tf32", TF32, false);
        products_across<across_f16_64>("f16", F16);
        products_across<across_f16_128>("f16", F16);
        products_across<across_bf16_256>("bf16", BF16);
        puts(failures ? "WRONG" : "all right");
        return failures != 0;
}
