/* SPDX-License-Identifier: MIT */
/* Who may write a file on Windows is another question, which nothing asks here yet. */
#include "base/private.h"

const char *private_folder(const char *path)
{
        (void)path;
        return "dnncc for Windows has none";
}

const void *private_map(const char *path, size_t *length)
{
        (void)path;
        *length = 0;
        return NULL;
}

void private_unmap(const void *bytes, size_t length)
{
        (void)bytes;
        (void)length;
}
