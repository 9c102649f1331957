/* SPDX-License-Identifier: MIT */
/* Runs a generated model on a GPU, through CUDA's own runtime (test/bench/cuda/bench_cuda.py); the executor compiles it, too.
 *
 *     gpu_host NAME IN_DIR OUT_DIR [REPLAYS [BYTES]]
 *
 * Prepares, loads, captures run as a graph, replays it, and writes what comes out. REPLAYS: prints the median of so many replays in microseconds,
 * caches warm, then with BYTES of memory written before each (the second cache is flushed), and how many nodes the graph has. */
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv)
{
        if (argc < 4)
                must(1, "usage: gpu_host NAME IN_DIR OUT_DIR [REPLAYS [BYTES]]");
        const struct executor_model *model = NULL;
        for (int i = 0; i < executor_model_count; i++)
                model = std::string(argv[1]) == executor_models[i].name ? &executor_models[i] : model;
        must(!model, "no such model");
        const struct dnncc_model_1 *d = model->describe();
        std::vector<void *> pointers;
        void *workspace = NULL, *weights = NULL;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t made;
        MUST(cudaStreamCreate(&stream));
        for (uint32_t i = 0; i < d->region_count; i++) {
                pointers.push_back(allocate(d->regions[i].size));
                (std::string(d->regions[i].name) == "weights" ? weights : workspace) = pointers.back();
        }
        for (uint32_t i = 0; i < d->input_count; i++) {
                std::vector<char> data = read_file(std::string(argv[2]) + "/" + std::to_string(i) + ".bin", d->inputs[i].bytes);
                pointers.push_back(allocate(data.size()));
                MUST(cudaMemcpy(pointers.back(), data.data(), data.size(), cudaMemcpyHostToDevice));
        }
        size_t outputs = pointers.size();
        for (uint32_t i = 0; i < d->output_count; i++)
                pointers.push_back(allocate(d->outputs[i].bytes));
        MUST(model->prepare());
        if (model->load && weights)
                MUST(model->load(weights, stream));
        MUST(cudaStreamSynchronize(stream));
        MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        MUST(model->run(pointers.data(), stream));
        MUST(cudaStreamEndCapture(stream, &graph));
        size_t nodes = 0;
        MUST(cudaGraphGetNodes(graph, NULL, &nodes));
        MUST(cudaGraphInstantiate(&made, graph, 0));
        MUST(cudaGraphLaunch(made, stream));
        MUST(model->status(workspace, stream));
        for (uint32_t i = 0; i < d->output_count; i++) {
                std::vector<char> data(d->outputs[i].bytes);
                MUST(cudaMemcpy(data.data(), pointers[outputs + i], data.size(), cudaMemcpyDeviceToHost));
                FILE *file = fopen((std::string(argv[3]) + "/" + std::to_string(i) + ".bin").c_str(), "wb");
                must(!file || fwrite(data.data(), 1, data.size(), file) != data.size(), "an output");
                fclose(file);
        }
        int replays = argc > 4 ? atoi(argv[4]) : 0;
        size_t bytes = argc > 5 ? (size_t)atol(argv[5]) : 0;
        if (replays) {
                void *flush = allocate(bytes);
                median(made, stream, 20, flush, 0);
                float warm = median(made, stream, replays, flush, 0);
                printf("%g %g %zu\n", (double)warm, (double)median(made, stream, replays, flush, bytes), nodes);
        }
        return 0;
}
