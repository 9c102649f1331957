/* SPDX-License-Identifier: MIT */
/* Layers of machines that activate: inputs and results lie in the machine's memory whole, in their
 * layout outside, so that a value that the next layer reads need never leave
 * (engines/stream/resident.c).
 *
 *     load x (and what is added) where it is not there yet
 *     for each block of outputs:  load its parameters
 *             for each tile of positions:
 *                     for each block of inputs, each tap:
 *                             read the block of weights; sums = or += inputs * weights
 *                     bytes = activate(sums)
 *     store y where other statements need it */
#include "engines/stream/streams_whole.h"

/* ---- activations ---- */

static struct stream_part *open_part(struct stream_part *parts, int *count)
{
        parts[*count] =
                (struct stream_part){ .activation = { .low = INT32_MIN, .high = INT32_MAX } };
        return &parts[(*count)++];
}

/* An activation has reached one of these phases: it adds, then shifts, then bounds. */
enum phase { ADDS, SHIFTS, BOUNDS, OVER };

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
        return x < low ? low : x > high ? high : x;
}

int stream_parts(const struct layer *l, struct stream_part parts[STREAM_STEPS])
{
        int count = 0;
        enum phase phase = OVER;
        for (const struct step *s = l->steps; s < l->steps + l->step_count; s++) {
                const enum phase wants = s->op == LOOP_ADD   ? ADDS
                                         : s->op == LOOP_SHR ? SHIFTS
                                                             : BOUNDS;
                if (s->fixed)
                        return 0;
                if (s->joined) {
                        open_part(parts, &count)->joined = s;
                        phase = OVER;
                        continue;
                }
                struct stream_part *p = phase == OVER ? NULL : &parts[count - 1];
                const bool again = p && ((wants == ADDS && s->added && p->added) ||
                                         (wants == SHIFTS && phase == SHIFTS));
                if (!p || wants < phase || again)
                        p = open_part(parts, &count);
                phase = wants;
                struct loop_activation *a = &p->activation;
                if (s->added) {
                        p->added = s->added;
                } else if (wants == ADDS) {
                        a->add += s->immediate;
                        if (a->add < INT32_MIN || a->add > INT32_MAX)
                                return 0;
                } else if (s->shifts) {
                        p->shifts = s->shifts;
                        a->lanes = true;
                        if (!p->added)
                                /* Amounts of a shift stand after the numbers that are added, so
                                 * there must be some. */
                                return 0;
                } else if (wants == SHIFTS) {
                        a->shift = s->immediate;
                } else if (s->op == LOOP_MAX) {
                        a->low = clamp(a->low, s->immediate, INT32_MAX);
                        a->high = clamp(a->high, s->immediate, INT32_MAX);
                } else {
                        a->low = clamp(a->low, INT32_MIN, s->immediate);
                        a->high = clamp(a->high, INT32_MIN, s->immediate);
                }
        }
        const struct loop_activation *last = count ? &parts[count - 1].activation : NULL;
        return last && !parts[count - 1].joined && last->low >= INT8_MIN && last->high <= INT8_MAX
                       ? count
                       : 0;
}

/* ---- shorthands ---- */

/* Opens a loop over tiles; *count is what is left after *at, up to `most`. */
static struct loop_expr *tiles(struct layer *l, const char *name, int64_t extent, int64_t most,
                               struct loop_expr **count)
{
        struct loop_expr *at =
                emit_for(l->e, name, number(l, 0), number(l, extent <= most ? 1 : extent));
        if (extent > most)
                emit_loop(l->e, most, false);
        *count = extent <= most ? number(l, extent)
                                : emit_let(l->e, name,
                                           emit_op(l->e, LOOP_MIN, number(l, most),
                                                   emit_op(l->e, LOOP_SUB, number(l, extent), at)));
        return at;
}

/* ---- values ---- */

/* Allocates the inputs' memory for all of a parameter, and loads it (`loads`). */
static struct loop_buffer *whole(struct layer *l, const char *name, const struct loop_buffer *b,
                                 bool loads)
{
        const int64_t elements = b->extent / l->lanes_in;
        struct loop_buffer *in = memory(l, name, l->m->inputs, elements);
        if (loads)
                loop_transfer(l->e->arena, here(l), place(in, number(l, 0)),
                              place((struct loop_buffer *)(uintptr_t)b, number(l, 0)), number(l, 1),
                              number(l, elements), 0);
        return in;
}

/* Returns the index of a value's number at (block, row, column). */
static struct loop_expr *value_at(struct layer *l, const struct access *a, struct loop_expr *block,
                                  struct loop_expr *row, struct loop_expr *column)
{
        const int rank = op_result(l->op)->type->rank;
        struct loop_expr *at = plus(l, number(l, a->offset), times(l, block, a->stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, row, a->stride[2]));
        return plus(l, at, times(l, column, a->stride[rank - 2]));
}

/* ---- a tile ---- */

