/* SPDX-License-Identifier: MIT */
/* What struct grid_machine (ir/target/target.h), engines/grid/warp_cost.c and docs/measurements/gpu.md say of a GPU, measured on one:
 *
 *      launch          a phase of a chain, whose blocks read what their neighbours of the phase before wrote: as a launch in a graph
 *      dependent       the same where each launch may begin before the one in front has ended (from sm_90 on)
 *      barrier         the same in one cooperative launch, with a barrier of the grid behind each phase
 *      cluster n       cycles of a barrier of a cluster, and bytes a second that all blocks read of their neighbours' shared memory
 *      lanes, run      cycles until 4 KB are in shared memory, copied 16 bytes a lane, and as one run; from memory, and again from the
 *                      second cache
 *
 *      nvcc -O2 -arch=sm_90 -o machine machine.cu && ./machine */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>

enum { PHASES = 64, THREADS = 128, REPLAYS = 50, TURNS = 64, PIECE = 4096, SHARE = 16384 };

static void check(cudaError_t error, const char *what)
{
        if (error == cudaSuccess)
                return;
        printf("%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
}

/* ---- phases ---- */

static __device__ void phase(const float *in, float *out)
{
        const int from = (blockIdx.x + 1) % gridDim.x * THREADS + threadIdx.x;
        out[blockIdx.x * THREADS + threadIdx.x] = __ldcg(in + from) + 1;
}

static __global__ void launched(const float *in, float *out) { phase(in, out); }

static __global__ void dependent(const float *in, float *out)
{
#if __CUDA_ARCH__ >= 900
        asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
        asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
        phase(in, out);
}

/* *count begins as 0, and is left so that the next barrier can use it */
static __device__ void grid_barrier(unsigned *count)
{
        __syncthreads();
        if (threadIdx.x == 0) {
                const unsigned add = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
                unsigned old, now;
                asm volatile("fence.acq_rel.gpu;" ::: "memory");
                asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(count), "r"(add) : "memory");
                do
                        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
                while (((old ^ now) & 0x80000000u) == 0);
        }
        __syncthreads();
}

static __global__ void together(float *a, float *b, unsigned *count)
{
        for (int i = 0; i < PHASES; i++) {
                phase(i % 2 ? b : a, i % 2 ? a : b);
                grid_barrier(count);
        }
}

/* the median of replays, microseconds */
template <class F> static double timed(F run)
{
        std::vector<float> all;
        cudaEvent_t from, to;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        check(cudaStreamCreate(&stream), "a stream");
        check(cudaEventCreate(&from), "an event");
        check(cudaEventCreate(&to), "an event");
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
        run(stream);
        check(cudaStreamEndCapture(stream, &graph), "a capture");
        check(cudaGraphInstantiate(&ready, graph, 0), "a graph");
        for (int i = 0; i < REPLAYS; i++) {
                float milliseconds;
                check(cudaEventRecord(from, stream), "an event");
                check(cudaGraphLaunch(ready, stream), "a replay");
                check(cudaEventRecord(to, stream), "an event");
                check(cudaEventSynchronize(to), "a replay");
                check(cudaEventElapsedTime(&milliseconds, from, to), "a time");
                all.push_back(milliseconds);
        }
        std::sort(all.begin(), all.end());
        return all[all.size() / 2] * 1e3;
}

static void launch(const void *kernel, int blocks, cudaStream_t stream, cudaLaunchAttribute *attribute, int cluster, size_t shared, void **arguments)
{
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(blocks);
        config.blockDim = dim3(THREADS);
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        cudaLaunchAttribute attributes[2];
        if (attribute)
                attributes[config.numAttrs++] = *attribute;
        if (cluster > 1) {
                attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
                attributes[config.numAttrs].val.clusterDim.x = cluster;
                attributes[config.numAttrs].val.clusterDim.y = attributes[config.numAttrs].val.clusterDim.z = 1;
                config.numAttrs++;
        }
        config.attrs = attributes;
        check(cudaLaunchKernelExC(&config, kernel, arguments), "a launch");
}

