/* SPDX-License-Identifier: MIT */
/* The scalar engine keeps canonical nests, in which the pass jam computes several results side by
 * side, as schedules say. */
#include "engines/scalar/scalar_engine.h"
#include "ir/target/engine.h"

#define SUMS(operation)                                                                            \
        { .code = OP_##operation,                                                                  \
          .reads = READS_ALL,                                                                      \
          .choose = sums_choose,                                                                   \
          .candidate = sums_candidate,                                                             \
          .follows = sums_follow,                                                                  \
          .kind = SCHEDULE_scalar }

static const struct lowering lowerings[] = { SUMS(convolve), SUMS(dot), { .reads = 0 } };

static bool fits(const struct target *target)
{
        (void)target;
        return true;
}

const struct engine engine_scalar = {
        .name = "scalar",
        .doc = "one element after the other; several sums side by side (jam)",
        .fits = fits,
        .lowerings = lowerings,
};
