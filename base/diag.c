/* SPDX-License-Identifier: MIT */
#include "base/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void (*diag_speaking)(bool speaking);

static void make_room(bool speaking)
{
        if (diag_speaking)
                diag_speaking(speaking);
}

bool diag_color, diag_json;

/* ---- lines of JSON ---- */

struct part { const char *at; size_t length; };

static void put_part(const char *name, struct part p)
{
        fprintf(stderr, ", \"%s\": ", name);
        if (p.at)
                json_bytes(stderr, p.at, p.length);
        else
                fputs("null", stderr);
}

enum { MARK_NODE = 1, MARK_OUTPUT, MARK_OPERATOR, MARK_LINE, MARK_HINT, MARK_END = 7 };

static bool is_mark(char c) { return c >= MARK_NODE && c <= MARK_END; }

void diag_unmark(char *text)
{
        char *to = text;
        for (; *text; text++)
                if (!is_mark(*text))
                        *to++ = *text;
        *to = 0;
}

/* Returns the first part of a kind. */
static struct part marked(const char *text, char mark)
{
        const char *at = strchr(text, mark);
        return at ? (struct part){ at + 1, strcspn(at + 1, "\007") } : (struct part){ 0 };
}

static void put_numbers(const char *text)
{
        bool quoted = false, first = true;
        fputs(", \"numbers\": [", stderr);
        for (const char *p = text; *p; p++) {
                bool inside = p > text && (isalnum((unsigned char)p[-1]) || strchr("_.-", p[-1]));
                size_t digits = strspn(p, "0123456789");
                quoted ^= *p == '\'';
                if (quoted || inside || !digits)
                        continue;
                if (digits < 19 && !isalpha((unsigned char)p[digits]) && p[digits] != '.' &&
                    p[digits] != '_')
                        fprintf(stderr, "%s%.*s", first ? "" : ", ", (int)digits, p), first = false;
                p += digits - 1;
        }
        fputs("]", stderr);
}

/* Writes a message as JSON; the text has marks, and loses them. */
static void speak_json(const struct diag *diag, const char *kind, enum exit_code code, char *text)
{
        const char *file =
                diag->subject && strcmp(diag->subject, "dnncc") != 0 ? diag->subject : NULL;
        struct part node = marked(text, MARK_NODE), output = marked(text, MARK_OUTPUT),
                    line = marked(diag->place ? diag->place : text, MARK_LINE);
        fprintf(stderr, "{\"kind\": \"%s\"", kind);
        if (code)
                fprintf(stderr, ", \"code\": %d", (int)code);
        put_part("file", (struct part){ file, file ? strlen(file) : 0 });
        fprintf(stderr, ", \"line\": %.*s", line.at ? (int)line.length : 4,
                line.at ? line.at : "null");
        put_part(output.at && !node.at ? "output" : "node", node.at ? node : output);
        put_part("operator", marked(text, MARK_OPERATOR));
        const struct part hint = marked(text, MARK_HINT);
        char *plain = malloc(strlen(text) + 1);         /* The parts point into the text. */
        if (plain) {
                strcpy(plain, text);
                diag_unmark(plain);
                put_numbers(plain);
        }
        put_part("hint", hint);
        if (plain)
                put_part("text", (struct part){ plain, strlen(plain) });
        free(plain);
        fputs("}\n", stderr);
}

/* ---- speaking ---- */

/* Formats into `room`, or memory to be freed where that is too small; without memory, the text is
 * cut to what there is room for. */
static char *formatted(char *room, size_t size, const char *format, va_list list)
{
        va_list again;
        va_copy(again, list);
        int length = vsnprintf(room, size, format, list);
        char *text = length >= 0 && (size_t)length >= size ? malloc((size_t)length + 1) : NULL;
        if (text)
                vsnprintf(text, (size_t)length + 1, format, again);
        va_end(again);
        return text ? text : room;
}

static void speak_text(const struct diag *diag, const char *kind, int color, char *text, FILE *out)
{
        fprintf(out, "%s: ", diag->subject ? diag->subject : "dnncc");
        if (diag_color && !diag->stream)
                fprintf(out, "\033[1;%dm%s:\033[0m ", color, kind);
        else
                fprintf(out, "%s: ", kind);
        for (const char *p = diag->place; p && *p; p++)
                if (!is_mark(*p))
                        fputc(*p, out);
        if (diag->place)
                fputs(": ", out);
        if (!diag_json)
                diag_unmark(text);
        fputs(text, out);
        fputc('\n', out);
}

/* The colour is what terminals make of SGR 31 (red), 35 (magenta), 36 (cyan). */
static void speak(struct diag *diag, const char *kind, enum exit_code code, int color,
                  const char *format, va_list list)
{
        if (diag->silent)
                return;
        FILE *out = diag->stream ? diag->stream : stderr;
        char room[1024], *text = formatted(room, sizeof room, format, list);
        make_room(true);
        if (diag_json && !diag->stream)
                speak_json(diag, kind, code, text);
        else
                speak_text(diag, kind, color, text, out);
        if (text != room)
                free(text);
        make_room(false);
}

void diag_error(struct diag *diag, enum exit_code code, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        speak(diag, "error", code, 31, format, list);
        va_end(list);
        if (!diag->errors++)
                diag->code = code;
}

void diag_warning(struct diag *diag, const char *format, ...)
{
        diag->warnings++;
        if (diag->verbosity < 0)
                return;
        va_list list;
        va_start(list, format);
        speak(diag, "warning", 0, 35, format, list);
        va_end(list);
}

void diag_hint(struct diag *diag, const char *format, ...)
{
        if (diag->verbosity < 0)
                return;
        va_list list;
        va_start(list, format);
        speak(diag, "note", 0, 36, format, list);
        va_end(list);
}

void diag_note(struct diag *diag, const char *format, ...)
{
        if (diag->verbosity < 1)
                return;
        va_list list;
        va_start(list, format);
        speak(diag, "note", 0, 36, format, list);
        va_end(list);
}

void diag_say(const struct diag *diag, const char *format, ...)
{
        va_list list;
        if (diag->silent)
                return;
        make_room(true);
        va_start(list, format);
        if (diag_json) {
                char room[1024], *text = formatted(room, sizeof room, format, list);
                speak_json(diag, "said", 0, text);
                if (text != room)
                        free(text);
        } else {
                vfprintf(stderr, format, list);
        }
        va_end(list);
        make_room(false);
}

void diag_say_again(const struct diag *diag, const char *lines)
{
        static const char *const kinds[] = { "error", "warning", "note" };
        size_t subject = strlen(diag->subject ? diag->subject : "dnncc");
        if (diag->silent)
                return;
        if (!diag_json || diag->stream) {
                fputs(lines, diag->stream ? diag->stream : stderr);
                return;
        }
        for (const char *line = lines, *end; *line; line = *end ? end + 1 : end) {
                end = line + strcspn(line, "\n");
                for (int i = 0; i < 3; i++) {
                        size_t head = subject + strlen(": "), length = strlen(kinds[i]);
                        if ((size_t)(end - line) < head + length + strlen(": ") ||
                            strncmp(line + head, kinds[i], length) != 0)
                                continue;
                        const char *text = line + head + length + strlen(": ");
                        char room[1024];
                        snprintf(room, sizeof room, "%.*s", (int)(end - text), text);
                        speak_json(diag, kinds[i], i ? 0 : diag->code, room);
                }
        }
}
