/* SPDX-License-Identifier: MIT */
#include "passes/remark.h"

#include <string.h>

#define SAYS(pass, left, doc) static const char left_##pass[] = left;
#include "passes/remarks.def"

const struct remark_info remark_info[REMARK_REASONS] = {
#define DONE(pass, reason, text, doc) { #pass, #reason, NULL, text, doc },
#define LEFT(pass, reason, text, doc) { #pass, #reason, left_##pass, text, doc },
#include "passes/remarks.def"
};

const struct remark_pass remark_passes[] = {
#define SAYS(pass, left, doc) { #pass, doc },
#include "passes/remarks.def"
        { NULL, NULL }
};

void remarks_begin(struct remarks *r, const char *pass)
{
        int kept = 0;
        for (int i = 0; i < r->count; i++)
                if (strcmp(remark_info[r->items[i].reason].pass, pass) != 0)
                        r->items[kept++] = r->items[i];
        r->count = kept;
}

void remarks_change(struct remarks *r, enum remark_reason from, enum remark_reason to)
{
        for (int i = 0; i < r->count; i++)
                if (r->items[i].reason == from)
                        r->items[i].reason = to;
}

static const char *copy(struct arena *arena, const char *text)
{
        return text ? arena_string(arena, text) : NULL;
}
static const char *nodes_of(const char *location) { return location ? location : ""; }

void remark_note(struct remarks *r, struct remark remark)
{
        ARENA_GROW(r->arena, r->items, r->count);
        r->items[r->count++] = (struct remark){ .reason = remark.reason,
                                                .made = copy(r->arena, nodes_of(remark.made)),
                                                .made_by = copy(r->arena, remark.made_by),
                                                .read = copy(r->arena, nodes_of(remark.read)),
                                                .read_by = copy(r->arena, remark.read_by),
                                                .because = copy(r->arena, remark.because),
                                                .detail = copy(r->arena, remark.detail) };
}

void remark_pair(struct remarks *r, enum remark_reason reason, const struct op *made,
                 const struct op *read, const struct op *decided)
{
        remark_note(r, (struct remark){ .reason = reason,
                                        .made = made->location,
                                        .made_by = op_info[made->code].name,
                                        .read = read->location,
                                        .read_by = op_info[read->code].name,
                                        .because = decided && decided != read
                                                           ? nodes_of(decided->location)
                                                           : NULL });
}

void remark_op(struct remarks *r, enum remark_reason reason, const struct op *op,
               const char *detail)
{
        remark_note(r, (struct remark){ .reason = reason,
                                        .made = op->location,
                                        .made_by = op_info[op->code].name,
                                        .detail = detail });
}
