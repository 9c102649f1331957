/* SPDX-License-Identifier: MIT */
/* y = x w^T in bf16, 4096 x 4096 x 4096, by products of warps and of groups of warps, for choices of tiles, stages, layouts in shared memory
 * and who copies: what a target's row should count on, measured. A line each: right or wrong, median of 20, TFLOP/s.
 *
 *     nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a groups_product.cu -o groups_product -ldl
 *     ./groups_product [libcublas.so] */
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "groups.h"

enum { SIZE = 4096, DEPTH = 64, BAND = 8, ROWS = 128 };
enum layout { SWIZZLED, PLAIN, PLAIN_PADDED };

LEAF unsigned pair_of(float a, float b)
{
        unsigned r;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
        return r;
}

/* ---- groups ---- */

template <int BN, int LAYOUT> struct place {
        static constexpr int across_x = ROWS * 16 + (LAYOUT == PLAIN_PADDED ? 16 : 0), across_w = BN * 16;
        static constexpr int bytes_x = LAYOUT == SWIZZLED ? ROWS * 128 : (8 * across_x + 127) / 128 * 128, bytes_w = BN * 128;
        static constexpr int stage = bytes_x + bytes_w;
};

template <int BN> LEAF void product(float *d, uint64_t x, uint64_t w, int add)
{
        if constexpr (BN == 64)
                wgmma_bf16_64(d, x, w, add);
        else if constexpr (BN == 128)
                wgmma_bf16_128(d, x, w, add);
        else if constexpr (BN == 192)
                wgmma_bf16_192(d, x, w, add);
        else
                wgmma_bf16_256(d, x, w, add);
}
/* a stage's products of 64 rows */
template <int BN, int LAYOUT> LEAF void stage_product(float *d, const unsigned char *stage, int group, bool first)
{
        using P = place<BN, LAYOUT>;
        const unsigned char *w = stage + P::bytes_x;
#pragma unroll
        for (int k = 0; k < DEPTH / 16; k++)
                if constexpr (LAYOUT == SWIZZLED)
                        product<BN>(d, matrix_swizzled(stage + group * 64 * 128 + k * 32), matrix_swizzled(w + k * 32), !(first && k == 0));
                else
                        product<BN>(d, matrix_plain(stage + group * 64 * 16 + k * 2 * P::across_x, P::across_x, 128),
                                    matrix_plain(w + k * 2 * P::across_w, P::across_w, 128), !(first && k == 0));
}
/* rows of x for a stage by `threads` threads */
template <int BN, int LAYOUT> LEAF void fetch(unsigned char *stage, const uint16_t *x, int thread, int threads)
{
        using P = place<BN, LAYOUT>;
#pragma unroll
        for (int i = 0; i < ROWS * 8 / threads; i++) {
                int n = thread + i * threads, row, chunk;
                if (LAYOUT == PLAIN) {          /* eight rows side by side, four chunks of each, lest banks collide */
                        row = n / 64 * 8 + n % 8, chunk = n / 8 % 8;
                } else {
                        row = n / 8, chunk = n % 8;
                }
                int at = LAYOUT == SWIZZLED ? row * 128 + ((chunk ^ (row & 7)) << 4) : chunk * P::across_x + row * 16;
                copy_async(stage + at, x + (size_t)row * SIZE + chunk * 8);
        }
}
template <int BN> LEAF void store(uint16_t *y, const float *d, int m, int n, int group)
{
        int warp = (int)threadIdx.x / 32 % 4, lane = (int)threadIdx.x % 32;
        uint16_t *to = y + (size_t)(m + group * 64 + warp * 16 + lane / 4) * SIZE + n + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
                *(uint32_t *)(to + j * 8) = pair_of(d[4 * j], d[4 * j + 1]);
                *(uint32_t *)(to + (size_t)8 * SIZE + j * 8) = pair_of(d[4 * j + 2], d[4 * j + 3]);
        }
}
/* 8 rows of tiles at a time, so that neighbours share what the second cache has */
template <int BN> LEAF void tile_at(int t, int *m, int *n)
{
        constexpr int across = (SIZE + BN - 1) / BN;
        int band = t / (BAND * across), in = t % (BAND * across);
        *m = (band * BAND + in % BAND) * ROWS;
        *n = in / BAND * BN;
}

