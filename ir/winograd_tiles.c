/* SPDX-License-Identifier: MIT */
#include "ir/winograd_tiles.h"

#include <stddef.h>

#include "ir/lower_emit.h"

static const struct winograd table[] = {
        { .tile = 2,
          .size = 4,
          .input = { 4,
                     4,
                     { { 0, 2, -1 }, { 1, 2, 1 }, { 2, 1, -1 }, { 1, 3, -1 } },
                     4,
                     { 4, 5, 6, 7 } },
          .output = { 4, 2, { { 0, 1, 1 }, { 4, 2, 1 }, { 1, 2, -1 }, { 6, 3, -1 } }, 4, { 5, 7 } },
          .window = { { 1, 0, 0 }, { .5, .5, .5 }, { .5, -.5, .5 }, { 0, 0, 1 } } },
        { .tile = 4,
          .size = 6,
          .input = { 6,
                     6,
                     { { 4, 2, -5 },
                       { 6, 0, 4 }, /* 4 x0 - 5 x2 + x4 */
                       { 4, 2, -4 },
                       { 3, 1, -4 },
                       { 8, 9, 1 },
                       { 8, 9, -1 }, /* (x4 - 4 x2) +- (x3 - 4 x1) */
                       { 4, 2, -1 },
                       { 3, 1, -1 },
                       { 12, 13, 2 },
                       { 12, 13, -2 }, /* (x4 - x2) +- 2 (x3 - x1) */
                       { 5, 3, -5 },
                       { 16, 1, 4 } }, /* 4 x1 - 5 x3 + x5 */
                     12,
                     { 7, 10, 11, 14, 15, 17 } },
          .output = { 6,
                      4,
                      { { 1, 2, 1 },
                        { 1, 2, -1 },
                        { 3, 4, 1 },
                        { 3, 4, -1 }, /* s, d = x1 +- x2; p, q = x3 +- x4 */
                        { 0, 6, 1 },
                        { 10, 8, 1 }, /* x0 + s + p */
                        { 7, 9, 2 },
                        { 6, 8, 4 }, /* d + 2 q, s + 4 p */
                        { 7, 9, 8 },
                        { 14, 5, 1 } }, /* d + 8 q + x5 */
                      10,
                      { 11, 12, 13, 15 } },
          .window = { { 1. / 4, 0, 0 },
                      { -1. / 6, -1. / 6, -1. / 6 },
                      { -1. / 6, 1. / 6, -1. / 6 },
                      { 1. / 24, 1. / 12, 1. / 6 },
                      { 1. / 24, -1. / 12, 1. / 6 },
                      { 0, 0, 1 } } },
};

const struct winograd *winograd_find(int64_t tile)
{
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                if (table[i].tile == tile)
                        return &table[i];
        return NULL;
}

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

/* the values, a bit each, that the first results are made of */
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

double winograd_flops(const struct winograd_line *line)
{
        double flops = 0;
        for (int i = 0; i < line->step_count; i++)
                flops += line->steps[i].k == 1 || line->steps[i].k == -1 ? 1 : 2;
        return flops * (line->count + line->results);
}
