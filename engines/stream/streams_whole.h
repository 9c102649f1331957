/* SPDX-License-Identifier: MIT */
#ifndef ENGINES_STREAM_STREAMS_WHOLE_H
#define ENGINES_STREAM_STREAMS_WHOLE_H

#include "engines/stream/streams_layer.h"

/* An activation, or products with another value's blocks that are added to the sums. */
struct stream_part {
        const struct step *joined;      /* NULL: an activation */
        struct loop_activation activation;
        const struct value *added, *shifts;
};

/* What a layer does to its sums, in order, the last one to bytes; 0: not by activations. */
int stream_parts(const struct layer *l, struct stream_part parts[STREAM_STEPS]);
/* Writes the layer for a machine that activates; l->e, xs, ws and ys are set. */
void stream_write_whole(struct layer *l);

#endif
