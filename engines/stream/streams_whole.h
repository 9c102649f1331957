/* SPDX-License-Identifier: MIT */
#ifndef ENGINES_STREAM_STREAMS_WHOLE_H
#define ENGINES_STREAM_STREAMS_WHOLE_H

#include "engines/stream/streams_layer.h"

/* A part of an epilogue is an activation, or products of another value's blocks that are added to
 * the sums. */
struct stream_part {
        const struct step *joined;      /* NULL: the part is an activation. */
        struct loop_activation activation;
        const struct value *added, *shifts;
};

/* Computes the parts by which a layer makes bytes of its sums, in order, and returns their number;
 * 0: activations cannot do it. */
int stream_parts(const struct layer *l, struct stream_part parts[STREAM_STEPS]);
/* Writes the layer for a machine that activates; l->e, xs, ws and ys must be set. */
void stream_write_whole(struct layer *l);

#endif