static struct loop_expr *sum_at(struct layer *l, struct loop_expr *row, struct loop_expr *column)
{
        return times(l, plus(l, emit_op(l->e, LOOP_MUL, row, l->columns), column), l->lanes_out);
}

/* Transfers the weight block of that number, which comes next. */
static struct loop_buffer *next_weights(struct layer *l, const struct blocks *from,
                                        struct loop_expr *block)
{
        struct loop_buffer *w = memory(l, "w", l->m->weights, 1);
        struct loop_expr *at = from->single ? number(l, 0) : times(l, block, l->weight);
        loop_transfer(l->e->arena, here(l), place(w, number(l, 0)), place(from->buffer, at),
                      number(l, 1), number(l, 1), 0);
        return w;
}

/* Writes sums = or += a block of inputs by one of weights, for each position; (down, along) is the
 * tap. */
static void multiply(struct layer *l, const struct access *x, struct loop_buffer *inputs,
                     struct loop_expr *block, struct loop_expr *down, struct loop_expr *along,
                     const int64_t steps[2], struct loop_buffer *weights, bool replaces)
{
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns);
        struct loop_expr *x_row = plus(l, times(l, plus(l, l->row, row), steps[0]), down),
                         *x_column = plus(l, times(l, plus(l, l->column, column), steps[1]), along);
        struct loop_stmt *s =
                loop_product(l->e->arena, here(l), place(l->sums, sum_at(l, row, column)),
                             place(inputs, value_at(l, x, block, x_row, x_column)),
                             place(weights, number(l, 0)));
        s->code = replaces;
        close_loops(l, 2);
}

static void write_products(struct layer *l)
{
        const struct stream_work *w = &l->work;
        const int64_t inputs = w->apart ? 1 : w->inputs;
        /* One block for all stays in the array. */
        struct loop_buffer *single = l->w.single ? next_weights(l, &l->w, NULL) : NULL;
        struct loop_expr *input = loop(l, "input", number(l, inputs)),
                         *down = loop(l, "window_row", number(l, w->window[0])),
                         *along = loop(l, "window_column", number(l, w->window[1]));
        struct loop_expr *tap = plus(
                l, times(l, plus(l, times(l, input, w->window[0]), down), w->window[1]), along);
        struct loop_expr *block =
                plus(l, times(l, l->output, inputs * w->window[0] * w->window[1]), tap);
        struct loop_buffer *weights = single ? single : next_weights(l, &l->w, block);
        struct loop_expr *read = w->apart ? l->output : input, *y = times(l, down, w->dilations[0]),
                         *x = times(l, along, w->dilations[1]);
        emit_if(l->e, emit_op(l->e, LOOP_EQ, tap, number(l, 0)));
        multiply(l, &l->x, l->inputs, read, y, x, w->strides, weights, true);
        close_loops(l, 1);
        emit_if(l->e, emit_op(l->e, LOOP_NE, tap, number(l, 0)));
        multiply(l, &l->x, l->inputs, read, y, x, w->strides, weights, false);
        close_loops(l, 4);
}

/* An epilogue needs these beside sums. */
struct whole {
        struct stream_part parts[STREAM_STEPS];
        int count;
        /* These lie outside. */
        struct loop_buffer *added[STREAM_STEPS], *shifts[STREAM_STEPS];
        struct loop_buffer *others[STREAM_STEPS], *y;   /* These lie in the inputs' memory. */
        /* The rows of parameters of each part begin at these numbers; there are row_count rows. */
        int64_t rows[STREAM_STEPS], row_count;
        struct loop_buffer *parameters;                 /* It holds the parameters of a block of
                                                         * outputs. */
};

static void activate(struct layer *l, const struct whole *a, int k)
{
        const struct stream_part *p = &a->parts[k];
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns),
                         *at = sum_at(l, row, column);
        struct loop_place to = place(l->sums, at), none = { NULL, NULL };
        if (k == a->count - 1)
                to = place(a->y, value_at(l, &l->y, l->output, plus(l, l->row, row),
                                          plus(l, l->column, column)));
        loop_activate(l->e->arena, here(l), to, place(l->sums, at),
                      p->added ? place(a->parameters, number(l, a->rows[k] * l->lanes_out)) : none,
                      &p->activation);
        close_loops(l, 2);
}

static void join(struct layer *l, const struct whole *a, int k)
{
        static const int64_t ones[2] = { 1, 1 };
        emit_if(l->e, loop_int(l->e->arena, E_BOOL, 1));
        struct loop_buffer *w = next_weights(l, &a->parts[k].joined->weights, l->output);
        multiply(l, &a->parts[k].joined->x, a->others[k], l->output, number(l, 0), number(l, 0),
                 ones, w, false);
        close_loops(l, 1);
}

