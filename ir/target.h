/* A target is a const struct: what it does not say, its base says; `generic` says everything. */
#ifndef IR_TARGET_H
#define IR_TARGET_H

#include <stdint.h>

struct target {
        const char *name, *doc;
        const struct target *base;      /* NULL for generic */
        int64_t workspace_align;        /* bytes; 0: the base's */
        int64_t stack_bytes;            /* largest array a kernel may put on the stack; 0: the base's */
};

#endif
