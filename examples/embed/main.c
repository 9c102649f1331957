/* SPDX-License-Identifier: MIT */
/* This is the least that a program needs to use a network compiled by dnncc: no file, no library,
 * no malloc.
 *
 *     dnncc digits.onnx -o digits.c && cc main.c digits.c */
#include <stdio.h>

#include "digits.h"

DIGITS_WORKSPACE_DEFINE(workspace);

int main(void)
{
        static float image[DIGITS_IMAGE_ELEMS], probabilities[DIGITS_PROBABILITIES_ELEMS];
        for (int y = 1; y < 7; y++)
                image[8 * y + 4] = 1;                           /* This draws a vertical stroke. */
        int error = digits_run(&workspace, image, probabilities);
        for (int k = 0; !error && k < 10; k++)
                printf("%d: %.3f\n", k, (double)probabilities[k]);
        return error;
}
