/* SPDX-License-Identifier: MIT */
/* mse: takes, of 100 thresholds, k / 100 of the largest magnitude, the one whose steps make the
 * least mean square error.
 *
 * Within a bin numbers are taken as even. In steps of the scheme, u = x / scale, the error of a
 * number that is not clipped is u - round(u), and its square integrates to
 *
 *   integral from 0 to u of (t - round t)^2 dt = n / 12 + (u - n)^3 / 3,   n = floor(u + 1/2)
 *
 * Beyond the lowest and the highest number l the square is (u - l)^2, which integrates to
 * (u - l)^3 / 3. */
#include <math.h>

#include "passes/calibrate/observers.h"

enum { CANDIDATES = 100 };

static double rounded(double u)
{
        double n = floor(u + 0.5), rest = u - n;
        return n / 12 + rest * rest * rest / 3;
}

/* Returns the integral of the square of the error from 0 to u; low <= 0 <= high are the ends, in
 * steps. */
static double integral(double u, double low, double high)
{
        double within = u < low ? low : u > high ? high : u, beyond = u - within;
        return rounded(within) + beyond * beyond * beyond / 3;
}

double affine_error(const struct range *r, struct affine a, const struct scheme *g)
{
        int32_t lowest, highest;
        scheme_limits(g, &lowest, &highest);
        double low = (double)lowest - a.zero, high = (double)highest - a.zero, sum = 0;
        /* A bin is this wide, in steps. */
        double bin = ldexp(1, r->exponent - 10) / (double)a.scale;
        for (int k = 0; k < RANGE_BINS; k++) {
                double from = (k - RANGE_BINS / 2) * bin, to = from + bin;
                if (r->bins[k])
                        sum += (double)r->bins[k] *
                               (integral(to, low, high) - integral(from, low, high));
        }
        double scale = (double)a.scale;
        return r->count ? sum / bin / (double)r->count * scale * scale : 0;
}

struct extent keep_error(const struct range *r, const struct scheme *g, int64_t argument)
{
        struct extent best = r->all;
        double least = INFINITY, far = fmax(-(double)best.least, (double)best.most);
        (void)argument;
        for (int k = CANDIDATES; k > 0; k--) {
                double threshold = far * k / CANDIDATES;
                struct extent e = extent_within(r, -threshold, threshold);
                double error = affine_error(r, affine_of(e, g), g);
                if (error < least) {
                        least = error;
                        best = e;
                }
        }
        return best;
}
