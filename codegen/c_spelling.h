/* SPDX-License-Identifier: MIT */
/* A spelling says how the C printer writes what a target can do (ir/loop/capability.h): the row,
 * and text of C with placeholders for operands. */
#ifndef CODEGEN_C_SPELLING_H
#define CODEGEN_C_SPELLING_H

#include "ir/loop/capability.h"

struct c_spelling {
        CAPABILITY_FIELDS
        const char *text;               /* $0, $1, ... stand for operands, each once, in an
                                         * argument's place. */
        const char *definition;         /* This defines the function that `text` calls, from its
                                         * result type on; or NULL. */
        const char *portable;           /* This defines the same function in plain C, where the
                                         * definition is not, for targets that have portable
                                         * code. */
        /* gcc must not apply this optimization, besides those that the target names, to kernels
         * with this row; or NULL. */
        const char *gcc_optimize;
};

/* A type or function of a target's header in plain C, which code for any compiler has in place of
 * the header. Types have no name, and are printed whenever a function is. The last row has no text.
 */
struct portable { const char *name, *text; };

/* Initializes a target's rows with those of an array of struct c_spelling. */
#define C_SPELLINGS(rows) .capabilities = (const void *)(rows), .capability_bytes = sizeof *(rows)

/* c_capability returns the capability of a row; c_spelling returns the row of a capability of a
 * target that is printed in C. NULL stays NULL. */
static inline const struct capability *c_capability(const struct c_spelling *row)
{
        return (const void *)row;
}
static inline const struct c_spelling *c_spelling(const struct capability *row)
{
        return (const void *)row;
}

#endif
