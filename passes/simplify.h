/* The rules of simplify.def as functions, and the pattern helpers they share. */
#ifndef PASSES_SIMPLIFY_H
#define PASSES_SIMPLIFY_H

#include "passes/pass.h"

/* The value that replaces op's result, or NULL when the pattern is not there. */
typedef struct value *(*rewrite_function)(struct builder *b, struct op *op, struct pass_context *context);

#define RULE(code, class, name, algebra) \
        struct value *rewrite_##name(struct builder *b, struct op *op, struct pass_context *context);
#define ELEMENTWISE(class, name, algebra) RULE(, class, name, algebra)
#include "passes/simplify.def"

#endif
