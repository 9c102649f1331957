/* SPDX-License-Identifier: MIT */
/* Formats that are protobufs have one scan of their bytes, in front of protobuf-c, and one way to
 * unpack them. */
#ifndef FRONT_WIRE_H
#define FRONT_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "base/diag.h"
#include "base/text.h"
#include "ir/tensor/tensor.h"
#include "passes/pass.h"

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP, WIRE_GROUP_END, WIRE_FIXED32 };
enum { LONG_DATA = 536870911 };         /* It is the number of the field long_data, below. */
enum { WIRE_DEPTH_MAX = 256 };          /* It holds whatever the option says: protobuf-c needs 3 KB
                                         * of stack for each level. */

/* This is a format: its outermost message, and which messages have the weights. */
struct wire_format {
        const ProtobufCMessageDescriptor *message;
        const char *what;               /* It is "an ONNX model". */
        const ProtobufCMessageDescriptor *body;   /* A file has a message of this kind in the
                                                   * outermost one; NULL: of any kind, if at
                                                   * all. */
        const char *empty;              /* What is said where it has not: ": it holds no graph". */
        const ProtobufCMessageDescriptor *tensor; /* This message has weights */
        const char *data;               /* in this field. */
};

/* These are the bytes that protobuf-c unpacks: the messages of the file, without unknown fields,
 * and without the weights of tensors that have CONSTANT_LARGE bytes or more. Such data stay where
 * they lie in the file; the field long_data of their tensor is an index into the list of them. */
struct wire_image {
        struct arena *arena;            /* The list lies in it. */
        struct text bytes;              /* The caller frees it by text_free. */
        ProtobufCBinaryData *long_data; /* It is the list. */
        size_t long_count;              /* The list has so many entries. */
};
/* Scans the bytes in one pass, with a stack of constant size. Returns false after one error. */
bool wire_check(const unsigned char *bytes, size_t length, const struct wire_format *format,
                const struct limits *limits, struct wire_image *image, struct diag *diag);

/* Scans the bytes and unpacks them. Small messages live in the image's arena; large fields, that is
 * lists of values, live as long as the module. Returns NULL after one error; long_data of the image
 * are set. */
ProtobufCMessage *wire_unpack(struct module *m, const unsigned char *bytes, size_t length,
                              const struct wire_format *format, const struct limits *limits,
                              struct wire_image *image, struct diag *diag);

/* Returns numbers of `width` bytes, little endian, in the order of this machine: as they lie, or
 * turned. */
const void *wire_numbers(struct module *m, const void *data, size_t bytes, size_t width);

#endif
