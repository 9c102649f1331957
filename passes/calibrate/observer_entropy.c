/* SPDX-License-Identifier: MIT */
/* entropy: finds the threshold that loses least information (S. Migacz, 8-bit inference with
 * TensorRT, GPU Technology Conference 2017).
 *
 * H are the bins of |x|, N = 1024 of them, L the levels that a sign of the scheme has. For each n
 * from L to N a threshold of n bins is tried:
 *
 *   P = H[0 .. n), to the last of which all that is beyond is added
 *   Q = H[0 .. n) in L levels, level j of bins [j n / L, (j + 1) n / L), whose numbers are shared
 *       out evenly among those of its bins that are not empty
 *   KL(P || Q) = sum of p log(p / q) over bins where p > 0, P and Q scaled to a sum of 1
 *
 * An n without numbers below it is not tried. The last bin may be empty in Q alone: half a number
 * is then counted there. The least divergence wins, of equal ones the larger n. Where there are as
 * many levels as bins, everything is kept. */
#include <math.h>

#include "passes/calibrate/observers.h"

enum { BINS = RANGE_BINS / 2 };

/* The struct has sums over the first k bins, for k from 0 to N. */
struct sums {
        double numbers[BINS + 1];       /* The bins hold this many numbers. */
        double entropy[BINS + 1];       /* The bins' h log h add up to this. */
        int filled[BINS + 1];           /* This many of the bins are not empty. */
};

static double x_log_x(double x) { return x > 0 ? x * log(x) : 0; }

static void add_up(struct sums *s, const uint64_t *h)
{
        s->numbers[0] = s->entropy[0] = s->filled[0] = 0;
        for (int k = 0; k < BINS; k++) {
                s->numbers[k + 1] = s->numbers[k] + (double)h[k];
                s->entropy[k + 1] = s->entropy[k] + x_log_x((double)h[k]);
                s->filled[k + 1] = s->filled[k] + (h[k] != 0);
        }
}

/* Returns KL(P || Q). With t = sum P and i = sum Q, both not scaled, it is (sum P log P - sum over
 * levels of their P log Q) / t - log t + log i. */
static double divergence(const struct sums *s, int n, int levels)
{
        double inside = s->numbers[n], total = s->numbers[BINS], beyond = total - inside;
        double last = s->numbers[n] - s->numbers[n - 1];
        if (inside == 0)
                return INFINITY;        /* This n is not tried. */
        double sum = s->entropy[n - 1] + x_log_x(last + beyond);
        for (int j = 0; j < levels; j++) {
                int from = j * n / levels, to = (j + 1) * n / levels;
                double level = s->numbers[to] - s->numbers[from];
                double beside = to == n && last > 0 ? beyond : 0;
                if (level > 0)
                        sum -= (level + beside) * log(level / (s->filled[to] - s->filled[from]));
        }
        sum -= last == 0 ? beyond * log(0.5) : 0;
        return sum / total + log(inside / total);
}

struct extent keep_entropy(const struct range *r, const struct scheme *g, int64_t argument)
{
        uint64_t h[BINS];
        struct sums sums;
        int32_t lowest, highest;
        (void)argument;
        scheme_limits(g, &lowest, &highest);
        bool one_sign = !g->symmetric && (r->all.least >= 0 || r->all.most <= 0);
        int levels = (highest - lowest + 1) / (one_sign ? 1 : 2), best = BINS;
        double least = INFINITY;
        histogram_fold(r, h);
        add_up(&sums, h);
        for (int n = BINS; n >= levels; n--) {
                double d = divergence(&sums, n, levels);
                if (d < least) {
                        least = d;
                        best = n;
                }
        }
        double threshold = ldexp(best, r->exponent - 10);
        return extent_within(r, -threshold, threshold);
}
