/* SPDX-License-Identifier: MIT */
/* The target's machine runs these kernels (streams.c). */
#ifndef ENGINES_STREAM_STREAMS_H
#define ENGINES_STREAM_STREAMS_H

#include "engines/stream/stream_cost.h"
#include "ir/lower/lower_emit.h"
#include "ir/target/target.h"

/* Computes what the machine would have to do for a convolve_packed and the rest of its fusion.
 * Returns false where it cannot, or there is no machine. */
bool stream_work_of(const struct op *op, const struct target *target, struct stream_work *work);
/* Returns why it cannot, with the operation that prevents it, or NULL; NULL: it can. */
const char *stream_refusal(const struct op *op, const struct target *target, const struct op **at);
/* Writes the kernel in tiles by the words of its schedule. Returns false where that is
 * impossible. */
bool stream_kernel(struct emit *e, const struct kernel_request *request, struct op *op,
                   struct loop_buffer *buffer);

/* Chooses the schedule of what the machine can compute, with the rest of its fusion: the tile of
 * least predicted cycles (choose_stream.c). Returns false where the machine cannot. */
bool stream_choose(const struct op *op, const struct schedule_machine *machine, struct arena *arena,
                   struct schedule *s);

#endif
