/* SPDX-License-Identifier: MIT */
/* The rows of tensorflow_ops.def. */
#include "front/tensorflow/tensorflow_helpers.h"

#include <string.h>

#include "front/compose/compose_activation.h"
#include "front/compose/compose_reduce.h"
#include "front/compose/compose_resample.h"

static const struct tf_row rows[] = {
#define TF_OP(name, in_min, in_max, outputs, importer, variant)                                    \
        { #name, TF_IMPORTED, in_min, in_max, outputs, importer, variant, false },
#define TF_EACH(name, in_min, in_max, outputs, importer, variant)                                  \
        { #name, TF_IMPORTED, in_min, in_max, outputs, importer, variant, true },
#define TF_STATE(name, in_min, in_max, outputs, importer, variant)                                 \
        { #name, TF_HANDLES, in_min, in_max, outputs, importer, variant, false },
#define TF_DROP(name) { #name, TF_DROPPED, 0, TF_ANY, "", NULL, 0, false },
#include "front/tensorflow/tensorflow_ops.def"
};

int tf_rows(const struct tf_row **table)
{
        *table = rows;
        return sizeof rows / sizeof *rows;
}

const struct tf_row *tf_row_find(bytes_t op)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (tf_same(op, rows[i].name, strlen(rows[i].name)))
                        return &rows[i];
        return NULL;
}

int tf_row_output(const struct tf_row *row, bytes_t name)
{
        if (!strchr(row->outputs, ' '))
                return 0;
        int number = 0;
        for (const char *at = row->outputs; *at; number++) {
                const size_t length = strcspn(at, " ");
                if (tf_same(name, at, length))
                        return number;
                at += length + (at[length] == ' ');
        }
        return -1;
}
