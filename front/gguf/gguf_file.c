/* SPDX-License-Identifier: MIT */
#include "front/gguf/gguf_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "front/import.h"

enum { MAGIC = 4, VERSION_LEAST = 2, VERSION_MOST = 3 };
enum { TENSOR_LEAST = 24, KEY_LEAST = 13, NAME_MOST = 65535, ALIGNMENT_MOST = 1 << 16 };

/* A reader stands at byte `at` of the file; after an error it has failed, and reads zeros. */
struct reader {
        struct gguf_file *f;
        size_t at;
        bool failed;
};

static bool broken(struct reader *r, size_t at, const char *what)
{
        if (!r->failed)
                diag_error(r->f->diag, EXIT_INVALID, "the file is damaged: %s, at byte %zu", what,
                           at);
        r->failed = true;
        return false;
}

static size_t left(const struct reader *r) { return r->f->length - r->at; }

static uint64_t number(struct reader *r, int bytes)
{
        if (r->failed || left(r) < (size_t)bytes) {
                broken(r, r->at, "it ends within a number");
                return 0;
        }
        r->at += (size_t)bytes;
        return gguf_number(r->f->bytes + r->at - bytes, bytes);
}

/* Reads a count of things of which each takes at least so many bytes. */
static int64_t count(struct reader *r, int64_t least, const char *what)
{
        const size_t at = r->at;
        const uint64_t n = number(r, 8);
        if (!r->failed && n > left(r) / (uint64_t)least)
                broken(r, at, what);
        return r->failed ? 0 : (int64_t)n;
}

static struct gguf_text text(struct reader *r)
{
        const int64_t length = count(r, 1, "a text is longer than the file");
        const struct gguf_text t = { (const char *)r->f->bytes + r->at, (size_t)length };
        r->at += (size_t)length;
        return t;
}

/* Reads the name of a key or a tensor, which may stand once. */
static struct gguf_text name(struct reader *r, struct map *known, void *what)
{
        const size_t at = r->at;
        const struct gguf_text t = text(r);
        if (!r->failed && (!t.length || t.length > NAME_MOST || memchr(t.bytes, 0, t.length)))
                broken(r, at, "a name is empty, too long, or has a zero in it");
        else if (!r->failed && map_get(known, t.bytes, t.length))
                broken(r, at,
                       arena_printf(r->f->arena, "the name '%s' stands twice",
                                    text_safe(r->f->arena, t.bytes, t.length)));
        else if (!r->failed)
                map_set(known, t.bytes, t.length, what);
        return t;
}

static bool read_key(struct reader *r, struct gguf_key *k)
{
        k->name = name(r, r->f->by_key, k);
        size_t at = r->at;
        uint32_t kind = (uint32_t)number(r, 4);
        k->count = 1;
        k->is_array = kind == GGUF_ARRAY;
        if (k->is_array) {
                at = r->at;
                kind = (uint32_t)number(r, 4);
                if (!r->failed && kind == GGUF_ARRAY)
                        return broken(r, at, "an array of arrays");
        }
        if (!r->failed && kind >= GGUF_KINDS)
                return broken(r, at, arena_printf(r->f->arena, "kind %u of a value", kind));
        if (r->failed)
                return false;
        k->kind = kind;
        const int each = gguf_kind_bytes(kind);
        if (k->is_array)
                k->count = count(r, each ? each : 8, "an array is longer than the file");
        k->data = r->f->bytes + r->at;
        if (each && (uint64_t)k->count > left(r) / (uint64_t)each)
                return broken(r, r->at, "it ends within a value");
        if (each)
                r->at += (size_t)k->count * (size_t)each;
        for (int64_t i = 0; i < k->count && !each && !r->failed; i++)
                text(r);
        return !r->failed;
}

