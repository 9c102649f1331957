/* SPDX-License-Identifier: MIT */
/* One run of dnncc-vta: a file in, an answer out. main.c holds only main(). */
#ifndef COMPILER_VTA_DRIVER_H
#define COMPILER_VTA_DRIVER_H

#include "base/diag.h"

enum exit_code vta_driver_main(int argc, char **argv);

#endif
