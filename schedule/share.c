/* How threads share a contraction: rows of tiles, or panels, or both.
 *
 *      thread      runs the largest share of the tiles
 *      weights     are read by every thread that has rows of its own, whole where panels are not shared
 *      operand     where panels are shared, most of what a thread reads was written by others, and lies in their caches
 *      gathered    what is put into strips first is so by every thread for the rows it has
 *      hand-off    to the others, and back
 *
 * Whatever takes the slowest thread least; what is soon done runs on one. */
#include "schedule/stage.h"

#define HAND_OFF 2000.0                 /* cycles, to threads that spin */
#define GATHERED 4.0                    /* bytes of a strip made in a cycle */

static double share_of(int64_t count, int64_t threads) { return (double)divide_up(count, threads) / (double)count; }

static double shared_cycles(const struct schedule_work *work, const struct schedule_machine *machine, int rows, int panels)
{
        double speed = target_memory_speed(machine->target), others = panels > 1 ? 1 - 1.0 / (rows * panels) : 0;
        double cycles = work->cycles * share_of(work->rows, rows) * share_of(work->panels, panels);
        cycles += work->gathered / GATHERED * share_of(work->rows, rows);
        return cycles + (work->weights / panels + work->operand / rows * others) / speed + (rows * panels > 1 ? HAND_OFF : 0);
}

void schedule_share(struct schedule *s, const struct schedule_work *work, const struct schedule_machine *machine)
{
        double best = shared_cycles(work, machine, 1, 1);
        s->row_tasks = s->panel_tasks = 1;
        for (int rows = machine->threads; rows >= 1 && machine->threads > 1; rows--) {
                int panels = machine->threads / rows;
                double cycles = shared_cycles(work, machine, rows, panels);
                if (machine->threads % rows || cycles >= best)
                        continue;
                best = cycles;
                s->row_tasks = rows;
                s->panel_tasks = panels;
        }
}
