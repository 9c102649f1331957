/* SPDX-License-Identifier: MIT */
#include "detector.h"

#include <stdio.h>
#include <stdlib.h>

static const char *run(const struct detector *d, const char *from, const char *to)
{
        struct image image, small = { 0 };
        struct box *boxes = malloc((size_t)d->most * sizeof *boxes);
        float scale;
        const char *error = image_read(&image, from);
        if (!error && !boxes)
                error = "no memory";
        if (!error)
                error = image_fit(&image, &small, d->side, d->side, &scale);
        int count = error ? 0 : d->detect(&small, boxes);
        if (count < 0)
                error = "the network does not run";
        if (!error)
                boxes_show(boxes, count, d->kinds, scale, &image, d->color);
        if (!error && to)
                error = image_write(&image, to);
        image_free(&image);
        image_free(&small);
        free(boxes);
        return error;
}

int detector_main(const struct detector *d, int count, char **arguments)
{
        if (count < 2 || count > 3) {
                fprintf(stderr, "usage: %s IMAGE [OUT]        JPEG (baseline) or PPM\n", d->name);
                return 1;
        }
        const char *error = run(d, arguments[1], count > 2 ? arguments[2] : NULL);
        if (error)
                fprintf(stderr, "%s: %s: %s\n", d->name, arguments[1], error);
        return error ? 2 : 0;
}
