/* SPDX-License-Identifier: MIT */
/* The exporter's last step is in export_file.c. */
#ifndef COMPILER_EXPORT_EXPORT_FILE_H
#define COMPILER_EXPORT_EXPORT_FILE_H

#include "compiler/export/exporter.h"

/* Writes g, which the initializers of e belong to, as a model. */
void export_write(FILE *out, struct export *e, const struct graph *g,
                  const struct export_options *o);

#endif
