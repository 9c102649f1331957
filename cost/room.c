/* SPDX-License-Identifier: MIT */
/* Returns shares of a core's second-level cache, which are rates: half for what a kernel keeps
 * while weights pass through, a quarter for each of several things, three quarters for what the
 * next kernel reads. They were set by hand. Weights that a strip reads again are not subtracted, so
 * strips are too large where these fill most of the cache. */
#include "cost/room.h"

#include "ir/target/rates.h"

static int64_t share(const struct target *t, double part)
{
        return (int64_t)(part * (double)target_l2_bytes(t));
}

int64_t room_whole(const struct target *t) { return target_l2_bytes(t); }
int64_t room_strip(const struct target *t) { return share(t, rate_room_strip(t)); }
int64_t room_part(const struct target *t) { return share(t, rate_room_part(t)); }
int64_t room_operand(const struct target *t) { return share(t, rate_room_operand(t)); }
