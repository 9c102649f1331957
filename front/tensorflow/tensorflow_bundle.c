/* SPDX-License-Identifier: MIT */
/* Files of variables, variables/variables.index and .data-00000-of-00001 beside a SavedModel. The
 * index is a table of LevelDB: blocks of entries, whose keys share a prefix with the key before.
 *
 *      footer, the last 48 bytes    handles of two blocks, zeros, the magic number
 *      handle                       offset and size of a block, as varints
 *      block                        entries, offsets of some of them (u32), their count (u32);
 *                                   then a byte that says how it is compressed, and a checksum of
 *                                   all that
 *      entry                        bytes shared with the key before, further bytes of the key,
 *                                   bytes of the value (varints), those bytes
 *
 * An entry of the index block has the handle of a block of tensors. Checksums are CRC-32C, rotated,
 * and a number added. The names of files are said
 * here, not by the model; no part of a path may be a link. */
#include "front/tensorflow/tensorflow.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/store.h"
#include "base/text.h"

enum { FOOTER = 48, MAGIC_AT = 40, TRAILER = 5, KEY_MOST = 4096, SHARDS_MOST = 4096 };

struct shard { unsigned char *bytes; size_t length; };
struct tf_bundle {
        unsigned char *index;
        size_t length;
        struct map *entries;            /* It maps keys to Tf__BundleEntry. */
        struct shard *shards;           /* NULL bytes: it was not read. */
        int shard_count;
        int64_t taken;                  /* Values of entries have so many bytes. */
        struct sha256 digest;           /* It is of all files that were read. */
};

struct span { const unsigned char *at, *end; };

static bool damaged(struct tf_import *im, const char *what)
{
        return tf_error(im, "variables/variables.index is damaged: %s", what);
}

/* Reads a file of the model's folder. */
static bool read_beneath(struct tf_import *im, const char *name, unsigned char **bytes,
                         size_t *length)
{
        const struct import_options *o = im->options;
        if (!o->external_dir && (!o->path || !*o->path))
                return tf_error(im, "the model comes from standard input, and has variables in "
                                    "files (allow a folder with --allow-external=DIR)");
        const char *folder = o->external_dir ? o->external_dir : path_folder(im->arena, o->path);
        if (!file_read_beneath(folder, name, im->context->limits.file_bytes, bytes, length,
                               im->diag))
                return false;
        sha256_update(&im->bundle->digest, *bytes, *length);
        const bool here = !strcmp(folder, ".");
        if (im->dependency)
                im->dependency(im->dependency_context,
                               arena_printf(im->arena, "%s%s%s", here ? "" : folder,
                                            here ? "" : "/", name));
        return true;
}

/* ---- the table ---- */

static bool number_of(struct span *s, uint64_t *number)
{
        *number = 0;
        for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
                const unsigned char byte = *s->at++;
                *number |= (uint64_t)(byte & 127) << shift;
                if (byte < 128)
                        return true;
        }
        return false;
}

