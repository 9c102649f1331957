/* SPDX-License-Identifier: MIT */
/* Finds lines of text in a photograph or a page, and draws boxes around them.
 *
 *     text page.jpg out.jpg
 */
#include "detector.h"
#include "net.h"

enum { SIDE = 640, PIXELS = SIDE * SIDE, MOST = 1000, SMALLEST = 3 };

/* The network says of each pixel how likely it is within text, at the core of a line. Pixels above TEXT that touch each other are a
 * region; one whose mean is above SURE is a line, GROWN by that much of its area / circumference in each direction. */
static const float TEXT = 0.3f, SURE = 0.6f, GROWN = 1.5f;

/* Finds the region of pixel `start`, whose pixels become 0; `todo` has room for all pixels. Pixels
 * touch at corners, too. */
static struct box region(float *p, int start, int *todo)
{
        int left = SIDE, top = SIDE, right = 0, bottom = 0, count = 0, found = 1;
        float sum = 0;
        todo[0] = start;
        sum += p[start];
        p[start] = 0;
        while (count < found) {
                int at = todo[count++], x = at % SIDE, y = at / SIDE;
                left = x < left ? x : left;
                right = x + 1 > right ? x + 1 : right;
                top = y < top ? y : top;
                bottom = y + 1 > bottom ? y + 1 : bottom;
                for (int k = 0; k < 9; k++) {
                        int nx = x + k % 3 - 1, ny = y + k / 3 - 1, next = ny * SIDE + nx;
                        if (nx < 0 || ny < 0 || nx >= SIDE || ny >= SIDE || !(p[next] > TEXT))
                                continue;
                        sum += p[next];
                        p[next] = 0;
                        todo[found++] = next;
                }
        }
        return (struct box){ (float)left, (float)top, (float)right, (float)bottom, sum / (float)count, 0 };
}

/* Finds lines from top to bottom; returns -1 where the network does not run. */
static int detect(const struct image *image, struct box *boxes)
{
        NET_WORKSPACE_DEFINE(workspace);
        static float input[NET_X_ELEMS], p[PIXELS];
        static int todo[PIXELS];
        const float mean[3] = { 123.675f, 116.28f, 103.53f }, deviation[3] = { 58.395f, 57.12f, 57.375f };
        int count = 0;
        image_planes(image, "RGB", mean, deviation, input);
        if (net_run(workspace, input, p))
                return -1;
        for (int i = 0; i < PIXELS && count < MOST; i++) {
                if (!(p[i] > TEXT))
                        continue;
                struct box b = region(p, i, todo);
                float width = b.right - b.left, height = b.bottom - b.top;
                float more = GROWN * width * height / (2 * (width + height));
                if (b.score < SURE || width < SMALLEST || height < SMALLEST)
                        continue;
                boxes[count++] = (struct box){ b.left - more, b.top - more, b.right + more, b.bottom + more, b.score, 0 };
        }
        return count;
}

int main(int count, char **arguments)
{
        const struct detector d = { "text", SIDE, MOST, (const char *const[]){ "text" }, { 255, 0, 0 }, detect };
        return detector_main(&d, count, arguments);
}
