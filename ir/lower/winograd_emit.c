/* SPDX-License-Identifier: MIT */
#include "ir/lower/winograd_emit.h"

#include "ir/lower/lower_emit.h"

enum { VALUES_MAX = WINOGRAD_SIZE_MAX + 12 };

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
static unsigned needed_for(const struct winograd_line *line, int results)
{
        unsigned needed = 0;
        for (int i = 0; i < results; i++)
                needed |= 1u << line->result[i];
        for (int i = line->step_count - 1; i >= 0; i--)
                if (needed >> (line->count + i) & 1)
                        needed |= 1u << line->steps[i].a | 1u << line->steps[i].b;
        return needed;
}

static void write_line(struct emit *e, const struct winograd_line *line, unsigned needed,
                       bool fused, struct loop_expr **values)
{
        for (int i = 0; i < line->step_count; i++)
                if (needed >> (line->count + i) & 1)
                        values[line->count + i] =
                                emit_let(e, "t", write_step(e, &line->steps[i], values, fused));
}

bool winograd_emit(struct emit *e, const struct winograd_line *line,
                   const struct winograd_values *square)
{
        struct loop_expr *columns[WINOGRAD_SIZE_MAX][VALUES_MAX], *values[VALUES_MAX];
        unsigned in_column = needed_for(line, square->rows),
                 in_row = needed_for(line, square->columns);
        for (int j = 0; j < line->count; j++) {
                for (int i = 0; i < line->count; i++)
                        if (in_row >> j & 1 && in_column >> i & 1)
                                columns[j][i] =
                                        emit_let(e, "x", square->load(square->context, i, j));
                if (in_row >> j & 1)
                        write_line(e, line, in_column, square->fused, columns[j]);
        }
        for (int i = 0; i < square->rows; i++) {
                for (int j = 0; j < line->count; j++)
                        if (in_row >> j & 1)
                                values[j] = columns[j][line->result[i]];
                write_line(e, line, in_row, square->fused, values);
                for (int j = 0; j < square->columns; j++)
                        if (!square->store(square->context, i, j, values[line->result[j]]))
                                return false;
        }
        return true;
}
