/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "image.h"

const char *image_new(struct image *image, long width, long height)
{
        *image = (struct image){ 0, 0, NULL };
        if (width < 1 || height < 1)
                return "an image without pixels";
        if (width > IMAGE_MOST_PIXELS / height)
                return "the image is too large";
        image->pixels = calloc((size_t)width * (size_t)height, 3);
        if (!image->pixels)
                return "not enough memory";
        image->width = (int)width;
        image->height = (int)height;
        return NULL;
}

void image_free(struct image *image)
{
        free(image->pixels);
        *image = (struct image){ 0, 0, NULL };
}

/* ---- files ---- */

/* Reads the next number of a PPM's head; blanks and comments may stand before it. Returns -1 where
 * there is none. */
static long ppm_number(const unsigned char **at, const unsigned char *end)
{
        long n = 0;
        while (*at < end && strchr(" \t\r\n#", **at)) {
                if (*(*at)++ == '#')
                        while (*at < end && **at != '\n')
                                ++*at;
        }
        if (*at == end || **at < '0' || **at > '9')
                return -1;
        for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
                if ((n = 10 * n + (**at - '0')) > IMAGE_MOST_PIXELS)
                        return -1;
        return n;
}

static const char *ppm_decode(const unsigned char *bytes, size_t count, struct image *image)
{
        const unsigned char *at = bytes + 2, *end = bytes + count;
        long width = ppm_number(&at, end), height = ppm_number(&at, end), most = ppm_number(&at, end);
        if (width < 0 || height < 0 || most != 255 || at == end)
                return "a PPM's head must be P6, width, height and 255";
        at++;
        if (height && width > (end - at) / 3 / height)
                return "it ends early";
        const char *error = image_new(image, width, height);
        if (!error)
                memcpy(image->pixels, at, (size_t)(3 * width * height));
        return error;
}

const char *image_read(struct image *image, const char *path)
{
        unsigned char *bytes;
        size_t count;
        *image = (struct image){ 0, 0, NULL };
        const char *error = file_read(path, (size_t)3 * IMAGE_MOST_PIXELS + 4096, &bytes, &count);
        if (error)
                return error;
        if (count > 2 && !memcmp(bytes, "P6", 2))
                error = ppm_decode(bytes, count, image);
        else if (count > 2 && !memcmp(bytes, "\xff\xd8", 2))
                error = jpeg_decode(bytes, count, image);
        else
                error = "it is neither JPEG nor PPM (P6)";
        free(bytes);
        return error;
}

const char *image_write(const struct image *image, const char *path)
{
        size_t length = strlen(path), count = 3 * (size_t)image->width * (size_t)image->height;
        int ppm = length > 4 && !strcmp(path + length - 4, ".ppm");
        unsigned char *jpeg = NULL;
        const char *error = ppm ? NULL : jpeg_encode(image, 92, &jpeg, &count);
        FILE *file = error ? NULL : fopen(path, "wb");
        if (!error && !file)
                error = "cannot open it";
        if (file) {
                int failed = ppm && fprintf(file, "P6\n%d %d\n255\n", image->width, image->height) < 0;
                failed |= fwrite(ppm ? image->pixels : jpeg, 1, count, file) != count;
                failed |= fclose(file) != 0;
                if (failed)
                        error = "cannot write it";
        }
        free(jpeg);
        return error;
}

/* ---- other sizes ---- */

/* Resamples in one direction: lines of `count` samples, `step` floats apart, become lines of
 * `to_count`. A new sample is the mean of the old ones under a triangle around its centre, which
 * reaches one sample of the coarser side each way. */
static void resample_lines(const float *from, int count, float *to, int to_count, int lines, int line, int step, int to_line,
                           int to_step)
{
        float scale = (float)count / (float)to_count, reach = scale > 1 ? scale : 1;
        for (int k = 0; k < to_count; k++) {
                float centre = ((float)k + 0.5f) * scale;
                int first = (int)ceilf(centre - reach - 0.5f), last = (int)floorf(centre + reach - 0.5f);
                first = first < 0 ? 0 : first;
                last = last > count - 1 ? count - 1 : last;
                for (int l = 0; l < lines; l++) {
                        float sum = 0, weights = 0;
                        for (int i = first; i <= last; i++) {
                                float w = 1 - fabsf((float)i + 0.5f - centre) / reach;
                                sum += w * from[(size_t)l * line + (size_t)i * step];
                                weights += w;
                        }
                        to[(size_t)l * to_line + (size_t)k * to_step] = sum / weights;
                }
        }
}

