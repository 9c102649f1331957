/* SPDX-License-Identifier: MIT */
/* An entry of the cache is a file of parts, each from a multiple of 4096 bytes on:
 *
 *      head | part 0 | part 1 | ..
 *
 * The digest in the head is of the entry's own name and of the parts in front of the last one of
 * a program, whose digest its text has, and of all parts of code. */
#include "compiler/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/private.h"
#include "base/sha256.h"
#include "codegen/targets.h"
#include "compiler/options.h"

static const char sources[] =
#include "sources.inc"
        ;

const char *sources_digest(void) { return sources; }

enum { PART_ALIGN = 4096, PARTS_MAX = 32 };
#define MAGIC "dnncc 1"
struct head {
        char magic[8];
        uint64_t count, sizes[PARTS_MAX];
        char digest[64];
};
struct part { const void *bytes; size_t length; };

struct cache {
        struct run *run;
        const char *folder, *key;
        struct llvm_store store;
        /* What was found lies here: */
        const void *program, *code;
        size_t program_length, code_length;
        struct part constants;
};

static char *path_of(struct cache *c, const char *key, const char *kind)
{
        return arena_printf(c->run->arena, "%s/%s.%s", c->folder, key, kind);
}

/* ---- files of parts ---- */

static size_t next_part(size_t offset) { return round_up(offset, (size_t)PART_ALIGN); }

static void digest_parts(char hex[65], const char *name, const struct part *parts, size_t count)
{
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, name, strlen(name));
        for (size_t i = 0; i < count; i++) {
                const uint64_t length = parts[i].length;
                sha256_update(&sha, &length, sizeof length);
                sha256_update(&sha, parts[i].bytes, parts[i].length);
        }
        sha256_hex(&sha, hex);
}

/* Finds the parts of a file, of which the first `checked` are under its digest, or all. Returns how
 * many there are, or 0 where something is wrong with it. */
static size_t find_parts(const char *path, const void *bytes, size_t length, struct part *parts,
                         size_t checked)
{
        struct head head;
        char hex[65];
        size_t offset = next_part(sizeof head);
        if (!bytes || length < sizeof head)
                return 0;
        memcpy(&head, bytes, sizeof head);
        if (memcmp(head.magic, MAGIC, sizeof head.magic) || !head.count || head.count > PARTS_MAX)
                return 0;
        for (size_t i = 0; i < head.count; i++) {
                if (offset > length || head.sizes[i] > length - offset)
                        return 0;
                parts[i] = (struct part){ (const char *)bytes + offset, (size_t)head.sizes[i] };
                offset = next_part(offset + parts[i].length);
        }
        digest_parts(hex, path_base(path), parts, checked < head.count ? checked : head.count);
        return memcmp(hex, head.digest, sizeof head.digest) ? 0 : (size_t)head.count;
}

static void write_parts(FILE *out, const char *path, const struct part *parts, size_t count,
                        size_t checked)
{
        static const char zeros[PART_ALIGN] = { 0 };
        struct head head = { .magic = MAGIC, .count = count };
        char hex[65];
        size_t written = sizeof head;
        digest_parts(hex, path_base(path), parts, checked < count ? checked : count);
        memcpy(head.digest, hex, sizeof head.digest);
        for (size_t i = 0; i < count; i++)
                head.sizes[i] = parts[i].length;
        fwrite(&head, sizeof head, 1, out);
        for (size_t i = 0; i < count; i++) {
                fwrite(zeros, 1, next_part(written) - written, out);
                fwrite(parts[i].bytes, 1, parts[i].length, out);
                written = next_part(written) + parts[i].length;
        }
}

/* Writes an entry, all at once. That it cannot be written is no error of this run's. */
static void keep_parts(struct cache *c, const char *path, const struct part *parts, size_t count,
                       size_t checked)
{
        struct diag silent = { .silent = true };
        struct outputs *outputs = outputs_new(c->run->arena);
        FILE *out = outputs_open(outputs, path, &silent);
        if (out)
                write_parts(out, path, parts, count, checked);
        if (!out || !outputs_commit(outputs, &silent))
                diag_warning(&c->run->diag, "--cache: cannot write to %s, so nothing is kept",
                             text_argument(c->run->arena, c->folder));
        outputs_discard(outputs);
}

/* ---- keys ---- */

static void add_word(struct sha256 *sha, const char *word)
{
        sha256_update(sha, word, strlen(word) + 1);
}

/* The key has the model's path, too: files beside it are found by that. */
static const char *key_of(struct run *run)
{
        struct sha256 sha;
        struct text identity = { 0 };
        char *hex = arena_alloc(run->arena, 65);
        const char *model = run->options.model;
        char *real = strcmp(model, "-") ? realpath(model, NULL) : NULL;
        sha256_init(&sha);
        add_word(&sha, sources);
        options_add_identity(&identity, &run->options);
        sha256_update(&sha, identity.data, identity.length);
        add_word(&sha, run->targets[0]->name);
        add_word(&sha, real ? real : model);
        sha256_update(&sha, run->bytes, run->length);
        sha256_hex(&sha, hex);
        text_free(&identity);
        free(real);
        return hex;
}

static bool is_wanted(const struct run *run)
{
        const struct options *o = &run->options;
        return o->cache && run->target_count == 1 && !o->entries.count && !o->more.count &&
               !o->states.count;
}

/* ---- files beside the model ---- */

static bool digest_file(struct run *run, const char *path, char hex[65])
{
        struct diag silent = { .silent = true };
        struct sha256 sha;
        unsigned char *bytes;
        size_t length;
        if (!file_read(path, run->context.limits.file_bytes, &bytes, &length, &silent))
                return false;
        sha256_init(&sha);
        sha256_update(&sha, bytes, length);
        sha256_hex(&sha, hex);
        free(bytes);
        return true;
}

