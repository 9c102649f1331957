/* SPDX-License-Identifier: MIT */
/* Decides what runs on the machine and what on the processor: kernels are taken in the order of
 * main, each in either way, with a launch for each sequence of them that the machine computes, so
 * that the sum of predicted times is least.
 *
 *     machine     the cycles of the best tile, memory read and written among them; lines that the
 *                 processor cleans of its caches for it
 *     a launch    before the first kernel of a sequence; and what a machine that holds activations
 *                 reads for it, and writes after the last kernel
 *     processor   the cycles of one core (engines/stream/processor_cost.h), in the machine's cycles
 */
#include <float.h>
#include <math.h>

#include "engines/stream/launch_partition.h"
#include "engines/stream/processor_cost.h"
#include "engines/stream/offload.h"
#include "schedule/book.h"

void partition_number(struct function *f)
{
        int number = 0;
        for (struct op *op = region_walk(&f->body, NULL); op;
             op = region_walk(&f->body, op), number += PARTS)
                op->number = number;
}

void partition_begin(struct partition *p, struct function *f, struct arena *arena)
{
        partition_number(f);
        p->count = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op))
                p->count += PARTS;
        p->stays = arena_array(arena, (size_t)p->count, sizeof *p->stays);
}

/* ---- times ---- */

static double bytes_of(const struct op *kernel, bool results)
{
        double bytes = 0;
        int count;
        struct arena *arena = arena_new();
        struct value **read = op_captures(arena, kernel, &count);
        for (int k = 0; k < count && !results; k++)
                if (!value_is_constant(read[k]) && type_is_static(read[k]->type))
                        bytes += (double)type_bytes(read[k]->type);
        for (int k = 0; k < kernel->result_count && results; k++)
                if (type_is_static(kernel->results[k].type))
                        bytes += (double)type_bytes(kernel->results[k].type);
        arena_free(arena);
        return bytes;
}

static struct launch_times times_of(const struct partition *p, const struct op *kernel)
{
        const struct target *target = p->context->target;
        const struct machine *m = target_accelerator(target);
        const double processor = m->cycles.processor;   /* 0: the processor's speed is not known. */
        struct launch_times t = {
                .processor = processor ? processor_cycles(kernel, target) / processor : 0,
                .machine = INFINITY
        };
        const struct op *convolve = offload_convolve(kernel);
        struct stream_cost cost;
        const struct schedule_stream *given =
                convolve && p->context->book
                        ? schedule_stream(schedule_book_find(
                                  p->context->book, kernel->region->function->module, convolve))
                        : NULL;
        if (partition_stays(p, kernel) || !offload_fits(kernel, p->context, &cost))
                return t;
        const double read = bytes_of(kernel, false), written = bytes_of(kernel, true);
        t.machine = (double)cost.cycles +
                    (m->cycles.clean_bytes ? (read + written) / m->cycles.clean_bytes : 0);
        t.enter = m->cycles.launch + (m->activates ? read / m->cycles.beat_bytes : 0);
        t.leave = m->activates ? written / m->cycles.beat_bytes : 0;
        if (given && given->processor)
                t.machine = DBL_MAX;
        else if (given || p->context->all_on_machine || !processor)
                t.processor = INFINITY;
        return t;
}

/* ---- the choice ---- */

/* Chooses for the operations of a region. Operations that hold other regions run on the processor,
 * and these regions are handled by themselves. */
static int choose_in(struct partition *p, struct region *region, struct arena *arena)
{
        struct launch_times *times = NULL;
        const struct op **kernels = NULL;
        int count = 0, more = 0;
        for (const struct op *op = region->first; op && !p->context->diag->code; op = op->next) {
                if (op_info[op->code].traits & TRAIT_TERMINATOR || op->code == OP_reshape)
                        continue;
                for (int k = 0; !op_is_kernel(op) && k < op->region_count; k++)
                        more += op->regions[k] ? choose_in(p, op->regions[k], arena) : 0;
                ARENA_GROW(arena, times, count);
                ARENA_GROW(arena, kernels, count);
                kernels[count] = op;
                times[count++] = times_of(p, op);
        }
        bool *machine = arena_array(arena, (size_t)count + 1, sizeof *machine);
        launches_choose(times, count, arena, machine);
        for (int k = 0; k < count; k++)
                if (!machine[k] && times[k].machine < INFINITY) {
                        p->stays[kernels[k]->number] = true;
                        more++;
                }
        return more;
}

int partition_choose(struct partition *p, struct function *f)
{
        struct arena *arena = arena_new();
        const int more = choose_in(p, &f->body, arena);
        arena_free(arena);
        return more;
}

void partition_mark(const struct partition *p, struct function *f)
{
        struct schedule s = schedule_preset(SCHEDULE_stream);
        s.stream.processor = 1;
        s.why = "with the launch, it is faster there than on the machine";
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                const bool whole = op->code == OP_fusion && op->number % PARTS == PART_WHOLE;
                struct op *convolve =
                        whole && (partition_stays(p, op) || p->stays[op->number + PART_FIRST])
                                ? offload_convolve(op)
                                : NULL;
                if (convolve)
                        convolve->schedule = schedule_keep(f->module->arena, s);
        }
}