static uint32_t word_of(const unsigned char *at)
{
        return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Returns the checksum as the files have it. */
static uint32_t checksum(const void *data, size_t bytes)
{
        const uint32_t crc = crc32c(data, bytes);
        return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Finds the entries of the block that a handle names. */
static bool find_block(struct tf_import *im, struct span *handle, struct span *block)
{
        const struct tf_bundle *t = im->bundle;
        uint64_t offset, size;
        if (!number_of(handle, &offset) || !number_of(handle, &size))
                return damaged(im, "a handle is cut off");
        if (offset > t->length || size > t->length - offset ||
            t->length - offset - size < TRAILER || size < sizeof(uint32_t))
                return damaged(im, "a block lies outside of it");
        const unsigned char *at = t->index + offset;
        if (checksum(at, (size_t)size + 1) != word_of(at + size + 1))
                return damaged(im, "a block has another checksum");
        if (at[size]) {
                diag_error(im->diag, EXIT_UNSUPPORTED,
                           "variables/variables.index is compressed, which is not supported");
                return false;
        }
        const uint64_t restarts = word_of(at + size - sizeof(uint32_t));
        if (restarts > size / sizeof(uint32_t) - 1)
                return damaged(im, "a block has more offsets than bytes");
        *block = (struct span){ at, at + size - (restarts + 1) * sizeof(uint32_t) };
        return true;
}

struct entry { char key[KEY_MOST]; size_t key_length; struct span value; };

static bool next_entry(struct tf_import *im, struct span *block, struct entry *e)
{
        uint64_t shared, more, length;
        if (!number_of(block, &shared) || !number_of(block, &more) || !number_of(block, &length))
                return damaged(im, "an entry is cut off");
        if (shared > e->key_length || more > KEY_MOST - shared ||
            more > (uint64_t)(block->end - block->at) ||
            length > (uint64_t)(block->end - block->at) - more)
                return damaged(im, "an entry passes the end of its block");
        memcpy(e->key + shared, block->at, (size_t)more);
        e->key_length = (size_t)(shared + more);
        e->value.at = block->at + more;
        e->value.end = block->at = e->value.at + length;
        return true;
}

static const ProtobufCMessage *unpack_value(struct tf_import *im, const struct entry *e,
                                            const ProtobufCMessageDescriptor *message)
{
        const struct wire_format format = { message, "an entry of variables.index", NULL, NULL,
                                            NULL, NULL };
        struct wire_image image = { .arena = im->arena };
        const size_t length = (size_t)(e->value.end - e->value.at);
        im->bundle->taken += (int64_t)length;
        if (im->bundle->taken > (int64_t)im->bundle->length) {
                damaged(im, "blocks overlap");
                return NULL;
        }
        if (!length) {
                damaged(im, "an entry is empty");
                return NULL;
        }
        return wire_unpack(im->m, e->value.at, length, &format, &im->context->limits, &image,
                           im->diag);
}

static bool read_entry(struct tf_import *im, const struct entry *e)
{
        struct tf_bundle *t = im->bundle;
        if (!e->key_length) {
                const Tf__BundleHeader *h = (const Tf__BundleHeader *)unpack_value(
                        im, e, &tf__bundle_header__descriptor);
                if (!h)
                        return false;
                if (h->num_shards < 1 || h->num_shards > SHARDS_MOST || t->shards)
                        return damaged(im, "its number of files is none");
                if (h->endianness) {
                        diag_error(im->diag, EXIT_UNSUPPORTED,
                                   "variables of a big-endian machine are not supported");
                        return false;
                }
                t->shard_count = h->num_shards;
                t->shards = arena_array(im->arena, (size_t)t->shard_count, sizeof *t->shards);
                return true;
        }
        const ProtobufCMessage *p = unpack_value(im, e, &tf__bundle_entry__descriptor);
        if (p)
                map_set(t->entries, e->key, e->key_length, (void *)(uintptr_t)p);
        return p != NULL;
}

static bool read_table(struct tf_import *im)
{
        static const unsigned char magic[] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
        struct tf_bundle *t = im->bundle;
        if (t->length < FOOTER ||
            memcmp(t->index + t->length - FOOTER + MAGIC_AT, magic, sizeof magic) != 0)
                return damaged(im, "it does not end as a table does");
        struct span footer = { t->index + t->length - FOOTER,
                               t->index + t->length - FOOTER + MAGIC_AT };
        struct span blocks, entries;
        struct entry *outer = ARENA_NEW(im->arena, struct entry),
                     *inner = ARENA_NEW(im->arena, struct entry);
        /* The first block is about the table, and has nothing to say here. */
        if (!find_block(im, &footer, &blocks) || !find_block(im, &footer, &blocks))
                return false;
        while (blocks.at < blocks.end) {
                if (!next_entry(im, &blocks, outer) || !find_block(im, &outer->value, &entries))
                        return false;
                inner->key_length = 0;
                while (entries.at < entries.end)
                        if (!next_entry(im, &entries, inner) || !read_entry(im, inner))
                                return false;
        }
        return t->shards || damaged(im, "it has no header");
}

static bool open_bundle(struct tf_import *im)
{
        struct tf_bundle *t = ARENA_NEW(im->arena, struct tf_bundle);
        im->bundle = t;
        t->entries = map_new(im->arena);
        sha256_init(&t->digest);
        return read_beneath(im, "variables/variables.index", &t->index, &t->length) &&
               read_table(im);
}

/* ---- tensors ---- */

static const struct shard *read_shard(struct tf_import *im, int number)
{
        struct tf_bundle *t = im->bundle;
        struct shard *s = &t->shards[number];
        const char *name = arena_printf(im->arena, "variables/variables.data-%05d-of-%05d", number,
                                        t->shard_count);
        return s->bytes || read_beneath(im, name, &s->bytes, &s->length) ? s : NULL;
}

struct value *tf_bundle_tensor(struct tf_import *im, bytes_t key, const char *name)
{
        int64_t extents[RANK_MAX];
        enum element e;
        if (!im->bundle ? !open_bundle(im) : !im->bundle->shards)
                return NULL;
        const Tf__BundleEntry *p = map_get(im->bundle->entries, (const char *)key.data, key.len);
        if (!p) {
                tf_invalid(im, "the files of variables have no tensor '%s'", tf_safe(im, key));
                return NULL;
        }
        const int rank = p->shape ? tf_extents(im, p->shape, extents) : 0;
        if (rank == -2)
                return NULL;
        if (!tf_element(p->dtype, &e) || p->n_slices) {
                tf_unsupported(im, p->n_slices ? "variable '%s' in slices"
                                               : "variable '%s' of its type", tf_safe(im, key));
                return NULL;
        }
        bool known = rank >= 0;
        for (int d = 0; d < rank; d++)
                known &= extents[d] >= 0;
        if (!known || p->shard_id < 0 || p->shard_id >= im->bundle->shard_count) {
                tf_invalid(im, "variable '%s' has no shape, or no file", tf_safe(im, key));
                return NULL;
        }
        const struct type *type = compose_type_static(im->c, e, rank, extents);
        const struct shard *s = type ? read_shard(im, p->shard_id) : NULL;
        if (!s)
                return NULL;
        const int64_t bytes = type_bytes(type);
        if (p->size != bytes || p->offset < 0 || p->offset > (int64_t)s->length ||
            bytes > (int64_t)s->length - p->offset) {
                tf_invalid(im,
                           "variable '%s', %s, has %lld bytes at offset %lld of a file of %zu",
                           tf_safe(im, key), compose_text(im->c, type), (long long)p->size,
                           (long long)p->offset, s->length);
                return NULL;
        }
        const void *data = s->bytes + p->offset;
        if (checksum(data, (size_t)bytes) != p->crc32c) {
                tf_invalid(im, "variable '%s' has another checksum than its bytes, which are "
                               "damaged", tf_safe(im, key));
                return NULL;
        }
        if (bytes < CONSTANT_LARGE || (uintptr_t)data % (uintptr_t)element_info[e].bytes) {
                void *copy = constant_room(im->m, (size_t)bytes + 1);
                memcpy(copy, data, (size_t)bytes);
                data = copy;
        }
        return constant_dense(im->m, type,
                              wire_numbers(im->m, data, (size_t)bytes,
                                           (size_t)element_info[e].bytes),
                              name);
}

bool tf_bundle_digest(struct tf_import *im, char hex[65])
{
        if (!im->bundle)
                return false;
        sha256_hex(&im->bundle->digest, hex);
        return true;
}

void tf_bundle_close(struct tf_import *im, bool keep)
{
        struct tf_bundle *t = im->bundle;
        if (!t)
                return;
        for (int i = 0; i < t->shard_count && t->shards; i++)
                if (keep && t->shards[i].bytes)
                        store_adopt(im->m->store, t->shards[i].bytes, t->shards[i].length);
                else
                        free(t->shards[i].bytes);
        free(t->index);
}
