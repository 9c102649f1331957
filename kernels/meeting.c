/* SPDX-License-Identifier: MIT */
#include "kernels/meeting.h"

int meetings_find(struct meeting *m, int positions, int window, int64_t x_step, int64_t x_window)
{
        int count = 0;
        for (int p = 0; p < positions; p++)
                for (int k = 0; k < window; k++) {
                        struct meeting new = { p, k, p * x_step + k * x_window };
                        int i = count++;
                        for (; i > 0 && m[i - 1].at > new.at; i--)
                                m[i] = m[i - 1];
                        m[i] = new;
                }
        return count;
}

int meetings_end(const struct meeting *m, int from, int count)
{
        int end = from;
        while (end < count && m[end].at == m[from].at)
                end++;
        return end;
}
