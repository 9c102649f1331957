/* SPDX-License-Identifier: MIT */
/* A program around a network that finds boxes in pictures:
 *
 *     NAME IMAGE [OUT]        prints what it finds in IMAGE, and writes it to OUT with the boxes drawn
 */
#ifndef SUPPORT_DETECTOR_H
#define SUPPORT_DETECTOR_H

#include "boxes.h"

struct detector {
        const char *name;                       /* of the program, for messages */
        int side;                               /* pixels: the network looks at a square */
        int most;                               /* boxes */
        const char *const *kinds;               /* their names */
        unsigned char color[3];
        /* Finds boxes in an image of that square: how many; -1: the network does not run. */
        int (*detect)(const struct image *image, struct box *boxes);
};

/* main's arguments; the exit code: 0, 1 (wrong arguments), 2 (an error, which is on standard error) */
int detector_main(const struct detector *d, int count, char **arguments);

#endif
