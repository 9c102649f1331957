/* SPDX-License-Identifier: MIT */
/* Handwritten digits on a GPU: the network that dnncc compiled to net.cu, captured once as a CUDA graph and replayed for each picture. */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "../digits/samples.h"
#include "net.h"

/* 0, or this is the end: CUDA's own codes are positive, those of net.h negative */
static void must(int code, const char *what)
{
        if (!code)
                return;
        std::fprintf(stderr, "cuda: %s: %s\n", what, code > 0 ? cudaGetErrorString((cudaError_t)code) : "see net.h");
        std::exit(code > 0 ? 2 : 3);
}

int main()
{
        void *workspace, *weights;
        float *image, *probabilities, host_image[NET_IMAGE_ELEMS], host[NET_PROBABILITIES_ELEMS];
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t run;

        must(net_prepare(), "net_prepare");                     /* once for each device, before anything is captured */
        must(cudaStreamCreate(&stream), "cudaStreamCreate");
        must(cudaMalloc(&workspace, NET_WORKSPACE_SIZE), "memory");
        must(cudaMalloc(&weights, NET_WEIGHTS_SIZE), "memory"); /* shared by all that run */
        must(cudaMalloc(&image, sizeof host_image), "memory");
        must(cudaMalloc(&probabilities, sizeof host), "memory");
        must(net_load(weights, stream), "net_load");

        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
        must(net_run(workspace, weights, image, probabilities, stream), "net_run");
        must(cudaStreamEndCapture(stream, &graph), "capture");
        must(cudaGraphInstantiate(&run, graph, 0), "cudaGraphInstantiate");

        int right = 0, count = (int)(sizeof samples / sizeof *samples);
        for (int s = 0; s < count; s++) {
                for (int i = 0; i < 64; i++)
                        host_image[i] = (float)samples[s].pixels[i] / 16;
                must(cudaMemcpyAsync(image, host_image, sizeof host_image, cudaMemcpyHostToDevice, stream), "the picture");
                must(cudaGraphLaunch(run, stream), "cudaGraphLaunch");
                must(cudaMemcpyAsync(host, probabilities, sizeof host, cudaMemcpyDeviceToHost, stream), "the result");
                must(net_status(workspace, stream), "net_status");      /* waits */
                int best = 0;
                for (int k = 1; k < 10; k++)
                        best = host[k] > host[best] ? k : best;
                right += best == samples[s].digit;
        }
        std::printf("%d of %d digits are right\n", right, count);
        must(cudaGraphExecDestroy(run), "the end");
        must(cudaGraphDestroy(graph), "the end");
        must(cudaFree(workspace), "the end");
        must(cudaFree(weights), "the end");
        must(cudaFree(image), "the end");
        must(cudaFree(probabilities), "the end");
        must(cudaStreamDestroy(stream), "the end");
        return 0;
}
