/* SPDX-License-Identifier: MIT */
/* The printer of CUDA C, for kernels in grid form: expressions and statements are those of the C
 * printer. What is printed is the common subset of C++ and CUDA: no <<< >>>, no template, nothing
 * of the toolkit but the runtime's functions. */
#ifndef CODEGEN_CUDA_PRINTER_H
#define CODEGEN_CUDA_PRINTER_H

#include "codegen/printer.h"

extern const struct printer cuda_printer;

#endif
