/* SPDX-License-Identifier: MIT */
/* Forgets what a network knows of handwritten digits, and teaches it them again: the program trains, by the C that dnncc wrote for a step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "net.h"
#include "../digits/samples.h"

NET_WORKSPACE_DEFINE(workspace);
NET_STATE_DEFINE(state);

enum { COUNT = sizeof samples / sizeof *samples, TAUGHT = 2 * COUNT / 3, BATCH = 8 };       /* BATCH is --accumulate's. */

static uint32_t seed = 1;

/* Returns the next number of a xorshift generator. */
static uint32_t draw(void)
{
        seed ^= seed << 13;
        seed ^= seed >> 17;
        return seed ^= seed << 5;
}

/* Sets weights to random numbers of the variance that keeps values of a layer with so many inputs as large as they are (He et al., 2015). */
static void forget(float *weights, size_t count, int inputs)
{
        for (size_t i = 0; i < count; i++)
                weights[i] = ((float)draw() / 4294967296.0f * 2 - 1) * sqrtf(6.0f / (float)inputs);
}

static void forget_all(void)
{
        forget(state.conv1_w, sizeof state.conv1_w / sizeof(float), 9);
        forget(state.conv2_w, sizeof state.conv2_w / sizeof(float), 16 * 9);
        forget(state.dense_w, sizeof state.dense_w / sizeof(float), 512);
}

static void image_of(int s, float *image)
{
        for (int i = 0; i < 64; i++)
                image[i] = (float)samples[s].pixels[i] / 16;
}

static int right(int first, int end)
{
        float image[64], probabilities[10], scores[10];
        int count = 0;
        for (int s = first; s < end; s++) {
                int best = 0;
                image_of(s, image);
                if (net_infer_run(&workspace, &state, image, probabilities, scores))
                        return -1;
                for (int k = 1; k < 10; k++)
                        best = probabilities[k] > probabilities[best] ? k : best;
                count += best == samples[s].digit;
        }
        return count;
}

/* Makes an update of the weights by the mean gradient of a batch, and returns the mean of the losses, below 0 after an error. */
static float teach(void)
{
        float image[64], sum = 0, loss;
        for (int i = 0; i < BATCH; i++) {
                int s = (int)(draw() % TAUGHT);
                int64_t label = samples[s].digit;
                image_of(s, image);
                if (net_train_run(&workspace, &state, image, &label, &loss))
                        return -1;
                sum += loss;
        }
        return sum / BATCH;
}

static int report(int update, float loss)
{
        return printf("%4d updates  loss %.3f  %2d of %d right, %2d of the %d that it is not taught\n", update, (double)loss, right(0, TAUGHT), TAUGHT,
                      right(TAUGHT, COUNT), COUNT - TAUGHT);
}

int main(int argc, char **argv)
{
        int updates = argc > 1 ? atoi(argv[1]) : 300;
        if (net_init_run(&workspace, &state))
                return 1;
        printf("state: %u bytes, workspace: %u bytes, no malloc\n", (unsigned)sizeof state, (unsigned)NET_WORKSPACE_SIZE);
        forget_all();
        for (int i = 1; i <= updates; i++) {
                float loss = teach();
                if (loss < 0)
                        return 1;
                if (i == 1 || i % 50 == 0)
                        report(i, loss);
        }
        return 0;
}