/* Lists what a program came from beside its model: for each file 64 digits and the path, which ends
 * with a NUL. Returns false where one cannot be read any more. */
static bool list_files(struct run *run, struct text *list)
{
        for (int i = 0; i < run->dependencies.count; i++) {
                const char *path = run->dependencies.items[i];
                char hex[65];
                if (!strcmp(path, run->options.model))
                        continue;
                if (!digest_file(run, path, hex))
                        return false;
                text_add_bytes(list, hex, 64);
                text_add_bytes(list, path, strlen(path) + 1);
        }
        return true;
}

static bool files_are_same(struct run *run, struct part list)
{
        const char *at = list.bytes, *const end = at + list.length;
        while (at < end) {
                char hex[65];
                const char *path = at + 64;
                const char *nul = end - at > 64 ? memchr(path, 0, (size_t)(end - path)) : NULL;
                if (!nul || !digest_file(run, path, hex) || memcmp(hex, at, 64))
                        return false;
                run_depends(run, path);
                at = nul + 1;
        }
        return true;
}

/* ---- programs ---- */

static bool give_constants(void *context, const char *name, const void **bytes, size_t *length)
{
        const struct cache *c = context;
        (void)name;
        *bytes = c->constants.bytes;
        *length = c->constants.length;
        return *length > 0;
}

enum { PART_FILES, PART_TEXT, PART_CONSTANTS, PROGRAM_PARTS };

static bool find_program(struct cache *c)
{
        struct run *run = c->run;
        struct part parts[PARTS_MAX];
        struct diag silent = { .silent = true };
        const char *path = path_of(c, c->key, "program");
        c->program = private_map(path, &c->program_length);
        if (find_parts(path, c->program, c->program_length, parts, PART_CONSTANTS) !=
                    PROGRAM_PARTS ||
            !files_are_same(run, parts[PART_FILES]))
                return false;
        c->constants = parts[PART_CONSTANTS];
        run->state.program_arena = arena_new();
        run->state.program =
                loop_parse(run->state.program_arena, parts[PART_TEXT].bytes,
                           parts[PART_TEXT].length, give_constants, c, run->context.library,
                           &silent);
        if (run->state.program)
                return true;
        arena_free(run->state.program_arena);
        run->state.program_arena = NULL;
        return false;
}

bool cache_open(struct run *run, bool *found)
{
        struct arena *arena = run->arena;
        *found = false;
        if (!is_wanted(run))
                return true;
        const char *folder = run->options.cache, *why = private_folder(folder);
        if (why) {
                diag_error(&run->diag, EXIT_IO, "--cache=%s: %s", text_argument(arena, folder),
                           why);
                return false;
        }
        if (!read_bytes(run))
                return false;
        struct cache *c = run->cache = ARENA_NEW(arena, struct cache);
        *c = (struct cache){ .run = run, .folder = folder, .key = key_of(run) };
        *found = find_program(c);
        return true;
}

void cache_keep(struct run *run)
{
        struct cache *c = run->cache;
        const struct loop_program *p = run->state.program;
        struct text files = { 0 }, text = { 0 }, constants = { 0 };
        const struct tensor_print options = { .blob = &constants, .file_name = "constants" };
        if (!c || !p || !p->planned || p->entry_count > 1)
                return;
        if (list_files(run, &files)) {
                loop_print(&text, p, &options);
                const struct part parts[PROGRAM_PARTS] = {
                        [PART_FILES] = { files.data ? files.data : "", files.length },
                        [PART_TEXT] = { text.data, text.length },
                        [PART_CONSTANTS] = { constants.data ? constants.data : "",
                                             constants.length },
                };
                keep_parts(c, path_of(c, c->key, "program"), parts, PROGRAM_PARTS, PART_CONSTANTS);
        }
        text_free(&files);
        text_free(&text);
        text_free(&constants);
}

void cache_close(struct run *run)
{
        struct cache *c = run->cache;
        if (!c)
                return;
        private_unmap(c->program, c->program_length);
        private_unmap(c->code, c->code_length);
        run->cache = NULL;
}

/* ---- code ---- */

/* The key of code is that of its program and of all that shapes code. */
static const char *code_path(struct cache *c, const char *identity)
{
        struct sha256 sha;
        char hex[65];
        sha256_init(&sha);
        add_word(&sha, c->key);
        add_word(&sha, identity);
        sha256_hex(&sha, hex);
        return path_of(c, hex, "code");
}

static int find_code(void *context, const char *identity, struct llvm_bytes *objects)
{
        struct cache *c = context;
        struct part parts[PARTS_MAX];
        const char *path = code_path(c, identity);
        private_unmap(c->code, c->code_length);
        c->code = private_map(path, &c->code_length);
        const size_t count = find_parts(path, c->code, c->code_length, parts, PARTS_MAX);
        for (size_t i = 0; i < count && i < LLVM_OBJECTS_MAX; i++)
                objects[i] = (struct llvm_bytes){ parts[i].bytes, parts[i].length };
        return count > LLVM_OBJECTS_MAX ? 0 : (int)count;
}

static void keep_code(void *context, const char *identity, const struct llvm_bytes *objects,
                      int count)
{
        struct cache *c = context;
        struct part parts[LLVM_OBJECTS_MAX];
        for (int i = 0; i < count; i++)
                parts[i] = (struct part){ objects[i].bytes, objects[i].length };
        keep_parts(c, code_path(c, identity), parts, (size_t)count, PARTS_MAX);
}

const struct llvm_store *cache_code(struct run *run)
{
        struct cache *c = run->cache;
        if (!c)
                return NULL;
        c->store = (struct llvm_store){ find_code, keep_code, c };
        return &c->store;
}
