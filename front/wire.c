/* SPDX-License-Identifier: MIT */
/* The bytes of a protobuf are scanned before protobuf-c unpacks them.
 *
 * protobuf-c recurses once for each nested message, merges messages that are given twice, cuts wide
 * integers short and allocates hundreds of bytes for a message of two: all of that on the word of
 * the file. This scan walks the same wire format with an explicit stack in one pass, knows the
 * fields from the descriptors of the format, and lets through only what unpacks within bounds:
 *
 *   - tags, varints, lengths and packed arrays are whole and lie inside the message around them
 *   - a known field has the wire type of its type, an int32 or enum has a value of that type
 *   - a field that is not repeated is given once; of a oneof one member is
 *   - messages nest at most limits.wire_depth deep
 *   - what unpacks is at most limits.unpack_bytes more than three times the file
 *
 * Unknown fields are skipped; groups, which no format has, are refused. On its way it copies the
 * messages for protobuf-c to unpack, but not the weights: they stay where they are, so that no byte
 * of them is copied. */
#include "front/wire.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct level {
        const ProtobufCMessageDescriptor *message;
        const unsigned char *end;
        uint64_t seen;                  /* It has a bit for each field of the descriptor. */
        uint64_t members;
        size_t length_at;               /* It is the offset of its length in the image. */
};

struct scan {
        const unsigned char *start, *at;
        const unsigned char *copied;    /* Bytes before it are in the image, or left out. */
        struct wire_image *image;
        const struct wire_format *format;
        struct diag *diag;
        const struct limits *limits;
        uint64_t unpacked;              /* protobuf-c will allocate so many bytes. */
        bool begun;                     /* A message was seen that only this format has. */
        int depth;                      /* It is the depth of the innermost level. */
        struct level levels[WIRE_DEPTH_MAX + 1];
};

/* ---- messages ---- */

static const struct { const char *magic; size_t offset, length; const char *what; } formats[] = {
        { "PK\3\4", 0, 4, "a zip archive; PyTorch files and saved models are such" },
        { "\x1f\x8b", 0, 2, "gzip data" },
        { "BZh", 0, 3, "bzip2 data" },
        { "\xfd" "7zXZ", 0, 5, "xz data" },
        { "TFL3", 4, 4, "a TensorFlow Lite model" },
        { "ORTM", 4, 4, "an ONNX Runtime (ORT format) model" },
        { "\x89HDF", 0, 4, "an HDF5 file" },
        { "GGUF", 0, 4, "a GGUF file" },
        { "\x80\2", 0, 2, "a Python pickle" },
        { "\x80\4", 0, 2, "a Python pickle" },
        { "\x7f" "ELF", 0, 4, "a program" },
        { "<", 0, 1, "HTML or XML text" },
        { "{", 0, 1, "JSON text" },
        { "version https://git-lfs", 0, 23, "a Git LFS pointer, not the file itself" },
};

static const char *guess_format(const unsigned char *bytes, size_t length)
{
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
                if (length >= formats[i].offset + formats[i].length &&
                    !memcmp(bytes + formats[i].offset, formats[i].magic, formats[i].length))
                        return formats[i].what;
        return NULL;
}

static bool broken(struct scan *s, const char *what)
{
        size_t at = (size_t)(s->at - s->start);
        const char *guess = guess_format(s->start, (size_t)(s->levels[0].end - s->start));
        const char *message = s->levels[s->depth].message->short_name;
        const char *what_not = s->format->what;
        if (s->begun || s->depth)
                diag_error(s->diag, EXIT_INVALID, "the file is damaged: %s, at byte %zu, in a %s",
                           what, at, message);
        else if (guess)
                diag_error(s->diag, EXIT_INVALID, "not %s, but %s", what_not, guess);
        else
                diag_error(s->diag, EXIT_INVALID, "not %s: %s, at byte %zu", what_not, what, at);
        return false;
}

static bool broken_field(struct scan *s, const ProtobufCFieldDescriptor *field, const char *what)
{
        char text[160];
        snprintf(text, sizeof text, "field %s %s", field->name, what);
        return broken(s, text);
}

/* ---- pieces ---- */

