/* Several kernels as one. */
#include "passes/join.h"

#include <string.h>

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

/* each one's, but those that are as the one's before */
static const char *join_locations(struct arena *arena, struct op *const *kernels, int count)
{
        const char *location = NULL, *before = NULL;
        for (int i = 0; i < count; i++) {
                const char *own = kernels[i]->location;
                if (!own || (before && !strcmp(before, own)))
                        continue;
                location = location ? arena_printf(arena, "%s, %s", location, own) : own;
                before = own;
        }
        return location;
}

struct op *kernel_join(struct op *const *kernels, int count, struct diag *diag)
{
        struct op *last = kernels[count - 1];
        struct module *m = last->region->function->module;
        struct builder b = { .m = m, .region = last->region, .before = last, .diag = diag,
                             .location = join_locations(m->arena, kernels, count) };
        struct op *fusion = op_build(&b, OP_fusion, NULL, 0, NULL, &last->results[0].type, 1);
        if (!fusion)
                return NULL;
        struct builder inside = { .m = m, .region = op_add_region(fusion, 0), .diag = diag };
        struct value *result = NULL;
        for (int i = 0; i < count; i++)
                op_result(kernels[i])->scratch = result = copy_operations(&inside, kernels[i]);
        for (int i = 0; i < count; i++)
                op_result(kernels[i])->scratch = NULL;
        build_yield(&inside, &result, 1);
        return fusion;
}

int kernels_join_all(struct region *region, bool (*join)(struct op *op, struct pass_context *context), struct pass_context *context)
{
        int count = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                for (int i = 0; op->code != OP_fusion && i < op->region_count; i++)
                        count += kernels_join_all(op->regions[i], join, context);
                count += join(op, context);
        }
        return count;
}
