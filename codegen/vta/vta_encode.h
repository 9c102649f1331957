/* SPDX-License-Identifier: MIT */
/* Streams of Loop IR (ir/loop/stream.h) as VTA's instructions. */
#ifndef CODEGEN_VTA_ENCODE_H
#define CODEGEN_VTA_ENCODE_H

#include "codegen/machines/machine_program.h"
#include "codegen/machines/machines.h"
#include "codegen/vta/vta.h"

/* As struct machine_driver has it. Micro-ops of equal lists are kept once, and loaded when lists that are not resident are needed,
 * together with all that fit. */
bool vta_encode_stream(const struct isa *isa, const struct loop_function *stream, const int64_t *addresses, int64_t micro_ops,
                       struct arena *arena, struct machine_code *code, struct diag *diag);

#endif
