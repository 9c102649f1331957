/* SPDX-License-Identifier: MIT */
/* These are the moves that --tune tries: each changes one or two words of a schedule. */
#include "cost/core.h"
#include "kernels/kernels.h"
#include "schedule/schedule_choice.h"

/* A move sets the word to `value`, adds `value` to it, halves it `value` times, or swaps the roles
 * of rows and panels. */
struct move { enum schedule_word word; enum { SET, ADD, HALVE, SWAP } how; int value; };
static const struct move moves[] = {
        { WORD_prefetch, SET, 0 }, { WORD_prefetch, SET, 1 }, { WORD_prefetch, SET, 2 },
        { WORD_prefetch, SET, 4 }, { WORD_unroll, SET, 2 }, { WORD_unroll, SET, 8 },
        { WORD_unroll, SET, 1 }, { WORD_unroll, SET, 16 }, { WORD_ahead, SET, 0 }, { WORD_ahead, SET, 1 },
        { WORD_split, SET, 1 }, { WORD_split, SET, 2 },
        { WORD_columns, ADD, -1 }, { WORD_columns, ADD, -2 }, { WORD_columns, HALVE, 1 },
        { WORD_columns, ADD, 1 }, { WORD_rows, ADD, 1 }, { WORD_rows, ADD, -1 },
        { WORD_vectors, HALVE, 1 }, { WORD_wide, SET, 0 }, { WORD_wide, SET, 1 }, { WORD_strip, SET, 0 }, { WORD_strip, SET, 4 },
        { WORD_strip, HALVE, 1 }, { WORD_tile_batch, HALVE, 1 }, { WORD_flat, SET, 0 },
        { WORD_pack, SET, 0 }, { WORD_pack, SET, 1 }, { WORD_row_tasks, SWAP, 0 },
};
const int schedule_move_count = sizeof moves / sizeof *moves;

/* Do sums, weights and one input stay in registers? */
static bool is_sound(const struct op *op, const struct schedule_registers *s,
                     const struct target *target)
{
        int registers = target_vector_registers(target);
        if (s->rows < 1 || s->columns < 1 || s->vectors < 1 || s->prefetch < 0 ||
            (s->pack && !schedule_has_word(op_info[op->code].name, WORD_pack)))
                return false;
        if (!schedule_has_word(op_info[op->code].name, WORD_vectors))
                return s->rows * s->columns + 2 <= registers;
        return s->rows * s->columns * s->vectors * s->split + s->vectors + 1 <= registers;
}

/* Returns the extent of the result, at its bound where a run gives it. */
static int64_t extent_of(const struct op *op, int d)
{
        return dim_bound(op->region->function->module, op_result(op)->type->dims[d]);
}

/* Returns the rows of tiles that strips consist of. */
static int64_t row_tiles(const struct op *op, const struct schedule_registers *s)
{
        const struct type *y = op_result(op)->type;
        bool one = s->flat || y->rank == 4;
        int64_t rows = one ? 1 : extent_of(op, y->rank - 3);
        for (int d = 2; d < y->rank - 1 && one; d++)
                rows *= extent_of(op, d);
        int size = one ? s->columns : s->rows;
        return (rows + size - 1) / size;
}

/* Does the word mean anything for this operation? A strip of all rows is no strip, and without rows
 * there are no strips. */
static bool is_followed(const struct op *op, enum schedule_word word,
                        const struct schedule_registers *s)
{
        const struct type *y = op_result(op)->type;
        if (!schedule_has_word(op_info[op->code].name, word))
                return false;
        if (word == WORD_rows || word == WORD_flat)
                return y->rank > 4 && (word == WORD_flat || !s->flat) &&
                       extent_of(op, y->rank - 3) > 1;
        return word != WORD_strip || s->strip < row_tiles(op, s);
}

bool schedule_move(const struct op *op, const struct schedule_machine *machine, int move,
                   struct schedule *schedule)
{
        const struct move *m = &moves[move];
        struct schedule_registers *s = &schedule->registers, before = *s;
        const struct lowering *lowering = kernels_lowering(op, machine->target);
        if (lowering && lowering->candidate)
                return lowering->candidate(op, machine, move, schedule);
        if (schedule->kind != SCHEDULE_registers)
                return false;
        if (m->how == SWAP) {
                s->row_tasks = before.panel_tasks;
                s->panel_tasks = before.row_tasks;
                return s->row_tasks != before.row_tasks;
        }
        int *word = schedule_word(s, m->word), old = *word;
        const struct target *target =
                target_of_width(machine->target, m->word == WORD_wide ? m->value : s->wide);
        *word = m->how == SET ? m->value : m->how == ADD ? old + m->value : old >> m->value;
        if (m->word == WORD_ahead && m->value && !core_waits(target))
                /* Where loads do not wait for each other, C compilers order them as they like. */
                return false;
        if ((m->word == WORD_wide && !machine->target->wide) || *word == old ||
            (m->how == HALVE && !*word) || !is_followed(op, m->word, s))
                return false;
        if (m->word == WORD_wide && s->wide && s->vectors > 1)
                s->vectors /= 2;
        /* The registers that sums leave free go to positions. */
        if (m->word == WORD_vectors || m->word == WORD_wide)
                s->columns = (target_vector_registers(target) - s->vectors - 1) /
                             s->vectors / s->rows / s->split;
        return is_sound(op, s, target);
}
