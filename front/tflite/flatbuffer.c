/* SPDX-License-Identifier: MIT */
#include "front/tflite/flatbuffer.h"

#include <string.h>

enum { OFFSET_BYTES = 4, VTABLE_HEAD = 4, SLOT_BYTES = 2 };

static bool broken(const struct flatbuffer *f, int64_t at, const char *owner, const char *what)
{
        diag_error(f->diag, EXIT_INVALID, "the file is damaged: %s, at byte %lld, in %s", what,
                   (long long)at, owner);
        return false;
}

/* Do `bytes` bytes lie at `at`? */
static bool inside(const struct flatbuffer *f, int64_t at, int64_t bytes)
{
        const int64_t length = (int64_t)f->length;
        return at >= 0 && bytes >= 0 && at <= length && bytes <= length - at;
}

/* Returns the little-endian number of up to 8 bytes, which lie inside. */
static uint64_t number_at(const unsigned char *p, int bytes)
{
        uint64_t number = 0;
        for (int i = bytes - 1; i >= 0; i--)
                number = number << 8 | p[i];
        return number;
}

static int64_t signed_at(const unsigned char *p, int bytes)
{
        const uint64_t number = number_at(p, bytes), sign = UINT64_C(1) << (8 * bytes - 1);
        return number & sign ? -(int64_t)(~number & (sign - 1)) - 1
                             : (int64_t)(number & (sign - 1));
}

static float float_at(const unsigned char *p)
{
        const uint32_t bits = (uint32_t)number_at(p, 4);
        float number;
        memcpy(&number, &bits, sizeof number);
        return number;
}

int32_t flat_i32(const struct flat_span *v, int64_t i)
{
        return (int32_t)signed_at(v->data + 4 * i, 4);
}

int64_t flat_i64(const struct flat_span *v, int64_t i) { return signed_at(v->data + 8 * i, 8); }

float flat_f32(const struct flat_span *v, int64_t i) { return float_at(v->data + 4 * i); }

/* Follows the offset at `at`, which is inside, to where something of at least `least` bytes is. */
static bool follow(const struct flatbuffer *f, int64_t at, int64_t least, const char *owner,
                   int64_t *to)
{
        const int64_t offset = (int64_t)number_at(f->bytes + at, OFFSET_BYTES);
        *to = at + offset;
        if (!offset)
                return broken(f, at, owner, "an offset leads to itself");
        return inside(f, *to, least) || broken(f, at, owner, "an offset leads outside the file");
}

bool flat_root(const struct flatbuffer *f, int64_t *at)
{
        if (!inside(f, 0, 2 * OFFSET_BYTES))
                return broken(f, (int64_t)f->length, "the head", "it is cut off");
        return follow(f, 0, OFFSET_BYTES, "the head", at);
}

/* ---- tables ---- */

static int element_bytes(enum flat_kind kind)
{
        switch (kind) {
        case FLAT_BOOL:
        case FLAT_I8:
        case FLAT_U8:
        case FLAT_TEXT:
        case FLAT_BYTES: return 1;
        case FLAT_U16S: return 2;
        case FLAT_U64:
        case FLAT_I64S: return 8;
        default: return 4;
        }
}

/* Reads the vector or text that the offset at `at` leads to. */
static bool read_span(const struct flatbuffer *f, const struct flat_field *field, int64_t at,
                      const char *owner, struct flat_span *span)
{
        int64_t to;
        if (!follow(f, at, OFFSET_BYTES, owner, &to))
                return false;
        span->count = (int64_t)number_at(f->bytes + to, OFFSET_BYTES);
        span->data = f->bytes + to + OFFSET_BYTES;
        return inside(f, to + OFFSET_BYTES, span->count * element_bytes(field->kind)) ||
               broken(f, to, owner, "a vector reaches beyond the file");
}

static bool read_field(const struct flatbuffer *f, const struct flat_field *field, int64_t at,
                       const char *owner, char *to)
{
        const unsigned char *p = f->bytes + at;
        int64_t number = 0;
        switch (field->kind) {
        case FLAT_F32: {
                const float value = float_at(p);
                memcpy(to, &value, sizeof value);
                return true;
        }
        case FLAT_TABLE:
                if (!follow(f, at, OFFSET_BYTES, owner, &number))
                        return false;
                break;
        case FLAT_BOOL: number = *p != 0; break;
        case FLAT_I8: number = signed_at(p, 1); break;
        case FLAT_U8: number = *p; break;
        case FLAT_I32: number = signed_at(p, 4); break;
        case FLAT_U32: number = (int64_t)number_at(p, 4); break;
        case FLAT_U64: number = signed_at(p, 8); break;
        default: {
                struct flat_span span;
                if (!read_span(f, field, at, owner, &span))
                        return false;
                memcpy(to, &span, sizeof span);
                return true;
        }
        }
        memcpy(to, &number, sizeof number);
        return true;
}

void flat_preset(const struct flat_info *info, void *to)
{
        memset(to, 0, info->bytes);
        for (int i = 0; i < info->count; i++) {
                const struct flat_field *field = &info->fields[i];
                const int64_t number = (int64_t)field->preset;
                const float real = (float)field->preset;
                char *member = (char *)to + field->member;
                if (field->kind == FLAT_F32)
                        memcpy(member, &real, sizeof real);
                else if (field->kind <= FLAT_U64)
                        memcpy(member, &number, sizeof number);
        }
}

bool flat_read(const struct flatbuffer *f, const struct flat_info *info, int64_t at, void *to)
{
        flat_preset(info, to);
        if (!inside(f, at, OFFSET_BYTES))
                return broken(f, at, info->name, "a table lies outside the file");
        const int64_t vtable = at - signed_at(f->bytes + at, OFFSET_BYTES);
        if (!inside(f, vtable, VTABLE_HEAD))
                return broken(f, at, info->name, "the vtable lies outside the file");
        const int64_t vtable_bytes = (int64_t)number_at(f->bytes + vtable, SLOT_BYTES),
                      table_bytes = (int64_t)number_at(f->bytes + vtable + SLOT_BYTES, SLOT_BYTES);
        if (vtable_bytes < VTABLE_HEAD || !inside(f, vtable, vtable_bytes))
                return broken(f, vtable, info->name, "the vtable reaches beyond the file");
        if (table_bytes < OFFSET_BYTES || !inside(f, at, table_bytes))
                return broken(f, at, info->name, "the table reaches beyond the file");
        for (int i = 0; i < info->count; i++) {
                const struct flat_field *field = &info->fields[i];
                const int64_t slot = VTABLE_HEAD + (int64_t)SLOT_BYTES * field->slot;
                const int64_t place =
                        slot + SLOT_BYTES <= vtable_bytes
                                ? (int64_t)number_at(f->bytes + vtable + slot, SLOT_BYTES)
                                : 0;
                const int stored =
                        field->kind >= FLAT_TABLE ? OFFSET_BYTES : element_bytes(field->kind);
                if (!place)
                        continue;
                if (place < OFFSET_BYTES || place + stored > table_bytes)
                        return broken(f, vtable + slot, info->name,
                                      "a field lies outside its table");
                if (!read_field(f, field, at + place, info->name, (char *)to + field->member))
                        return false;
        }
        return true;
}

bool flat_element(const struct flatbuffer *f, const struct flat_span *tables, int64_t i,
                  int64_t *at)
{
        const int64_t from = (int64_t)(tables->data - f->bytes) + OFFSET_BYTES * i;
        return follow(f, from, OFFSET_BYTES, "a vector of tables", at);
}
