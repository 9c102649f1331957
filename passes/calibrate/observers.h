/* SPDX-License-Identifier: MIT */
/* The observers share this; calibration.h has what other files need of them. */
#ifndef PASSES_CALIBRATE_OBSERVERS_H
#define PASSES_CALIBRATE_OBSERVERS_H

#include "passes/calibrate/calibration.h"

/* r has numbers. Returns the extent that is kept; observe_extent puts 0 into it, and makes it
 * symmetric. */
#define OBSERVER(id, name, function, argument, doc) \
        struct extent keep_##function(const struct range *r, const struct scheme *g, int64_t);
#include "passes/calibrate/observers.def"

/* Returns the extent with 0 in it, and symmetric where the scheme is; {0, 0} for none. */
struct extent extent_on(struct extent e, const struct scheme *g);
/* Returns the part of least..most that lies within the range's own extent. */
struct extent extent_within(const struct range *r, double least, double most);
/* Fills half[k], of RANGE_BINS / 2: the numbers of bins k and -1 - k, which have |x| in bin k. */
void histogram_fold(const struct range *r, uint64_t *half);

#endif