/* All threads copy, then multiply; products of one stage are under way while the next is awaited. */
template <int BN, int STAGES, int LAYOUT>
__global__ void __launch_bounds__(256, 1) alike(const uint16_t *__restrict__ x, const unsigned char *__restrict__ w, uint16_t *__restrict__ y)
{
        using P = place<BN, LAYOUT>;
        extern __shared__ __align__(1024) unsigned char shared[];
        uint64_t *full = (uint64_t *)(shared + STAGES * P::stage);
        const int turns = SIZE / DEPTH, group = (int)threadIdx.x / 128;
        int m, n;
        tile_at<BN>((int)blockIdx.x, &m, &n);
        const uint16_t *xs = x + (size_t)m * SIZE;
        const unsigned char *ws = w + (size_t)n / BN * turns * P::bytes_w;
        float d[BN / 2] = {};
        if (threadIdx.x < STAGES)
                barrier_begin(full + threadIdx.x, 1);
        fence_units();
        __syncthreads();
        for (int t = 0; t < STAGES - 2; t++) {
                unsigned char *stage = shared + t * P::stage;
                fetch<BN, LAYOUT>(stage, xs + t * DEPTH, (int)threadIdx.x, 256);
                if (threadIdx.x == 0) {
                        barrier_expect(full + t, P::bytes_w);
                        copy_bulk(stage + P::bytes_x, ws + (size_t)t * P::bytes_w, P::bytes_w, full + t);
                }
                copy_commit();
        }
        int slot = 0, next = STAGES - 2;
        unsigned parity = 0;
        for (int t = 0; t < turns; t++) {
                copy_wait(STAGES - 3);
                fence_units();
                __syncthreads();
                if (t + STAGES - 2 < turns) {
                        unsigned char *stage = shared + next * P::stage;
                        fetch<BN, LAYOUT>(stage, xs + (t + STAGES - 2) * DEPTH, (int)threadIdx.x, 256);
                        if (threadIdx.x == 0) {
                                barrier_expect(full + next, P::bytes_w);
                                copy_bulk(stage + P::bytes_x, ws + (size_t)(t + STAGES - 2) * P::bytes_w, P::bytes_w, full + next);
                        }
                }
                copy_commit();
                barrier_wait(full + slot, parity);
                units_begin();
                stage_product<BN, LAYOUT>(d, shared + slot * P::stage, group, false);
                units_commit();
                units_wait<1>();
                next = next + 1 == STAGES ? 0 : next + 1;
                if (++slot == STAGES)
                        slot = 0, parity ^= 1;
        }
        units_wait<0>();
        store<BN>(y, d, m, n, group);
}

/* Four warps copy for two groups that multiply; blocks go from tile to tile. LAG: a stage is handed on when so many later ones are on their
 * way; 0: the barrier counts the copies themselves. BLOCKS: of a cluster, which copy w for each other. */
