/* SPDX-License-Identifier: MIT */
/* Opens a file where folders are no descriptors: no part of the path is a link. */
#include "base/file.h"

#include <errno.h>

int file_open_beneath(const char *folder, char *path)
{
        char whole[4096];
        struct stat st;
        int length = snprintf(whole, sizeof whole, "%s/", folder);
        for (char *next; length > 0 && (size_t)length < sizeof whole; path = next) {
                next = strchr(path, '/');
                if (next)
                        *next++ = 0;
                length += snprintf(whole + length, sizeof whole - (size_t)length, "%s%s", path,
                                   next ? "/" : "");
                if ((size_t)length >= sizeof whole || strpbrk(path, "\\:"))
                        break;
                whole[length - (next != NULL)] = 0;
                if (lstat(whole, &st))
                        return -1;
                if (S_ISLNK(st.st_mode) || (next && !S_ISDIR(st.st_mode))) {
                        errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
                        return -1;
                }
                if (!next)
                        return open(whole, O_RDONLY | O_CLOEXEC);
                whole[length - 1] = '/';
        }
        errno = ENAMETOOLONG;
        return -1;
}
