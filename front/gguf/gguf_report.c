/* SPDX-License-Identifier: MIT */
#include "front/gguf/gguf.h"

#include <stdarg.h>

static bool say(struct gguf_import *im, enum exit_code code, const char *format, va_list list)
{
        const char *text = arena_vprintf(im->arena, format, list);
        if (im->at)
                diag_error(im->diag, code, DIAG_NODE("%s") ": %s", im->at, text);
        else
                diag_error(im->diag, code, "%s", text);
        return false;
}

bool gguf_invalid(struct gguf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        say(im, EXIT_INVALID, format, list);
        va_end(list);
        return false;
}

bool gguf_unsupported(struct gguf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        say(im, EXIT_UNSUPPORTED, format, list);
        va_end(list);
        return false;
}

bool gguf_usage(struct gguf_import *im, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        im->at = NULL;
        say(im, EXIT_USAGE, format, list);
        va_end(list);
        return false;
}
