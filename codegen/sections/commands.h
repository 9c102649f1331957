/* SPDX-License-Identifier: MIT */
/* A machine that holds activations itself takes these commands (commands.def), as text. */
#ifndef CODEGEN_SECTIONS_COMMANDS_H
#define CODEGEN_SECTIONS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/memory.h"
#include "base/text.h"

enum command_code {
#define COMMAND(name, engine, comment, doc) COMMAND_##name,
#define HAS(field)
#define END
#include "codegen/sections/commands.def"
        COMMAND_COUNT
};

enum command_field {
#define FIELD(name, kind, doc) FIELD_##name,
#include "codegen/sections/commands.def"
        FIELD_COUNT
};

/* Commands of one engine run one after the other. */
enum section_engine {
        ENGINE_ARRAY,
        ENGINE_POOL,
        ENGINE_ELTWISE,
        ENGINE_DOWNLOAD,
        ENGINE_UPLOAD,
        ENGINE_HOST,
        ENGINE_COUNT
};

struct command_info {
        const char *name, *doc;
        enum section_engine engine;
        bool comment;
        const unsigned char *fields;
        int field_count;
};
extern const struct command_info command_info[COMMAND_COUNT];

struct machine_command {
        enum command_code code;
        int64_t slot;                   /* Commands of equal slots run at the same time. */
        const char *name;               /* It is safe to print (text_safe); NULL where the command
                                         * has no name. */
        bool of_concat;                 /* The command declares a volume that is complete when the
                                         * parts of the concat before it are. */
        bool of_slice;                  /* The command copies rows that two slices have in
                                         * common. */
        int64_t field[FIELD_COUNT];     /* Only the fields that the command has are set. */
};

/* Appends a line to `out`. */
void command_print(struct text *out, const struct machine_command *c);
/* Appends "# template XNConv name kw kh ..", a line for each command. */
void command_templates(struct text *out);
/* Reads what command_print wrote; a comment that is no command is skipped. Any text gives commands,
 * or NULL and one EXIT_INVALID error with its line. */
struct machine_command *commands_parse(struct arena *arena, const char *text, size_t length,
                                       int *count, struct diag *diag);

#endif