static bool read_varint(struct scan *s, const unsigned char *end, uint64_t *value)
{
        *value = 0;
        for (int shift = 0; shift < 70; shift += 7) {
                if (s->at == end)
                        return broken(s, "a number is cut off");
                unsigned char byte = *s->at++;
                if (shift == 63 && byte > 1)
                        break;
                *value |= (uint64_t)(byte & 127) << shift;
                if (byte < 128)
                        return true;
        }
        return broken(s, "a number is longer than 64 bits");
}

/* Returns whether a varint fits the type: int32 and enums are sign-extended to 64 bits on the
 * wire. */
static bool varint_fits(ProtobufCType type, uint64_t value)
{
        int64_t number = (int64_t)value;
        switch (type) {
        case PROTOBUF_C_TYPE_INT32: case PROTOBUF_C_TYPE_ENUM:
                return number >= INT32_MIN && number <= INT32_MAX;
        default:
                return true;
        }
}

static int wire_of(ProtobufCType type)
{
        switch (type) {
        case PROTOBUF_C_TYPE_FLOAT: case PROTOBUF_C_TYPE_FIXED32: return WIRE_FIXED32;
        case PROTOBUF_C_TYPE_DOUBLE: return WIRE_FIXED64;
        case PROTOBUF_C_TYPE_BYTES:
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
        default: return WIRE_VARINT;
        }
}

static uint64_t stored_bytes(ProtobufCType type)
{
        return type == PROTOBUF_C_TYPE_INT32 || type == PROTOBUF_C_TYPE_ENUM ||
                               wire_of(type) == WIRE_FIXED32
                       ? 4
                       : 8;
}

static uint64_t rounded(uint64_t bytes) { return (bytes + 31) & ~UINT64_C(15); }

/* Adds to what will be allocated; returns false once that is too much. */
static bool charge(struct scan *s, uint64_t bytes)
{
        uint64_t file = (uint64_t)(s->levels[0].end - s->start);
        s->unpacked += bytes;           /* It is at most some hundred times the file, so it does not
                                         * overflow. */
        if (s->unpacked <= 3 * file + (uint64_t)s->limits->unpack_bytes)
                return true;
        diag_error(s->diag, EXIT_INVALID,
                   "the file's messages unpack into more than three times its size and %" PRId64
                   " bytes (" DIAG_HINT("raise it with --limit unpack_bytes=N") ")",
                   s->limits->unpack_bytes);
        return false;
}

static bool check_packed(struct scan *s, const ProtobufCFieldDescriptor *field, uint64_t length)
{
        int wire = wire_of(field->type);
        uint64_t width = wire == WIRE_FIXED32 ? 4 : 8, count = 0;
        const unsigned char *end = s->at + length;
        if (wire != WIRE_VARINT) {
                if (length % width)
                        return broken_field(s, field, "is cut off inside an element");
                count = length / width;
                s->at = end;
        }
        for (; s->at < end; count++) {
                uint64_t value;
                if (!read_varint(s, end, &value))
                        return false;
                if (!varint_fits(field->type, value))
                        return broken_field(s, field, "has an element out of range");
        }
        return charge(s, rounded(count * stored_bytes(field->type)));
}

/* ---- the image ---- */

enum { LENGTH_BYTES = 5 };              /* Any length has so many bytes in the image. */

static void add_number(struct text *image, uint64_t number)
{
        char bytes[10];
        size_t count = 0;
        do
                bytes[count++] = (char)((number & 127) | (number > 127) << 7);
        while (number >>= 7);
        text_add_bytes(image, bytes, count);
}

static void copy_until(struct scan *s, const unsigned char *end)
{
        text_add_bytes(&s->image->bytes, (const char *)s->copied, (size_t)(end - s->copied));
        s->copied = end;
}

static void open_message(struct scan *s, const unsigned char *length)
{
        static const char unknown[LENGTH_BYTES];
        copy_until(s, length);
        s->copied = s->at;
        s->levels[s->depth].length_at = s->image->bytes.length;
        text_add_bytes(&s->image->bytes, unknown, LENGTH_BYTES);
}

