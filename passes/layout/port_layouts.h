/* SPDX-License-Identifier: MIT */
/* --port NAME=LAYOUT says how the caller's memory of an input or output is laid out.
 *
 *      nhwc            dimensions in another order: letters of n c d h w, in the order of the port;
 *                      the model has those that are named in just that order
 *      0231            dimension k of the port is the model's dimension of digit k
 *      nchw16          channels in blocks of 16, which lie innermost: n, c / 16, h, w, 16
 *      nhwc4           where channels are innermost, so many of them: a fourth one beside three
 *      nhwc,row=1024   rows, all that lies behind h, are 1024 bytes apart
 *
 * What is added to an input is not read, and in an output is 0. */
#ifndef PASSES_LAYOUT_PORT_LAYOUTS_H
#define PASSES_LAYOUT_PORT_LAYOUTS_H

#include "ir/tensor/tensor.h"

struct port_layout {
        const char *option;             /* Messages show the option as it was given. */
        const char *name;               /* The port has this name; * stands for any characters. */
        int rank;
        int64_t perm[RANK_MAX];         /* Dimension k of the port is the tensor's dimension
                                         * perm[k]. */
        int channel;                    /* The port's dimension of channels; -1: it has none. */
        int64_t block;                  /* Channels are a multiple of this many; 1: as they are. */
        int row;                        /* The port's dimensions from this one on are a row; -1: it
                                         * has no rows. */
        int64_t row_bytes;              /* Rows are so many bytes apart; 0: one lies right behind
                                         * the other. */
        bool used;
};
struct port_layouts { struct port_layout *items; int count; };

/* Parses "NAME=LAYOUT". Returns false if the text is none. The layout is valid as long as text
 * is. */
bool port_layout_parse(struct arena *arena, const char *text, struct port_layout *layout);

#endif
