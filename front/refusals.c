/* SPDX-License-Identifier: MIT */
#include "front/refusals.h"

#include <stdarg.h>
#include <string.h>

enum { LINES_MAX = 50 };

struct refusals refusals_begin(struct arena *arena, struct diag *diag)
{
        return (struct refusals){ .arena = arena, .diag = diag, .lines = map_new(arena) };
}

bool refusals_add(struct refusals *r, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        const char *line = arena_vprintf(r->arena, format, list);
        va_end(list);
        if (map_get(r->lines, line, strlen(line)))
                return false;
        map_set(r->lines, line, strlen(line), r);
        if (r->count++ < LINES_MAX)
                diag_error(r->diag, EXIT_UNSUPPORTED, "%s", line);
        return false;
}

void refusals_end(const struct refusals *r)
{
        if (r->count > LINES_MAX)
                diag_error(r->diag, EXIT_UNSUPPORTED, "%d more like these are not supported",
                           r->count - LINES_MAX);
}
