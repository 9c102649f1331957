/* How threads share a contraction: rows of tiles, or panels, or both.
 *
 *      thread      runs the largest share of the tiles
 *      weights     are read by every thread that has rows of its own, whole where panels are not shared
 *      operand     what others wrote lies in their caches, and comes from there slowly: most of it where a thread reads all channels,
 *                  none where the operand was shared as this is, by rows or (where panels read channels of their own) by panels
 *      result      the same for those who read it, in the way that they will share it
 *      gathered    what is put into strips first is so by every thread for the rows it has
 *      hand-off    to the others, and back
 *
 * Whatever takes the slowest thread least; what is soon done runs on one. */
#include "schedule/stage.h"

#define GATHERED 4.0                    /* bytes of a strip made in a cycle */

/* ---- what stands around a contraction ---- */

enum sharing { BY_ROWS, BY_PANELS };

/* each panel reads channels of its own */
static bool is_apart(const struct op *op) { return op->code == OP_convolve_lanes || op->code == OP_reduce_window; }

static bool moves(const struct op *op)
{
        return op->operand_count && (op->code == OP_pad || op_info[op->code].traits & TRAIT_FREE);
}

/* the operation that a kernel is about: the contraction, if it has one */
static const struct op *heart(const struct op *op)
{
        const struct op *contraction = op->code == OP_fusion ? schedule_contraction(op->regions[0], NULL) : NULL;
        return contraction ? contraction : op;
}

/* the operation whose kernel makes v; NULL: it comes from outside */
static const struct op *maker(const struct value *v)
{
        for (;;) {
                const struct op *owner = v->kind == VALUE_ARGUMENT ? v->region->owner : NULL;
                if (owner && owner->code == OP_fusion)
                        v = op_operand(owner, v->index);
                else if (v->kind == VALUE_RESULT && moves(v->op))
                        v = op_operand(v->op, 0);
                else
                        return v->kind == VALUE_RESULT ? heart(v->op) : NULL;
        }
}

/* how many tasks made it; where nobody scheduled them, and for what comes from outside, as many as there may be */
struct making { enum sharing how; int tasks; };

/* Loops that nobody scheduled are shared from outside: by blocks of channels. */
static struct making made(const struct value *x, int threads)
{
        struct schedule s;
        const struct op *op = maker(x);
        if (!op || !op->schedule || !schedule_parse(op, &s, NULL))
                return (struct making){ op && x->type->dims[1] > 1 ? BY_PANELS : BY_ROWS, threads };
        bool panels = s.panel_tasks > s.row_tasks && op->code != OP_convolve_winograd;
        return (struct making){ panels ? BY_PANELS : BY_ROWS, s.row_tasks * s.panel_tasks };
}

/* the kernel's result, of which op is a part */
static const struct value *whole_result(const struct op *op)
{
        const struct op *owner = op->region->owner;
        return op_result(owner && owner->code == OP_fusion ? owner : op);
}

/* How those who read what op makes are going to share it: what reads all channels does so by rows best; what reads its own follows. */
static enum sharing wanted(const struct op *op)
{
        for (;;) {
                const struct value *y = whole_result(op);
                if (!y->uses)
                        return BY_ROWS;
                op = heart(y->uses->user);
                if (!is_apart(op) && !moves(op))
                        return op->code == OP_yield || schedule_contraction(NULL, (struct op *)(uintptr_t)op) ? BY_ROWS : BY_PANELS;
        }
}

/* ---- the choice ---- */

/* what is known before tasks are */
struct sharing_of { const struct schedule_work *work; bool apart; struct making made; enum sharing wanted; double speed, result; };

static double share_of(int64_t count, int64_t threads) { return (double)divide_up(count, threads) / (double)count; }

/* panels that are not shared evenly are cut (stage.c) */
static double tiles_share(const struct schedule_work *work, int rows, int panels)
{
        bool cut = rows == 1 && work->panels >= panels && !work->gathered;
        return cut ? share_of(work->rows * work->panels, panels) : share_of(work->rows, rows) * share_of(work->panels, panels);
}

/* of what a thread reads, the part that others wrote, if it has so many of `bytes` */
static double foreign(double bytes, bool agree, int tasks) { return agree ? 0 : bytes * (1 - 1.0 / tasks); }

/* who is alone among threads that share reads what these have made, and they what he makes */
static double shared_cycles(const struct sharing_of *s, int rows, int panels)
{
        int tasks = rows * panels, team = tasks > 1 ? tasks : s->made.tasks;
        enum sharing how = panels > rows ? BY_PANELS : BY_ROWS;
        double operand = s->work->operand / rows / (s->apart ? panels : 1), cycles = s->work->cycles * tiles_share(s->work, rows, panels);
        bool reads_own = tasks > 1 && s->made.tasks > 1 && s->made.how == how && (s->apart || how == BY_ROWS);
        bool read_by_own = tasks > 1 && how == s->wanted;
        cycles += s->work->gathered / GATHERED * share_of(s->work->rows, rows) + s->work->weights * share_of(s->work->panels, panels) / s->speed;
        cycles += (foreign(operand, reads_own, team) + foreign(s->result / team, read_by_own, team)) / SCHEDULE_FOREIGN;
        return cycles + (tasks > 1 ? SCHEDULE_HAND_OFF : 0);
}

double schedule_share(struct schedule *s, const struct op *op, const struct schedule_work *work, const struct schedule_machine *machine)
{
        struct sharing_of of = { work, is_apart(op), { BY_ROWS, 1 }, BY_ROWS, target_memory_speed(machine->target), 0 };
        if (machine->threads > 1) {
                const struct type *y = op_result(op)->type;
                of.result = (double)(type_elements(y) * element_info[y->element].bytes);
                of.made = made(op_operand(op, 0), machine->threads);
                of.wanted = wanted(op);
        }
        double best = shared_cycles(&of, 1, 1);
        s->row_tasks = s->panel_tasks = 1;
        for (int rows = machine->threads; rows >= 1 && machine->threads > 1; rows--) {
                int panels = machine->threads / rows;
                double cycles = shared_cycles(&of, rows, panels);
                if (machine->threads % rows || cycles >= best)
                        continue;
                best = cycles;
                s->row_tasks = rows;
                s->panel_tasks = panels;
        }
        return best;
}
