/* SPDX-License-Identifier: MIT */
/* C code that drives a VTA. */
#ifndef CODEGEN_VTA_DRIVER_H
#define CODEGEN_VTA_DRIVER_H

#include "codegen/machines.h"

extern const struct machine_driver vta_driver;

#endif
