/* SPDX-License-Identifier: MIT */
/* The last step of the exporter (export_file.c). */
#ifndef COMPILER_EXPORT_EXPORT_FILE_H
#define COMPILER_EXPORT_EXPORT_FILE_H

#include "compiler/export/exporter.h"

/* g, which the initializers of e belong to, as a model */
void export_write(FILE *out, struct export *e, const struct graph *g,
                  const struct export_options *o);

#endif
