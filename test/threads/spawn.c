/* SPDX-License-Identifier: MIT */
/* A dnncc_parallel that starts a thread for every index: a data race between tasks shows whatever the timing. */
#include <pthread.h>
#include <stdlib.h>

void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count);

struct part { pthread_t thread; void (*task)(void *arg, int index, int count); void *arg; int index, count; };

static void *run(void *argument)
{
        const struct part *p = argument;
        p->task(p->arg, p->index, p->count);
        return NULL;
}

void dnncc_parallel(void (*task)(void *arg, int index, int count), void *arg, int count)
{
        struct part parts[16];
        if (count > 16)
                abort();
        for (int i = 0; i < count; i++) {
                parts[i] = (struct part){ .task = task, .arg = arg, .index = i, .count = count };
                if (pthread_create(&parts[i].thread, NULL, run, &parts[i]))
                        abort();
        }
        for (int i = 0; i < count; i++)
                pthread_join(parts[i].thread, NULL);
}
