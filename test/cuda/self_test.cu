/* SPDX-License-Identifier: MIT */
/* Small kernels, some with a mistake: what the executor does and what it finds. test_executor.py runs each by its name. */
#include <stdio.h>

#include "runtime.h"

enum { THREADS = 128, COUNT = 1000 };

static __global__ void __launch_bounds__(THREADS) add_one(const float *x, float *y, int n)
{
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
        if (i < n)
                y[i] = x[i] + 1.0f;
}
static __global__ void turn_around(float *y)
{
        float *shared = (float *)shared_memory();
        shared[threadIdx.x] = (float)threadIdx.x;
        __syncthreads();
        y[threadIdx.x] = shared[THREADS - 1 - threadIdx.x];
}
static __global__ void no_barrier(float *y)
{
        float *shared = (float *)shared_memory();
        shared[threadIdx.x] = (float)threadIdx.x;
        y[threadIdx.x] = shared[THREADS - 1 - threadIdx.x];
}
static __global__ void no_warp_barrier(float *y)
{
        float *shared = (float *)shared_memory();
        shared[threadIdx.x] = (float)threadIdx.x;
        y[threadIdx.x] = shared[threadIdx.x ^ 1];
}
static __global__ void sum_of_lanes(float *y)
{
        float v = (float)(threadIdx.x % 32);
        for (int by = 16; by; by /= 2)
                v += __shfl_xor_sync(~0u, v, by);
        float first = __shfl_sync(~0u, v + (float)(threadIdx.x % 32), 3), up = __shfl_up_sync(~0u, v + (float)(threadIdx.x % 32), 1u);
        bool any = __any_sync(~0u, threadIdx.x % 32 == 7), all = __all_sync(~0u, threadIdx.x % 32 == 7);
        y[threadIdx.x] = v + first + up + (float)any + 2 * (float)all;
}
static __global__ void half_waits(float *y)
{
        if (threadIdx.x < 64)
                __syncthreads();
        y[threadIdx.x] = 1;
}
static __global__ void different_instructions(float *y)
{
        if (threadIdx.x % 32 < 16)
                __syncwarp();
        else
                y[threadIdx.x] = __shfl_xor_sync(~0u, 1.0f, 1);
}
static __global__ void not_in_mask(float *y) { y[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 1); }
static __global__ void lane_outside_mask(float *y)
{
        if (threadIdx.x % 32 < 16)
                y[threadIdx.x] = __shfl_xor_sync(0xffffu, 1.0f, 16);
}
static __global__ void too_far(float *y) { y[threadIdx.x + 1] = 1; }
static __global__ void too_low(float *y) { y[(int)threadIdx.x - 1] = 1; }
static __global__ void far_away(float *y) { y[threadIdx.x + 100000] = 1; }
static __global__ void too_much_shared(float *y) { shared_memory()[THREADS * 4] = 1, y[threadIdx.x] = 1; }
static __global__ void counts(int *y) { atomicMin(y, (int)threadIdx.x - 3), atomicAdd(y + 1, 1), atomicMax(y + 2, (int)threadIdx.x); }
static __global__ void add_to(float *y, float by) { y[threadIdx.x] += by; }
static __global__ void late_copy(const float *x, float *y)
{
        float *shared = (float *)shared_memory();
        copy_async(shared + 4 * threadIdx.x, x + 4 * threadIdx.x, threadIdx.x < 100);
        copy_commit();
        __syncthreads();
        y[threadIdx.x] = shared[threadIdx.x];
}

static float *y;
static int wrong(const char *what)
{
        printf("wrong: %s\n", what);
        return 1;
}
static cudaError_t launch(const void *f, void **arguments, unsigned blocks, size_t shared, cudaStream_t stream)
{
        cudaLaunchConfig_t config = {};
        config.gridDim.x = blocks, config.blockDim.x = THREADS, config.dynamicSmemBytes = shared, config.stream = stream;
        return cudaLaunchKernelExC(&config, f, arguments);
}
/* a kernel of y alone in every execution; 1: two of them gave other bits, or other numbers than wanted */
template <class T> static int same(void (*f)(T *), float (*want)(int))
{
        float first[THREADS], got[THREADS];
        for (int e = 0; e < 6; e++) {
                executor_execution(e);
                void *arguments[] = { &y };
                if (launch(executor_typed(f), arguments, 1, THREADS * 4, NULL) || cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost))
                        return wrong("launch");
                if (e == 0)
                        memcpy(first, got, sizeof got);
                if (memcmp(first, got, sizeof got))
                        return wrong("other bits");
                for (int i = 0; want && i < THREADS; i++)
                        if (got[i] != want(i))
                                return wrong("other numbers");
        }
        return 0;
}

