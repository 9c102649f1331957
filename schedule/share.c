/* SPDX-License-Identifier: MIT */
/* Chooses how threads share a contraction: by rows of tiles, or panels, or both, whichever takes
 * the slowest thread least (cost/threads_cost.c). A contraction that is done soon runs on one
 * thread. */
#include "kernels/kernels.h"
#include "schedule/schedule_choice.h"

/* ---- the kernels around a contraction ---- */

enum sharing { BY_ROWS, BY_PANELS };

/* Does each panel read channels of its own? */
static bool is_apart(const struct op *op)
{
        return op->code == OP_convolve_lanes || op->code == OP_reduce_window;
}

static bool moves(const struct op *op)
{
        return op->operand_count && (op->code == OP_pad || op_info[op->code].traits & TRAIT_FREE);
}

/* Returns the operation that a kernel is about: its contraction, if it has one. */
static const struct op *heart(const struct op *op, const struct target *target)
{
        const struct op *contraction =
                op->code == OP_fusion ? kernels_contraction(op->regions[0], NULL, target) : NULL;
        return contraction ? contraction : op;
}

/* Returns the fusion that op is part of, or op. */
static const struct op *kernel_of(const struct op *op)
{
        const struct op *owner = op->region->owner;
        return owner && owner->code == OP_fusion ? owner : op;
}

/* Returns the value that v passes on: the operand of a fusion, or of a move; NULL: v is neither. */
static const struct value *handed_on(const struct value *v)
{
        const struct op *owner = v->kind == VALUE_ARGUMENT ? v->region->owner : NULL;
        if (owner && owner->code == OP_fusion)
                return op_operand(owner, v->index);
        return v->kind == VALUE_RESULT && moves(v->op) ? op_operand(v->op, 0) : NULL;
}

/* Returns the operation whose kernel makes v; NULL: v comes from outside. */
static const struct op *maker(const struct value *v, const struct target *target)
{
        for (const struct value *next; (next = handed_on(v));)
                v = next;
        return v->kind == VALUE_RESULT ? heart(v->op, target) : NULL;
}

/* A value was made in this way, and by this many tasks. For long loops without a schedule, and for
 * values from outside, there may be as many tasks as threads. */
struct making { enum sharing how; int tasks; };

/* Are the loops of a kernel without a schedule worth sharing? */
static bool is_long(const struct op *kernel, const struct target *target)
{
        const struct region *region = kernel->code == OP_fusion ? kernel->regions[0] : NULL;
        double elements = 0;
        for (const struct op *op = region ? region->first : kernel; op;
             op = region ? op->next : NULL)
                elements += op->operand_count ? (double)type_most_elements(
                                                        op_module(op), op_operand(op, 0)->type)
                                              : 0;
        return shared_is_worth(elements / target_lanes(target, E_F32), target);
}

/* Returns how x is made. Loops without a schedule are shared from the outermost inward: by blocks
 * of channels. */
static struct making made(const struct value *x, const struct schedule_machine *machine)
{
        const struct op *op = maker(x, machine->target);
        int threads = !op || is_long(op, machine->target) ? machine->threads : 1;
        if (!op || !op->schedule)
                return (struct making){ op && !dim_is(x->type->dims[1], 1) ? BY_PANELS : BY_ROWS,
                                        threads };
        const struct schedule_registers s = schedule_tiles(op->schedule);
        bool panels = s.panel_tasks > s.row_tasks && op->code != OP_convolve_winograd;
        return (struct making){ panels ? BY_PANELS : BY_ROWS, s.row_tasks * s.panel_tasks };
}

/* Does op add up all channels of a value that the kernel `made` makes? */
static bool reads_all(const struct op *op, const struct op *made, const struct target *target)
{
        bool sums = kernels_contraction(NULL, (struct op *)(uintptr_t)op, target) && !is_apart(op);
        const struct value *x = sums ? op_operand(op, 0) : NULL;
        while (x && !(x->kind == VALUE_RESULT && kernel_of(x->op) == made))
                x = handed_on(x);
        return x;
}

