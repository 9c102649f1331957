/* SPDX-License-Identifier: MIT */
#include "kernels/kernels.h"

#include "kernels/attention.h"
#include "kernels/rings.h"
#include "kernels/stage.h"
#include "kernels/streams.h"

#define OF(e) (1u << E_##e)
#define HEED(word) (UINT64_C(1) << WORD_##word)
#define GRID (HEED(tile) | HEED(warps) | HEED(panels) | HEED(stages) | HEED(depth) | HEED(parts) | HEED(runs) | HEED(whole) | HEED(pooled))
#define TASKS (HEED(row_tasks) | HEED(panel_tasks))
static const struct lowering lowerings[] = {
        { OP_convolve_packed, OF(F32) | OF(BF16) | OF(F16) | OF(TF32) | OF(I8) | OF(U8) | OF(I16),
          HEED(rows) | HEED(columns) | HEED(vectors) | HEED(wide) | HEED(unroll) | HEED(split) | HEED(ahead) | HEED(strip) |
                  HEED(flat) | HEED(pack) | HEED(prefetch) | GRID | TASKS,
          contract_prepare },
        { OP_convolve_lanes, OF(F32) | OF(I8) | OF(U8),
          HEED(rows) | HEED(columns) | HEED(unroll) | TASKS, lanes_prepare },
        { OP_convolve_winograd, OF(F32),
          HEED(columns) | HEED(vectors) | HEED(wide) | HEED(unroll) | HEED(split) | HEED(ahead) | HEED(prefetch) |
                  HEED(group) | TASKS,
          winograd_prepare },
        { OP_dot_blocks, OF(I8), HEED(columns) | HEED(vectors) | TASKS, blocks_prepare },
        { OP_reduce_window, OF(F32) | OF(BF16) | OF(F16), HEED(columns) | TASKS, windows_prepare },
};
enum { LOWERING_COUNT = sizeof lowerings / sizeof *lowerings };

const struct lowering *kernels_lowering(const struct op *op)
{
        for (int i = 0; i < LOWERING_COUNT; i++)
                if (lowerings[i].code == op->code &&
                    lowerings[i].reads >> op_operand(op, 0)->type->element & 1)
                        return &lowerings[i];
        return NULL;
}

bool kernels_code(enum opcode code)
{
        for (int i = 0; i < LOWERING_COUNT; i++)
                if (lowerings[i].code == code)
                        return true;
        return false;
}

bool kernels_heed(const struct op *op, enum schedule_word word)
{
        const struct lowering *lowering = kernels_lowering(op);
        return lowering && lowering->heeds >> word & 1;
}

struct op *kernels_contraction(const struct region *region, struct op *op)
{
        for (op = region ? region->first : op; op; op = region ? op->next : NULL)
                if (kernels_lowering(op))
                        return op;
        return NULL;
}

/* has a lowering of its own, or (dot) has one as a part of attention, whose pass gave it a schedule */
static bool is_scheduled(const struct op *op)
{
        return kernels_lowering(op) || (op->code == OP_dot && op->schedule);
}

/* another one of the same region */
static bool is_followed(const struct op *contraction)
{
        for (const struct op *op = contraction->next; op; op = op->next)
                if (is_scheduled(op))
                        return true;
        return false;
}

static struct op *find_contraction(const struct kernel_request *request)
{
        struct op *op = request->region ? request->region->first : (struct op *)(uintptr_t)request->op;
        while (op && !is_scheduled(op))
                op = request->region ? op->next : NULL;
        return op;
}

/* of several results only attention of few rows, which may store what it reads */
static bool wants(const struct kernel_request *request)
{
        const struct op *op = find_contraction(request);
        if (request->result_count != 1)
                return op && op->code == OP_dot && op->schedule;
        return (op && op->schedule) || rings_wanted(request);
}

static bool write_kernel(struct emit *e, const struct kernel_request *request,
                         struct loop_buffer *buffer)
{
        if (rings_wanted(request))
                return rings_kernel(e, request, buffer);
        struct op *op = find_contraction(request);
        if (target_accelerator(e->options->target))
                return stream_kernel(e, request, op, buffer);
        if (request->region && is_followed(op) && op->code != OP_convolve_winograd)
                return attention_find(request->region, request->results[0],
                                      &(struct attention){ 0 })
                               ? attention_kernel(e, request, buffer)
                               : strips_kernel(e, request, buffer);
        return stage_kernel(e, request, op, buffer, kernels_lowering(op)->prepare);
}

const struct kernel_scheduler kernels_scheduler = { wants, write_kernel };

/* The kernel, written in arena; NULL: it cannot be, or (refused set) not as it is scheduled. */
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
