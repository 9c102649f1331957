/* SPDX-License-Identifier: MIT */
/* Finds things of 80 kinds in a photograph, and draws boxes around them.
 *
 *     objects street.jpg out.jpg
 */
#include <math.h>

#include "detector.h"
#include "names.h"
#include "net.h"

enum { SIDE = 320, KINDS = 80, STEPS = 8, CELLS = 40 * 40 + 20 * 20 + 10 * 10 };

static const float SURE = 0.4f, OVERLAP = 0.5f;

/* The network says this of each cell of three grids, 8, 16 and 32 pixels wide. */
struct outputs {
        float kinds8[NET_CLS_PRED_STRIDE_8_ELEMS], sides8[NET_DIS_PRED_STRIDE_8_ELEMS];
        float kinds16[NET_CLS_PRED_STRIDE_16_ELEMS], sides16[NET_DIS_PRED_STRIDE_16_ELEMS];
        float kinds32[NET_CLS_PRED_STRIDE_32_ELEMS], sides32[NET_DIS_PRED_STRIDE_32_ELEMS];
};

/* Returns how many cells away a side is. The network gives a number for each of 0, 1 .. 7, and the
 * mean by their softmax is taken. */
static float distance(const float votes[STEPS])
{
        float most = votes[0], sum = 0, weighted = 0;
        for (int k = 1; k < STEPS; k++)
                most = votes[k] > most ? votes[k] : most;
        for (int k = 0; k < STEPS; k++) {
                float w = expf(votes[k] - most);
                sum += w;
                weighted += w * (float)k;
        }
        return weighted / sum;
}

/* Collects the boxes of one grid, behind `count` that there are: each cell's likeliest kind, and
 * its sides from the cell's middle. */
static int collect(const float *kinds, const float *sides, int cell, struct box *boxes, int count)
{
        for (int i = 0, across = SIDE / cell; i < across * across; i++, kinds += KINDS, sides += 4 * STEPS) {
                int best = 0;
                for (int k = 1; k < KINDS; k++)
                        if (kinds[k] > kinds[best])
                                best = k;
                if (!(kinds[best] >= SURE))
                        continue;
                float middle = 0.5f * (float)(cell - 1), d[4];
                float x = (float)(i % across * cell) + middle, y = (float)(i / across * cell) + middle;
                for (int k = 0; k < 4; k++)
                        d[k] = distance(sides + k * STEPS) * (float)cell;
                boxes[count++] = (struct box){ x - d[0], y - d[1], x + d[2], y + d[3], kinds[best], best };
        }
        return count;
}

/* Finds things and returns how many there are, or -1 where the network does not run. */
static int detect(const struct image *image, struct box *boxes)
{
        NET_WORKSPACE_DEFINE(workspace);
        static float input[NET_INPUT_1_ELEMS];
        static struct outputs o;
        const float mean[3] = { 103.53f, 116.28f, 123.675f }, deviation[3] = { 57.375f, 57.12f, 58.395f };
        image_planes(image, "BGR", mean, deviation, input);
        if (net_run(workspace, input, o.kinds8, o.kinds16, o.kinds32, o.sides8, o.sides16, o.sides32))
                return -1;
        int count = collect(o.kinds8, o.sides8, 8, boxes, 0);
        count = collect(o.kinds16, o.sides16, 16, boxes, count);
        count = collect(o.kinds32, o.sides32, 32, boxes, count);
        return boxes_suppress(boxes, count, OVERLAP);
}

int main(int count, char **arguments)
{
        const struct detector d = { "objects", SIDE, CELLS, names, { 255, 64, 0 }, detect };
        return detector_main(&d, count, arguments);
}
