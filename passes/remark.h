/* SPDX-License-Identifier: MIT */
/* Remarks: what a pass did with an operation, or refused, and why, from the place in the code
 * that decided. The reasons are a table, remarks.def. Nothing is noted unless somebody asks
 * (struct pass_context: remarks). */
#ifndef PASSES_REMARK_H
#define PASSES_REMARK_H

#include "passes/pass.h"

enum remark_reason {
#define REMARK(pass, reason, text, doc) REMARK_##pass##_##reason,
#include "passes/remarks.def"
        REMARK_REASONS
};
/* left: what a refusal leaves; NULL: the pass did it */
struct remark_info { const char *pass, *reason, *left, *text, *doc; };
extern const struct remark_info remark_info[REMARK_REASONS];
struct remark_pass { const char *name, *doc; };
extern const struct remark_pass remark_passes[];        /* that say something; the last one has no
                                                         * name */

/* Of an operation, or of a value that `made` makes and `read` reads: nodes of the model
 * (text_safe, or ""), and what they are, an operation or the name of a buffer or kernel. */
struct remark {
        enum remark_reason reason;
        const char *made, *made_by, *read, *read_by;    /* read_by NULL: of `made` alone */
        const char *because;            /* the nodes of another reader, which decided; or NULL */
        const char *detail;             /* what it has now: a type, a schedule; or NULL */
};
struct remarks { struct arena *arena; struct remark *items; int count; };

/* A pass begins anew: what it said of another try goes. */
void remarks_begin(struct remarks *r, const char *pass);
/* What was said for one reason is said for another one. */
void remarks_change(struct remarks *r, enum remark_reason from, enum remark_reason to);
/* its texts are copied; nodes may be NULL */
void remark_note(struct remarks *r, struct remark remark);
/* decided: the reader that decided; NULL: none in particular */
void remark_pair(struct remarks *r, enum remark_reason reason, const struct op *made,
                 const struct op *read, const struct op *decided);
void remark_op(struct remarks *r, enum remark_reason reason, const struct op *op,
               const char *detail);

#endif