static void measure_phases(int blocks, bool has_dependent)
{
        float *a, *b;
        unsigned *count;
        check(cudaMalloc(&a, blocks * THREADS * sizeof *a), "memory");
        check(cudaMalloc(&b, blocks * THREADS * sizeof *b), "memory");
        check(cudaMalloc(&count, sizeof *count), "memory");
        check(cudaMemset(a, 0, blocks * THREADS * sizeof *a), "memory");
        check(cudaMemset(count, 0, sizeof *count), "memory");
        cudaLaunchAttribute programmatic = {}, cooperative = {};
        programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        programmatic.val.programmaticStreamSerializationAllowed = 1;
        cooperative.id = cudaLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
        const auto chain = [&](const void *kernel, cudaLaunchAttribute *attribute) {
                return timed([&](cudaStream_t stream) {
                        for (int i = 0; i < PHASES; i++) {
                                void *arguments[] = { i % 2 ? &b : &a, i % 2 ? &a : &b };
                                launch(kernel, blocks, stream, attribute, 1, 0, arguments);
                        }
                });
        };
        printf("launch: %.3f us\n", chain((const void *)launched, NULL) / PHASES);
        if (has_dependent)
                printf("dependent: %.3f us\n", chain((const void *)dependent, &programmatic) / PHASES);
        void *arguments[] = { &a, &b, &count };
        printf("barrier: %.3f us\n", timed([&](cudaStream_t stream) { launch((const void *)together, blocks, stream, &cooperative, 1, 0, arguments); }) / PHASES);
}

/* ---- clusters ---- */

/* cycles of a barrier; of reading all neighbours' shares once */
static __global__ void clusters(int size, long long *cycles, float *sums)
{
        extern __shared__ float4 share[];
        for (int i = threadIdx.x; i < SHARE / 16; i += THREADS)
                share[i] = make_float4(1, 2, 3, 4);
        float sum = 0;
#if __CUDA_ARCH__ >= 900
        const unsigned own = (unsigned)__cvta_generic_to_shared(share);
        unsigned rank;
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
        long long from = clock64();
        for (int i = 0; i < TURNS; i++)
                asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
        long long between = clock64();
        for (int i = 0; i < TURNS; i++)
                for (int other = 1; other < size; other++) {
                        unsigned at;
                        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(own), "r"((rank + other) % size));
#pragma unroll
                        for (int k = 0; k < SHARE / 16 / THREADS; k++) {
                                float4 v;
                                asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                                             : "r"(at + (k * THREADS + threadIdx.x) * 16) : "memory");
                                sum += v.x + v.y + v.z + v.w;
                        }
                }
        long long to = clock64();
        asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
        if (threadIdx.x == 0) {
                cycles[2 * blockIdx.x] = (between - from) / TURNS;
                cycles[2 * blockIdx.x + 1] = (to - between) / TURNS;
        }
#else
        (void)size;
        (void)cycles;
#endif
        sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}

static double mean(const std::vector<long long> &all, int first, int step)
{
        double sum = 0;
        for (size_t i = first; i < all.size(); i += step)
                sum += (double)all[i];
        return sum * step / (double)all.size();
}

static void measure_clusters(int multiprocessors, double clock)
{
        for (int size = 2; size <= 8; size *= 2) {
                const int blocks = multiprocessors / size * size;
                long long *cycles;
                float *sums;
                check(cudaMalloc(&cycles, 2 * blocks * sizeof *cycles), "memory");
                check(cudaMalloc(&sums, blocks * THREADS * sizeof *sums), "memory");
                void *arguments[] = { &size, &cycles, &sums };
                for (int i = 0; i < 2; i++)
                        launch((const void *)clusters, blocks, 0, NULL, size, SHARE, arguments);
                std::vector<long long> all(2 * blocks);
                check(cudaMemcpy(all.data(), cycles, all.size() * sizeof all[0], cudaMemcpyDeviceToHost), "clusters");
                const double bytes = (double)blocks * (size - 1) * SHARE, seconds = mean(all, 1, 2) / clock;
                printf("cluster %d: a barrier %.0f cycles, %.3g bytes a second\n", size, mean(all, 0, 2), bytes / seconds);
        }
}

