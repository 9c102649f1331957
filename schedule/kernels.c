/* Scheduled kernels: which lowering writes which contraction. */
#include "schedule/stage.h"

static const struct { enum opcode code; stage_prepare prepare; } lowerings[] = {
        { OP_convolve_packed, packed_prepare },
};
enum { LOWERING_COUNT = sizeof lowerings / sizeof *lowerings };

static stage_prepare find_lowering(const struct op *op)
{
        for (int i = 0; i < LOWERING_COUNT; i++)
                if (lowerings[i].code == op->code)
                        return lowerings[i].prepare;
        return NULL;
}

struct op *schedule_contraction(const struct region *region, struct op *op)
{
        for (op = region ? region->first : op; op; op = region ? op->next : NULL)
                if (find_lowering(op))
                        return op;
        return NULL;
}

static struct op *find_contraction(const struct kernel_request *request)
{
        return schedule_contraction(request->region, (struct op *)(uintptr_t)request->op);
}

static bool wants(const struct kernel_request *request)
{
        const struct op *op = find_contraction(request);
        return op && op->schedule;
}

static bool write_kernel(struct emit *e, const struct kernel_request *request, struct loop_buffer *buffer)
{
        struct op *op = find_contraction(request);
        return stage_kernel(e, request, op, buffer, find_lowering(op));
}

const struct kernel_scheduler schedule_kernels = { wants, write_kernel };
