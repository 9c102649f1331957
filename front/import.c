/* SPDX-License-Identifier: MIT */
#include "front/import.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

void import_source(struct module *m, const unsigned char *bytes, size_t length,
                   const unsigned char *more, size_t more_length,
                   const struct import_options *options)
{
        struct sha256 sha;
        sha256_init(&sha);
        sha256_update(&sha, bytes, length);
        if (more)
                sha256_update(&sha, more, more_length);
        if (options->into) /* The module's digest is of all that it was made of. */
                sha256_update(&sha, m->source, strlen(m->source));
        sha256_hex(&sha, m->source);
}

int import_extents(const char *text, int64_t *extents)
{
        int rank = 0;
        for (const char *p = text; *p; rank++) {
                char *end;
                if (rank == RANK_MAX)
                        return -1;
                extents[rank] = strtoll(p, &end, 10);
                if (end == p || extents[rank] < 1 || (*end && (*end != 'x' || !end[1])))
                        return -1;
                p = *end ? end + 1 : end;
        }
        return rank;
}
