/* SPDX-License-Identifier: MIT */
/* The table of operators says which importer makes which nodes. */
#include "front/onnx/onnx_helpers.h"
#include "front/onnx/onnx_model.h"

static const struct onnx_row rows[] = {
#define ONNX_OP(domain, name, since, until, in_min, in_max, out_max, importer, variant)            \
        { domain, name, since, until, in_min, in_max, out_max, importer, variant, 0, 0 },
#define ONNX_LIST_OP(domain, name, since, until, in_min, in_max, out_max, importer, lists)         \
        { domain, name, since, until, in_min, in_max, out_max, importer, 0, lists, 0 },
#define ONNX_MAP_OP(domain, name, since, until, in_min, in_max, out_max, importer, variant,        \
                    mapped)                                                                        \
        { domain, name, since, until, in_min, in_max, out_max, importer, variant, 0, mapped },
#include "front/onnx/onnx_ops.def"
};

int onnx_rows(const struct onnx_row **table)
{
        *table = rows;
        return sizeof rows / sizeof *rows;
}
