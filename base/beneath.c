/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int file_open_beneath(const char *folder, char *path)
{
        int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (char *next; at >= 0; path = next) {
                next = strchr(path, '/');
                if (next)
                        *next++ = 0;
                int inner = openat(at, path,
                                   O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                           (next ? O_DIRECTORY : 0));
                int error = errno;
                close(at);
                errno = error;
                at = inner;
                if (!next)
                        break;
        }
        return at;
}
