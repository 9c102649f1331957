/* SPDX-License-Identifier: MIT */
/* C code that drives a VTA. */
#ifndef CODEGEN_VTA_DRIVER_H
#define CODEGEN_VTA_DRIVER_H

#include "codegen/machines.h"

extern const struct machine_driver vta_driver;

/* measure.c: for struct machine_driver */
bool vta_measure(const struct loop_function *stream, struct arena *arena, struct machine_measure *measure, struct diag *diag);

#endif
