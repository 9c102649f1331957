/* SPDX-License-Identifier: MIT */
#include "compiler/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "compiler/process.h"

static bool fail(struct diag *diag, struct arena *arena, const char *path, const char *why)
{
        diag_error(diag, EXIT_IO, "cannot write %s: %s", text_argument(arena, path), why);
        return false;
}

/* is_new: there was no such file before. */
struct output { const char *path, *temporary; FILE *file; bool is_new; struct output *next; };
struct file_id { dev_t device; ino_t inode; struct file_id *next; };
struct outputs {
        struct arena *arena;
        struct output *first, **end;
        struct file_id *inputs;
        bool if_changed;
};

struct outputs *outputs_new(struct arena *arena)
{
        struct outputs *outputs = ARENA_NEW(arena, struct outputs);
        outputs->arena = arena;
        outputs->end = &outputs->first;
        return outputs;
}

void outputs_if_changed(struct outputs *outputs) { outputs->if_changed = true; }

void outputs_protect(struct outputs *outputs, const char *input_path)
{
        struct stat st;
        if (stat(input_path, &st))
                return;
        struct file_id *id = ARENA_NEW(outputs->arena, struct file_id);
        *id = (struct file_id){ st.st_dev, st.st_ino, outputs->inputs };
        outputs->inputs = id;
}

static void remove_temporary(const char *path)
{
        unlink(path);
        temporary_forget(path);
}

FILE *outputs_open(struct outputs *outputs, const char *path, struct diag *diag)
{
        struct arena *arena = outputs->arena;
        struct stat st;
        const char *refused = NULL;
        if (!lstat(path, &st)) {
                if (!S_ISREG(st.st_mode))
                        refused = S_ISLNK(st.st_mode)   ? "it is a symbolic link"
                                  : S_ISDIR(st.st_mode) ? "it is a folder"
                                                        : "it is not a regular file";
                for (const struct file_id *id = outputs->inputs; id; id = id->next)
                        if (id->device == st.st_dev && id->inode == st.st_ino)
                                refused = "it is an input of this run";
        }
        for (const struct output *o = outputs->first; o; o = o->next)
                if (!strcmp(o->path, path))
                        refused = "another output of this run has that name";
        if (refused) {
                fail(diag, arena, path, refused);
                return NULL;
        }
        char *temporary = arena_printf(arena, "%s.XXXXXX", path);
        int fd = temporary_file(temporary);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
        if (!file) {
                fail(diag, arena, path, strerror(errno));
                if (fd >= 0) {
                        close(fd);
                        remove_temporary(temporary);
                }
                return NULL;
        }
        mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
        setvbuf(file, arena_alloc(arena, 1 << 16), _IOFBF, 1 << 16);
        struct output *output = ARENA_NEW(arena, struct output);
        *output = (struct output){ arena_string(arena, path), temporary, file,
                                    lstat(path, &st) != 0, NULL };
        *outputs->end = output;
        outputs->end = &output->next;
        return file;
}

/* Returns false, too, where one cannot be read. */
static bool same_bytes(const char *path, const char *other)
{
        enum { CHUNK = 65536 };
        FILE *files[2] = { fopen(path, "rb"), fopen(other, "rb") };
        char *chunks[2] = { memory_alloc(CHUNK), memory_alloc(CHUNK) };
        bool same = files[0] && files[1];
        for (size_t got = CHUNK; same && got == CHUNK;) {
                got = fread(chunks[0], 1, CHUNK, files[0]);
                same = fread(chunks[1], 1, CHUNK, files[1]) == got &&
                       !memcmp(chunks[0], chunks[1], got) && !ferror(files[0]) && !ferror(files[1]);
        }
        for (int i = 0; i < 2; i++) {
                free(chunks[i]);
                if (files[i])
                        fclose(files[i]);
        }
        return same;
}

/* Where one cannot be renamed, those that have been are removed again if they are new. */
static bool rename_all(struct outputs *outputs, struct diag *diag)
{
        for (struct output *o = outputs->first; o; o = o->next) {
                if (outputs->if_changed && same_bytes(o->temporary, o->path))
                        remove_temporary(o->temporary);
                else if (rename(o->temporary, o->path)) {
                        fail(diag, outputs->arena, o->path, strerror(errno));
                        for (const struct output *made = outputs->first; made != o;
                             made = made->next)
                                if (made->is_new)
                                        unlink(made->path);
                        return false;
                }
                temporary_forget(o->temporary);
                o->temporary = NULL;
        }
        return true;
}

bool outputs_commit(struct outputs *outputs, struct diag *diag)
{
        for (struct output *o = outputs->first; o; o = o->next) {
                bool failed = ferror(o->file);
                errno = failed ? EIO : 0;
                failed |= fclose(o->file) != 0;
                o->file = NULL;
                if (failed) {
                        fail(diag, outputs->arena, o->path, strerror(errno));
                        outputs_discard(outputs);
                        return false;
                }
        }
        sigset_t before;
        process_hold_signals(&before);            /* All of them are renamed, or none. */
        bool renamed = rename_all(outputs, diag);
        process_release_signals(&before);
        outputs_discard(outputs);
        return renamed;
}

void outputs_discard(struct outputs *outputs)
{
        for (struct output *o = outputs->first; o; o = o->next) {
                if (o->file)
                        fclose(o->file);
                if (o->temporary)
                        remove_temporary(o->temporary);
        }
        outputs->first = NULL;
        outputs->end = &outputs->first;
}
