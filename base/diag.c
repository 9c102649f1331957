/* SPDX-License-Identifier: MIT */
#include "base/diag.h"

#include <stdarg.h>

void (*diag_speaking)(bool speaking);

static void make_room(bool speaking)
{
        if (diag_speaking)
                diag_speaking(speaking);
}

bool diag_color;

/* colour: what terminals make of SGR 31 (red), 35 (magenta), 36 (cyan) */
static void speak(struct diag *diag, const char *kind, int color, const char *format, va_list list)
{
        if (diag->silent)
                return;
        FILE *out = diag->stream ? diag->stream : stderr;
        make_room(true);
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
        speak(diag, "error", 31, format, list);
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
        speak(diag, "warning", 35, format, list);
        va_end(list);
}

void diag_note(struct diag *diag, const char *format, ...)
{
        if (diag->verbosity < 1)
                return;
        va_list list;
        va_start(list, format);
        speak(diag, "note", 36, format, list);
        va_end(list);
}

void diag_say(const struct diag *diag, const char *format, ...)
{
        va_list list;
        if (diag->silent)
                return;
        make_room(true);
        va_start(list, format);
        vfprintf(stderr, format, list);
        va_end(list);
        make_room(false);
}
