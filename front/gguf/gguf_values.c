/* SPDX-License-Identifier: MIT */
#include "front/gguf/gguf_file.h"

#include <string.h>

#include "front/import.h"

static const unsigned char kind_bytes[GGUF_KINDS] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

bool gguf_is_file(const unsigned char *bytes, size_t length)
{
        static const char magic[] = { 'G', 'G', 'U', 'F' };
        return length >= sizeof magic && !memcmp(bytes, magic, sizeof magic);
}

int gguf_kind_bytes(enum gguf_kind kind) { return kind_bytes[kind]; }

const struct gguf_type *gguf_type_find(uint32_t id)
{
        static const struct gguf_type types[] = {
#define GGUF_TYPE(id, name, numbers, bytes, form) { #name, id, numbers, bytes, GGUF_##form },
#include "front/gguf/gguf_types.def"
        };
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if ((uint32_t)types[i].id == id)
                        return &types[i];
        return NULL;
}

uint64_t gguf_number(const unsigned char *p, int bytes)
{
        uint64_t number = 0;
        for (int i = bytes - 1; i >= 0; i--)
                number = number << 8 | p[i];
        return number;
}

const struct gguf_key *gguf_find(const struct gguf_file *f, const char *name)
{
        return map_get(f->by_key, name, strlen(name));
}

bool gguf_integer(const struct gguf_key *k, int64_t i, int64_t *value)
{
        static const bool is_signed[GGUF_KINDS] = {
                [GGUF_I8] = true, [GGUF_I16] = true, [GGUF_I32] = true, [GGUF_I64] = true
        };
        if (!k || i >= k->count || !kind_bytes[k->kind] || k->kind == GGUF_F32 ||
            k->kind == GGUF_F64)
                return false;
        const int bytes = kind_bytes[k->kind];
        const uint64_t n = gguf_number(k->data + i * bytes, bytes), top = n >> (8 * bytes - 1);
        const uint64_t rest = n & ((UINT64_C(1) << (8 * bytes - 1)) - 1);
        if (top && !is_signed[k->kind] && bytes == 8)
                return false;
        *value = top && is_signed[k->kind]
                         ? (int64_t)rest - (int64_t)((UINT64_C(1) << (8 * bytes - 1)) - 1) - 1
                         : (int64_t)n;
        return true;
}

bool gguf_float(const struct gguf_key *k, int64_t i, double *value)
{
        int64_t whole;
        if (gguf_integer(k, i, &whole)) {
                *value = (double)whole;
                return true;
        }
        if (!k || i >= k->count || (k->kind != GGUF_F32 && k->kind != GGUF_F64))
                return false;
        const uint64_t bits = gguf_number(k->data + i * kind_bytes[k->kind], kind_bytes[k->kind]);
        const uint32_t half = (uint32_t)bits;
        float single;
        memcpy(&single, &half, sizeof single);
        memcpy(value, &bits, sizeof *value);
        if (k->kind == GGUF_F32)
                *value = (double)single;
        return *value - *value == 0;
}

struct gguf_text gguf_text_next(const unsigned char **at)
{
        const struct gguf_text t = { (const char *)*at + 8, (size_t)gguf_number(*at, 8) };
        *at += 8 + t.length;
        return t;
}
