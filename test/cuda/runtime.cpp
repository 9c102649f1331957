/* SPDX-License-Identifier: MIT */
/* CUDA's runtime: devices, streams as queues, graphs; and how each function fails on demand. runtime.h says what is here. */
#include <stdio.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fibers.h"

enum cudaMemoryType executor_type(const void *address);         /* memory.cpp */
bool executor_within(const void *address, size_t bytes);
void executor_copied(const void *memory);
void *executor_host_memory(const char *name, size_t bytes);

/* ---- failures on demand ---- */

struct failure { int call, calls; cudaError_t error; };
static std::map<std::string, struct failure> failures;
static std::map<std::string, int> device = { { "major", 10 }, { "minor", 0 }, { "shared", 232448 }, { "devices", 1 }, { "processors", 132 },
                                             { "threads", 1024 }, { "cooperative", 1 } };
static cudaError_t last;                /* of cudaGetLastError */
static cudaError_t broken;              /* of a kernel: from then on every call's */

static cudaError_t result(cudaError_t error)
{
        if (error && error != cudaErrorNotReady)
                last = error;
        return error;
}
static cudaError_t asked_for(const char *function)
{
        auto f = failures.find(function);
        if (f != failures.end() && (f->second.call == 0 || ++f->second.calls == f->second.call))
                return f->second.error;
        return broken;
}
enum { CLUSTER_MAX = 8 };               /* blocks of one that every device with clusters takes */
#define CALL() \
        do { \
                if (cudaError_t error_ = asked_for(__func__)) \
                        return result(error_); \
        } while (0)
#define REFUSE(condition, error) \
        do { \
                if (condition) \
                        return result(error); \
        } while (0)

void executor_fail(const char *function, int call, cudaError_t error) { failures[function] = { call, 0, error }; }
/* name=value,... */
static void each(const char *list, const std::function<void(const std::string &, int)> &use)
{
        for (std::string rest = list ? list : ""; !rest.empty();) {
                size_t end = rest.find(','), equals = rest.find('=');
                use(rest.substr(0, equals), atoi(rest.c_str() + equals + 1));
                rest = end == std::string::npos ? "" : rest.substr(end + 1);
        }
}
void executor_device(const char *properties)
{
        each(properties, [](const std::string &name, int value) {
                if (!device.count(name))
                        executor_found("a device has no property %s", name.c_str());
                device[name] = value;
        });
}
static bool read_environment(void)
{
        executor_device(getenv("EXECUTOR_DEVICE"));
        each(getenv("EXECUTOR_FAIL"), [](const std::string &name, int value) {
                size_t colon = name.find(':');
                executor_fail(name.substr(0, colon).c_str(), colon == std::string::npos ? 1 : atoi(name.c_str() + colon + 1), (cudaError_t)value);
        });
        return true;
}
static const bool environment_read = read_environment();

/* ---- devices ---- */

const char *cudaGetErrorName(cudaError_t error)
{
        static char text[20];
        snprintf(text, sizeof text, "error %d", (int)error);
        return text;
}
const char *cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError(void)
{
        cudaError_t was = last;
        last = broken;
        return was;
}
cudaError_t cudaPeekAtLastError(void) { return last; }
cudaError_t cudaGetDeviceCount(int *count)
{
        CALL();
        *count = device["devices"];
        return result(*count ? cudaSuccess : cudaErrorNoDevice);
}
static int current;
cudaError_t cudaGetDevice(int *which)
{
        CALL();
        REFUSE(!device["devices"], cudaErrorNoDevice);
        *which = current;
        return cudaSuccess;
}
cudaError_t cudaSetDevice(int which)
{
        CALL();
        REFUSE(which < 0 || which >= device["devices"], cudaErrorInvalidDevice);
        current = which;
        return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int which)
{
        CALL();
        REFUSE(which < 0 || which >= device["devices"], cudaErrorInvalidDevice);
        switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = device["threads"]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = device["shared"] < 49152 ? device["shared"] : 49152; break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = device["shared"]; break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = device["shared"] + 1024; break;
        case cudaDevAttrMaxRegistersPerBlock: *value = 65536; break;
        case cudaDevAttrWarpSize: *value = WARP; break;
        case cudaDevAttrMultiProcessorCount: *value = device["processors"]; break;
        case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
        case cudaDevAttrComputeCapabilityMajor: *value = device["major"]; break;
        case cudaDevAttrComputeCapabilityMinor: *value = device["minor"]; break;
        case cudaDevAttrCooperativeLaunch: *value = device["cooperative"]; break;
        default: return result(cudaErrorInvalidValue);
        }
        return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int which)
{
        CALL();
        REFUSE(which < 0 || which >= device["devices"], cudaErrorInvalidDevice);
        *properties = { "executor", device["major"], device["minor"], device["processors"], WARP, (size_t)1 << 34, 49152, (size_t)device["shared"] };
        return cudaSuccess;
}
static cudaError_t version(int *to) { return *to = 13000, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *to) { CALL(); return version(to); }
cudaError_t cudaRuntimeGetVersion(int *to) { CALL(); return version(to); }