template <int BN, int STAGES, int LAYOUT, int LAG, int BLOCKS>
__global__ void __launch_bounds__(384, 1) apart(const uint16_t *__restrict__ x, const unsigned char *__restrict__ w, uint16_t *__restrict__ y)
{
        using P = place<BN, LAYOUT>;
        extern __shared__ __align__(1024) unsigned char shared[];
        uint64_t *full = (uint64_t *)(shared + STAGES * P::stage), *empty = full + STAGES;
        constexpr int turns = SIZE / DEPTH, tiles = SIZE / ROWS * ((SIZE + BN - 1) / BN);
        const int group = (int)threadIdx.x / 128;
        const unsigned rank = BLOCKS > 1 ? cluster_rank() : 0;
        if (threadIdx.x < STAGES) {
                barrier_begin(full + threadIdx.x, 128 + 1);
                barrier_begin(empty + threadIdx.x, 2 * BLOCKS);
        }
        fence_barriers();
        fence_units();
        __syncthreads();
        if (BLOCKS > 1)
                cluster_barrier();
        int slot = 0;
        unsigned parity = 0;
        if (group == 2) {
                registers_less<40>();
                int late = 0, under_way = 0;    /* handed on next; not handed on */
                for (int t = (int)blockIdx.x; t < tiles; t += (int)gridDim.x) {
                        int m, n;
                        tile_at<BN>(t, &m, &n);
                        const uint16_t *xs = x + (size_t)m * SIZE;
                        const unsigned char *ws = w + (size_t)n / BN * turns * P::bytes_w;
                        for (int k = 0; k < turns; k++) {
                                unsigned char *stage = shared + slot * P::stage;
                                barrier_wait(empty + slot, parity ^ 1);
                                if (threadIdx.x == 256) {
                                        constexpr unsigned part = P::bytes_w / BLOCKS;
                                        barrier_expect(full + slot, P::bytes_w);
                                        if (BLOCKS > 1)
                                                copy_bulk_to(stage + P::bytes_x + rank * part, ws + (size_t)k * P::bytes_w + rank * part, part, full + slot,
                                                             (1u << BLOCKS) - 1);
                                        else
                                                copy_bulk(stage + P::bytes_x, ws + (size_t)k * P::bytes_w, part, full + slot);
                                }
                                fetch<BN, LAYOUT>(stage, xs + k * DEPTH, (int)threadIdx.x - 256, 128);
                                if (LAG) {
                                        copy_commit();
                                        if (++under_way > LAG) {
                                                copy_wait(LAG);
                                                fence_units();
                                                barrier_arrive(full + late);
                                                late = late + 1 == STAGES ? 0 : late + 1;
                                                under_way--;
                                        }
                                } else {
                                        barrier_arrive_copied(full + slot);
                                }
                                if (++slot == STAGES)
                                        slot = 0, parity ^= 1;
                        }
                }
                if (LAG) {
                        copy_wait(0);
                        fence_units();
                        for (; under_way; under_way--) {
                                barrier_arrive(full + late);
                                late = late + 1 == STAGES ? 0 : late + 1;
                        }
                }
        } else {
                registers_more<232>();
                int before = STAGES - 1;
                float d[BN / 2];
                for (int t = (int)blockIdx.x; t < tiles; t += (int)gridDim.x) {
                        int m, n;
                        tile_at<BN>(t, &m, &n);
                        for (int k = 0; k < turns; k++) {
                                barrier_wait(full + slot, parity);
                                if (!LAG)
                                        fence_units();
                                units_begin();
                                stage_product<BN, LAYOUT>(d, shared + slot * P::stage, group, k == 0);
                                units_commit();
                                units_wait<1>();
                                if (k && threadIdx.x % 128 < BLOCKS) {
                                        if (BLOCKS > 1)
                                                barrier_arrive_at(empty + before, threadIdx.x % 128);
                                        else
                                                barrier_arrive(empty + before);
                                }
                                before = slot;
                                if (++slot == STAGES)
                                        slot = 0, parity ^= 1;
                        }
                        units_wait<0>();
                        if (threadIdx.x % 128 < BLOCKS) {
                                if (BLOCKS > 1)
                                        barrier_arrive_at(empty + before, threadIdx.x % 128);
                                else
                                        barrier_arrive(empty + before);
                        }
                        store<BN>(y, d, m, n, group);
                }
        }
        if (BLOCKS > 1) {
                __syncthreads();
                cluster_barrier();
        }
}

/* ---- warps ---- */

