/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "boxes.h"

/* The best box comes first, and equal scores have an order of their own, so that results are the
 * same everywhere. */
static int compare(const void *a, const void *b)
{
        const struct box *p = a, *q = b;
        const float left[] = { q->score, p->top, p->left, p->bottom, p->right };
        const float right[] = { p->score, q->top, q->left, q->bottom, q->right };
        for (int i = 0; i < 5; i++)
                if (left[i] != right[i])
                        return left[i] < right[i] ? -1 : 1;
        return p->kind - q->kind;
}

static float area(float left, float top, float right, float bottom)
{
        return right > left && bottom > top ? (right - left) * (bottom - top) : 0;
}

static float shared(const struct box *a, const struct box *b)
{
        float both = area(a->left > b->left ? a->left : b->left, a->top > b->top ? a->top : b->top,
                          a->right < b->right ? a->right : b->right, a->bottom < b->bottom ? a->bottom : b->bottom);
        float either = area(a->left, a->top, a->right, a->bottom) + area(b->left, b->top, b->right, b->bottom) - both;
        return either > 0 ? both / either : 0;
}

int boxes_suppress(struct box *boxes, int count, float overlap)
{
        int kept = 0;
        qsort(boxes, (size_t)count, sizeof *boxes, compare);
        for (int i = 0; i < count; i++) {
                int k = 0;
                while (k < kept && (boxes[k].kind != boxes[i].kind || shared(&boxes[k], &boxes[i]) <= overlap))
                        k++;
                if (k == kept)
                        boxes[kept++] = boxes[i];
        }
        return kept;
}

void boxes_show(const struct box *boxes, int count, const char *const *names, float scale, struct image *image,
                const unsigned char color[3])
{
        for (const struct box *b = boxes; b < boxes + count; b++) {
                float left = b->left / scale, top = b->top / scale, right = b->right / scale, bottom = b->bottom / scale;
                printf("%s at %ld, %ld of %ld x %ld, %.2f\n", names[b->kind], lrintf(left), lrintf(top), lrintf(right - left),
                       lrintf(bottom - top), (double)b->score);
                image_rectangle(image, left, top, right, bottom, 2, color);
        }
}
