/* Remarks: what a pass did with an operation, or refused, and why, from the place in the code that decided. The
 * reasons are a table, remarks.def. Nothing is noted unless somebody asks (struct pass_context: remarks). */
#ifndef PASSES_REMARK_H
#define PASSES_REMARK_H

#include "passes/pass.h"

enum remark_reason {
#define REMARK(pass, reason, text, doc) REMARK_##pass##_##reason,
#include "passes/remarks.def"
        REMARK_REASONS
};
struct remark_info { const char *pass, *reason, *text, *doc; };
extern const struct remark_info remark_info[REMARK_REASONS];

/* of a value that `made` makes and `read` reads: nodes of the model (text_safe, or ""), and operations */
struct remark {
        enum remark_reason reason;
        const char *made, *made_by, *read, *read_by;
        const char *because;            /* the nodes of another reader, which decided; or NULL */
};
struct remarks { struct arena *arena; struct remark *items; int count; };

/* A pass begins anew: what it said of another try goes. */
void remarks_begin(struct remarks *r, const char *pass);
/* decided: the reader that decided; NULL: none in particular */
void remark_pair(struct remarks *r, enum remark_reason reason, const struct op *made, const struct op *read,
                 const struct op *decided);

#endif
