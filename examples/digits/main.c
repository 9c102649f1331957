/* SPDX-License-Identifier: MIT */
/* Classifies handwritten digits with the network that dnncc compiled to digits.c, and draws them. */
#include <stdio.h>
#include <time.h>

#include "digits.h"
#include "samples.h"

DIGITS_WORKSPACE_DEFINE(workspace);

enum { SHOWN = 5, COUNT = sizeof samples / sizeof *samples, ROUNDS = 200 };

static int classify(const unsigned char pixels[64], float probabilities[DIGITS_PROBABILITIES_ELEMS])
{
        float image[DIGITS_IMAGE_ELEMS];
        int best = 0;
        for (int i = 0; i < 64; i++)
                image[i] = (float)pixels[i] / 16;
        if (digits_run(&workspace, image, probabilities))
                return -1;
        for (int k = 1; k < 10; k++)
                if (probabilities[k] > probabilities[best])
                        best = k;
        return best;
}

static void draw_row(int first)
{
        static const char *const shade[] = { "  ", "..", "::", "oo", "##" };
        float p[DIGITS_PROBABILITIES_ELEMS];
        for (int y = 0; y < 8; y++) {
                for (int s = first; s < first + SHOWN; s++) {
                        for (int x = 0; x < 8; x++)
                                fputs(shade[(samples[s].pixels[8 * y + x] + 3) / 4], stdout);
                        fputs("   ", stdout);
                }
                putchar('\n');
        }
        for (int s = first; s < first + SHOWN; s++) {
                int answer = classify(samples[s].pixels, p);
                printf("%d  (%3.0f %%)%s%*s", answer, answer < 0 ? 0 : 100 * (double)p[answer],
                       answer == samples[s].digit ? "" : "  wrong", answer == samples[s].digit ? 9 : 2, "");
        }
        printf("\n\n");
}

int main(void)
{
        float p[DIGITS_PROBABILITIES_ELEMS];
        int right = 0;
        for (int first = 0; first < 3 * SHOWN; first += SHOWN)
                draw_row(first);
        for (int s = 0; s < COUNT; s++)
                right += classify(samples[s].pixels, p) == samples[s].digit;
        clock_t start = clock();
        for (int i = 0; i < ROUNDS; i++)
                classify(samples[i % COUNT].pixels, p);
        double us = 1e6 * (double)(clock() - start) / CLOCKS_PER_SEC / ROUNDS;
        printf("%d of %d digits it never saw are right\n", right, (int)COUNT);
        printf("workspace: %u bytes, no malloc; one digit: %.0f us\n", (unsigned)DIGITS_WORKSPACE_SIZE, us);
        return right < COUNT * 9 / 10;
}
