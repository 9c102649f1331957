/* SPDX-License-Identifier: MIT */
/* The command line of dnncc-vta is options.def as a struct. */
#ifndef COMPILER_VTA_VTA_OPTIONS_H
#define COMPILER_VTA_VTA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/memory.h"

enum vta_command {
#define COMMAND(id, name, doc) COMMAND_##id,
#include "compiler/vta/vta_options.def"
        COMMANDS
};

struct vta_options {
        enum vta_command command;
        const char *file;               /* It is a path, or "-". */
        const char *output, *sizes;
        int64_t seed, poison, steps, most;
        const char *help;               /* It is "" for text, or "json"; NULL where help is not
                                         * asked for. */
        int each, short_help, version;
};

/* Reads argv; strings are not copied. Returns false after one EXIT_USAGE error. */
bool vta_options_parse(struct vta_options *o, int argc, char **argv, struct arena *arena,
                       struct diag *diag);
void vta_options_help(void);
void vta_options_json(void);            /* Prints the table, for programs. */
void vta_options_man(FILE *out);        /* Writes docs/dnncc-vta.1. */

#endif
