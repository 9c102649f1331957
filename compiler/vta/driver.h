/* SPDX-License-Identifier: MIT */
/* One run of dnncc-vta: a file in, an answer out. main.c holds only main(). */
#ifndef COMPILER_VTA_DRIVER_H
#define COMPILER_VTA_DRIVER_H

#include "codegen/vta/program.h"

enum exit_code vta_driver_main(int argc, char **argv);

/* What the cycle model says of a program, as text (report.c); each: of every instruction, too. False after an error. */
bool vta_report(const struct vta_program *p, bool each, struct text *out, struct diag *diag);

#endif
