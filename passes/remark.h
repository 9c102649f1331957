/* SPDX-License-Identifier: MIT */
/* Remarks: what a pass did with an operation, or refused to do, and why, from the place in the code
 * that decided. The reasons are a table, remarks.def. Nothing is noted unless the user asks for it
 * (struct pass_context: remarks). */
#ifndef PASSES_REMARK_H
#define PASSES_REMARK_H

#include "passes/pass.h"

enum remark_reason {
#define REMARK(pass, reason, text, doc) REMARK_##pass##_##reason,
#include "passes/remarks.def"
        REMARK_REASONS
};
/* left: what a refusal leaves as it was; NULL: the pass did something. */
struct remark_info { const char *pass, *reason, *left, *text, *doc; };
extern const struct remark_info remark_info[REMARK_REASONS];
struct remark_pass { const char *name, *doc; };
extern const struct remark_pass remark_passes[];        /* These passes make remarks; the last entry
                                                         * has no name. */

/* A remark is about an operation, or about a value that `made` makes and `read` reads: their nodes
 * of the model (text_safe, or ""), and what they are, an operation or the name of a buffer or
 * kernel. */
struct remark {
        enum remark_reason reason;
        const char *made, *made_by, *read, *read_by;    /* read_by NULL: the remark is about `made`
                                                         * alone. */
        const char *because;            /* Another reader, of these nodes, decided; or NULL. */
        const char *detail;             /* The operation has this now, a type or a schedule; or
                                         * NULL. */
};
struct remarks { struct arena *arena; struct remark *items; int count; };

/* Begins the remarks of a pass anew, without those that it made in another try. */
void remarks_begin(struct remarks *r, const char *pass);
/* Changes the reason of all remarks that have one reason. */
void remarks_change(struct remarks *r, enum remark_reason from, enum remark_reason to);
/* Adds a remark. Its texts are copied; nodes may be NULL. */
void remark_note(struct remarks *r, struct remark remark);
/* Adds a remark on a value between two operations. decided: the reader that decided; NULL: none in
 * particular. */
void remark_pair(struct remarks *r, enum remark_reason reason, const struct op *made,
                 const struct op *read, const struct op *decided);
void remark_op(struct remarks *r, enum remark_reason reason, const struct op *op,
               const char *detail);

#endif
