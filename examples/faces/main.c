/* SPDX-License-Identifier: MIT */
/* Finds faces in a photograph, and draws boxes around them.
 *
 *     faces people.jpg out.jpg
 */
#include <math.h>

#include "detector.h"
#include "net.h"

enum { SIDE = 320, MOST = NET_CLS_8_ELEMS + NET_CLS_16_ELEMS + NET_CLS_32_ELEMS };

static const float SURE = 0.6f, OVERLAP = 0.3f;

/* The network says this of each cell of three grids, 8, 16 and 32 pixels wide: how sure it is of a
 * face, and of its box. */
struct outputs {
        float class8[NET_CLS_8_ELEMS], class16[NET_CLS_16_ELEMS], class32[NET_CLS_32_ELEMS];
        float object8[NET_OBJ_8_ELEMS], object16[NET_OBJ_16_ELEMS], object32[NET_OBJ_32_ELEMS];
        float box8[NET_BBOX_8_ELEMS], box16[NET_BBOX_16_ELEMS], box32[NET_BBOX_32_ELEMS];
        float eyes8[NET_KPS_8_ELEMS], eyes16[NET_KPS_16_ELEMS], eyes32[NET_KPS_32_ELEMS];
};

/* Collects the boxes of one grid, behind `count` that there are. The network gives a box's centre
 * from the cell's corner, and the logarithm of its size, in cells. */
static int collect(const float *class, const float *object, const float *box, int cell, struct box *boxes, int count)
{
        for (int i = 0, across = SIDE / cell; i < across * across; i++, box += 4) {
                float score = sqrtf(class[i] * object[i]);
                if (!(score >= SURE))
                        continue;
                float x = ((float)(i % across) + box[0]) * (float)cell;
                float y = ((float)(i / across) + box[1]) * (float)cell;
                float width = expf(box[2]) * (float)cell, height = expf(box[3]) * (float)cell;
                boxes[count++] = (struct box){ x - width / 2, y - height / 2, x + width / 2, y + height / 2, score, 0 };
        }
        return count;
}

/* Finds faces and returns how many there are, or -1 where the network does not run. */
static int detect(const struct image *image, struct box *boxes)
{
        NET_WORKSPACE_DEFINE(workspace);
        static float input[NET_INPUT_ELEMS];
        static struct outputs o;
        const float zeros[3] = { 0, 0, 0 }, ones[3] = { 1, 1, 1 };
        image_planes(image, "BGR", zeros, ones, input);
        if (net_run(workspace, input, o.class8, o.class16, o.class32, o.object8, o.object16, o.object32,
                    o.box8, o.box16, o.box32, o.eyes8, o.eyes16, o.eyes32))
                return -1;
        int count = collect(o.class8, o.object8, o.box8, 8, boxes, 0);
        count = collect(o.class16, o.object16, o.box16, 16, boxes, count);
        count = collect(o.class32, o.object32, o.box32, 32, boxes, count);
        return boxes_suppress(boxes, count, OVERLAP);
}

int main(int count, char **arguments)
{
        const struct detector d = { "faces", SIDE, MOST, (const char *const[]){ "face" }, { 0, 255, 0 }, detect };
        return detector_main(&d, count, arguments);
}
