/* SPDX-License-Identifier: MIT */
#include "base/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_own(const struct stat *st)
{
        return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

const char *private_folder(const char *path)
{
        struct stat st;
        if (mkdir(path, S_IRWXU) && errno != EEXIST)
                return strerror(errno);
        if (stat(path, &st))
                return strerror(errno);
        return !S_ISDIR(st.st_mode)        ? "it is no folder"
               : st.st_uid != geteuid()    ? "it is another user's"
               : !is_own(&st)              ? "others may write there"
                                           : NULL;
}

const void *private_map(const char *path, size_t *length)
{
        struct stat st;
        void *bytes = MAP_FAILED;
        const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0)
                return NULL;
        if (!fstat(file, &st) && S_ISREG(st.st_mode) && is_own(&st) && st.st_size > 0 &&
            (uintmax_t)st.st_size <= SIZE_MAX)
                bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        *length = bytes == MAP_FAILED ? 0 : (size_t)st.st_size;
        return bytes == MAP_FAILED ? NULL : bytes;
}

void private_unmap(const void *bytes, size_t length)
{
        if (bytes)
                munmap((void *)(uintptr_t)bytes, length);
}