LEAF void load_matrices(uint32_t r[4], const void *row)
{
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(row)) : "memory");
}
LEAF void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <int BM, int BN, int WM, int WN, int STAGES, int RESIDENT>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, RESIDENT) warps(const uint16_t *__restrict__ x, const uint16_t *__restrict__ w, uint16_t *__restrict__ y)
{
        constexpr int threads = BM / WM * (BN / WN) * 32, bytes = (BM + BN) * 128, turns = SIZE / DEPTH;
        extern __shared__ __align__(1024) unsigned char shared[];
        const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, row0 = warp / (BN / WN) * WM, column0 = warp % (BN / WN) * WN;
        constexpr int down = SIZE / BM, across = SIZE / BN;
        const int band = (int)blockIdx.x / (BAND * across), in = (int)blockIdx.x % (BAND * across);
        const int m = (band * BAND + in % BAND) * BM, n = in / BAND * BN;
        static_assert(down % BAND == 0, "bands");
        float acc[WM / 16][WN / 8][4] = {};
        auto fetch = [&](int t) {
                unsigned char *stage = shared + t % STAGES * bytes;
#pragma unroll
                for (int i = 0; i < (BM + BN) * 8 / threads; i++) {
                        int row = ((int)threadIdx.x + i * threads) / 8, chunk = (int)threadIdx.x % 8;
                        const uint16_t *from = row < BM ? x + (size_t)(m + row) * SIZE : w + (size_t)(n + row - BM) * SIZE;
                        copy_async(stage + row * 128 + ((chunk ^ (row & 7)) << 4), from + t * DEPTH + chunk * 8);
                }
        };
        for (int t = 0; t < STAGES - 1; t++) {
                fetch(t);
                copy_commit();
        }
        for (int t = 0; t < turns; t++) {
                copy_wait(STAGES - 2);
                __syncthreads();
                if (t + STAGES - 1 < turns)
                        fetch(t + STAGES - 1);
                copy_commit();
                const unsigned char *xs = shared + t % STAGES * bytes, *ws = xs + BM * 128;
#pragma unroll
                for (int k = 0; k < DEPTH / 16; k++) {
                        uint32_t a[WM / 16][4], b[WN / 16][4];
#pragma unroll
                        for (int i = 0; i < WM / 16; i++) {
                                int r = row0 + i * 16 + lane % 16, c = k * 2 + lane / 16;
                                load_matrices(a[i], xs + r * 128 + ((c ^ (r & 7)) << 4));
                        }
#pragma unroll
                        for (int j = 0; j < WN / 16; j++) {
                                int r = column0 + j * 16 + lane % 8 + lane / 16 * 8, c = k * 2 + lane / 8 % 2;
                                load_matrices(b[j], ws + r * 128 + ((c ^ (r & 7)) << 4));
                        }
#pragma unroll
                        for (int i = 0; i < WM / 16; i++)
#pragma unroll
                                for (int j = 0; j < WN / 8; j++)
                                        mma_bf16(acc[i][j], a[i], b[j / 2] + j % 2 * 2);
                }
        }
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int j = 0; j < WN / 8; j++)
#pragma unroll
                        for (int h = 0; h < 2; h++)
                                *(uint32_t *)(y + (size_t)(m + row0 + i * 16 + lane / 4 + h * 8) * SIZE + n + column0 + j * 8 + lane % 4 * 2) =
                                        pair_of(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
}

/* ---- host ---- */

static void check(cudaError_t e, const char *what)
{
        if (e != cudaSuccess) {
                printf("%s: %s\n", what, cudaGetErrorString(e));
                exit(1);
        }
}
static __global__ void fill(uint16_t *to, unsigned seed)
{
        for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < (size_t)SIZE * SIZE; i += gridDim.x * 256ull) {
                unsigned h = (unsigned)i * 2654435761u ^ seed;
                h ^= h >> 15, h *= 2246822519u, h ^= h >> 13, h *= 3266489917u, h ^= h >> 16;
                to[i] = __bfloat16_as_ushort(__float2bfloat16((float)(int)(h % 2001) / 1000.0f - 1.0f));
        }
}
/* as the compiler packs w for a stage */
static __global__ void pack(unsigned char *to, const uint16_t *w, int bn, int layout)
{
        for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < (size_t)SIZE * (SIZE / 8); i += gridDim.x * 256ull) {
                int n = (int)(i / (SIZE / 8)), chunk = (int)(i % (SIZE / 8));
                int row = n % bn, c = chunk % 8;
                unsigned char *stage = to + ((size_t)(n / bn) * (SIZE / DEPTH) + chunk / 8) * bn * 128;
                *(uint4 *)(stage + (layout == SWIZZLED ? row * 128 + ((c ^ (row & 7)) << 4) : (c * bn + row) * 16)) = *(const uint4 *)(w + i * 8);
        }
}
static __global__ void plain(const uint16_t *x, const uint16_t *w, float *y)
{
        __shared__ float xs[16][17], ws[16][17];
        int m = (int)blockIdx.y * 16, n = (int)blockIdx.x * 16, r = (int)threadIdx.y, c = (int)threadIdx.x;
        float sum = 0;
        for (int k = 0; k < SIZE; k += 16) {
                xs[r][c] = __bfloat162float(__ushort_as_bfloat16(x[(size_t)(m + r) * SIZE + k + c]));
                ws[r][c] = __bfloat162float(__ushort_as_bfloat16(w[(size_t)(n + r) * SIZE + k + c]));
                __syncthreads();
                for (int i = 0; i < 16; i++)
                        sum += xs[r][i] * ws[c][i];
                __syncthreads();
        }
        y[(size_t)(m + r) * SIZE + n + c] = sum;
}
static __global__ void compare(const uint16_t *y, const float *right, unsigned *wrong)
{
        unsigned count = 0;
        for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < (size_t)SIZE * SIZE; i += gridDim.x * 256ull) {
                float a = __bfloat162float(__ushort_as_bfloat16(y[i])), b = right[i];
                count += !(fabsf(a - b) <= 0.01f * fabsf(b) + 0.02f);
        }
        if (count)
                atomicAdd(wrong, count);
}

