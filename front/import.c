/* SPDX-License-Identifier: MIT */
#include "front/import.h"

#include <string.h>

#include "base/sha256.h"

void import_source(struct module *m, const unsigned char *bytes, size_t length,
                   const struct import_options *options)
{
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, bytes, length);
        if (options->into) /* The module's digest is of all that it was made of. */
                sha256_update(&sha, m->source, strlen(m->source));
        sha256_hex(&sha, m->source);
}
