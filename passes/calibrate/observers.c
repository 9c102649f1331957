/* SPDX-License-Identifier: MIT */
/* Observers find the steps of whole numbers for a range. observers.def lists them,
 * docs/quantization.md has their formulas. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/calibrate/observers.h"

#define AVERAGING 0.1                   /* The next sample counts this much in a moving average. */

typedef struct extent (*keep_function)(const struct range *r, const struct scheme *g,
                                       int64_t argument);

static const struct {
        const char *name, *doc;
        keep_function keep;
        int64_t argument;
} observers[] = {
#define OBSERVER(id, name_, function, argument_, doc_) { name_, doc_, keep_##function, argument_ },
#include "passes/calibrate/observers.def"
};

bool observer_from_text(const char *name, enum observer *observer)
{
        for (int i = 0; i < OBSERVER_COUNT; i++)
                if (!strcmp(observers[i].name, name)) {
                        *observer = (enum observer)i;
                        return true;
                }
        return false;
}

const char *observer_name(enum observer o) { return observers[o].name; }

void observer_help(void)
{
        for (int i = 0; i < OBSERVER_COUNT; i++)
                printf("  %-18s %s\n", observers[i].name, observers[i].doc);
}

/* ---- from a range to steps ---- */

struct extent observe_extent(const struct range *r, enum observer o, const struct scheme *g)
{
        if (!r->count)
                return (struct extent){ 0, 0 };
        return extent_on(observers[o].keep(r, g, observers[o].argument), g);
}

struct affine observe(const struct range *r, enum observer o, const struct scheme *g)
{
        return affine_of(observe_extent(r, o, g), g);
}

/* ---- the simple ones ---- */

struct extent keep_minmax(const struct range *r, const struct scheme *g, int64_t argument)
{
        (void)g, (void)argument;
        return r->all;
}

struct extent keep_average(const struct range *r, const struct scheme *g, int64_t argument)
{
        double least = 0, most = 0;
        bool any = false;
        (void)g, (void)argument;
        for (int64_t i = 0; i < r->sample_count; i++) {
                struct extent e = r->samples[i];
                if (extent_is_none(e))
                        continue;
                double next = any ? AVERAGING : 1;
                least += next * ((double)e.least - least);
                most += next * ((double)e.most - most);
                any = true;
        }
        return any ? (struct extent){ (float)least, (float)most } : r->all;
}

/* Returns how far from 0 the outermost bins reach once those that hold at most `cut` numbers have
 * been left out: bins[from], bins[from + step], .. down to the middle. */
static double reach(const struct range *r, int from, int step, uint64_t cut)
{
        int left = RANGE_BINS / 2;
        for (; left > 0 && r->bins[from] <= cut; left--, from += step)
                cut -= r->bins[from];
        return ldexp(left, r->exponent - 10);
}

/* Treats both ends alike: it cuts |x| where the scheme is symmetric, else half of the numbers at
 * each end. */
struct extent keep_percentile(const struct range *r, const struct scheme *g, int64_t one_of)
{
        uint64_t cut = r->count / (uint64_t)one_of;
        struct range folded = *r;
        uint64_t bins[RANGE_BINS] = { 0 };
        if (g->symmetric) {
                histogram_fold(r, bins + RANGE_BINS / 2);
                folded.bins = bins;
        }
        double most = reach(&folded, RANGE_BINS - 1, -1, g->symmetric ? cut : cut / 2);
        double least = g->symmetric ? most : reach(r, 0, 1, cut / 2);
        return extent_within(r, -least, most);
}

struct extent extent_within(const struct range *r, double least, double most)
{
        return (struct extent){ least > (double)r->all.least ? (float)least : r->all.least,
                                most < (double)r->all.most ? (float)most : r->all.most };
}

void histogram_fold(const struct range *r, uint64_t *half)
{
        for (int k = 0; k < RANGE_BINS / 2; k++)
                half[k] = r->bins[RANGE_BINS / 2 + k] + r->bins[RANGE_BINS / 2 - 1 - k];
}