const char *image_resample(const struct image *from, int left, int top, int width, int height, struct image *to, int to_width,
                           int to_height)
{
        const char *error = image_new(to, to_width, to_height);
        if (error)
                return error;
        size_t wide = (size_t)width * (size_t)height, both = (size_t)to_width * (size_t)height;
        float *old = malloc((wide + both + (size_t)to_width * (size_t)to_height) * sizeof *old);
        if (!old) {
                image_free(to);
                return "not enough memory";
        }
        float *narrow = old + wide, *new = narrow + both;
        for (int c = 0; c < 3; c++) {
                for (int y = 0; y < height; y++)
                        for (int x = 0; x < width; x++)
                                old[(size_t)y * width + x] = from->pixels[3 * ((size_t)(top + y) * from->width + left + x) + c];
                resample_lines(old, width, narrow, to_width, height, width, 1, to_width, 1);
                resample_lines(narrow, height, new, to_height, to_width, 1, to_width, 1, to_width);
                for (size_t i = 0; i < (size_t)to_width * to_height; i++)
                        to->pixels[3 * i + c] = (unsigned char)(new[i] + 0.5f);
        }
        free(old);
        return NULL;
}

const char *image_fit(const struct image *from, struct image *to, int width, int height, float *scale)
{
        float across = (float)width / (float)from->width, down = (float)height / (float)from->height;
        *scale = across < down ? across : down;
        int w = (int)((float)from->width * *scale + 0.5f), h = (int)((float)from->height * *scale + 0.5f);
        struct image small;
        const char *error = image_resample(from, 0, 0, from->width, from->height, &small, w < 1 ? 1 : w, h < 1 ? 1 : h);
        if (!error && !(error = image_new(to, width, height)))
                for (int y = 0; y < small.height; y++)
                        memcpy(to->pixels + 3 * (size_t)y * width, small.pixels + 3 * (size_t)y * small.width, 3 * (size_t)small.width);
        image_free(&small);
        return error;
}

void image_planes(const struct image *image, const char *order, const float mean[3], const float deviation[3], float *planes)
{
        size_t count = (size_t)image->width * (size_t)image->height;
        for (int c = 0; c < 3; c++) {
                const unsigned char *from = image->pixels + (order[c] == 'R' ? 0 : order[c] == 'G' ? 1 : 2);
                for (size_t i = 0; i < count; i++)
                        planes[c * count + i] = (from[3 * i] - mean[c]) / deviation[c];
        }
}

/* ---- drawing ---- */

static int within(float at, int extent)
{
        /* It is 0 for what is no number, too. */
        return at > 0 ? at < (float)extent ? (int)at : extent : 0;
}

static void fill(struct image *image, int left, int top, int right, int bottom, const unsigned char color[3])
{
        for (int y = top; y < bottom; y++)
                for (int x = left; x < right; x++)
                        memcpy(image->pixels + 3 * ((size_t)y * image->width + x), color, 3);
}

void image_rectangle(struct image *image, float left, float top, float right, float bottom, int thick,
                     const unsigned char color[3])
{
        int width = image->width, height = image->height;
        float edge = (float)thick;
        int x[4] = { within(left, width), within(left + edge, width), within(right - edge, width), within(right, width) };
        int y[4] = { within(top, height), within(top + edge, height), within(bottom - edge, height), within(bottom, height) };
        fill(image, x[0], y[0], x[3], y[1], color);
        fill(image, x[0], y[2], x[3], y[3], color);
        fill(image, x[0], y[0], x[1], y[3], color);
        fill(image, x[2], y[0], x[3], y[3], color);
}
