/* SPDX-License-Identifier: MIT */
#include "codegen/sections/commands.h"

#include <inttypes.h>
#include <string.h>

#define FIELD(name, kind, doc)
#define COMMAND(name, engine, comment, doc) static const unsigned char fields_##name[] = {
#define HAS(field) FIELD_##field,
#define END };
#include "codegen/sections/commands.def"

const struct command_info command_info[COMMAND_COUNT] = {
#define COMMAND(name, engine, comment, doc) { #name, doc, ENGINE_##engine, comment, fields_##name, sizeof fields_##name },
#define HAS(field)
#define END
#include "codegen/sections/commands.def"
};

enum field_kind { KIND_NAME, KIND_NUMBER, KIND_ADDRESS };
static const struct { const char *name; enum field_kind kind; } fields[FIELD_COUNT] = {
#define FIELD(name, kind, doc) { #name, KIND_##kind },
#include "codegen/sections/commands.def"
};

/* ---- printing ---- */

void command_print(struct text *out, const struct machine_command *c)
{
        const struct command_info *info = &command_info[c->code];
        text_add(out, "%s%" PRId64 " %s", info->comment ? "# " : "", c->slot, info->name);
        for (int i = 0; i < info->field_count; i++) {
                const int f = info->fields[i];
                if (fields[f].kind == KIND_NAME)
                        text_add(out, " %s", c->name);
                else
                        text_add(out, fields[f].kind == KIND_ADDRESS ? " 0x%" PRIx64 : " %" PRId64,
                                 c->field[f]);
        }
        text_add(out, "\n");
}

void command_templates(struct text *out)
{
        for (int k = 0; k < COMMAND_COUNT; k++) {
                text_add(out, "# template %s", command_info[k].name);
                for (int i = 0; i < command_info[k].field_count; i++)
                        text_add(out, " %s", fields[command_info[k].fields[i]].name);
                text_add(out, "\n");
        }
}

/* ---- parsing ---- */

/* A line is read word by word, as the words stand in the text. */
struct line { const char *at, *end; };
struct word { const char *at; size_t length; };

static bool next_word(struct line *l, struct word *w)
{
        while (l->at < l->end && *l->at == ' ')
                l->at++;
        w->at = l->at;
        while (l->at < l->end && *l->at != ' ')
                l->at++;
        w->length = (size_t)(l->at - w->at);
        return w->length != 0;
}

static int digit_of(char c, int base)
{
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        return d < base ? d : -1;
}

/* Reads a number: decimal, or hexadecimal after 0x; of at most 62 bits. */
static bool read_number(struct word w, bool hexadecimal, int64_t *number)
{
        const bool negative = !hexadecimal && w.length > 1 && *w.at == '-';
        size_t k = negative;
        if (hexadecimal && (w.length < 3 || memcmp(w.at, "0x", 2) != 0))
                return false;
        k += hexadecimal ? 2 : 0;
        *number = 0;
        if (k >= w.length)
                return false;
        for (; k < w.length; k++) {
                int d = digit_of(w.at[k], hexadecimal ? 16 : 10);
                if (d < 0 || *number > (INT64_MAX >> 1) / 16)
                        return false;
                *number = *number * (hexadecimal ? 16 : 10) + d;
        }
        *number = negative ? -*number : *number;
        return true;
}

/* Could text_safe have written this word? */
static bool is_name(struct word w)
{
        for (size_t k = 0; k < w.length; k++)
                if (w.at[k] < '!' || w.at[k] > '~')
                        return false;
        return w.length <= 96;
}

static int find_command(struct word w, bool comment)
{
        for (int k = 0; k < COMMAND_COUNT; k++)
                if (command_info[k].comment == comment &&
                    strlen(command_info[k].name) == w.length &&
                    !memcmp(command_info[k].name, w.at, w.length))
                        return k;
        return -1;
}

/* Reads a line. Returns NULL where it is a command, or where it is none (*is_command is false);
 * otherwise what is wrong. */
static const char *read_line(struct arena *arena, struct line l, struct machine_command *c,
                             bool *is_command)
{
        struct word w;
        bool comment = false;
        *is_command = false;
        if (!next_word(&l, &w))
                return NULL;
        if (w.length == 1 && *w.at == '#') {
                comment = true;
                if (!next_word(&l, &w))
                        return NULL;
        } else if (*w.at == '#') {
                return NULL;
        }
        if (!read_number(w, false, &c->slot) || c->slot < 0)
                return comment ? NULL : "a line begins with its slot, a number from 0 on";
        int code = next_word(&l, &w) ? find_command(w, comment) : -1;
        if (code < 0)
                return comment ? NULL : "there is no such command";
        c->code = (enum command_code)code;
        for (int i = 0; i < command_info[code].field_count; i++) {
                const int f = command_info[code].fields[i];
                if (!next_word(&l, &w))
                        return arena_printf(arena, "%s has no %s", command_info[code].name,
                                            fields[f].name);
                if (fields[f].kind == KIND_NAME
                            ? !is_name(w)
                            : !read_number(w, fields[f].kind == KIND_ADDRESS, &c->field[f]))
                        return arena_printf(
                                arena, "%s of %s is no %s", fields[f].name, command_info[code].name,
                                fields[f].kind == KIND_NAME      ? "name"
                                : fields[f].kind == KIND_ADDRESS ? "address such as 0x40"
                                                                 : "number");
                if (fields[f].kind == KIND_NAME)
                        c->name = arena_printf(arena, "%.*s", (int)w.length, w.at);
        }
        if (next_word(&l, &w))
                return arena_printf(arena, "%s has %d fields, and here are more",
                                    command_info[code].name, command_info[code].field_count);
        *is_command = true;
        return NULL;
}

struct machine_command *commands_parse(struct arena *arena, const char *text, size_t length,
                                       int *count, struct diag *diag)
{
        struct machine_command *all = NULL;
        int64_t number = 1;
        *count = 0;
        for (const char *at = text, *end = text + length; at < end; number++) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                bool is_command;
                struct machine_command c = { 0 };
                const char *wrong =
                        read_line(arena, (struct line){ at, stop ? stop : end }, &c, &is_command);
                if (wrong) {
                        diag_error(diag, EXIT_INVALID, "line " DIAG_LINE("%" PRId64) ": %s", number,
                                   wrong);
                        return NULL;
                }
                if (is_command) {
                        ARENA_GROW(arena, all, *count);
                        all[(*count)++] = c;
                }
                at = stop ? stop + 1 : end;
        }
        return all ? all : ARENA_NEW(arena, struct machine_command);
}
