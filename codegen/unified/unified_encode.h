/* SPDX-License-Identifier: MIT */
/* Streams of Loop IR (ir/loop/stream.h) as instructions of the machine with a unified buffer. */
#ifndef CODEGEN_UNIFIED_ENCODE_H
#define CODEGEN_UNIFIED_ENCODE_H

#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "codegen/unified/unified.h"

/* as struct machine_driver has it */
bool unified_encode_stream(const struct isa *isa, const struct loop_function *stream, const int64_t *addresses, int64_t lists,
                           struct arena *arena, struct machine_code *code, struct diag *diag);

#endif