static uint16_t *x, *w, *y;
static unsigned char *packed;
static float *right_;
static unsigned *wrong;

template <class F> static void measure(const char *name, F launch)
{
        enum { TIMES = 20 };
        cudaEvent_t from, to;
        float ms[TIMES];
        unsigned bad = 0;
        check(cudaEventCreate(&from), name);
        check(cudaEventCreate(&to), name);
        check(cudaMemset(y, 0xff, (size_t)SIZE * SIZE * 2), name);
        check(cudaMemset(wrong, 0, 4), name);
        cudaError_t e = launch();
        if (e == cudaSuccess)
                e = cudaDeviceSynchronize();
        check(e, name);
        compare<<<1024, 256>>>(y, right_, wrong);
        check(cudaMemcpy(&bad, wrong, 4, cudaMemcpyDeviceToHost), name);
        for (int i = 0; i < TIMES; i++) {
                cudaEventRecord(from);
                launch();
                cudaEventRecord(to);
                check(cudaEventSynchronize(to), name);
                check(cudaEventElapsedTime(ms + i, from, to), name);
        }
        std::sort(ms, ms + TIMES);
        printf("%-44s %s  %8.1f us  %6.1f TFLOP/s", name, bad ? "WRONG" : "right", ms[TIMES / 2] * 1e3, 2.0 * SIZE * SIZE * SIZE / ms[TIMES / 2] / 1e9);
        if (bad)
                printf("  (%u wrong)", bad);
        putchar('\n');
        fflush(stdout);
}
template <class K> static cudaError_t run(K kernel, int blocks, int threads, int bytes, int cluster, void **args)
{
        cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (e != cudaSuccess)
                return e;
        cudaLaunchConfig_t c = {};
        cudaLaunchAttribute a = {};
        c.gridDim = dim3((unsigned)blocks), c.blockDim = dim3((unsigned)threads), c.dynamicSmemBytes = (size_t)bytes;
        if (cluster > 1) {
                a.id = cudaLaunchAttributeClusterDimension;
                a.val.clusterDim.x = (unsigned)cluster, a.val.clusterDim.y = a.val.clusterDim.z = 1;
                c.attrs = &a, c.numAttrs = 1;
        }
        return cudaLaunchKernelExC(&c, (const void *)kernel, args);
}
static int multiprocessors;
static const char *const layouts[] = { "swizzled", "plain", "plain padded" };
template <int BN> static void prepare(int layout)
{
        pack<<<1024, 256>>>(packed, w, BN, layout);
        check(cudaDeviceSynchronize(), "pack");
}
template <int BN, int STAGES, int LAYOUT> static void measure_alike(void)
{
        using P = place<BN, LAYOUT>;
        char name[80];
        void *args[] = { &x, &packed, &y };
        prepare<BN>(LAYOUT);
        snprintf(name, sizeof name, "alike 128x%d, %d stages, %s", BN, STAGES, layouts[LAYOUT]);
        measure(name, [&] { return run(alike<BN, STAGES, LAYOUT>, SIZE / ROWS * (SIZE / BN), 256, STAGES * P::stage + STAGES * 8, 1, args); });
}
template <int BN, int STAGES, int LAYOUT, int LAG, int BLOCKS> static void measure_apart(void)
{
        using P = place<BN, LAYOUT>;
        char name[80];
        void *args[] = { &x, &packed, &y };
        prepare<BN>(LAYOUT);
        snprintf(name, sizeof name, "apart 128x%d, %d stages, %s, lag %d, %d", BN, STAGES, layouts[LAYOUT], LAG, BLOCKS);
        measure(name, [&] {
                return run(apart<BN, STAGES, LAYOUT, LAG, BLOCKS>, multiprocessors / BLOCKS * BLOCKS, 384, STAGES * P::stage + STAGES * 16, BLOCKS, args);
        });
}
template <int BM, int BN, int WM, int WN, int STAGES, int RESIDENT> static void measure_warps(void)
{
        char name[80];
        void *args[] = { &x, &w, &y };
        snprintf(name, sizeof name, "warps %dx%d of %dx%d, %d stages, %d resident", BM, BN, WM, WN, STAGES, RESIDENT);
        measure(name, [&] {
                return run(warps<BM, BN, WM, WN, STAGES, RESIDENT>, SIZE / BM * (SIZE / BN), BM / WM * (BN / WN) * 32, STAGES * (BM + BN) * 128, 1, args);
        });
}
/* cublasGemmEx, where the library is: y' = w x' as it counts columns first */
static void measure_cublas(const char *path)
{
        void *library = dlopen(path, RTLD_NOW);
        if (!library) {
                printf("cublas: %s\n", dlerror());
                return;
        }
        int (*create)(void **) = (int (*)(void **))dlsym(library, "cublasCreate_v2");
        typedef int gemm(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
        gemm *multiply = (gemm *)dlsym(library, "cublasGemmEx");
        void *handle;
        if (!create || !multiply || create(&handle)) {
                printf("cublas: no handle\n");
                return;
        }
        enum { TRANSPOSED = 1, PLAIN_ = 0, BF16 = 14, SUM_F32 = 68, BEST = -1 };
        const float one = 1, zero = 0;
        measure("cublas", [&] {
                return (cudaError_t)multiply(handle, TRANSPOSED, PLAIN_, SIZE, SIZE, SIZE, &one, w, BF16, SIZE, x, BF16, SIZE, &zero, y, BF16, SIZE, SUM_F32, BEST);
        });
}
int main(int count, char **arguments)
{
        cudaDeviceProp p;
        check(cudaGetDeviceProperties(&p, 0), "device");
        multiprocessors = p.multiProcessorCount;
        printf("%s, %d multiprocessors\n", p.name, multiprocessors);
        const size_t bytes = (size_t)SIZE * SIZE * 2;
        check(cudaMalloc(&x, bytes), "x");
        check(cudaMalloc(&w, bytes), "w");
        check(cudaMalloc(&packed, bytes * 2), "packed");
        check(cudaMalloc(&y, bytes), "y");
        check(cudaMalloc(&right_, bytes * 2), "right");
        check(cudaMalloc(&wrong, 4), "wrong");
        fill<<<1024, 256>>>(x, 1);
        fill<<<1024, 256>>>(w, 77);
        plain<<<dim3(SIZE / 16, SIZE / 16), dim3(16, 16)>>>(x, w, right_);
        check(cudaDeviceSynchronize(), "plain");
        measure_cublas(count > 1 ? arguments[1] : "libcublas.so.12");
        measure_warps<128, 128, 64, 32, 3, 2>();
        measure_warps<128, 128, 64, 64, 3, 2>();
        measure_warps<128, 256, 64, 64, 4, 1>();
        measure_warps<256, 128, 64, 64, 4, 1>();
        measure_alike<128, 4, SWIZZLED>();
        measure_alike<128, 6, SWIZZLED>();
        measure_alike<128, 6, PLAIN>();
        measure_alike<128, 6, PLAIN_PADDED>();
        measure_alike<256, 4, SWIZZLED>();
        measure_alike<256, 4, PLAIN>();
        measure_alike<256, 4, PLAIN_PADDED>();
        measure_apart<128, 6, SWIZZLED, 2, 1>();
        measure_apart<256, 4, SWIZZLED, 1, 1>();
        measure_apart<256, 4, SWIZZLED, 2, 1>();
        measure_apart<256, 4, SWIZZLED, 0, 1>();
        measure_apart<256, 4, PLAIN, 2, 1>();
        measure_apart<256, 4, PLAIN_PADDED, 2, 1>();
        measure_apart<256, 4, SWIZZLED, 2, 2>();
        measure_apart<256, 4, SWIZZLED, 0, 2>();
        measure_apart<256, 4, PLAIN_PADDED, 0, 2>();
        measure_apart<128, 6, SWIZZLED, 0, 2>();
        measure_cublas(count > 1 ? arguments[1] : "libcublas.so.12");
        return 0;
}
