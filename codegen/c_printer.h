/* SPDX-License-Identifier: MIT */
/* This is the printer of C99, for compilers and machines of all kinds; docs/interface.md is its
 * contract. */
#ifndef CODEGEN_C_PRINTER_H
#define CODEGEN_C_PRINTER_H

#include "codegen/printer.h"

extern const struct printer c_printer;

#endif
