/* SPDX-License-Identifier: MIT */
/* The exporter writes Tensor IR as an ONNX model (--emit=onnx). export_nodes.def says what each
 * operation becomes; docs/ir.md says which results are equal. */
#ifndef COMPILER_EXPORT_EXPORT_H
#define COMPILER_EXPORT_EXPORT_H

#include <stdio.h>

#include "ir/tensor/tensor.h"

struct export_options {
        const char *version;            /* It is dnncc's version. */
        FILE *data;                     /* It receives the elements of large constants; where it is
                                         * NULL they stand in the model. */
        const char *data_name;          /* It is the name of that file, without a folder. */
};

/* Returns the bytes of elements that the model would hold; beyond EXPORT_WITHIN a model of one file
 * is not possible (a message of protobuf ends at 2 GiB). */
enum { EXPORT_WITHIN = 2000000000 };
int64_t export_bytes(const struct module *m);

/* Writes all of a verified module whose extents are known. The same module gives the same bytes.
 * What has no form in ONNX is one error, EXIT_UNSUPPORTED, that lists every such operation;
 * write errors are left in the streams' error flags. */
bool export_model(FILE *out, struct module *m, const struct export_options *options,
                  struct diag *diag);

#endif
