/* SPDX-License-Identifier: MIT */
/* Makes an image three times as large, and sharper than interpolation does.
 *
 *     sharper small.jpg large.jpg
 *
 * The network knows brightness alone: colors are interpolated, and all three of a pixel change by as much as its brightness does.
 * It takes 224 x 224 pixels: larger images are cut into tiles, whose outer pixels, which know nothing of their neighbours, are
 * thrown away. */
#include <stdio.h>

#include "image.h"
#include "net.h"

enum { TILE = 224, BORDER = 6, TIMES = 3 };

static float brightness(const unsigned char *p)
{
        return (0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2]) / 255;
}

/* Loads the tile at left, top; it is 0 beyond the image. */
static void load(const struct image *image, int left, int top, float input[NET_INPUT_ELEMS])
{
        for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x++) {
                        int inside = left + x < image->width && top + y < image->height;
                        size_t at = inside ? (size_t)(top + y) * image->width + left + x : 0;
                        input[y * TILE + x] = inside ? brightness(image->pixels + 3 * at) : 0;
                }
}

/* Stores what the network says of a tile in the interpolated image, but not what other tiles know
 * better. */
static void store(struct image *large, int left, int top, const float *output)
{
        int last_x = left + TILE < large->width / TIMES ? TILE - BORDER : TILE;
        int last_y = top + TILE < large->height / TIMES ? TILE - BORDER : TILE;
        for (int y = TIMES * (top ? BORDER : 0); y < TIMES * last_y && TIMES * top + y < large->height; y++)
                for (int x = TIMES * (left ? BORDER : 0); x < TIMES * last_x && TIMES * left + x < large->width; x++) {
                        unsigned char *p = large->pixels + 3 * ((size_t)(TIMES * top + y) * large->width + TIMES * left + x);
                        float more = 255 * (output[y * TIMES * TILE + x] - brightness(p)) + 0.5f;
                        for (int c = 0; c < 3; c++) {
                                float v = (float)p[c] + more;
                                p[c] = v < 0 ? 0 : v > 255 ? 255 : (unsigned char)v;
                        }
                }
}

static const char *enlarge(const struct image *image, struct image *large)
{
        NET_WORKSPACE_DEFINE(workspace);
        static float input[NET_INPUT_ELEMS], output[NET_OUTPUT_ELEMS];
        int width = image->width, height = image->height;
        const char *error = image_resample(image, 0, 0, width, height, large, TIMES * width, TIMES * height);
        for (int top = 0; !error && (!top || top + 2 * BORDER < height); top += TILE - 2 * BORDER)
                for (int left = 0; !error && (!left || left + 2 * BORDER < width); left += TILE - 2 * BORDER) {
                        load(image, left, top, input);
                        if (net_run(workspace, input, output))
                                error = "the network does not run";
                        else
                                store(large, left, top, output);
                }
        return error;
}

int main(int count, char **arguments)
{
        struct image image, large = { 0 };
        if (count != 3) {
                fprintf(stderr, "usage: sharper IMAGE OUT        JPEG (baseline) or PPM\n");
                return 1;
        }
        const char *error = image_read(&image, arguments[1]);
        if (!error)
                error = enlarge(&image, &large);
        if (!error)
                error = image_write(&large, arguments[2]);
        if (error)
                fprintf(stderr, "sharper: %s: %s\n", arguments[1], error);
        image_free(&image);
        image_free(&large);
        return error ? 2 : 0;
}
