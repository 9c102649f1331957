/* SPDX-License-Identifier: MIT */
/* CUDA's runtime as far as generated code and its callers use it, with its names and numbers; executor.h includes it.
 *
 * Streams are queues: what is launched on one runs at once, or (executor.late) when somebody waits, then in turns with the other
 * streams. A graph replays what was recorded. Memory of the device lies between pages that must not be touched; kernels are
 * stopped at the first access there, and what they write between a block's end and the page's is found after them.
 *
 * On demand each function fails: executor_fail, or in the environment
 *     EXECUTOR_FAIL=cudaMalloc:2=2,...        the second call of cudaMalloc returns error 2 (":0": every call)
 *     EXECUTOR_DEVICE=major=7,minor=5,shared=65536,devices=1,processors=8 */
#ifndef EXECUTOR_RUNTIME_H
#define EXECUTOR_RUNTIME_H

enum cudaError {
        cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
        cudaErrorInvalidConfiguration = 9, cudaErrorInvalidMemcpyDirection = 21, cudaErrorInsufficientDriver = 35, cudaErrorInvalidDeviceFunction = 98,
        cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorNoKernelImageForDevice = 209, cudaErrorInvalidResourceHandle = 400,
        cudaErrorNotReady = 600, cudaErrorIllegalAddress = 700, cudaErrorLaunchOutOfResources = 701, cudaErrorLaunchFailure = 719,
        cudaErrorCooperativeLaunchTooLarge = 720, cudaErrorStreamCaptureUnsupported = 900, cudaErrorStreamCaptureInvalidated = 901,
        cudaErrorStreamCaptureImplicit = 906, cudaErrorInvalidClusterSize = 912
};
typedef enum cudaError cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
enum cudaMemcpyKind {
        cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaDeviceAttr {
        cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
        cudaDevAttrMultiProcessorCount = 16, cudaDevAttrL2CacheSize = 38, cudaDevAttrComputeCapabilityMajor = 75,
        cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxRegistersPerBlock = 12,
        cudaDevAttrCooperativeLaunch = 95, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
struct cudaFuncAttributes {
        size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
        int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, preferredShmemCarveout;
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes { enum cudaMemoryType type; int device; void *devicePointer, *hostPointer; };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum { cudaEventDefault = 0, cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaHostAllocDefault = 0 };
enum cudaLaunchAttributeID {
        cudaLaunchAttributeIgnore, cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4,
        cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
union cudaLaunchAttributeValue {
        char pad[64];
        int cooperative, programmaticStreamSerializationAllowed;
        struct { unsigned x, y, z; } clusterDim;
};
typedef struct cudaLaunchAttribute { enum cudaLaunchAttributeID id; char pad[4]; union cudaLaunchAttributeValue val; } cudaLaunchAttribute;
struct cudaLaunchConfig_t {
        dim3 gridDim, blockDim;
        size_t dynamicSmemBytes;
        cudaStream_t stream;
        struct cudaLaunchAttribute *attrs;
        unsigned numAttrs;
};
struct cudaDeviceProp {
        char name[256];
        int major, minor, multiProcessorCount, warpSize;
        size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin;
};

extern "C" const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetDeviceCount(int *count);
extern "C" cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDeviceSynchronize(void);
extern "C" cudaError_t cudaMalloc(void **memory, size_t bytes);
template <class T> static inline cudaError_t cudaMalloc(T **memory, size_t bytes) { return cudaMalloc((void **)memory, bytes); }
extern "C" cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
template <class T> static inline cudaError_t cudaMallocHost(T **memory, size_t bytes) { return cudaMallocHost((void **)memory, bytes); }
cudaError_t cudaFreeHost(void *memory);
extern "C" cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream = NULL);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream = NULL);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, void *nodes, size_t *count);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = NULL);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);

/* ---- of the executor ---- */

/* how to call a kernel: what CUDA's compiler notes of each, and a launch by address wants */
struct executor_kernel {
        const char *name;
        void (*call)(const void *function, void *const *arguments);
        const size_t *sizes;            /* of the arguments */
        int count;
};
void executor_know(const void *function, struct executor_kernel kernel);

template <int... I> struct executor_list {};
template <int N, int... I> struct executor_count : executor_count<N - 1, N - 1, I...> {};
template <int... I> struct executor_count<0, I...> { typedef executor_list<I...> list; };
template <class... P> struct executor_call {
        static inline const size_t sizes[] = { sizeof(P)..., 0 };
        template <int... I> static void by(void (*f)(P...), void *const *arguments, executor_list<I...>)
        {
                (void)arguments;
                f(*(P *)arguments[I]...);
        }
        static void run(const void *f, void *const *arguments)
        {
                by((void (*)(P...))(uintptr_t)f, arguments, typename executor_count<(int)sizeof...(P)>::list());
        }
};
template <class... P> static inline const void *executor_typed(void (*f)(P...), const char *name = "a kernel")
{
        executor_know((const void *)(uintptr_t)f, { name, executor_call<P...>::run, executor_call<P...>::sizes, (int)sizeof...(P) });
        return (const void *)(uintptr_t)f;
}
template <class... P>
static inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, void (*f)(P...), void **arguments)
{
        return cudaLaunchKernelExC(config, executor_typed(f), arguments);
}
template <class... P, class... Q>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*f)(P...), Q... given)
{
        return [&](P... as) {
                void *arguments[] = { (void *)&as..., NULL };
                return cudaLaunchKernelExC(config, executor_typed(f), arguments);
        }(given...);
}
template <class... P>
static inline cudaError_t cudaLaunchKernel(void (*f)(P...), dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
        return cudaLaunchKernel(executor_typed(f), grid, block, arguments, shared, stream);
}
template <class... P>
static inline cudaError_t cudaLaunchCooperativeKernel(void (*f)(P...), dim3 grid, dim3 block, void **arguments, size_t shared,
                                                      cudaStream_t stream)
{
        return cudaLaunchCooperativeKernel(executor_typed(f), grid, block, arguments, shared, stream);
}
template <class... P> static inline cudaError_t cudaFuncSetAttribute(void (*f)(P...), enum cudaFuncAttribute attribute, int value)
{
        return cudaFuncSetAttribute(executor_typed(f), attribute, value);
}
template <class... P> static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, void (*f)(P...))
{
        return cudaFuncGetAttributes(attributes, executor_typed(f));
}

/* memory of the device under a name; at_end: the page behind it follows at once (as alignment permits), else the one before */
void *executor_memory(const char *name, size_t bytes, size_t align, bool at_end);
void executor_free(void *memory);
void executor_check_guards(void);       /* ends the program when bytes beside a block were written */
/* from now on the call-th call of a function (1: the next, 0: all) returns error */
void executor_fail(const char *function, int call, cudaError_t error);
void executor_device(const char *properties);   /* as EXECUTOR_DEVICE */
/* the launch that executor.cpp runs */
struct executor_launch { struct executor_kernel kernel; const void *function; void *const *arguments; dim3 grid, block; size_t shared; bool cooperative, dependent; unsigned cluster; };
void executor_run(const struct executor_launch *launch);
#endif