static int elementwise(void)
{
        float x[COUNT], got[COUNT], *device_x, *device_y;
        int n = COUNT;
        for (int i = 0; i < COUNT; i++)
                x[i] = (float)i;
        cudaMalloc(&device_x, sizeof x);
        cudaMalloc(&device_y, sizeof x);
        cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
        cudaLaunchConfig_t config = {};
        config.gridDim.x = (COUNT + THREADS - 1) / THREADS, config.blockDim.x = THREADS;
        if (cudaLaunchKernelEx(&config, add_one, device_x, device_y, n) || cudaMemcpy(got, device_y, sizeof got, cudaMemcpyDeviceToHost))
                return wrong("launch");
        for (int i = 0; i < COUNT; i++)
                if (got[i] != x[i] + 1)
                        return wrong("numbers");
        if (executor.counts.threads != 1024 || executor.counts.switches > 100)
                return wrong("a thread that does not wait costs a switch");
        return cudaFree(device_x) || cudaFree(device_y) || cudaFree(device_x) != cudaErrorInvalidValue;
}
static int atomics(void)
{
        int got[3], *at = (int *)y;
        void *arguments[] = { &at };
        cudaMemset(y, 0, 12);
        if (launch((const void *)counts, arguments, 2, 0, NULL) != cudaErrorInvalidDeviceFunction || launch(executor_typed(counts), arguments, 2, 0, NULL))
                return wrong("launch");
        cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
        return got[0] != -3 || got[1] != 2 * THREADS || got[2] != THREADS - 1;
}

