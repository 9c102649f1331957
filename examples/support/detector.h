/* SPDX-License-Identifier: MIT */
/* This is the program around a network that finds boxes in pictures:
 *
 *     NAME IMAGE [OUT]        prints what it finds in IMAGE, and writes it to OUT with the boxes
 * drawn */
#ifndef SUPPORT_DETECTOR_H
#define SUPPORT_DETECTOR_H

#include "boxes.h"

struct detector {
        const char *name;                       /* It is the program's name, for messages. */
        int side;                               /* The network looks at a square of so many pixels a
                                                 * side. */
        int most;                               /* There are at most so many boxes. */
        const char *const *kinds;               /* They are the names of the kinds. */
        unsigned char color[3];
        /* Finds boxes in an image of that square; returns how many there are, or -1 where the
         * network does not run. */
        int (*detect)(const struct image *image, struct box *boxes);
};

/* Takes main's arguments; returns the exit code 0, 1 (wrong arguments) or 2 (an error, which is on
 * standard error). */
int detector_main(const struct detector *d, int count, char **arguments);

#endif