static void close_message(struct scan *s)
{
        copy_until(s, s->at);
        struct text *image = &s->image->bytes;
        char *to = image->data + s->levels[s->depth--].length_at;
        size_t length = image->length - LENGTH_BYTES - (size_t)(to - image->data);
        for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
                to[i] = (char)((length & 127) | (i + 1 < LENGTH_BYTES) << 7);
}

static bool is_long_data(const struct scan *s, const struct level *level,
                         const ProtobufCFieldDescriptor *field, uint64_t length)
{
        return field && level->message == s->format->tensor && length >= CONSTANT_LARGE &&
               !strcmp(field->name, s->format->data);
}

/* Leaves the field from `tag` to s->at in the file. Its value is its last `length` bytes. */
static void leave_in_file(struct scan *s, const unsigned char *tag, uint64_t length)
{
        struct wire_image *image = s->image;
        copy_until(s, tag);
        s->copied = s->at;
        ARENA_GROW(image->arena, image->long_data, image->long_count);
        add_number(&image->bytes, (uint64_t)LONG_DATA << 3 | WIRE_VARINT);
        add_number(&image->bytes, image->long_count);
        image->long_data[image->long_count++] =
                (ProtobufCBinaryData){ (size_t)length, (uint8_t *)(uintptr_t)(s->at - length) };
}

/* ---- fields ---- */

static bool enter(struct scan *s, const ProtobufCFieldDescriptor *field,
                  const unsigned char *length_at, uint64_t length)
{
        if (s->depth + 1 > s->limits->wire_depth || s->depth + 1 > WIRE_DEPTH_MAX) {
                diag_error(s->diag, EXIT_INVALID,
                           "messages are nested more than %d deep (" DIAG_HINT(
                                   "--limit wire_depth=N, at most %d") ")",
                           s->depth, WIRE_DEPTH_MAX);
                return false;
        }
        if (s->depth == 0 && (!s->format->body || field->descriptor == s->format->body))
                s->begun = true;
        s->levels[++s->depth] =
                (struct level){ .message = field->descriptor, .end = s->at + length };
        open_message(s, length_at);
        return charge(s, rounded(s->levels[s->depth].message->sizeof_message) + 8);
}

/* Checks that a field that is not repeated comes once; all members of a oneof count as one
 * field. */
static bool once(struct scan *s, struct level *level, const ProtobufCFieldDescriptor *field)
{
        uint64_t mask = 0;
        for (unsigned i = 0; i < level->message->n_fields; i++) {
                const ProtobufCFieldDescriptor *other = &level->message->fields[i];
                if (other == field || ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
                                       (other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
                                       other->quantifier_offset == field->quantifier_offset))
                        mask |= UINT64_C(1) << i;
        }
        if (level->seen & mask)
                return broken_field(s, field, "is given twice");
        level->seen |= mask;
        return true;
}

/* ---- one member: tag and contents ---- */

static bool scan_value(struct scan *s, const ProtobufCFieldDescriptor *field, int wire,
                       const unsigned char *tag)
{
        const struct level *level = &s->levels[s->depth];
        const unsigned char *start = s->at, *end = level->end;
        uint64_t value, left = 0;
        if (wire == WIRE_VARINT) {
                if (!read_varint(s, end, &value))
                        return false;
                if (field && !varint_fits(field->type, value))
                        return broken_field(s, field, "is out of range");
        } else if (wire == WIRE_FIXED32 || wire == WIRE_FIXED64) {
                left = wire == WIRE_FIXED32 ? 4 : 8;
                if ((uint64_t)(end - s->at) < left)
                        return broken(s, "a number is cut off");
                s->at += left;
        } else {
                if (!read_varint(s, end, &value))
                        return false;
                if (value > (uint64_t)(end - s->at) || value > INT_MAX)
                        return broken(s, "a length points past the end");
                if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
                        return enter(s, field, start, value);
                const bool is_long = is_long_data(s, level, field, value);
                if (field && wire_of(field->type) != WIRE_BYTES && !is_long)
                        return check_packed(s, field, value);
                s->at += value;
                if (!is_long)
                        return charge(s, (field ? 16 : 48) + rounded(value));
                leave_in_file(s, tag, value);
        }
        return charge(s, field ? 8 : 64);
}

