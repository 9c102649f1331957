/* SPDX-License-Identifier: MIT */
/* Commands of a machine that holds activations itself (commands.def), and their text. */
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
        int64_t slot;                   /* commands of equal slots run at once */
        const char *name;               /* text_safe; NULL where the command has none */
        bool of_concat;                 /* a volume that is there when the parts of the concat in
                                         * front of it are */
        bool of_slice;                  /* copies rows that two slices have in common */
        int64_t field[FIELD_COUNT];     /* those that it has */
};

/* Appends a line to out. */
void command_print(struct text *out, const struct machine_command *c);
/* "# template XNConv name kw kh ..", a line for each command. */
void command_templates(struct text *out);
/* Reads what command_print wrote, a comment that is no command is passed over. Any text gives
 * commands or one EXIT_INVALID error with its line: NULL then. */
struct machine_command *commands_parse(struct arena *arena, const char *text, size_t length,
                                       int *count, struct diag *diag);

#endif
