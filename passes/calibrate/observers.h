/* SPDX-License-Identifier: MIT */
/* What the observers share (calibration.h has what others need of them). */
#ifndef PASSES_CALIBRATE_OBSERVERS_H
#define PASSES_CALIBRATE_OBSERVERS_H

#include "passes/calibrate/calibration.h"

/* r: with numbers. The extent that is kept; observe_extent puts 0 in, and makes it symmetric. */
#define OBSERVER(id, name, function, argument, doc) \
        struct extent keep_##function(const struct range *r, const struct scheme *g, int64_t);
#include "passes/calibrate/observers.def"

/* with 0 in it, and symmetric where the scheme is; {0, 0} of none */
struct extent extent_on(struct extent e, const struct scheme *g);
/* of both, what lies within the range's own */
struct extent extent_within(const struct range *r, double least, double most);
/* half[k], of RANGE_BINS / 2: the numbers of bins k and -1 - k, those with |x| in it */
void histogram_fold(const struct range *r, uint64_t *half);

#endif
