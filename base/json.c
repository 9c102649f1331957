/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <string.h>

void json_bytes(FILE *out, const char *text, size_t length)
{
        fputc('"', out);
        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c < ' ' || c > '~' || c == '<')
                        fprintf(out, "\\u%04x", c);
                else
                        fprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
        fputc('"', out);
}

void json_string(FILE *out, const char *text)
{
        json_bytes(out, text ? text : "", text ? strlen(text) : 0);
}

void json_member(FILE *out, const char *before, const char *name, const char *text)
{
        fprintf(out, "%s\"%s\": ", before, name);
        json_string(out, text);
}
