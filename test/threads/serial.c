/* SPDX-License-Identifier: MIT */
/* The smallest dnncc_parallel there can be: what a system without threads provides. */
#include <stdio.h>

void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);

static int calls;

void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count)
{
        if (!calls++)
                fprintf(stderr, "serial\n");
        for (int i = count; i-- > 0;)             /* any order will do */
                task(arg, i, count);
}
