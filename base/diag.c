#include "base/diag.h"

#include <stdarg.h>

void (*diag_speaking)(bool speaking);

static void make_room(bool speaking)
{
        if (diag_speaking)
                diag_speaking(speaking);
}

static void speak(struct diag *diag, const char *kind, const char *format, va_list list)
{
        if (diag->silent)
                return;
        FILE *out = diag->stream ? diag->stream : stderr;
        make_room(true);
        fprintf(out, "%s: %s: ", diag->subject ? diag->subject : "dnncc", kind);
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
        speak(diag, "error", format, list);
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
        speak(diag, "warning", format, list);
        va_end(list);
}

void diag_note(struct diag *diag, const char *format, ...)
{
        if (diag->verbosity < 1)
                return;
        va_list list;
        va_start(list, format);
        speak(diag, "note", format, list);
        va_end(list);
}

void diag_say(const struct diag *diag, const char *format, ...)
{
        va_list list;
        if (diag->silent)
                return;
        make_room(true);
        va_start(list, format);
        vfprintf(diag->stream ? diag->stream : stderr, format, list);
        va_end(list);
        make_room(false);
}
