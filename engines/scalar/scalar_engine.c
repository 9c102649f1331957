/* SPDX-License-Identifier: MIT */
/* The scalar engine: canonical nests, in which the pass jam computes several results side by
 * side. */
#include "ir/target/engine.h"
#include "ir/target/target.h"

static bool fits(const struct target *target)
{
        (void)target;
        return true;
}

const struct engine engine_scalar = {
        .name = "scalar",
        .doc = "one element after the other; several sums side by side (jam)",
        .fits = fits,
};
