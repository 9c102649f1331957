/* Two kernels as one. */
#include "passes/join.h"

/* copies of a kernel's operations, and what stands for its result */
static struct value *copy_operations(struct builder *b, struct op *kernel)
{
        if (kernel->code != OP_fusion)
                return op_result(op_clone(b, kernel));
        struct region *region = kernel->regions[0];
        for (struct op *op = region->first; op->code != OP_yield; op = op->next)
                op->results[0].scratch = op_result(op_clone(b, op));
        struct value *made = op_operand(region->last, 0);
        struct value *copy = made->scratch ? made->scratch : made;
        for (struct op *op = region->first; op->code != OP_yield; op = op->next)
                op->results[0].scratch = NULL;
        return copy;
}

struct op *kernel_join(struct module *m, struct op *first, struct op *second, struct diag *diag)
{
        const char *location = second->location;
        if (first->location && second->location)
                location = arena_printf(m->arena, "%s, %s", first->location, second->location);
        struct builder b = { .m = m, .region = second->region, .before = second, .diag = diag, .location = location };
        struct op *fusion = op_build(&b, OP_fusion, NULL, 0, NULL, &second->results[0].type, 1);
        if (!fusion)
                return NULL;
        struct builder inside = { .m = m, .region = op_add_region(fusion, 0), .diag = diag };
        struct value *between = op_result(first);
        between->scratch = copy_operations(&inside, first);
        struct value *result = copy_operations(&inside, second);
        between->scratch = NULL;
        build_yield(&inside, &result, 1);
        return fusion;
}
