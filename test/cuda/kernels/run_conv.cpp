/* SPDX-License-Identifier: MIT */
/* Runs conv.cu on the CPU: each way to launch it, in six executions, against a plain convolution. */
#include <stdio.h>

#include <algorithm>
#include <vector>

#include "conv.cu"

static unsigned state = 1;
static uint16_t any(void)
{
        state = state * 1664525u + 1013904223u;
        return half_of_float((float)((int)(state >> 16) % 4) - 1.5f);     /* sums are exact */
}
static std::vector<uint16_t> random_of(size_t n)
{
        std::vector<uint16_t> v(n);
        for (auto &x : v) x = any();
        return v;
}
static std::vector<uint16_t> plain(const struct conv &c)
{
        std::vector<uint16_t> y((size_t)(c.out_height * c.out_width * c.outputs));
        for (int i = 0; i < c.out_height; i++)
                for (int j = 0; j < c.out_width; j++)
                        for (int o = 0; o < c.outputs; o++) {
                                size_t at = (size_t)((i * c.out_width + j) * c.outputs + o);
                                float sum = c.bias[o] + (c.added ? float_of_half(c.added[at]) : 0);
                                for (int dy = 0; dy < c.window; dy++)
                                        for (int dx = 0; dx < c.window; dx++)
                                                for (int k = 0; k < c.channels; k++) {
                                                        int h = i * c.stride - c.pad + dy, w = j * c.stride - c.pad + dx;
                                                        if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
                                                        sum += float_of_half(c.x[(h * c.width + w) * c.channels + k]) *
                                                               float_of_half(c.w[((o * c.window + dy) * c.window + dx) * c.channels + k]);
                                                }
                                y[at] = half_of_float(sum > 0 ? sum : 0);
                        }
        return y;
}

static int one(int size, int channels, int outputs, int window, int stride, bool add, int parts)
{
        struct conv c = {};
        c.height = c.width = size, c.channels = channels, c.outputs = outputs, c.window = window, c.stride = stride;
        c.pad = window / 2, c.part_count = parts;
        c.out_height = c.out_width = (size + 2 * c.pad - window) / stride + 1;
        size_t results = (size_t)(c.out_height * c.out_width * outputs);
        auto x = random_of((size_t)(size * size * channels)), w = random_of((size_t)(outputs * window * window * channels));
        auto added = random_of(results), y = added;
        std::vector<float> bias((size_t)outputs, 0.5f), sums(results * (size_t)parts);
        c.x = x.data(), c.w = w.data(), c.added = add ? added.data() : NULL, c.bias = bias.data(), c.y = y.data();
        c.parts = parts > 1 ? sums.data() : NULL;
        auto want = plain(c);
        int bad = 0;
        for (int e = 0; e < 6; e++) {
                executor_execution(e);
                std::fill(y.begin(), y.end(), 0x7e01);
                bad += conv_run(c, NULL) || cudaDeviceSynchronize() || y != want;
        }
        printf("%3d x %3d x %3d -> %3d window %d step %d%s, %d parts: %s\n", size, size, channels, outputs, window, stride,
               add ? ", added" : "", parts, bad ? "BAD" : "equal to the bit, 6 executions");
        return bad;
}

/* 1 x 1, 3 x 3, 1 x 1 and what went in: a bottleneck of ResNet in one launch, whole numbers halved to stay small */
static int three(int size, int wide, int narrow, int blocks)
{
        struct layers a = {};
        unsigned barrier = 0;
        std::vector<uint16_t> x = random_of((size_t)(size * size * wide)), t1((size_t)(size * size * narrow)), t2 = t1, y = x, w[3];
        std::vector<float> bias((size_t)wide, 1.0f);
        int from[3] = { wide, narrow, narrow }, to[3] = { narrow, narrow, wide };
        for (int l = 0; l < 3; l++) {
                struct conv *c = &a.layer[l];
                c->height = c->width = c->out_height = c->out_width = size;
                c->channels = from[l], c->outputs = to[l], c->window = l == 1 ? 3 : 1, c->stride = 1, c->pad = l == 1, c->part_count = 1;
                w[l] = random_of((size_t)(to[l] * c->window * c->window * from[l]));
                for (auto &v : w[l]) v = half_of_float(any() == 0 || (state >> 20) % 97 ? 0.0f : 0.25f);
                c->w = w[l].data(), c->bias = bias.data();
        }
        a.layer[0].x = x.data(), a.layer[0].y = t1.data(), a.layer[1].x = t1.data(), a.layer[1].y = t2.data();
        a.layer[2].x = t2.data(), a.layer[2].added = x.data(), a.layer[2].y = y.data();
        a.barrier = &barrier;
        auto p1 = plain(a.layer[0]);
        struct conv c1 = a.layer[1], c2 = a.layer[2];
        c1.x = p1.data();
        auto p2 = plain(c1);
        c2.x = p2.data();
        auto want = plain(c2);
        int bad = 0;
        for (int e = 0; e < 6; e++) {
                executor_execution(e);
                std::fill(y.begin(), y.end(), 0x7e01);
                std::fill(t1.begin(), t1.end(), 0x7e01);
                std::fill(t2.begin(), t2.end(), 0x7e01);
                bad += bottleneck_run(a, blocks, NULL) || cudaDeviceSynchronize() || y != want;
        }
        printf("bottleneck %d x %d x %d in one launch of %d blocks: %s\n", size, size, wide, blocks, bad ? "BAD" : "equal to the bit, 6 executions");
        return bad;
}

int main(void)
{
        int bad = one(14, 64, 64, 3, 1, true, 1) + one(13, 32, 128, 3, 2, false, 1) + one(7, 128, 64, 3, 1, true, 4) +
                  one(9, 96, 64, 1, 1, false, 3) + one(8, 64, 64, 7, 2, false, 1) + three(14, 256, 64, 8);
        printf("mma %lld, bank conflicts %lld of %lld ldmatrix, switches %lld\n", (long long)executor.counts.mma,
               (long long)executor.counts.conflicts, (long long)executor.counts.ldmatrix, (long long)executor.counts.switches);
        return bad != 0;
}
