/* Boxes that a detector found. */
#ifndef SUPPORT_BOXES_H
#define SUPPORT_BOXES_H

struct box {
        float left, top, right, bottom, score;
        int kind;
};

/* Non-maximum suppression: the best box of a kind stays, and those that overlap it by more than `overlap` (the area that both cover / that
 * either covers) go; so with the best of the rest. Those that stay stand at the front, best first; returns how many. */
int boxes_suppress(struct box *boxes, int count, float overlap);

#endif
