/* SPDX-License-Identifier: MIT */
/* Streams of Loop IR (ir/loop/stream.h) as instructions. */
#ifndef CODEGEN_VTA_ENCODE_H
#define CODEGEN_VTA_ENCODE_H

#include "base/memory.h"
#include "codegen/machines.h"
#include "codegen/vta/program.h"
#include "ir/loop/loop.h"

struct vta_code {
        unsigned char *instructions;    /* VTA_BYTES each; finish is the last */
        int64_t count;
        unsigned char *micro_ops;       /* VTA_MICRO_OP_BYTES each */
        int64_t micro_op_count, micro_op_most;          /* most: resident together */
};

/* A stream that the passes on streams made (flat, with instructions and tokens), its parameters at these addresses, its micro-ops at
 * another, all multiples of VTA_ALIGN. Micro-ops of equal lists are kept once, and loaded when lists that are not resident are needed,
 * together with all that fit. False after one error: EXIT_UNSUPPORTED where a field does not hold what it should, EXIT_BUDGET for a
 * stream longer than a launch may be. */
bool vta_encode_stream(const struct vta *v, const struct loop_function *stream, const int64_t *addresses, int64_t micro_ops,
                       struct arena *arena, struct vta_code *code, struct diag *diag);

/* A program of one launch: such a stream, its parameters one behind the other as segments of their names, then micro-ops and
 * instructions. Contents are the caller's memory. */
bool vta_stream_program(struct vta_program *p, const struct vta *v, const struct loop_function *stream, const struct launch_argument *arguments,
                        struct arena *arena, struct vta_code *code, struct diag *diag);

/* the row of codegen/machines.def */
launch_writer vta_launch_write;

#endif
