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

/* what stands between `head`, with which the text begins, and `tail` */
static struct part between(const char *text, const char *head, const char *tail)
{
        size_t length = strlen(head);
        const char *end = strncmp(text, head, length) != 0 ? NULL : strstr(text + length, tail);
        return end ? (struct part){ text + length, (size_t)(end - text) - length }
                   : (struct part){ 0 };
}

/* "node 'conv1' (Conv): .." or "node of output 'y' (Conv): .."; the operator is a word */
static void put_node(const char *text)
{
        static const char *const heads[] = { "node '", "node of output '" }, *const names[] = {
                "node", "output"
        };
        struct part node = { 0 };
        int which = 0;
        for (int i = 0; i < 2 && !node.at; i++) {
                node = between(text, heads[i], "' (");
                which = i;
        }
        const char *operator = node.at ? node.at + node.length + strlen("' (") : "";
        put_part(names[node.at ? which : 0], node);
        put_part("operator", node.at ? (struct part){ operator, strcspn(operator, ",): ") } : node);
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

/* the end of a message that says how to go on: "(raise it with --limit nodes=N)", ", did you mean
 * 'x'?", ": there are 'a', 'b'", or the line of a long one that begins with "try" */
static struct part hint_of(const char *text)
{
        static const char *const marks[] = { "\n  try ", ", did you mean ", ": raise with ",
                                             ": there are ", ": there is " };
        size_t length = strlen(text);
        const char *open = strrchr(text, '(');
        if (length && text[length - 1] == ')' && open && strstr(open, "--"))
                return (struct part){ open + 1, (size_t)(text + length - open) - 2 };
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
                const char *found = strstr(text, marks[i]);
                if (!found)
                        continue;
                found += i ? strspn(found, ":, ") : strlen(marks[i]);
                found += strspn(found, " ");
                return (struct part){ found, strlen(found) };
        }
        return (struct part){ 0 };
}

static void speak_json(const struct diag *diag, const char *kind, enum exit_code code,
                       const char *text)
{
        struct part file = { diag->subject && strcmp(diag->subject, "dnncc") != 0 ? diag->subject
                                                                                  : NULL,
                             0 };
        const char *place = diag->place ? diag->place : text,
                   *line = strncmp(place, "line ", 5) != 0 ? NULL : place + strlen("line ");
        file.length = file.at ? strlen(file.at) : 0;
        fprintf(stderr, "{\"kind\": \"%s\"", kind);
        if (code)
                fprintf(stderr, ", \"code\": %d", (int)code);
        put_part("file", file);
        fprintf(stderr, ", \"line\": %.*s", line ? (int)strspn(line, "0123456789") : 4,
                line ? line : "null");
        put_node(text);
        put_numbers(text);
        put_part("hint", hint_of(text));
        put_part("text", (struct part){ text, strlen(text) });
        fputs("}\n", stderr);
}

/* ---- speaking ---- */

/* in `room`, or memory to free() where that is too small; without memory, as much as there is room
 * for */
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

/* colour: what terminals make of SGR 31 (red), 35 (magenta), 36 (cyan) */
static void speak(struct diag *diag, const char *kind, enum exit_code code, int color,
                  const char *format, va_list list)
{
        if (diag->silent)
                return;
        FILE *out = diag->stream ? diag->stream : stderr;
        make_room(true);
        if (diag_json && !diag->stream) {
                char room[1024], *text = formatted(room, sizeof room, format, list);
                speak_json(diag, kind, code, text);
                if (text != room)
                        free(text);
                make_room(false);
                return;
        }
        fprintf(out, "%s: ", diag->subject ? diag->subject : "dnncc");
        if (diag_color && !diag->stream)
                fprintf(out, "\033[1;%dm%s:\033[0m ", color, kind);
        else
                fprintf(out, "%s: ", kind);
        if (diag->place)
                fprintf(out, "%s: ", diag->place);
        vfprintf(out, format, list);
        fputc('\n', out);
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
                        struct part head = between(line + subject, ": ", ": ");
                        if (!head.at || head.length != strlen(kinds[i]) ||
                            strncmp(head.at, kinds[i], head.length) != 0)
                                continue;
                        const char *text = head.at + head.length + strlen(": ");
                        char room[1024];
                        snprintf(room, sizeof room, "%.*s", (int)(end - text), text);
                        speak_json(diag, kinds[i], i ? 0 : diag->code, room);
                }
        }
}
