/* SPDX-License-Identifier: MIT */
/* Runs a generated model on a GPU, through CUDA's own runtime (test/bench/cuda/bench_cuda.py); the executor compiles it, too.
 *
 *     gpu_host NAME IN_DIR OUT_DIR [REPLAYS [BYTES]]
 *     gpu_host --kernels REPLAYS [NAME...]
 *
 * Prepares, loads, captures run as a graph, replays it, and writes what comes out. REPLAYS: prints the median of so many replays in microseconds,
 * caches warm, then with BYTES of memory written before each (the second cache is flushed), and how many nodes the graph has.
 *
 * --kernels: for each node of the graphs of these models (none named: of all), on random inputs, a line "NAME kernel blocks threads
 * shared microseconds": the median of graphs in which it stands CHAIN times in a row, caches warm, launch included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "host.h"

#define MUST(call) must((int)(call), #call)
static void must(int code, const char *what)
{
        if (!code)
                return;
        fprintf(stderr, "gpu_host: %s: %d\n", what, code);
        exit(1);
}
static std::vector<char> read_file(const std::string &path, size_t bytes)
{
        std::vector<char> data(bytes);
        FILE *file = fopen(path.c_str(), "rb");
        must(!file || (bytes && fread(data.data(), 1, bytes, file) != bytes), path.c_str());
        fclose(file);
        return data;
}

enum { CHAIN = 20, FLOAT = 1, HALF = 10, DOUBLE = 11 };        /* types as ONNX numbers them */

static void *allocate(uint64_t bytes)
{
        void *memory;
        MUST(cudaMalloc(&memory, bytes ? bytes : 1));
        return memory;
}
/* microseconds */
static float median(cudaGraphExec_t graph, cudaStream_t stream, int replays, void *flush, size_t bytes)
{
        std::vector<float> times;
        cudaEvent_t from, to;
        MUST(cudaEventCreate(&from));
        MUST(cudaEventCreate(&to));
        for (int i = 0; i < replays; i++) {
                float milliseconds;
                if (bytes)
                        MUST(cudaMemsetAsync(flush, i, bytes, stream));
                MUST(cudaEventRecord(from, stream));
                MUST(cudaGraphLaunch(graph, stream));
                MUST(cudaEventRecord(to, stream));
                MUST(cudaEventSynchronize(to));
                MUST(cudaEventElapsedTime(&milliseconds, from, to));
                times.push_back(milliseconds * 1000);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
}

/* floats in [-1, 1), integers 0 and 1 */
static std::vector<char> random_input(const struct dnncc_tensor_1 *t)
{
        std::vector<char> data(t->bytes);
        uint64_t elements = 1, state = 1;
        for (int32_t i = 0; i < t->rank; i++)
                elements *= (uint64_t)t->shape[i];
        for (uint64_t i = 0; i < elements; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                const float value = (float)(int32_t)(state >> 32) / 2147483648.0f;
                if (t->type == FLOAT)
                        memcpy(&data[i * 4], &value, 4);
                else if (t->bytes / elements >= 4)
                        data[i * (t->bytes / elements)] = (char)(state >> 63);
        }
        return data;
}

struct captured {
        const struct dnncc_model_1 *model;
        std::vector<void *> pointers;           /* regions, inputs, outputs */
        size_t outputs;
        void *workspace;
        cudaStream_t stream;
        cudaGraph_t graph;
};

static const struct executor_model *find(const char *name)
{
        for (int i = 0; i < executor_model_count; i++)
                if (std::string(name) == executor_models[i].name)
                        return &executor_models[i];
        must(1, "no such model");
        return NULL;
}
/* in_dir NULL: random inputs */
static struct captured capture(const struct executor_model *model, const char *in_dir)
{
        const struct dnncc_model_1 *d = model->describe();
        struct captured c = {};
        void *weights = NULL;
        c.model = d;
        MUST(cudaStreamCreate(&c.stream));
        for (uint32_t i = 0; i < d->region_count; i++) {
                c.pointers.push_back(allocate(d->regions[i].size));
                (std::string(d->regions[i].name) == "weights" ? weights : c.workspace) = c.pointers.back();
        }
        for (uint32_t i = 0; i < d->input_count; i++) {
                std::vector<char> data = in_dir ? read_file(std::string(in_dir) + "/" + std::to_string(i) + ".bin", d->inputs[i].bytes) : random_input(&d->inputs[i]);
                c.pointers.push_back(allocate(data.size()));
                MUST(cudaMemcpy(c.pointers.back(), data.data(), data.size(), cudaMemcpyHostToDevice));
        }
        c.outputs = c.pointers.size();
        for (uint32_t i = 0; i < d->output_count; i++)
                c.pointers.push_back(allocate(d->outputs[i].bytes));
        MUST(model->prepare());
        if (model->load && weights)
                MUST(model->load(weights, c.stream));
        MUST(cudaStreamSynchronize(c.stream));
        MUST(cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeGlobal));
        MUST(model->run(c.pointers.data(), NULL, c.stream));
        MUST(cudaStreamEndCapture(c.stream, &c.graph));
        return c;
}
static size_t count_nodes(cudaGraph_t graph)
{
        size_t count = 0;
        MUST(cudaGraphGetNodes(graph, NULL, &count));
        return count;
}

