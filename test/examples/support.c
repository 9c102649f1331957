/* SPDX-License-Identifier: MIT */
/* What the tests call of examples/support:
 *
 *     support image FILE OUT [LEFT TOP WIDTH HEIGHT TO_WIDTH TO_HEIGHT]       reads, resamples, writes
 *     support wav FILE..                                                       samples as floats of 32 bits on standard output
 *     support mfcc RATE WINDOW POINTS BANDS COEFFICIENTS LOW HIGH FILE         the first window of a WAV file
 *     support boxes OVERLAP < six numbers a line                               those that stay
 *     support draw FILE OUT LEFT TOP RIGHT BOTTOM THICK
 *     support try FILE..                  each as an image and as a sound: whatever is in it, no more than a message comes of it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxes.h"
#include "image.h"
#include "mfcc.h"
#include "wav.h"

static int fail(const char *path, const char *error)
{
        if (error)
                fprintf(stderr, "%s: %s\n", path, error);
        return error != NULL;
}

static int do_image(int count, char **a)
{
        struct image image, small = { 0 };
        int n[6];
        const char *error = image_read(&image, a[0]);
        for (int i = 0; i < 6 && count > 2; i++)
                n[i] = atoi(a[2 + i]);
        if (!error && count > 2)
                error = image_resample(&image, n[0], n[1], n[2], n[3], &small, n[4], n[5]);
        if (!error)
                error = image_write(count > 2 ? &small : &image, a[1]);
        image_free(&image);
        image_free(&small);
        return fail(a[0], error);
}

static int do_draw(char **a)
{
        struct image image;
        const char *error = image_read(&image, a[0]);
        if (!error) {
                image_rectangle(&image, strtof(a[2], NULL), strtof(a[3], NULL), strtof(a[4], NULL), strtof(a[5], NULL), atoi(a[6]),
                                (const unsigned char[]){ 255, 0, 0 });
                error = image_write(&image, a[1]);
        }
        image_free(&image);
        return fail(a[0], error);
}

static int do_wav(const char *path, int print)
{
        struct wav wav;
        float samples[1000];
        size_t n = 0, total = 0;
        const char *error = wav_open(&wav, path);
        while (!error && total < 1 << 22 && (n = wav_read(&wav, samples, 1000)) > 0) {
                total += n;
                if (print)
                        fwrite(samples, sizeof *samples, n, stdout);
        }
        if (!error)
                wav_close(&wav);
        return fail(path, error);
}

static int do_mfcc(char **a)
{
        const struct mfcc settings = { strtof(a[0], NULL), atoi(a[1]), atoi(a[2]), atoi(a[3]), atoi(a[4]), strtof(a[5], NULL), strtof(a[6], NULL) };
        float samples[MFCC_MOST_POINTS] = { 0 }, numbers[MFCC_MOST_BANDS];
        struct wav wav;
        if (fail(a[7], wav_open(&wav, a[7])))
                return 1;
        wav_read(&wav, samples, MFCC_MOST_POINTS);
        wav_close(&wav);
        if (mfcc_compute(&settings, samples, numbers))
                return fail("mfcc", "bad settings");
        for (int i = 0; i < settings.coefficients; i++)
                printf("%.7g\n", (double)numbers[i]);
        return 0;
}

static int do_boxes(float overlap)
{
        static struct box boxes[1000];
        int count = 0;
        struct box *b = boxes;
        for (; count < 1000 && scanf("%f %f %f %f %f %d", &b->left, &b->top, &b->right, &b->bottom, &b->score, &b->kind) == 6; b++)
                count++;
        count = boxes_suppress(boxes, count, overlap);
        for (b = boxes; b < boxes + count; b++)
                printf("%.9g %.9g %.9g %.9g %.9g %d\n", (double)b->left, (double)b->top, (double)b->right, (double)b->bottom, (double)b->score, b->kind);
        return 0;
}

static int do_try(int count, char **paths)
{
        int wrong = 0;
        for (int i = 0; i < count; i++) {
                struct image image;
                fprintf(stderr, "trying %s\n", paths[i]);
                wrong += fail(paths[i], image_read(&image, paths[i]));
                image_free(&image);
                wrong += do_wav(paths[i], 0);
        }
        printf("%d wrong\n", wrong);
        return 0;
}

int main(int count, char **a)
{
        if (count > 3 && !strcmp(a[1], "image"))
                return do_image(count - 2, a + 2);
        if (count == 9 && !strcmp(a[1], "draw"))
                return do_draw(a + 2);
        if (count == 3 && !strcmp(a[1], "wav"))
                return do_wav(a[2], 1);
        if (count == 10 && !strcmp(a[1], "mfcc"))
                return do_mfcc(a + 2);
        if (count == 3 && !strcmp(a[1], "boxes"))
                return do_boxes(strtof(a[2], NULL));
        if (count > 2 && !strcmp(a[1], "try"))
                return do_try(count - 2, a + 2);
        return fail("support", "no such words");
}
