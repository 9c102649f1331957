/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
double clock_thread(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double clock_wall(void) { return seconds_of(CLOCK_MONOTONIC); }
