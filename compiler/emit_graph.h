/* SPDX-License-Identifier: MIT */
/* Tensor IR for other tools (--emit=dot, --emit=json; docs/interface.md). Constants' contents stay
 * out. */
#ifndef COMPILER_EMIT_GRAPH_H
#define COMPILER_EMIT_GRAPH_H

#include <stdio.h>

#include "ir/tensor.h"

void emit_dot(FILE *out, struct module *m);
void emit_json(FILE *out, struct module *m);

#endif
