/* SPDX-License-Identifier: MIT */
/* How the C printer writes what a target can do (ir/loop/capability.h): the row, and text of C
 * with places for operands. */
#ifndef CODEGEN_C_SPELLING_H
#define CODEGEN_C_SPELLING_H

#include "ir/loop/capability.h"

struct c_spelling {
        CAPABILITY_FIELDS
        const char *text;               /* $0, $1, ...: operands, each once, in an argument's
                                         * place */
        const char *definition;         /* of the function that `text` calls, from its result type
                                         * on; or NULL */
        const char *gcc_optimize;       /* what gcc must not do, besides what the target says, to
                                         * kernels that have it; or NULL */
};

/* in a target: its rows are those of an array of struct c_spelling */
#define C_SPELLINGS(rows) .capabilities = (const void *)(rows), .capability_bytes = sizeof *(rows)

/* What a row can do; and a row of a target that is printed in C, whose rows are all such. NULL
 * stays NULL. */
static inline const struct capability *c_capability(const struct c_spelling *row)
{
        return (const void *)row;
}
static inline const struct c_spelling *c_spelling(const struct capability *row)
{
        return (const void *)row;
}

#endif
