/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "file.h"

/* The size is not asked for: pipes have none. */
const char *file_read(const char *path, size_t most, unsigned char **bytes, size_t *count)
{
        FILE *file = fopen(path, "rb");
        const char *error = file ? NULL : "cannot open it";
        size_t room = 0;
        *bytes = NULL;
        *count = 0;
        while (!error) {
                if (*count + 1 >= room) {
                        room = room ? 2 * room : 4096;
                        unsigned char *more = realloc(*bytes, room);
                        if (!more) {
                                error = "not enough memory";
                                break;
                        }
                        *bytes = more;
                }
                size_t got = fread(*bytes + *count, 1, room - *count - 1, file);
                *count += got;
                if (*count > most)
                        error = "it is too large";
                else if (ferror(file))
                        error = "cannot read it";
                else if (!got)
                        break;
        }
        if (file)
                fclose(file);
        if (error) {
                free(*bytes);
                *bytes = NULL;
                *count = 0;
        } else {
                (*bytes)[*count] = 0;
        }
        return error;
}
