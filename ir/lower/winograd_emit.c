/* SPDX-License-Identifier: MIT */
#include "ir/lower/winograd_emit.h"

#include "ir/lower/lower_emit.h"

static struct loop_expr *write_step(struct emit *e, const struct winograd_step *step,
                                    struct loop_expr **values, bool fused)
{
        struct arena *arena = emit_arena(e);
        struct loop_expr *a = values[step->a], *b = values[step->b];
        if (step->k == 1 || step->k == -1)
                return emit_op(e, step->k > 0 ? LOOP_ADD : LOOP_SUB, a, b);
        struct loop_expr *k =
                loop_splat(arena, b->type.lanes, loop_float(arena, b->type.element, step->k));
        return fused ? loop_op(arena, LOOP_FMA, k, b, a)
                     : emit_op(e, LOOP_ADD, a, emit_op(e, LOOP_MUL, k, b));
}

/* Returns the values, a bit each, that the first results are made of. */
static uint64_t needed_for(const struct winograd_line *line, int results)
{
        uint64_t needed = 0;
        for (int i = 0; i < results; i++)
                needed |= (uint64_t)1 << line->result[i];
        for (int i = line->step_count - 1; i >= 0; i--)
                if (needed >> (line->count + i) & 1)
                        needed |= (uint64_t)1 << line->steps[i].a | (uint64_t)1 << line->steps[i].b;
        return needed;
}

static void write_line(struct emit *e, const struct winograd_line *line, uint64_t needed,
                       bool fused, struct loop_expr **values)
{
        for (int i = 0; i < line->step_count; i++)
                if (needed >> (line->count + i) & 1)
                        values[line->count + i] =
                                emit_let(e, "t", write_step(e, &line->steps[i], values, fused));
}

bool winograd_emit(struct emit *e, const struct winograd_values *square)
{
        const struct winograd_line *down = square->down, *across = square->across;
        struct loop_expr *columns[WINOGRAD_SIZE_MAX][WINOGRAD_VALUES_MAX],
                *values[WINOGRAD_VALUES_MAX];
        const uint64_t in_column = needed_for(down, square->rows),
                       in_row = needed_for(across, square->columns);
        for (int j = 0; j < across->count; j++) {
                if (!(in_row >> j & 1))
                        continue;
                for (int i = 0; i < down->count; i++)
                        if (in_column >> i & 1)
                                columns[j][i] =
                                        emit_let(e, "x", square->load(square->context, i, j));
                write_line(e, down, in_column, square->fused, columns[j]);
        }
        for (int i = 0; i < square->rows; i++) {
                for (int j = 0; j < across->count; j++)
                        if (in_row >> j & 1)
                                values[j] = columns[j][down->result[i]];
                write_line(e, across, in_row, square->fused, values);
                for (int j = 0; j < square->columns; j++)
                        if (!square->store(square->context, i, j, values[across->result[j]]))
                                return false;
        }
        return true;
}
