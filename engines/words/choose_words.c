/* SPDX-License-Identifier: MIT */
/* Chooses the schedule of a contraction by words: the register tile as for vectors, and strips of
 * one row of tiles, so that what is decoded takes little memory; where memory is the goal, strips
 * of a part of the row. Floats are computed in the target's wide vectors, and so are depthwise
 * convolutions, a channel in each lane, where channels are whole ones. */
#include "base/size.h"
#include "cost/packed_cost.h"
#include "engines/vector/lanes_cost.h"
#include "engines/vector/vector_engine.h"
#include "engines/words/words_engine.h"
#include "ir/tensor/packed_multiply.h"

/* Returns the fewest tiles of a row that a strip may have within the percents of time that may be
 * spent: what neighbouring strips both decode, and to begin each panel again. 0: all tiles. */
static int strip_columns(const struct op *op, const struct schedule_registers *s,
                         const struct schedule_machine *machine)
{
        const struct target *target = target_of_width(machine->target, s->wide);
        const struct packed_work work = packed_work_of(op, target);
        if (work.spatial != 2 || s->flat)
                return 0;
        const int64_t stride = op_ints(op, "strides", NULL)[1],
                      reach = (work.window[1] - 1) * op_ints(op, "dilations", NULL)[1] + 1,
                      tiles = divide_up(work.extent[1], s->columns),
                      again = reach > stride ? reach - stride : 0;
        const double position = packed_cost(&work, s, target).cycles /
                                (double)(work.extent[0] * work.extent[1] * work.images),
                     more = packed_strip(&work, again, target);
        for (int64_t part = 1; part < tiles; part++)
                if (100 * more <= machine->strip_percent * position * (double)(part * s->columns))
                        return (int)part;
        return 0;
}

/* Returns the words of an iteration where a word is a vector: up to five, as many as divide a row
 * of the window, which is one loop where its words lie side by side, or its rows of one word. */
static int iteration(const struct op *op, const struct multiply *m)
{
        enum { MOST = 5 };
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int count;
        const int64_t *dilations = op_ints(op, "dilations", &count),
                      inner = type_extent(w, w->rank - 3), window = type_extent(w, w->rank - 4);
        const bool near = op_is(op_operand(op, 0), OP_neighbours),
                   joined = near ? dilations[count - 1] == m->channels : dilations[count - 1] == 1;
        int64_t words = joined ? inner * window : inner > 1 ? inner : window;
        if (words == 1 && x->rank > 4)
                words = type_extent(w, w->rank - 5);
        int best = MOST;
        while (words % best)
                best--;
        return best;
}

struct schedule words_choose(const struct op *op, const struct schedule_machine *machine,
                             struct arena *arena)
{
        struct schedule chosen = packed_choose(op, machine, arena);
        struct schedule_registers *s = &chosen.registers;
        const struct target *target = target_of_width(machine->target, s->wide);
        const struct multiply *m = packed_multiply(op, target, SUMS_IN_VECTORS);
        s->prefetch = 0;
        const bool copied = m && op_is(op_operand(op, 0), OP_pad);
        if (copied || (m && multiply_takes_strips(m))) {
                s->pack = m->x.decode != NULL;
                s->strip = s->pack || copied;
                if (s->strip)
                        s->strip_columns = strip_columns(op, s, machine);
        }
        if (m && multiply_by_vectors(m))
                s->unroll = iteration(op, m);
        return chosen;
}

/* Returns the columns of a tile of one row that take least for a position, where registers hold a
 * row of the window, or a part of it, the sums, x, and a product. A window of few rows is
 * unrolled. */
static struct schedule_registers wide_tile(const struct op *op, const struct target *wide)
{
        enum { MOST = 4, ROWS_MOST = 3, OTHERS = 2 };
        const struct type *y = op_result(op)->type, *w = op_operand(op, 1)->type;
        const int64_t *strides = op_ints(op, "strides", NULL), window = type_extent(w, w->rank - 2);
        const int spatial = y->rank - 3;
        const struct lanes_shape shape = {
                .rows = 1,
                .columns = type_extent(y, y->rank - 2),
                .stride = { spatial > 1 ? strides[spatial - 2] : 1, strides[spatial - 1] },
                .window = { spatial > 1 ? type_extent(w, w->rank - 3) : 1, window }
        };
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers, best = s;
        s.wide = 1;
        s.unroll = (int)(window < MOST ? window : MOST);
        double least = 0;
        for (s.columns = 1; s.columns <= shape.columns &&
                            s.columns + s.unroll + OTHERS <= target_vector_registers(wide);
             s.columns++) {
                const int64_t tiles = divide_up(shape.columns, s.columns);
                const double cost = lanes_cost(&shape, 1, s.columns, false, false, wide) *
                                    (double)(tiles * s.columns);
                if (least > 0 && cost >= least)
                        continue;
                least = cost;
                best = s;
        }
        if (best.unroll == window && shape.window[0] <= ROWS_MOST)
                best.unroll *= (int)shape.window[0];
        return best;
}

/* Unrolls the whole window where the target says so. */
static struct schedule with_window(struct schedule s, const struct op *op,
                                   const struct target *target)
{
        const struct type *w = op_operand(op, 1)->type;
        const int64_t window = type_extent(w, w->rank - 2) *
                               (w->rank > 3 ? type_extent(w, w->rank - 3) : 1);
        if (lanes_unroll_window(window, target) && window > s.registers.unroll)
                s.registers.unroll = (int)window;
        return s;
}

struct schedule words_choose_lanes(const struct op *op, const struct schedule_machine *machine,
                                   struct arena *arena)
{
        const struct target *wide = machine->target->wide;
        const struct type *y = op_result(op)->type;
        if (!wide || !op_is_static(op) ||
            type_extent(y, y->rank - 1) % target_lanes(wide, op_accumulator(op)))
                return with_window(lanes_choose(op, machine, arena), op, machine->target);
        return schedule_of_registers(wide_tile(op, wide), NULL);
}
