/* SPDX-License-Identifier: MIT */
#include "passes/vectorize/independence_pieces.h"

#include "base/size.h"

void pieces_add(struct pieces *p, int64_t low, int64_t high)
{
        for (int i = 0; i < p->count; i++)
                if (p->low[i] == low && p->high[i] == high)
                        return;
        if (p->count < 0 || p->count == PIECES_MAX) {
                p->count = -1;
                return;
        }
        p->low[p->count] = low;
        p->high[p->count++] = high;
}

/* Does piece a of an iteration 1 .. trip - 1 touch piece b of iteration 0? */
static bool meets(const struct pieces *p, int a, int b, int64_t step, int64_t trip)
{
        const int64_t behind = p->low[b] - p->high[a]; /* a meets b once it is further. */
        int64_t first = behind < 0 ? 1 : behind / step + 1;
        return first < trip && p->low[a] + step * first < p->high[b];
}

static void join(struct pieces *p)
{
        for (int a = 0; a < p->count; a++)
                for (int b = a + 1; b < p->count; b++) {
                        if (p->low[a] > p->high[b] || p->low[b] > p->high[a])
                                continue;
                        p->low[a] = p->low[b] < p->low[a] ? p->low[b] : p->low[a];
                        p->high[a] = p->high[b] > p->high[a] ? p->high[b] : p->high[a];
                        p->count--;
                        p->low[b] = p->low[p->count];
                        p->high[b] = p->high[p->count];
                        b = a;          /* The larger piece may touch others. */
                }
}

bool pieces_repeat(struct pieces *p, int64_t step, int64_t trip)
{
        int64_t reach;
        if (p->count < 0 || step < 1 || !int_mul(step, trip - 1, &reach))
                return false;
        for (int a = 0; a < p->count; a++)
                for (int b = 0; b < p->count; b++)
                        if (meets(p, a, b, step, trip))
                                return false;
        for (int a = 0; a < p->count; a++)
                if (!int_add(p->high[a], reach, &p->high[a]))
                        return false;
        join(p);
        return true;
}