/* ---- copies ---- */

/* pieces of the block's own, one after the other: twice each, so that the second comes from the second cache */
template <bool RUN> static __global__ void arrivals(const char *from, long long *cycles)
{
        __shared__ __align__(128) char piece[PIECE];
        __shared__ uint64_t arrived;
        long long spent[2] = { 0, 0 };
#if __CUDA_ARCH__ >= 900
        const unsigned to = (unsigned)__cvta_generic_to_shared(piece), at = (unsigned)__cvta_generic_to_shared(&arrived);
        if (threadIdx.x == 0)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.proxy.async.shared::cta;" ::"r"(at) : "memory");
        __syncthreads();
        for (int i = 0; i < 2 * TURNS; i++) {
                const char *source = from + ((size_t)blockIdx.x * TURNS + i / 2) * PIECE;
                __syncthreads();
                const long long begin = clock64();
                if (RUN) {
                        if (threadIdx.x == 0) {
                                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(PIECE) : "memory");
                                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                                             ::"r"(to), "l"(source), "r"(PIECE), "r"(at) : "memory");
                        }
                        unsigned passed;
                        do
                                asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                                             : "=r"(passed) : "r"(at), "r"(i % 2) : "memory");
                        while (!passed);
                } else {
                        for (int k = threadIdx.x * 16; k < PIECE; k += THREADS * 16)
                                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k), "l"(source + k) : "memory");
                        asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
                        __syncthreads();
                }
                spent[i % 2] += clock64() - begin;
        }
#else
        (void)piece;
        (void)arrived;
        (void)from;
#endif
        if (threadIdx.x == 0)
                for (int i = 0; i < 2; i++)
                        cycles[2 * blockIdx.x + i] = spent[i] / TURNS;
}

template <bool RUN> static void measure_arrivals(const char *name, int blocks)
{
        const size_t bytes = (size_t)blocks * TURNS * PIECE, flushed = (size_t)256 << 20;
        char *from, *other;
        long long *cycles;
        check(cudaMalloc(&from, bytes), "memory");
        check(cudaMalloc(&other, flushed), "memory");
        check(cudaMalloc(&cycles, 2 * blocks * sizeof *cycles), "memory");
        for (int i = 0; i < 2; i++) {
                check(cudaMemset(from, 0, bytes), "memory");
                check(cudaMemset(other, i, flushed), "memory");         /* more than any second cache */
                arrivals<RUN><<<blocks, THREADS>>>(from, cycles);
        }
        std::vector<long long> all(2 * blocks);
        check(cudaMemcpy(all.data(), cycles, all.size() * sizeof all[0], cudaMemcpyDeviceToHost), "copies");
        printf("%s: %.0f cycles from memory, %.0f from the second cache\n", name, mean(all, 0, 2), mean(all, 1, 2));
}

int main(void)
{
        cudaDeviceProp p;
        int kilohertz;
        check(cudaGetDeviceProperties(&p, 0), "a device");
        check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "a clock");
        const bool hopper = p.major >= 9;
        printf("%s, %d multiprocessors\n", p.name, p.multiProcessorCount);
        measure_phases(p.multiProcessorCount, hopper);
        if (!hopper)
                return 0;
        measure_clusters(p.multiProcessorCount, kilohertz * 1e3);
        measure_arrivals<false>("lanes", p.multiProcessorCount);
        measure_arrivals<true>("run", p.multiProcessorCount);
        return 0;
}