/* what is launched late runs in the order of its stream; arguments and pageable memory are those of the call */
static int streams(void)
{
        cudaStream_t a, b;
        float one = 1, x[THREADS] = {}, got[THREADS];
        void *arguments[] = { &y, &one };
        executor_execution(3);
        cudaStreamCreate(&a), cudaStreamCreate(&b);
        cudaMemcpyAsync(y, x, sizeof x, cudaMemcpyHostToDevice, a);
        launch(executor_typed(add_to), arguments, 1, 0, a);
        x[0] = one = 5;
        if (executor.counts.launches || cudaStreamQuery(a) != cudaErrorNotReady || cudaStreamSynchronize(b) || executor.counts.launches)
                return wrong("ran before anybody waited");
        cudaMemcpyAsync(got, y, sizeof got, cudaMemcpyDeviceToHost, a);
        if (cudaStreamSynchronize(a) || got[0] != 1 || executor.counts.launches != 1 || cudaStreamQuery(a))
                return wrong("a stream");
        return cudaStreamDestroy(a) || cudaStreamDestroy(b);
}
static int graphs(void)
{
        cudaStream_t s;
        cudaGraph_t graph;
        cudaGraphExec_t made;
        enum cudaStreamCaptureStatus status;
        float one = 1, got[THREADS];
        void *arguments[] = { &y, &one };
        size_t nodes;
        cudaStreamCreate(&s);
        cudaMemset(y, 0, sizeof got);
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
        cudaStreamIsCapturing(s, &status);
        launch(executor_typed(add_to), arguments, 1, 0, s);
        one = 2;
        launch(executor_typed(add_to), arguments, 1, 0, s);
        if (status != cudaStreamCaptureStatusActive || executor.counts.launches || cudaStreamEndCapture(s, &graph) || cudaGraphInstantiate(&made, graph) ||
            cudaGraphGetNodes(graph, NULL, &nodes) || nodes != 2)
                return wrong("a capture");
        for (int i = 0; i < 3; i++)
                cudaGraphLaunch(made, s);
        if (cudaStreamSynchronize(s) || cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost) || got[5] != 9)
                return wrong("a replay");
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
        float *more;
        if (cudaMalloc(&more, 4) != cudaErrorStreamCaptureUnsupported || cudaStreamEndCapture(s, &graph) != cudaErrorStreamCaptureInvalidated)
                return wrong("what may not be captured");
        return 0;
}
static int failures(void)
{
        int value, device;
        void *arguments[] = { &y };
        struct cudaPointerAttributes p;
        executor_fail("cudaGetDevice", 2, cudaErrorInsufficientDriver);
        if (cudaGetDevice(&device) || cudaGetDevice(&device) != cudaErrorInsufficientDriver || cudaGetDevice(&device) ||
            cudaGetLastError() != cudaErrorInsufficientDriver || cudaGetLastError())
                return wrong("the second call");
        executor_device("major=7,minor=5,shared=65536");
        if (cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0) || value != 7)
                return wrong("capability");
        if (launch(executor_typed(turn_around), arguments, 1, 50000, NULL) != cudaErrorInvalidValue ||
            cudaFuncSetAttribute(turn_around, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000) || launch(executor_typed(turn_around), arguments, 1, 50000, NULL) ||
            cudaFuncSetAttribute(turn_around, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000) != cudaErrorInvalidValue)
                return wrong("shared memory");
        if (cudaPointerGetAttributes(&p, y) || p.type != cudaMemoryTypeDevice || cudaPointerGetAttributes(&p, &value) || p.type != cudaMemoryTypeUnregistered)
                return wrong("pointers");
        if (cudaMemcpy(y, y, 4, cudaMemcpyDeviceToHost) != cudaErrorInvalidMemcpyDirection || cudaMemcpy(y, &value, THREADS * 4 + 1, cudaMemcpyHostToDevice) != cudaErrorInvalidValue)
                return wrong("copies");
        executor_device("devices=0");
        return cudaGetDevice(&device) != cudaErrorNoDevice;
}
static int copies(void)
{
        float x[4 * THREADS], got[2][THREADS], *device_x;
        void *arguments[] = { &device_x, &y };
        for (int i = 0; i < 4 * THREADS; i++)
                x[i] = (float)i;
        cudaMalloc(&device_x, sizeof x);
        cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
        for (int late = 0; late < 2; late++) {
                executor_execution(late * 3);
                if (launch(executor_typed(late_copy), arguments, 1, 16 * THREADS, NULL) || cudaMemcpy(got[late], y, sizeof got[late], cudaMemcpyDeviceToHost))
                        return wrong("launch");
        }
        return got[0][99] != 99 || got[1][99] == got[1][99];    /* not waited for: NaN when late */
}

static float turned(int i) { return (float)(THREADS - 1 - i); }
static float lanes(int i) { return 496 + 496 + 3 + 496 + (float)(i % 32 ? i % 32 - 1 : 0) + 1; }
static int kernel(const char *name)
{
        void *arguments[] = { &y };
#define FOUND(f) \
        if (!strcmp(name, #f)) \
                return launch(executor_typed(f, #f), arguments, 1, THREADS * 4, NULL) || cudaDeviceSynchronize() ? wrong("launch") : 0;
        FOUND(half_waits) FOUND(different_instructions) FOUND(not_in_mask) FOUND(lane_outside_mask) FOUND(too_far) FOUND(too_low) FOUND(far_away)
        FOUND(too_much_shared)
        return wrong("no such test");
}

int main(int argc, char **argv)
{
        const char *name = argc > 1 ? argv[1] : "";
        y = (float *)executor_memory("y", THREADS * 4, 16, strcmp(name, "too_low") != 0);
        if (!strcmp(name, "turn_around")) return same(turn_around, turned);
        if (!strcmp(name, "no_barrier")) return same(no_barrier, NULL);
        if (!strcmp(name, "no_warp_barrier")) return same(no_warp_barrier, NULL);
        if (!strcmp(name, "sum_of_lanes")) return same(sum_of_lanes, lanes);
        if (!strcmp(name, "elementwise")) return elementwise();
        if (!strcmp(name, "atomics")) return atomics();
        if (!strcmp(name, "streams")) return streams();
        if (!strcmp(name, "graphs")) return graphs();
        if (!strcmp(name, "failures")) return failures();
        if (!strcmp(name, "copies")) return copies();
        return kernel(name);
}
