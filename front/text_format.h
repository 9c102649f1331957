/* SPDX-License-Identifier: MIT */
/* Protobuf's text format (`.prototxt`) becomes the bytes of the same message, which are then read
 * like those of any file (front/wire.h). */
#ifndef FRONT_TEXT_FORMAT_H
#define FRONT_TEXT_FORMAT_H

#include "front/wire.h"

struct text_format {
        const ProtobufCMessageDescriptor *message;
        const char *const *ignored;     /* Fields of these names say nothing that is read, in any
                                         * message; the list ends with NULL. */
};
/* Fields that the descriptors do not have are skipped. Each is noted as "line 7: field 'x'" in the
 * field `unknown` of the innermost message around it that has such a field; where none has, it is
 * an error. Returns false after one error, which names the line. The caller frees *wire by
 * text_free. */
bool text_format_read(const unsigned char *bytes, size_t length, const struct text_format *format,
                      const struct limits *limits, struct text *wire, struct diag *diag);

/* Returns whether the bytes begin, behind blanks and comments, with one of the fields of `message`
 * as this format writes it: a name, and ':' or '{'. */
bool text_format_begins(const unsigned char *bytes, size_t length,
                        const ProtobufCMessageDescriptor *message);

#endif
