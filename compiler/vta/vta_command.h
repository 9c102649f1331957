/* SPDX-License-Identifier: MIT */
/* This is one run of dnncc-vta: a file goes in, an answer comes out. main.c holds only main(). */
#ifndef COMPILER_VTA_VTA_COMMAND_H
#define COMPILER_VTA_VTA_COMMAND_H

#include "base/diag.h"

enum exit_code vta_driver_main(int argc, char **argv);

#endif
