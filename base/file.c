/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

const char *path_base(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

char *path_stem(struct arena *arena, const char *path, bool with_folder)
{
        const char *base = path_base(path), *dot = strrchr(base, '.');
        const char *from = with_folder ? path : base;
        if (!*from)
                return arena_string(arena, "model");
        size_t length = dot && dot != base ? (size_t)(dot - from) : strlen(from);
        char *stem = arena_copy(arena, from, length + 1);
        stem[length] = 0;
        return stem;
}

const char *path_folder(struct arena *arena, const char *path)
{
        const char *slash = strrchr(path, '/');
        if (!slash)
                return ".";
        const size_t length = slash == path ? 1 : (size_t)(slash - path);
        char *folder = arena_copy(arena, path, length + 1);
        folder[length] = 0;
        return folder;
}

static void fail(struct diag *diag, struct arena *arena, const char *path, const char *why)
{
        diag_error(diag, EXIT_IO, "cannot read %s: %s", text_argument(arena, path), why);
}

static bool read_all(int fd, int64_t limit, int64_t expected, unsigned char **bytes, size_t *length)
{
        size_t capacity = expected > 0 && expected <= limit ? (size_t)expected + 1 : 65536,
               used = 0;
        unsigned char *data = memory_alloc(capacity);
        for (;;) {
                if (used == capacity)
                        data = memory_resize(data, capacity *= 2);
                ssize_t got = read(fd, data + used, capacity - used);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0) {
                        free(data);
                        return false;
                }
                if (got == 0)
                        break;
                used += (size_t)got;
                if ((int64_t)used > limit) {
                        free(data);
                        errno = EFBIG;
                        return false;
                }
        }
        *bytes = data;
        *length = used;
        return true;
}

/* Reads what the descriptor (-1: errno says why there is none) leads to, and closes it. */
static bool read_open(int fd, bool any, const char *path, int64_t limit, unsigned char **bytes,
                      size_t *length, struct diag *diag)
{
        struct arena *arena = arena_new();
        struct stat st = { 0 };
        bool fine = false;
        if (fd < 0 || fstat(fd, &st))
                fail(diag, arena, path, strerror(errno));
        else if (!any && !S_ISREG(st.st_mode))
                fail(diag, arena, path, "not a regular file");
        else if ((S_ISREG(st.st_mode) && st.st_size > limit) ||
                 (!(fine = read_all(fd, limit, st.st_size, bytes, length)) && errno == EFBIG))
                diag_error(diag, EXIT_INVALID,
                           "the file is larger than %lld bytes: " DIAG_HINT(
                                   "raise with --limit file_bytes=N"),
                           (long long)limit);
        else if (!fine)
                fail(diag, arena, path, strerror(errno));
        if (fd > 0)
                close(fd);
        arena_free(arena);
        return fine;
}

bool file_read(const char *path, int64_t limit, unsigned char **bytes, size_t *length,
               struct diag *diag)
{
        const bool standard = !strcmp(path, "-");
        const int fd = standard ? 0 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return read_open(fd, standard, path, limit, bytes, length, diag);
}

bool file_read_beneath(const char *folder, const char *path, int64_t limit, unsigned char **bytes,
                       size_t *length, struct diag *diag)
{
        struct arena *arena = arena_new();
        const int fd = file_open_beneath(folder, arena_string(arena, path));
        const bool fine = read_open(fd, false, path, limit, bytes, length, diag);
        arena_free(arena);
        return fine;
}
