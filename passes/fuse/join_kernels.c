/* SPDX-License-Identifier: MIT */
/* Joins several kernels into one. */
#include "passes/fuse/join.h"

#include <string.h>

/* Copies a kernel's operations; the copy of each result becomes the scratch of that result. */
static void copy_operations(struct builder *b, struct op *kernel)
{
        if (kernel->code != OP_fusion) {
                op_result(kernel)->scratch = op_result(op_clone(b, kernel));
                return;
        }
        struct region *region = kernel->regions[0];
        for (struct op *op = region->first; op->code != OP_yield; op = op->next)
                op->results[0].scratch = op_result(op_clone(b, op));
        for (int i = 0; i < kernel->result_count; i++) {
                struct value *made = op_operand(region->last, i);
                kernel->results[i].scratch = made->scratch ? made->scratch : made;
        }
        for (struct op *op = region->first; op->code != OP_yield; op = op->next)
                op->results[0].scratch = NULL;
}

/* Lists the locations of all kernels, without those that equal the one before. */
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

struct op *kernel_join_results(struct op *const *kernels, int count, struct value *const *results,
                               int result_count, struct diag *diag)
{
        struct op *last = kernels[count - 1];
        struct module *m = last->region->function->module;
        struct builder b = { .m = m, .region = last->region, .before = last, .diag = diag,
                             .location = join_locations(m->arena, kernels, count) };
        const struct type **types = arena_array(m->arena, (size_t)result_count, sizeof *types);
        struct value **yields = arena_array(m->arena, (size_t)result_count, sizeof *yields);
        for (int i = 0; i < result_count; i++)
                types[i] = results[i]->type;
        struct op *fusion = op_build_results(&b, OP_fusion, NULL, 0, NULL, types, result_count, 1);
        if (!fusion)
                return NULL;
        struct builder inside = { .m = m, .region = op_add_region(fusion, 0), .diag = diag };
        for (int i = 0; i < count; i++)
                copy_operations(&inside, kernels[i]);
        for (int i = 0; i < result_count; i++)
                yields[i] = results[i]->scratch;
        for (int i = 0; i < count; i++)
                for (int k = 0; k < kernels[i]->result_count; k++)
                        kernels[i]->results[k].scratch = NULL;
        build_yield(&inside, yields, result_count);
        return fusion;
}

struct op *kernel_join(struct op *const *kernels, int count, struct diag *diag)
{
        struct value *result = op_result(kernels[count - 1]);
        return kernel_join_results(kernels, count, &result, 1, diag);
}

int kernels_join_all(struct region *region,
                     bool (*join)(struct op *op, struct pass_context *context),
                     struct pass_context *context)
{
        int count = 0;
        for (struct op *op = region->first, *next; op; op = next) {
                next = op->next;
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        count += kernels_join_all(op->regions[i], join, context);
                count += join(op, context);
        }
        return count;
}
