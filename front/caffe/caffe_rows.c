/* SPDX-License-Identifier: MIT */
/* The rows of caffe_layers.def. */
#include <ctype.h>
#include <string.h>

#include "front/caffe/caffe_helpers.h"
#include "front/compose/compose_activation.h"

static const struct caffe_row rows[] = {
#define CAFFE_LAYER(type, parameter, bottoms_min, bottoms_max, tops_max, importer, variant)        \
        { #type,    CAFFE_IMPORTED, #parameter, bottoms_min, bottoms_max,                          \
          tops_max, importer,       variant,    false },
#define CAFFE_EACH(type, parameter, importer, variant)                                             \
        { #type, CAFFE_IMPORTED, #parameter, 1, 1, 1, importer, variant, true },
#define CAFFE_LOSS(type) { #type, CAFFE_IS_LOSS, "none", 0, CAFFE_ANY, CAFFE_ANY, NULL, 0, false },
#define CAFFE_DATA(type) { #type, CAFFE_IS_DATA, "none", 0, CAFFE_ANY, CAFFE_ANY, NULL, 0, false },
#include "front/caffe/caffe_layers.def"
};

int caffe_rows(const struct caffe_row **table)
{
        *table = rows;
        return sizeof rows / sizeof *rows;
}

/* Is INNER_PRODUCT what InnerProduct was called? */
static bool is_old_name(const char *old, const char *type)
{
        for (;; old++, type++) {
                while (*old == '_')
                        old++;
                if (tolower((unsigned char)*old) != tolower((unsigned char)*type))
                        return false;
                if (!*old)
                        return true;
        }
}

const struct caffe_row *caffe_row_find(const char *type, bool old)
{
        static const struct { const char *old, *type; } aliases[] = {
#define CAFFE_ALIAS(old, type) { #old, #type },
#include "front/caffe/caffe_layers.def"
        };
        for (size_t i = 0; i < sizeof aliases / sizeof *aliases && old; i++)
                if (!strcmp(aliases[i].old, type))
                        return caffe_row_find(aliases[i].type, false);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (old ? is_old_name(type, rows[i].type) : !strcmp(type, rows[i].type))
                        return &rows[i];
        return NULL;
}
