/* SPDX-License-Identifier: MIT */
/* Convolution as a product whose rows are positions: NHWC, fp16, sums in f32, bias, what is added, relu.
 *
 *     x  H x W x C      w  outputs x (window x window x C), packed at compile time     y  OH x OW x outputs
 *     tile 64 positions x 64 outputs, 4 warps of 32 x 32, 32 channels of one window offset a stage, 4 stages
 *
 * Nothing is gathered in memory: a row of a stage is 64 bytes of one pixel, or zeros outside. Three ways to
 * launch the same tile: one block a tile; parts of the channels by several blocks, whose sums a second
 * kernel adds in order (no atomics, the same bits always); several layers in one cooperative launch. */
#include <stdint.h>
#include "leaf.h"

enum { TILE = 64, DEPTH = 32, STAGES = 4, THREADS = 128, ROW = DEPTH * 2 };
enum { STAGE_BYTES = 2 * TILE * ROW, CONV_SHARED = STAGES * STAGE_BYTES };

struct conv {
        const uint16_t *x, *w, *added;  /* added: NULL or as y */
        const float *bias;
        uint16_t *y;
        float *parts;                   /* parts x positions x outputs, or NULL */
        int height, width, channels, outputs, window, stride, pad, out_height, out_width, part_count;
};

static __device__ __forceinline__ int chunk_at(int row, int chunk) { return row * ROW + ((chunk ^ (row >> 1 & 3)) << 4); }

/* what a thread copies in every stage: two rows of x and of w, one chunk of each */
struct rows { int top[2], left[2], x_at[2], w_at[2]; };

static __device__ __forceinline__ void fetch(const struct conv *c, const struct rows *r, unsigned char *stage, int turn, int end)
{
        int blocks = c->channels / DEPTH, offset = turn / blocks, channel = turn % blocks * DEPTH;
        int dy = offset / c->window, dx = offset % c->window, step = (dy * c->width + dx) * c->channels + channel;
#pragma unroll
        for (int i = 0; i < 2; i++) {
                int row = (int)threadIdx.x / 4 + i * 32, chunk = (int)threadIdx.x % 4;
                bool there = turn < end && (unsigned)(r->top[i] + dy) < (unsigned)c->height &&
                             (unsigned)(r->left[i] + dx) < (unsigned)c->width;
                copy_async(stage + chunk_at(row, chunk), there ? c->x + r->x_at[i] + step : c->x, there);
                there = turn < end && r->w_at[i] >= 0;
                copy_async(stage + TILE * ROW + chunk_at(row, chunk), there ? c->w + r->w_at[i] + turn * DEPTH : c->w, there);
        }
}

static __device__ __forceinline__ void finish(const struct conv *c, int at, int o, float v0, float v1)
{
        v0 += c->bias[o];
        v1 += c->bias[o + 1];
        if (c->added) {
                uint32_t pair = *(const uint32_t *)(c->added + at);
                v0 += float_of_half((uint16_t)pair);
                v1 += float_of_half((uint16_t)(pair >> 16));
        }
        *(uint32_t *)(c->y + at) = half_of_float(v0 > 0 ? v0 : 0) | (uint32_t)half_of_float(v1 > 0 ? v1 : 0) << 16;
}

