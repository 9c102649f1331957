/* SPDX-License-Identifier: MIT */
#include "kernels/kernels.h"

#include "ir/target/engine.h"
#include "kernels/attention.h"
#include "kernels/circular_buffers.h"
#include "kernels/kernel_state.h"

/* Iterates over the rows of the target's engine and of its base engines. */
#define EACH_ROW(row, target)                                                                      \
        for (const struct engine *engine = target_engine(target); engine; engine = engine->base) \
                for (const struct lowering *row = engine->lowerings; row && row->reads; row++)

static bool row_serves(const struct lowering *row, const struct op *op, const struct target *target)
{
        return row->code == op->code && row->reads >> op_operand(op, 0)->type->element & 1 &&
               (row->kind == SCHEDULE_scalar || row->positions ||
                (row->images ? op_is_static_inside(op) : op_is_static(op))) &&
               (!row->serves || row->serves(op, target));
}

const struct lowering *kernels_lowering(const struct op *op, const struct target *target)
{
        EACH_ROW (row, target)
                if (row_serves(row, op, target))
                        return row;
        return NULL;
}

bool kernels_code(enum opcode code, const struct target *target)
{
        EACH_ROW (row, target)
                if (row->code == code)
                        return true;
        return false;
}

bool kernels_open(enum opcode code, const struct target *target)
{
        EACH_ROW (row, target)
                if (row->code == code && row->positions)
                        return true;
        return false;
}

struct kernel_state *kernels_prepare(const struct kernel_state *common)
{
        struct kernel_state *s;
        EACH_ROW (row, common->target)
        if (row->prepare && row->kind == common->op->schedule->kind &&
            row_serves(row, common->op, common->target) && (s = row->prepare(common)))
                return s;
        return NULL;
}

struct op *kernels_contraction(const struct region *region, struct op *op,
                               const struct target *target)
{
        for (op = region ? region->first : op; op; op = region ? op->next : NULL)
                if (kernels_lowering(op, target))
                        return op;
        return NULL;
}

/* Is op written by a lowering rather than by its canonical nest: by a lowering of its own or, for a
 * dot, by a schedule that the pass for attention gave it? */
static bool is_scheduled(const struct op *op, const struct target *target)
{
        const struct lowering *lowering = kernels_lowering(op, target);
        return lowering && lowering->kind != SCHEDULE_scalar
                       ? true
                       : op->code == OP_dot && op->schedule && !schedule_scalar(op->schedule);
}

/* Does another scheduled contraction follow in the same region? */
static bool is_followed(const struct op *contraction, const struct target *target)
{
        for (const struct op *op = contraction->next; op; op = op->next)
                if (is_scheduled(op, target))
                        return true;
        return false;
}

static struct op *find_contraction(const struct kernel_request *request,
                                   const struct target *target)
{
        struct op *op =
                request->region ? request->region->first : (struct op *)(uintptr_t)request->op;
        while (op && !is_scheduled(op, target))
                op = request->region ? op->next : NULL;
        return op;
}

/* Only attention of few rows may have several results: it may also store what it reads. */
static bool wants(const struct kernel_request *request, const struct target *target)
{
        const struct op *op = find_contraction(request, target);
        if (request->result_count != 1)
                return op && op->code == OP_dot && op->schedule;
        return (op && op->schedule) || circular_wanted(request);
}

static bool write_kernel(struct emit *e, const struct kernel_request *request,
                         struct loop_buffer *buffer)
{
        if (circular_wanted(request))
                return circular_kernel(e, request, buffer);
        const struct target *target = e->options->target;
        struct op *op = find_contraction(request, target);
        if (target_engine(target)->kernel)
                return target_engine(target)->kernel(e, request, op, buffer);
        if (request->region && is_followed(op, target) && op->code != OP_convolve_winograd)
                return attention_find(request->region, request->results[0],
                                      &(struct attention){ 0 })
                               ? attention_kernel(e, request, buffer)
                               : strips_kernel(e, request, buffer);
        return state_kernel(e, request, op, buffer);
}

const struct kernel_scheduler kernels_scheduler = { wants, write_kernel };

/* Writes the kernel into an arena. Returns NULL where that is impossible or, with *refused set,
 * where the schedule cannot be followed. */
static const struct loop_function *write_trial(struct arena *arena, const struct op *kernel,
                                               const struct lower_options *options,
                                               const struct loop_library *library, bool *refused,
                                               int *input_count, struct diag *diag)
{
        bool too_large = false;
        struct value **inputs, *result = op_result(kernel);
        struct kernel_request request = { .op = kernel, .results = &result, .result_count = 1 };
        if (kernel->code == OP_fusion)
                kernel_request_fusion(arena, &request, kernel);
        request.too_large = &too_large;
        request.refused = refused;
        return kernel_write(arena, library, &request, options, &inputs, input_count, diag);
}

bool kernels_accept(const struct op *kernel, const struct lower_options *options,
                      const struct loop_library *library, struct diag *diag)
{
        bool refused = false;
        int inputs;
        struct arena *arena = arena_new();
        bool good = write_trial(arena, kernel, options, library, &refused, &inputs, diag) != NULL;
        arena_free(arena);
        return good;
}

int64_t kernels_scratch(const struct op *kernel, const struct lower_options *options,
                         const struct loop_library *library, struct diag *diag)
{
        struct arena *arena = arena_new();
        int inputs;
        const struct loop_function *written =
                write_trial(arena, kernel, options, library, NULL, &inputs, diag);
        int64_t bytes = 0;
        for (int i = inputs + 1; written && i < written->buffer_count; i++)
                bytes += storage_bytes(written->buffers[i]->extent *
                                       element_info[written->buffers[i]->element].bytes);
        arena_free(arena);
        return bytes;
}