/* Returns how the readers of op's result are going to share it. A reader that needs all channels
 * shares best by rows. A reader that needs its own channels only, or works element by element,
 * follows its own readers; where there are several readers, none is followed. */
static enum sharing wanted(const struct op *op, const struct target *target)
{
        for (const struct op *next;; op = next) {
                const struct op *kernel = kernel_of(op);
                bool several = false, loops = false;
                next = NULL;
                for (const struct use *use = op_result(kernel)->uses; use; use = use->next) {
                        const struct op *reader = heart(kernel_of(use->user), target);
                        if (reader->code == OP_yield || reads_all(reader, kernel, target))
                                return BY_ROWS;
                        loops |= !kernels_contraction(NULL, (struct op *)(uintptr_t)reader,
                                                      target) &&
                                 !moves(reader);
                        several |= next && next != reader;
                        next = reader;
                }
                if (!next || several || loops)
                        return loops ? BY_PANELS : BY_ROWS;
        }
}

/* ---- the choice ---- */

/* This is known before tasks are chosen. */
struct sharing_of { bool apart; struct making made; enum sharing wanted; };

static struct shared_how how_of(const struct sharing_of *s, int rows, int panels)
{
        int tasks = rows * panels;
        enum sharing how = panels > rows ? BY_PANELS : BY_ROWS;
        return (struct shared_how){ .rows = rows,
                                    .panels = panels,
                                    .apart = s->apart,
                                    .team = tasks > 1 ? tasks : s->made.tasks,
                                    .reads_own = tasks > 1 && s->made.tasks > 1 &&
                                                 s->made.how == how &&
                                                 (s->apart || how == BY_ROWS),
                                    .read_by_own = tasks > 1 && how == s->wanted };
}

/* Returns what decides between ways to share: cycles. Where a run gives the rows, it is the sum of
 * what they are beside those of one thread, for all rows of tiles, a quarter of these, and so on
 * down to one. */
static double judged(const struct shared_work *work, const struct sharing_of *of, int rows,
                     int panels, bool open, const struct target *target)
{
        const struct shared_how how = how_of(of, rows, panels), alone = how_of(of, 1, 1);
        struct shared_work fewer = *work;
        double sum = 0;
        if (!open)
                return shared_cost(work, &how, target);
        for (int64_t count = work->rows; count; count = count > 4 ? count / 4 : count > 1) {
                const double share = (double)count / (double)work->rows;
                fewer.rows = count;
                fewer.cycles = work->cycles * share;
                fewer.operand = work->operand * share;
                fewer.gathered = work->gathered * share;
                fewer.result = work->result * share;
                sum += shared_cost(&fewer, &how, target) / shared_cost(&fewer, &alone, target);
        }
        return sum;
}

double schedule_share(struct schedule_registers *s, const struct op *op,
                      const struct shared_work *work, const struct schedule_machine *machine)
{
        struct sharing_of of = { is_apart(op), { BY_ROWS, 1 }, BY_ROWS };
        struct shared_work shared = *work;
        if (machine->threads > 1) {
                const struct type *y = op_result(op)->type;
                shared.result = (double)(type_most_elements(op_module(op), y) *
                                         element_info[y->element].bytes);
                of.made = made(op_operand(op, 0), machine);
                of.wanted = wanted(op, machine->target);
        }
        const bool open = machine->threads > 1 && !op_is_static_inside(op);
        double best = judged(&shared, &of, 1, 1, open, machine->target);
        s->row_tasks = s->panel_tasks = 1;
        for (int rows = machine->threads; rows >= 1 && machine->threads > 1; rows--) {
                int panels = machine->threads / rows;
                double time = judged(&shared, &of, rows, panels, open, machine->target);
                if (machine->threads % rows || time >= best)
                        continue;
                best = time;
                s->row_tasks = rows;
                s->panel_tasks = panels;
        }
        return judged(&shared, &of, s->row_tasks, s->panel_tasks, false, machine->target);
}
