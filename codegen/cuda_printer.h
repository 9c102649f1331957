/* SPDX-License-Identifier: MIT */
/* This is the printer of CUDA C, for kernels in grid form; expressions and statements are printed
 * by the C printer. The text is in the common subset of C++ and CUDA: it uses no <<< >>>, no
 * templates, and of the toolkit only the runtime's functions. */
#ifndef CODEGEN_CUDA_PRINTER_H
#define CODEGEN_CUDA_PRINTER_H

#include "codegen/printer.h"

extern const struct printer cuda_printer;

#endif
