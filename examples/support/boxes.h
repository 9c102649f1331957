/* SPDX-License-Identifier: MIT */
/* A detector found these boxes. */
#ifndef SUPPORT_BOXES_H
#define SUPPORT_BOXES_H

#include "image.h"

struct box {
        float left, top, right, bottom, score;
        int kind;
};

/* Suppresses boxes that overlap (non-maximum suppression): the best box of a kind stays, and those
 * that overlap it by more than `overlap` (the area that both cover / that either covers) go; so
 * with the best of the rest. Those that stay stand at the front, best first; returns how many there
 * are. */
int boxes_suppress(struct box *boxes, int count, float overlap);

/* Prints a line for each box (its kind's name, left, top, width, height, score), and draws it into `image`, of which the image that was
 * looked at is `scale` times as large. */
void boxes_show(const struct box *boxes, int count, const char *const *names, float scale, struct image *image,
                const unsigned char color[3]);

#endif