/* ---- streams ---- */

typedef std::function<cudaError_t(void)> work;
struct CUgraph_st { std::vector<work> nodes; };
struct CUgraphExec_st { std::vector<work> nodes; };
struct CUstream_st {
        std::deque<work> queue;
        struct CUgraph_st *recorded = NULL;         /* under capture */
        bool invalid = false;
};
static struct CUstream_st *whole = new CUstream_st;     /* stream 0 */
static std::vector<struct CUstream_st *> streams = { whole };

static bool known(struct CUstream_st *s)
{
        for (struct CUstream_st *other : streams)
                if (s == other)
                        return true;
        return false;
}
static struct CUstream_st *stream_of(cudaStream_t stream)
{
        if (stream && !known(stream))
                executor_found("a stream that does not exist");
        return stream ? stream : whole;
}
static void run_one(struct CUstream_st *s)
{
        work w = s->queue.front();
        s->queue.pop_front();
        if (!broken)
                broken = w();
}
/* until `s` has nothing to do, the others in turns with it */
static void drain(struct CUstream_st *s)
{
        while (!s->queue.empty())
                for (size_t i = 0; i < streams.size(); i++)
                        if (struct CUstream_st *turn = streams[executor.order == BACKWARDS ? streams.size() - 1 - i : i]; !turn->queue.empty())
                                run_one(turn);
        executor_check_guards();
}
static void drain_all(void)
{
        for (struct CUstream_st *s : streams)
                drain(s);
}
static cudaError_t enqueue(cudaStream_t stream, const work &w)
{
        struct CUstream_st *s = stream_of(stream);
        if (s->recorded) {
                s->recorded->nodes.push_back(w);
                return cudaSuccess;
        }
        if (s == whole)
                drain_all();            /* stream 0 waits for all others */
        s->queue.push_back(w);
        if (!executor.late)
                drain(s);
        return result(broken);
}
static bool capturing(void)
{
        for (struct CUstream_st *s : streams)
                if (s->recorded)
                        return true;
        return false;
}
/* what waits or allocates may not be captured, and spoils the capture */
static cudaError_t outside_captures(void)
{
        if (!capturing())
                return cudaSuccess;
        for (struct CUstream_st *s : streams)
                s->invalid |= s->recorded != NULL;
        return result(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
        CALL();
        streams.push_back(*stream = new CUstream_st);
        return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { CALL(); return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
        CALL();
        drain(stream_of(stream));
        for (size_t i = 1; i < streams.size(); i++)
                if (streams[i] == stream) {
                        streams.erase(streams.begin() + (long)i);
                        delete stream;
                        return cudaSuccess;
                }
        return result(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
        CALL();
        if (cudaError_t error = outside_captures())
                return error;
        drain(stream_of(stream));
        return result(broken);
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
        CALL();
        return stream_of(stream)->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize(void)
{
        CALL();
        if (cudaError_t error = outside_captures())
                return error;
        drain_all();
        return result(broken);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
        CALL();
        struct CUstream_st *s = stream_of(stream);
        if (s == whole && capturing())
                return cudaErrorStreamCaptureImplicit;
        *status = !s->recorded ? cudaStreamCaptureStatusNone : s->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
        return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
        CALL();
        struct CUstream_st *s = stream_of(stream);
        REFUSE(s == whole || s->recorded, cudaErrorStreamCaptureUnsupported);
        s->recorded = new CUgraph_st;
        s->invalid = false;
        return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
        CALL();
        struct CUstream_st *s = stream_of(stream);
        REFUSE(!s->recorded, cudaErrorInvalidValue);
        *graph = s->recorded;
        s->recorded = NULL;
        REFUSE(s->invalid, cudaErrorStreamCaptureInvalidated);
        return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long)
{
        CALL();
        REFUSE(!graph, cudaErrorInvalidValue);
        *made = new CUgraphExec_st{ graph->nodes };
        return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, void *, size_t *count)
{
        CALL();
        *count = graph->nodes.size();
        return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
        CALL();
        for (const work &w : graph->nodes)
                if (cudaError_t error = enqueue(stream, w))
                        return error;
        return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { CALL(); return delete graph, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { CALL(); return delete graph, cudaSuccess; }

struct CUevent_st { int64_t threads = 0; };
cudaError_t cudaEventCreate(cudaEvent_t *event) { CALL(); return *event = new CUevent_st, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t event) { CALL(); return delete event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
        CALL();
        return enqueue(stream, [event] { return event->threads = executor.counts.threads, cudaSuccess; });
}
/* external: an event of a graph, which says when its replay came there */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
        CALL();
        REFUSE((flags == cudaEventRecordExternal) != (stream_of(stream)->recorded != NULL), cudaErrorInvalidValue);
        return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t)
{
        CALL();
        drain_all();
        return result(broken);
}
/* there is no time here: what is counted is a thread */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
        CALL();
        *milliseconds = (float)(to->threads - from->threads) * 1e-6f;
        return cudaSuccess;
}

/* ---- memory ---- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
        static int count;
        CALL();
        if (cudaError_t error = outside_captures())
                return error;
        *memory = executor_memory(("allocation " + std::to_string(++count)).c_str(), bytes, 256, executor.order != BACKWARDS);
        return result(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *memory)
{
        CALL();
        drain_all();
        REFUSE(memory && executor_type(memory) != cudaMemoryTypeDevice, cudaErrorInvalidValue);
        if (memory)
                executor_free(memory);
        return cudaSuccess;
}
cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
        CALL();
        *memory = executor_host_memory("memory of the host", bytes);
        return result(*memory ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void *memory)
{
        CALL();
        drain_all();
        if (memory)
                executor_free(memory);
        return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
        CALL();
        enum cudaMemoryType type = executor_type(memory);
        *attributes = { type, type == cudaMemoryTypeDevice ? current : -1, type ? (void *)(uintptr_t)memory : NULL,
                        type == cudaMemoryTypeHost ? (void *)(uintptr_t)memory : NULL };
        return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
        CALL();
        bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
        if (kind == cudaMemcpyDefault) {
                to_device = executor_type(to) == cudaMemoryTypeDevice;
                from_device = executor_type(from) == cudaMemoryTypeDevice;
        }
        if (!bytes)
                return cudaSuccess;
        REFUSE((to_device && !executor_within(to, bytes)) || (from_device && !executor_within(from, bytes)), cudaErrorInvalidValue);
        REFUSE((!to_device && executor_type(to) == cudaMemoryTypeDevice) || (!from_device && executor_type(from) == cudaMemoryTypeDevice),
               cudaErrorInvalidMemcpyDirection);
        struct CUstream_st *s = stream_of(stream);
        bool staged = !s->recorded && !from_device && executor_type(from) != cudaMemoryTypeHost;        /* pageable memory is read at once */
        std::shared_ptr<std::vector<unsigned char>> copy;
        if (staged)
                copy = std::make_shared<std::vector<unsigned char>>((const unsigned char *)from, (const unsigned char *)from + bytes);
        return enqueue(stream, [=] {
                memmove(to, copy ? copy->data() : from, bytes);
                if (to_device && !from_device)
                        executor_copied(to);
                return cudaSuccess;
        });
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
        CALL();
        if (cudaError_t error = outside_captures())
                return error;
        cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, NULL);
        drain(whole);
        return error ? error : result(broken);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
        CALL();
        REFUSE(bytes && !executor_within(to, bytes), cudaErrorInvalidValue);
        return enqueue(stream, [=] { return memset(to, value, bytes), cudaSuccess; });
}
cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
        CALL();
        return cudaMemsetAsync(to, value, bytes, NULL);
}

/* ---- kernels ---- */

struct known_kernel { struct executor_kernel kernel; int shared = 49152; };
static std::map<const void *, struct known_kernel> &kernels(void)
{
        static std::map<const void *, struct known_kernel> all;         /* filled before main begins */
        return all;
}
void executor_know(const void *function, struct executor_kernel kernel)
{
        struct known_kernel &k = kernels()[function];
        if (!k.kernel.call)
                k.kernel = kernel;
}
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
        CALL();
        auto k = kernels().find(function);
        REFUSE(k == kernels().end(), cudaErrorInvalidDeviceFunction);
        if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
                REFUSE(value < 0 || value > device["shared"], cudaErrorInvalidValue);
                k->second.shared = value > 49152 ? value : 49152;
        }
        return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
        CALL();
        auto k = kernels().find(function);
        REFUSE(k == kernels().end(), cudaErrorInvalidDeviceFunction);
        *attributes = { 0, 0, 0, device["threads"], 32, device["major"] * 10 + device["minor"], device["major"] * 10 + device["minor"], 0,
                        k->second.shared, 0 };
        return cudaSuccess;
}
static cudaError_t start(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream, bool cooperative,
                         bool dependent = false, dim3 cluster = {})
{
        auto k = kernels().find(function);
        REFUSE(k == kernels().end(), cudaErrorInvalidDeviceFunction);
        REFUSE(!grid.x || !grid.y || !grid.z || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535 || !block.x || !block.y || !block.z ||
                       block.z > 64 || (uint64_t)block.x * block.y * block.z > (uint64_t)device["threads"],
               cudaErrorInvalidConfiguration);
        REFUSE(cluster.x * cluster.y * cluster.z != 1 && device["major"] < 9, cudaErrorInvalidValue);
        REFUSE(!cluster.x || cluster.x > CLUSTER_MAX || cluster.y != 1 || cluster.z != 1 || grid.x % cluster.x, cudaErrorInvalidClusterSize);
        REFUSE(shared > (size_t)k->second.shared || shared > (size_t)device["shared"], cudaErrorInvalidValue);
        REFUSE(cooperative && (uint64_t)grid.x * grid.y * grid.z > (uint64_t)device["processors"] * 32, cudaErrorCooperativeLaunchTooLarge);
        /* arguments are copied when a kernel is launched */
        struct executor_kernel kernel = k->second.kernel;
        auto values = std::make_shared<std::vector<std::vector<unsigned char>>>();
        for (int i = 0; i < kernel.count; i++)
                values->emplace_back((const unsigned char *)arguments[i], (const unsigned char *)arguments[i] + kernel.sizes[i]);
        return enqueue(stream, [=] {
                std::vector<void *> at;
                for (auto &v : *values)
                        at.push_back(v.data());
                at.push_back(NULL);
                struct executor_launch launch = { kernel, function, at.data(), grid, block, shared, cooperative, dependent, cluster.x };
                executor_run(&launch);
                return cudaSuccess;
        });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
        CALL();
        bool cooperative = false, dependent = false;
        dim3 cluster;
        for (unsigned i = 0; i < config->numAttrs; i++)
                cooperative |= config->attrs[i].id == cudaLaunchAttributeCooperative && config->attrs[i].val.cooperative;
        for (unsigned i = 0; i < config->numAttrs; i++)
                dependent |= config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization &&
                         config->attrs[i].val.programmaticStreamSerializationAllowed;
        for (unsigned i = 0; i < config->numAttrs; i++)
                if (const auto &c = config->attrs[i].val.clusterDim; config->attrs[i].id == cudaLaunchAttributeClusterDimension)
                        cluster = { c.x, c.y, c.z };
        return start(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream, cooperative, dependent, cluster);
}
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
        CALL();
        return start(function, grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
        CALL();
        return start(function, grid, block, arguments, shared, stream, true);
}
