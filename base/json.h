/* SPDX-License-Identifier: MIT */
/* JSON (RFC 8259) is written in ASCII only and fit for a script element of HTML: < is escaped
 * too. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

void json_string(FILE *out, const char *text);            /* It is written in quotes; NULL gives
                                                           * "". */
void json_bytes(FILE *out, const char *text, size_t length);
/* Writes before"name": "text". */
void json_member(FILE *out, const char *before, const char *name, const char *text);

#endif
