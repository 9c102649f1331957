/* A target is a const struct: what it does not say, its base says; `generic` says everything. */
#ifndef IR_TARGET_H
#define IR_TARGET_H

#include <stdbool.h>
#include <stdint.h>

struct target {
        const char *name, *doc;
        const struct target *base;      /* NULL for generic */
        bool big_endian;                /* constants are written as numbers, not as bytes */
        int64_t workspace_align;        /* bytes; 0: the base's */
        int64_t stack_bytes;            /* largest array a kernel may put on the stack; 0: the base's */
};

/* What the target says, or its nearest base that says something. */
static inline int64_t target_workspace_align(const struct target *t)
{
        return t->workspace_align || !t->base ? t->workspace_align : target_workspace_align(t->base);
}

static inline int64_t target_stack_bytes(const struct target *t)
{
        return t->stack_bytes || !t->base ? t->stack_bytes : target_stack_bytes(t->base);
}

#endif