static __device__ __forceinline__ void conv_tile(const struct conv *c, int tile, int part)
{
        unsigned char *const shared = shared_memory();
        int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
        int across = c->outputs / TILE, m = tile / across * TILE, n = tile % across * TILE;
        int positions = c->out_height * c->out_width, row = warp / 2 * 32, column = warp % 2 * 32;
        int depth = c->window * c->window * c->channels, turns = depth / DEPTH;
        int begin = turns * part / c->part_count, end = turns * (part + 1) / c->part_count;
        struct rows r;
#pragma unroll
        for (int i = 0; i < 2; i++) {
                int at = (int)threadIdx.x / 4 + i * 32, chunk = (int)threadIdx.x % 4, p = m + at;
                r.top[i] = p < positions ? p / c->out_width * c->stride - c->pad : -c->window;
                r.left[i] = p % c->out_width * c->stride - c->pad;
                r.x_at[i] = (r.top[i] * c->width + r.left[i]) * c->channels + chunk * 8;
                r.w_at[i] = n + at < c->outputs ? (n + at) * depth + chunk * 8 : -1;
        }
        float acc[2][4][4] = {};
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
                fetch(c, &r, shared + s * STAGE_BYTES, begin + s, end);
                copy_commit();
        }
        for (int t = begin; t < end; t++) {
                copy_wait(STAGES - 2);
                __syncthreads();
                fetch(c, &r, shared + (t - begin + STAGES - 1) % STAGES * STAGE_BYTES, t + STAGES - 1, end);
                copy_commit();
                const unsigned char *xs = shared + (t - begin) % STAGES * STAGE_BYTES, *ws = xs + TILE * ROW;
#pragma unroll
                for (int k = 0; k < 2; k++) {
                        uint32_t a[2][4], b[2][4];
#pragma unroll
                        for (int i = 0; i < 2; i++) {
                                load_matrices(a[i], xs + chunk_at(row + i * 16 + lane % 16, k * 2 + lane / 16));
                                load_matrices(b[i], ws + chunk_at(column + i * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
                        }
#pragma unroll
                        for (int i = 0; i < 2; i++)
#pragma unroll
                                for (int j = 0; j < 4; j++)
                                        mma_f16(acc[i][j], a[i], b[j / 2] + j % 2 * 2);
                }
        }
        copy_wait(0);
        __syncthreads();                /* a next tile may be fetched */
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
#pragma unroll
                        for (int h = 0; h < 2; h++) {
                                int p = m + row + i * 16 + lane / 4 + h * 8, o = n + column + j * 8 + lane % 4 * 2;
                                int at = p * c->outputs + o;
                                if (p >= positions)
                                        continue;
                                if (c->parts) {
                                        float *to = c->parts + (int64_t)part * positions * c->outputs + at;
                                        to[0] = acc[i][j][2 * h];
                                        to[1] = acc[i][j][2 * h + 1];
                                } else {
                                        finish(c, at, o, acc[i][j][2 * h], acc[i][j][2 * h + 1]);
                                }
                        }
}

__global__ void __launch_bounds__(THREADS, 6) conv(struct conv c) { conv_tile(&c, (int)blockIdx.x, (int)blockIdx.y); }

__global__ void __launch_bounds__(THREADS) conv_join(struct conv c)
{
        int at = ((int)blockIdx.x * THREADS + (int)threadIdx.x) * 2, size = c.out_height * c.out_width * c.outputs;
        if (at >= size)
                return;
        float v0 = 0, v1 = 0;
        for (int part = 0; part < c.part_count; part++) {
                v0 += c.parts[(int64_t)part * size + at];
                v1 += c.parts[(int64_t)part * size + at + 1];
        }
        finish(&c, at, at % c.outputs, v0, v1);
}

/* three layers, each after the one before: tiles shared by the blocks that there are */
struct layers { struct conv layer[3]; unsigned *barrier; };
__global__ void __launch_bounds__(THREADS, 4) bottleneck(struct layers a)
{
#pragma unroll
        for (int l = 0; l < 3; l++) {
                const struct conv *c = &a.layer[l];
                int tiles = (c->out_height * c->out_width + TILE - 1) / TILE * (c->outputs / TILE);
                for (int tile = (int)blockIdx.x; tile < tiles; tile += (int)gridDim.x)
                        conv_tile(c, tile, 0);
                if (l < 2)
                        grid_barrier(a.barrier);
        }
}

extern "C" int conv_run(struct conv c, cudaStream_t stream)
{
        int positions = c.out_height * c.out_width;
        dim3 grid, block, join;
        grid.x = (unsigned)((positions + TILE - 1) / TILE * (c.outputs / TILE));
        grid.y = (unsigned)c.part_count;
        block.x = THREADS;
        void *args[] = { &c };
        if (cudaLaunchKernel(conv, grid, block, args, CONV_SHARED, stream) != cudaSuccess)
                return -1;
        if (!c.parts)
                return 0;
        join.x = (unsigned)(positions * c.outputs / 2 + THREADS - 1) / THREADS;
        return cudaLaunchKernel(conv_join, join, block, args, 0, stream) == cudaSuccess ? 0 : -1;
}
extern "C" int bottleneck_run(struct layers a, int blocks, cudaStream_t stream)
{
        dim3 grid, block;
        grid.x = (unsigned)blocks;
        block.x = THREADS;
        void *args[] = { &a };
        return cudaLaunchCooperativeKernel(bottleneck, grid, block, args, CONV_SHARED, stream) == cudaSuccess ? 0 : -1;
}
