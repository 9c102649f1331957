/* SPDX-License-Identifier: MIT */
/* Says what a photograph shows. Its middle, made 32 x 32 pixels small, goes into a network for ten
 * classes.
 *
 *     photo cat.jpg .. */
#include <stdio.h>

#include "image.h"
#include "net.h"

enum { SIDE = 32, CLASSES = NET_OUTPUT_ELEMS, SHOWN = 3 };

static const char *const names[CLASSES] = { "airplane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck" };

/* Loads the largest square in the middle, as the network wants it: rows of red, green, blue, 0 to
 * 255. */
static const char *load(const char *path, float input[NET_INPUT_ELEMS])
{
        struct image photo, small = { 0 };
        const char *error = image_read(&photo, path);
        if (!error) {
                int side = photo.width < photo.height ? photo.width : photo.height;
                error = image_resample(&photo, (photo.width - side) / 2, (photo.height - side) / 2, side, side, &small, SIDE, SIDE);
        }
        for (size_t i = 0; !error && i < NET_INPUT_ELEMS; i++)
                input[i] = small.pixels[i];
        image_free(&photo);
        image_free(&small);
        return error;
}

/* Prints the best classes, best first, each with its probability. */
static void print_best(const char *path, float p[CLASSES])
{
        printf("%s:", path);
        for (int shown = 0; shown < SHOWN; shown++) {
                int best = 0;
                for (int k = 1; k < CLASSES; k++)
                        if (p[k] > p[best])
                                best = k;
                printf("%s %s %.3f", shown ? "," : "", names[best], (double)p[best]);
                p[best] = -1;
        }
        putchar('\n');
}

int main(int count, char **arguments)
{
        NET_WORKSPACE_DEFINE(workspace);
        float input[NET_INPUT_ELEMS], output[CLASSES];
        if (count < 2) {
                fprintf(stderr, "usage: photo IMAGE..        JPEG (baseline) or PPM\n");
                return 1;
        }
        for (int i = 1; i < count; i++) {
                const char *error = load(arguments[i], input);
                if (!error && net_run(workspace, input, output))
                        error = "the network does not run";
                if (error) {
                        fprintf(stderr, "photo: %s: %s\n", arguments[i], error);
                        return 2;
                }
                print_best(arguments[i], output);
        }
        return 0;
}
