/* The rules of simplify.def as functions, and the pattern helpers they share. */
#ifndef PASSES_SIMPLIFY_H
#define PASSES_SIMPLIFY_H

#include "passes/pass.h"

/* The value that replaces op's result, or NULL when the pattern is not there. */
typedef struct value *(*rewrite_function)(struct builder *b, struct op *op, struct pass_context *context);

#define RULE(code, class, name, algebra, when) \
        struct value *rewrite_##name(struct builder *b, struct op *op, struct pass_context *context);
#define ELEMENTWISE(class, name, algebra, when) RULE(, class, name, algebra, when)
#include "passes/simplify.def"

/* The same value, or constants of the same contents: a dump reads back small constants apart that were one. */
bool simplify_same(const struct value *x, const struct value *y);

#endif