static bool read_tensor(struct reader *r, struct gguf_tensor *t)
{
        t->name = name(r, r->f->by_tensor, t);
        t->safe = text_safe(r->f->arena, t->name.bytes, r->failed ? 0 : t->name.length);
        size_t at = r->at;
        const uint64_t rank = number(r, 4);
        if (rank < 1 || rank > GGUF_RANK)
                return broken(r, at, "a tensor's rank is not 1 to 4");
        t->rank = (int)rank;
        int64_t elements = 1;
        for (int d = 0; d < GGUF_RANK; d++) {
                at = r->at;
                const uint64_t extent = d < t->rank ? number(r, 8) : 1;
                if (!r->failed && (!extent || extent > INT32_MAX ||
                                   !int_mul(elements, (int64_t)extent, &elements)))
                        return broken(r, at, "an extent is 0, or too large");
                t->extents[d] = (int64_t)extent;
        }
        at = r->at;
        t->type_id = (uint32_t)number(r, 4);
        t->type = gguf_type_find(t->type_id);
        if (!r->failed && t->type && t->extents[0] % t->type->numbers)
                return broken(r, at, "a row is no whole number of blocks");
        t->bytes = t->type ? elements / t->type->numbers : 0;
        if (t->type && !int_mul(t->bytes, t->type->bytes, &t->bytes))
                return broken(r, at, "a tensor is too large");
        t->place = r->at;
        t->offset = number(r, 8);
        return !r->failed;
}

static int by_offset(const void *a, const void *b)
{
        const struct gguf_tensor *x = *(struct gguf_tensor *const *)a,
                                 *y = *(struct gguf_tensor *const *)b;
        return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Finds where the data of tensors lie: in the file, and no two overlap. */
static bool place_tensors(struct reader *r)
{
        struct gguf_file *f = r->f;
        struct gguf_tensor **all = arena_array(f->arena, (size_t)f->tensor_count + 1, sizeof *all);
        int64_t alignment = GGUF_ALIGNMENT;
        const struct gguf_key *k = gguf_find(f, "general.alignment");
        if (k && (!gguf_integer(k, 0, &alignment) || alignment < 1 || alignment > ALIGNMENT_MOST ||
                  (alignment & (alignment - 1))))
                return broken(r, (size_t)(k->data - f->bytes),
                              "general.alignment is no power of two");
        const size_t first = r->at + (0 - r->at) % (size_t)alignment;
        for (int i = 0; i < f->tensor_count; i++) {
                struct gguf_tensor *t = all[i] = &f->tensors[i];
                if (t->offset % (uint64_t)alignment)
                        return broken(r, t->place, "an offset is no multiple of the alignment");
                if (first > f->length || t->offset > f->length - first ||
                    (uint64_t)t->bytes > f->length - first - t->offset)
                        return broken(r, t->place, "a tensor reaches beyond the file's end");
                t->data = f->bytes + first + t->offset;
        }
        qsort(all, (size_t)f->tensor_count, sizeof *all, by_offset);
        for (int i = 1; i < f->tensor_count; i++)
                if (all[i]->offset - all[i - 1]->offset < (uint64_t)all[i - 1]->bytes)
                        return broken(r, all[i]->place, "a tensor overlaps another one");
        return true;
}

bool gguf_read(struct gguf_file *f, int64_t most)
{
        struct reader r = { f, 0, false };
        if (!gguf_is_file(f->bytes, f->length))
                return broken(&r, 0, "it does not begin with GGUF");
        r.at = MAGIC;
        f->version = (uint32_t)number(&r, 4);
        if (!r.failed && (f->version < VERSION_LEAST || f->version > VERSION_MOST)) {
                diag_error(f->diag, EXIT_UNSUPPORTED,
                           f->version & 0xffff || !f->version
                                   ? "version %u of the GGUF format, %d and %d are "
                                     "supported"
                                   : "the GGUF file is big-endian (version 0x%08x), "
                                     "versions %d and %d in little-endian are supported",
                           f->version, VERSION_LEAST, VERSION_MOST);
                return false;
        }
        const int64_t tensors = count(&r, TENSOR_LEAST, "more tensors than the file has room for"),
                      keys = count(&r, KEY_LEAST, "more keys than the file has room for");
        if (tensors > most || keys > most)
                return broken(&r, 8, "more tensors or keys than --limit nodes=N");
        f->keys = arena_array(f->arena, (size_t)keys + 1, sizeof *f->keys);
        f->tensors = arena_array(f->arena, (size_t)tensors + 1, sizeof *f->tensors);
        f->by_key = map_new(f->arena);
        f->by_tensor = map_new(f->arena);
        for (; f->key_count < keys; f->key_count++)
                if (!read_key(&r, &f->keys[f->key_count]))
                        return false;
        for (; f->tensor_count < tensors; f->tensor_count++)
                if (!read_tensor(&r, &f->tensors[f->tensor_count]))
                        return false;
        return !r.failed && place_tensors(&r);
}