static void run_model(int argc, char **argv)
{
        const struct executor_model *model = find(argv[1]);
        const int replays = argc > 4 ? atoi(argv[4]) : 0;
        const size_t bytes = argc > 5 ? (size_t)atol(argv[5]) : 0;
        struct captured c = capture(model, argv[2]);
        cudaGraphExec_t made;
        MUST(cudaGraphInstantiate(&made, c.graph, 0));
        MUST(cudaGraphLaunch(made, c.stream));
        MUST(model->status(c.workspace, c.stream));
        for (uint32_t i = 0; i < c.model->output_count; i++) {
                std::vector<char> data(c.model->outputs[i].bytes);
                MUST(cudaMemcpy(data.data(), c.pointers[c.outputs + i], data.size(), cudaMemcpyDeviceToHost));
                FILE *file = fopen((std::string(argv[3]) + "/" + std::to_string(i) + ".bin").c_str(), "wb");
                must(!file || fwrite(data.data(), 1, data.size(), file) != data.size(), "an output");
                fclose(file);
        }
        if (!replays)
                return;
        void *flush = allocate(bytes);
        median(made, c.stream, 20, flush, 0);
        float warm = median(made, c.stream, replays, flush, 0);
        printf("%g %g %zu\n", (double)warm, (double)median(made, c.stream, replays, flush, bytes), count_nodes(c.graph));
}

#ifndef CUDA_CPU        /* the executor's graphs have no kernel nodes to look into */
static void release(const struct captured *c)
{
        for (void *p : c->pointers)
                MUST(cudaFree(p));
        MUST(cudaGraphDestroy(c->graph));
        MUST(cudaStreamDestroy(c->stream));
}
static std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph)
{
        size_t count = count_nodes(graph);
        std::vector<cudaGraphNode_t> nodes(count);
        MUST(cudaGraphGetNodes(graph, nodes.data(), &count));
        return nodes;
}

static void time_kernels(const struct executor_model *model, int replays)
{
        struct captured c = capture(model, NULL);
        cudaGraphExec_t made;
        MUST(cudaGraphInstantiate(&made, c.graph, 0));
        MUST(cudaGraphLaunch(made, c.stream));          /* so that every kernel has the inputs it is to have */
        MUST(cudaStreamSynchronize(c.stream));
        MUST(cudaGraphExecDestroy(made));
        for (cudaGraphNode_t node : nodes_of(c.graph)) {
                enum cudaGraphNodeType type;
                struct cudaKernelNodeParams p;
                const char *called;
                cudaGraph_t graph;
                cudaGraphNode_t last = NULL;
                MUST(cudaGraphNodeGetType(node, &type));
                if (type != cudaGraphNodeTypeKernel)
                        continue;
                MUST(cudaGraphKernelNodeGetParams(node, &p));
                MUST(cudaFuncGetName(&called, p.func));
                MUST(cudaGraphCreate(&graph, 0));
                for (int i = 0; i < CHAIN; i++) {
                        cudaGraphNode_t next;
                        MUST(cudaGraphAddKernelNode(&next, graph, last ? &last : NULL, last ? 1 : 0, &p));
                        MUST(cudaGraphKernelNodeCopyAttributes(next, node));
                        last = next;
                }
                MUST(cudaGraphInstantiate(&made, graph, 0));
                median(made, c.stream, 3, NULL, 0);
                printf("%s %s %u %u %u %g\n", model->name, called, p.gridDim.x, p.blockDim.x * p.blockDim.y, p.sharedMemBytes, (double)median(made, c.stream, replays, NULL, 0) / CHAIN);
                MUST(cudaGraphExecDestroy(made));
                MUST(cudaGraphDestroy(graph));
        }
        release(&c);
}
#endif

int main(int argc, char **argv)
{
        if (argc < (argc > 1 && std::string(argv[1]) == "--kernels" ? 3 : 4))
                must(1, "usage: gpu_host NAME IN_DIR OUT_DIR [REPLAYS [BYTES]]\n       gpu_host --kernels REPLAYS [NAME...]");
#ifndef CUDA_CPU
        if (std::string(argv[1]) == "--kernels") {
                for (int i = 3; i < argc; i++)
                        time_kernels(find(argv[i]), atoi(argv[2]));
                for (int i = 0; argc == 3 && i < executor_model_count; i++)
                        time_kernels(&executor_models[i], atoi(argv[2]));
                return 0;
        }
#endif
        run_model(argc, argv);
        return 0;
}