static bool scan_member(struct scan *s)
{
        struct level *level = &s->levels[s->depth];
        const unsigned char *tag_start = s->at;
        uint64_t tag;
        if (!read_varint(s, level->end, &tag))
                return false;
        int wire = (int)(tag & 7);
        if (tag > UINT32_MAX || s->at - tag_start > 5 || tag >> 3 == 0) {
                s->at = tag_start;
                return broken(s, "no such field number");
        }
        if (wire > WIRE_FIXED32 || wire == WIRE_GROUP || wire == WIRE_GROUP_END) {
                s->at = tag_start;
                return broken(s, "no such wire type");
        }
        const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field(level->message, (unsigned)(tag >> 3));
        if (field && field->id == LONG_DATA)
                field = NULL;
        if (field) {
                bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED,
                     whole = wire == wire_of(field->type);
                if (!whole && !(repeated && wire == WIRE_BYTES))
                        return broken_field(s, field, "has the wrong wire type");
                if (!repeated && !once(s, level, field))
                        return false;
        }
        if (++level->members > 16 && !charge(s, 48))    /* It has a place in protobuf-c's list of
                                                         * members. */
                return false;
        if (!field)
                copy_until(s, tag_start);
        bool fine = scan_value(s, field, wire, tag_start);
        if (!field)
                s->copied = s->at;
        return fine;
}

bool wire_check(const unsigned char *bytes, size_t length, const struct wire_format *format,
                const struct limits *limits, struct wire_image *image, struct diag *diag)
{
        if (!length) {
                diag_error(diag, EXIT_INVALID, "not %s: the file is empty", format->what);
                return false;
        }
        struct scan *s = memory_alloc(sizeof *s);
        *s = (struct scan){ .start = bytes,
                            .at = bytes,
                            .copied = bytes,
                            .image = image,
                            .format = format,
                            .diag = diag,
                            .limits = limits };
        s->levels[0] = (struct level){ .message = format->message, .end = bytes + length };
        bool ok = true;
        while (ok) {
                while (s->depth && s->at == s->levels[s->depth].end)
                        close_message(s);
                if (s->at == s->levels[0].end)
                        break;
                ok = scan_member(s);
        }
        copy_until(s, s->at);
        if (ok && format->body && !s->begun) {
                const char *guess = guess_format(bytes, length);
                diag_error(diag, EXIT_INVALID, "not %s%s%s", format->what,
                           guess ? ", but " : format->empty, guess ? guess : "");
                ok = false;
        }
        free(s);
        return ok;
}

/* ---- unpacking ---- */

enum { LARGE = 1024 };

struct room { struct module *m; struct arena *arena; };

static void *unpack_alloc(void *context, size_t bytes)
{
        struct room *room = context;
        return bytes >= LARGE ? constant_room(room->m, bytes)
                              : arena_alloc(room->arena, bytes ? bytes : 1);
}

static void unpack_free(void *context, void *pointer)
{
        (void)context, (void)pointer;
}

ProtobufCMessage *wire_unpack(struct module *m, const unsigned char *bytes, size_t length,
                              const struct wire_format *format, const struct limits *limits,
                              struct wire_image *image, struct diag *diag)
{
        struct room room = { m, image->arena };
        ProtobufCAllocator allocator = { unpack_alloc, unpack_free, &room };
        ProtobufCMessage *unpacked = NULL;
        if (wire_check(bytes, length, format, limits, image, diag)) {
                unpacked = protobuf_c_message_unpack(format->message, &allocator,
                                                     image->bytes.length,
                                                     (const uint8_t *)image->bytes.data);
                if (!unpacked)
                        diag_error(diag, EXIT_INVALID, "the file is damaged");
        }
        text_free(&image->bytes);
        return unpacked;
}

const void *wire_numbers(struct module *m, const void *data, size_t bytes, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        const unsigned char *from = data;
        unsigned char *turned = constant_room(m, bytes);
        for (size_t i = 0; i < bytes; i++)
                turned[i] = from[i - i % width + width - 1 - i % width];
        return turned;
#else
        (void)m, (void)bytes, (void)width;
        return data;
#endif
}
