/* SPDX-License-Identifier: MIT */
/* A stream as its stages see it: the next instruction of each. */
#ifndef CODEGEN_VTA_STREAM_H
#define CODEGEN_VTA_STREAM_H

#include "codegen/vta/vta.h"

struct vta_next { struct vta_instruction instruction; int64_t number; };      /* -1: the stage has no more */
struct vta_stream {
        const struct vta *v;
        const unsigned char *bytes;     /* count instructions */
        int64_t count;
        struct vta_next next[VTA_STAGES];
};

/* False after an EXIT_INVALID error: bytes that are no instruction, a token of a stage that is not there, elements that no memory
 * has. */
bool vta_stream_begin(struct vta_stream *s, const struct vta *v, const unsigned char *bytes, int64_t count, struct diag *diag);
void vta_stream_advance(struct vta_stream *s, int stage);

#endif
