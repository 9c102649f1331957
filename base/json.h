/* SPDX-License-Identifier: MIT */
/* Writing JSON (RFC 8259), ASCII only and fit for a script element of HTML: < is escaped too. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

void json_string(FILE *out, const char *text);            /* "..."; NULL: "" */
void json_bytes(FILE *out, const char *text, size_t length);
/* before"name": "text" */
void json_member(FILE *out, const char *before, const char *name, const char *text);

#endif
