/* SPDX-License-Identifier: MIT */
#include "passes/quantize/weights_types.h"

#include <stdio.h>
#include <string.h>

const struct weights_type weights_types[] = {
#define WEIGHTS(name, ...) { #name, __VA_ARGS__ },
#include "passes/quantize/weights_types.def"
};
enum { TYPES = sizeof weights_types / sizeof *weights_types };

const struct weights_type *weights_type_find(const char *name, size_t length)
{
        for (int i = 0; i < TYPES; i++)
                if (strlen(weights_types[i].name) == length &&
                    !strncmp(weights_types[i].name, name, length))
                        return &weights_types[i];
        return NULL;
}

void weights_types_help(void)
{
        for (int i = 0; i < TYPES; i++) {
                const struct weights_type *t = &weights_types[i];
                printf("%-6s %s", t->name, t->doc);
                if (t->block)
                        printf("; a step for each %d numbers of an output\n", (int)t->block);
                else
                        printf("%s\n",
                               element_is_float(t->element) ? "" : "; a step for each output");
        }
}
