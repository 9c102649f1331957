/* dce: operations whose results nothing uses vanish; so do, at the end of every pass, constants that nothing uses.
 *
 *   %1 = exp(%0)             ->      (nothing)
 *
 * One sweep from the last operation to the first, so chains go at once. Only pure operations; exact. */
#include "passes/pass.h"

static bool is_unused(const struct op *op)
{
        if (op->code == OP_yield || !(op_info[op->code].traits & (TRAIT_PURE | TRAIT_REGION)))
                return false;
        for (int i = 0; i < op->result_count; i++)
                if (op->results[i].uses)
                        return false;
        return true;
}

static int dce_region(struct region *region)
{
        int erased = 0;
        for (struct op *op = region->last, *previous; op; op = previous) {
                previous = op->previous;
                if (is_unused(op)) {
                        op_erase(op);
                        erased++;
                        continue;
                }
                for (int i = 0; i < op->region_count; i++)
                        erased += dce_region(op->regions[i]);
        }
        return erased;
}

int pass_dce(struct function *f, struct pass_context *context)
{
        (void)context;
        return dce_region(&f->body);
}