static void load_parameters(struct layer *l, struct whole *a)
{
        if (!a->row_count)
                return;
        a->parameters = memory(l, "parameters", l->m->parameters, a->row_count);
        for (int k = 0; k < a->count; k++) {
                struct loop_buffer *const rows[] = { a->added[k], a->shifts[k] };
                for (int i = 0; i < 2; i++)
                        if (rows[i])
                                loop_transfer(l->e->arena, here(l),
                                              place(a->parameters,
                                                    number(l, (a->rows[k] + i) * l->lanes_out)),
                                              place(rows[i], times(l, l->output, l->lanes_out)),
                                              number(l, 1), number(l, 1), 0);
        }
}

static void write_tiles(struct layer *l, struct whole *a)
{
        const struct schedule_stream *s = &l->schedule;
        l->output = loop(l, "output", number(l, l->work.outputs));
        load_parameters(l, a);
        l->row = tiles(l, "rows", l->work.extent[0], s->tile_rows, &l->rows);
        l->column = tiles(l, "columns", l->work.extent[1], s->tile_columns, &l->columns);
        l->sums = memory(l, "sums", l->m->sums, (int64_t)s->tile_rows * s->tile_columns);
        write_products(l);
        for (int k = 0; k < a->count; k++)
                (a->parts[k].joined ? join : activate)(l, a, k);
        close_loops(l, 3);
}

/* ---- around the result ---- */

/* Stores the pad's number to `rows` by `columns` positions, from row and column of the padded
 * result on, in every block: an activation between equal bounds makes it, whatever the sums are. */
static void fill(struct layer *l, const struct whole *a, int64_t row, int64_t column, int64_t rows,
                 int64_t columns, int64_t value)
{
        const struct type *t = op_result(l->pad)->type;
        const int64_t width = type_extent(t, t->rank - 2),
                      height = t->rank == 5 ? type_extent(t, 2) : 1, lanes = l->lanes_out;
        if (!rows || !columns)
                return;
        struct loop_buffer *sums = memory(l, "any", l->m->sums, 1);
        struct loop_expr *block = loop(l, "block", number(l, type_extent(t, 1))),
                         *y = loop(l, "row", number(l, rows)),
                         *x = loop(l, "column", number(l, columns));
        struct loop_expr *at =
                plus(l, times(l, block, height * width * lanes), times(l, y, width * lanes));
        at = plus(l, plus(l, at, times(l, x, lanes)), number(l, (row * width + column) * lanes));
        loop_activate(l->e->arena, here(l), place(a->y, at), place(sums, number(l, 0)),
                      (struct loop_place){ NULL, NULL },
                      &(struct loop_activation){ .low = value, .high = value });
        close_loops(l, 3);
}

static void write_around(struct layer *l, const struct whole *a)
{
        const struct type *to = op_result(l->pad)->type, *from = op_result(l->op)->type;
        const int rank = to->rank;
        const int64_t width = type_extent(to, rank - 2),
                      height = rank == 5 ? type_extent(to, 2) : 1,
                      rows = rank == 5 ? type_extent(from, 2) : 1,
                      columns = type_extent(from, rank - 2), start = l->y.offset / l->lanes_out,
                      top = start / width, first = start % width;
        double value;
        value_is_splat(op_operand(l->pad, 1), &value);
        /* The block is separate, so that its memory is free after it. */
        emit_if(l->e, loop_int(l->e->arena, E_BOOL, 1));
        fill(l, a, 0, 0, top, width, (int64_t)value);
        fill(l, a, top + rows, 0, height - top - rows, width, (int64_t)value);
        fill(l, a, top, 0, rows, first, (int64_t)value);
        fill(l, a, top, first + columns, rows, width - first - columns, (int64_t)value);
        close_loops(l, 1);
}

void stream_write_whole(struct layer *l)
{
        struct whole a = { 0 };
        a.count = stream_parts(l, a.parts);
        for (int k = 0; k < a.count; k++) {
                const struct stream_part *p = &a.parts[k];
                a.rows[k] = a.row_count;
                a.row_count += (p->added != NULL) + (p->shifts != NULL);
                a.added[k] =
                        p->added ? emit_parameter(l->e, (struct value *)(uintptr_t)p->added) : NULL;
                a.shifts[k] = p->shifts ? emit_parameter(l->e, (struct value *)(uintptr_t)p->shifts)
                                        : NULL;
        }
        l->inputs = whole(l, "x", l->xs, true);
        for (int k = 0; k < a.count; k++)
                if (a.parts[k].joined) {
                        const struct loop_buffer *other = a.parts[k].joined->buffer;
                        a.others[k] = other == l->xs ? l->inputs : whole(l, "other", other, true);
                }
        a.y = whole(l, "y", l->ys, false);
        if (l->pad)
                write_around(l, &a);
        write_tiles(l, &a);
        loop_transfer(l->e->arena, here(l), place(l->ys, number(l, 0)), place(a.y, number(l, 0)),
                      number(l, 1), number(l, l->ys->extent / l->lanes_out), 0);
}
