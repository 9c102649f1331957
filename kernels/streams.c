/* SPDX-License-Identifier: MIT */
/* Kernels that the target's machine runs: a convolution of bytes, and what shifts and bounds its sums, as a stream (ir/stream.h) that
 * follows the words of its schedule for tiles.
 *
 *     for each tile of results:
 *             sums = 0
 *             for each share of the blocks of inputs:  load inputs; load weights; sums += inputs * weights
 *             operations of the epilogue on sums
 *             store sums
 *
 * Weights, or inputs, whose blocks all fit are loaded for the first tile that needs them, share by share, and stay. */
#include "kernels/streams_whole.h"

/* ---- shorthands ---- */

static struct loop_expr *number(struct layer *l, int64_t value) { return emit_int(l->e, value); }
static struct loop_expr *plus(struct layer *l, struct loop_expr *a, struct loop_expr *b) { return emit_op(l->e, LOOP_ADD, a, b); }
static struct loop_expr *product(struct layer *l, struct loop_expr *a, struct loop_expr *b) { return emit_op(l->e, LOOP_MUL, a, b); }
static struct loop_expr *times(struct layer *l, struct loop_expr *a, int64_t b) { return emit_op_int(l->e, LOOP_MUL, a, b); }
static struct loop_block *here(struct layer *l) { return l->e->scope->block; }

/* what is left of an extent behind `at`, up to `most` */
static struct loop_expr *left(struct layer *l, const char *name, int64_t extent, struct loop_expr *at, int64_t most)
{
        if (extent % most == 0 || extent < most)
                return number(l, extent < most ? extent : most);
        return emit_let(l->e, name, emit_op(l->e, LOOP_MIN, number(l, most), emit_op(l->e, LOOP_SUB, number(l, extent), at)));
}

/* a loop over tiles */
static struct loop_expr *loop_tiles(struct layer *l, const char *name, int64_t extent, int64_t size)
{
        struct loop_expr *at = emit_for(l->e, name, number(l, 0), number(l, extent <= size ? 1 : extent));
        if (extent > size)
                emit_loop(l->e, size, false);
        return at;
}

static struct loop_expr *loop(struct layer *l, const char *name, struct loop_expr *end)
{
        return emit_for(l->e, name, number(l, 0), end);
}

static struct loop_buffer *memory(struct layer *l, const char *name, int which, int64_t elements)
{
        return loop_memory_alloc(l->e->arena, here(l), emit_name(l->e, name), l->m, which, elements);
}

static struct loop_place place(struct loop_buffer *b, struct loop_expr *at) { return (struct loop_place){ b, at }; }

/* ---- a tile ---- */

/* its sum at block, row and column, in numbers */
static struct loop_expr *sum_at(struct layer *l, struct loop_expr *block, struct loop_expr *row, struct loop_expr *column)
{
        struct loop_expr *at = plus(l, product(l, block, l->rows), row);
        return times(l, plus(l, product(l, at, l->columns), column), l->lanes_out);
}

/* loops over blocks from..to of the tile's sums; *at: a place in them, *block */
static void open_sums(struct layer *l, struct loop_expr *from, struct loop_expr *to, struct loop_expr **block, struct loop_expr **at)
{
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns);
        *block = emit_for(l->e, "block", from, to);
        *at = sum_at(l, *block, row, column);
}

static void close(struct layer *l, int count)
{
        while (count--)
                emit_end(l->e);
}

static void reset_sums(struct layer *l)
{
        struct loop_expr *block, *at;
        open_sums(l, number(l, 0), l->outputs, &block, &at);
        loop_reset(l->e->arena, here(l), place(l->sums, at));
        close(l, 3);
}

static void apply(struct layer *l, enum loop_opcode op, int64_t immediate, struct loop_expr *from, struct loop_expr *to)
{
        struct loop_expr *block, *at;
        open_sums(l, from, to, &block, &at);
        loop_apply_immediate(l->e->arena, here(l), op, place(l->sums, at), immediate);
        close(l, 3);
}

static void shift(struct layer *l, int64_t by, struct loop_expr *from, struct loop_expr *to)
{
        const int64_t most = l->m->limits.shift;
        for (; by > most; by -= most)
                apply(l, LOOP_SHR, most, from, to);
        if (by)
                apply(l, LOOP_SHR, by, from, to);
}

/* Blocks whose amounts are equal, run by run. */
static void shift_blocks(struct layer *l, const struct value *shifts)
{
        const int32_t *n = shifts->constant->data;
        for (int64_t k = 0, end; k < l->work.outputs; k = end) {
                for (end = k + 1; end < l->work.outputs && n[end * l->lanes_out] == n[k * l->lanes_out];)
                        end++;
                struct loop_expr *from = emit_op(l->e, LOOP_MAX, number(l, 0), emit_op(l->e, LOOP_SUB, number(l, k), l->output)),
                                 *to = emit_op(l->e, LOOP_MIN, l->outputs, emit_op(l->e, LOOP_SUB, number(l, end), l->output));
                shift(l, n[k * l->lanes_out], from, to);
        }
}

/* numbers for the tile's blocks, behind each other for each step that has them */
static void load_constants(struct layer *l)
{
        if (!l->added_count)
                return;
        l->constants = memory(l, "added", l->m->sums, (int64_t)l->added_count * l->schedule.tile_outputs);
        for (int i = 0; i < l->added_count; i++)
                loop_transfer(l->e->arena, here(l),
                              place(l->constants, number(l, (int64_t)i * l->schedule.tile_outputs * l->lanes_out)),
                              place(l->added[i], times(l, l->output, l->lanes_out)), number(l, 1), l->outputs, 0);
}

/* sums += other bytes, times a block of weights for each block of outputs */
static void join(struct layer *l, const struct step *s)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = s->x.stride;
        const struct schedule *t = &l->schedule;
        struct emit *e = l->e;
        struct loop_buffer *xs = emit_parameter(e, s->x.value), *ws = emit_parameter(e, op_operand(s->joined, 1));
        struct loop_buffer *x = memory(l, "other", l->m->inputs, (int64_t)t->tile_outputs * t->tile_rows * t->tile_columns),
                           *w = memory(l, "factor", l->m->weights, t->tile_outputs);
        struct loop_expr *block = loop(l, "block", l->outputs);
        struct loop_expr *at = plus(l, number(l, s->x.offset), times(l, plus(l, l->output, block), stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, l->row, stride[2]));
        at = plus(l, at, times(l, l->column, stride[rank - 2]));
        struct loop_expr *to = product(l, product(l, block, l->rows), l->columns);
        loop_transfer(e->arena, here(l), place(x, times(l, to, l->lanes_in)), place(xs, at), l->rows, l->columns, rank == 5 ? stride[2] : 0);
        close(l, 1);
        loop_transfer(e->arena, here(l), place(w, number(l, 0)), place(ws, times(l, l->output, l->weight)), number(l, 1), l->outputs, 0);
        open_sums(l, number(l, 0), l->outputs, &block, &at);
        loop_product(e->arena, here(l), place(l->sums, at), place(x, at), place(w, times(l, block, l->weight)));
        close(l, 3);
}

static void bound(struct layer *l, const struct step *s)
{
        const int64_t more = stream_beyond(l, s->immediate);
        if (more)
                apply(l, LOOP_ADD, -more, number(l, 0), l->outputs);
        apply(l, s->op, s->immediate - more, number(l, 0), l->outputs);
        if (more)
                apply(l, LOOP_ADD, more, number(l, 0), l->outputs);
}

static void write_epilogue(struct layer *l)
{
        int added = 0;
        for (const struct step *s = l->steps; s < l->steps + l->step_count; s++) {
                if (s->joined) {
                        join(l, s);
                } else if (s->shifts) {
                        shift_blocks(l, s->shifts);
                } else if (s->op == LOOP_SHR) {
                        shift(l, s->immediate, number(l, 0), l->outputs);
                } else if (!s->added) {
                        bound(l, s);
                } else {
                        struct loop_expr *block, *at;
                        open_sums(l, number(l, 0), l->outputs, &block, &at);
                        struct loop_expr *other = plus(l, number(l, (int64_t)added++ * l->schedule.tile_outputs), block);
                        loop_apply(l->e->arena, here(l), s->op, place(l->sums, at), place(l->constants, times(l, other, l->lanes_out)));
                        close(l, 3);
                }
        }
}

static void store_sums(struct layer *l)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = l->y.stride;
        struct loop_expr *block = loop(l, "block", l->outputs);
        struct loop_expr *at = plus(l, number(l, l->y.offset), times(l, plus(l, l->output, block), stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, l->row, stride[2]));
        at = plus(l, at, times(l, l->column, stride[rank - 2]));
        loop_transfer(l->e->arena, here(l), place(l->ys, at), place(l->sums, sum_at(l, block, number(l, 0), number(l, 0))), l->rows,
                      l->columns, rank == 5 ? stride[2] : 0);
        close(l, 1);
}

/* ---- products ---- */

/* elements that inputs of so many blocks take */
static int64_t inputs_room(const struct layer *l, int64_t blocks)
{
        int64_t room = blocks;
        const int64_t tile[2] = { l->schedule.tile_rows, l->schedule.tile_columns };
        for (int d = 0; d < 2; d++)
                room *= (tile[d] - 1) * l->work.strides[d] + (l->work.window[d] - 1) * l->work.dilations[d] + 1;
        return room;
}

static int64_t taps(const struct layer *l) { return l->work.window[0] * l->work.window[1]; }

static struct loop_expr *inputs_at(struct layer *l, struct loop_expr *block, struct loop_expr *row, struct loop_expr *column)
{
        struct loop_expr *at = plus(l, product(l, block, l->x_rows), row);
        return times(l, plus(l, product(l, at, l->x_columns), column), l->lanes_in);
}

/* `count` blocks of x from `first` on, at `to` of the inputs' memory (in blocks) */
static void load_inputs(struct layer *l, struct loop_expr *first, struct loop_expr *count, struct loop_expr *to)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = l->x.stride, *steps = l->work.strides;
        struct loop_expr *block = loop(l, "input", count);
        struct loop_expr *at = plus(l, number(l, l->x.offset), times(l, plus(l, first, block), stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, l->row, stride[2] * steps[0]));
        at = plus(l, at, times(l, l->column, stride[rank - 2] * steps[1]));
        loop_transfer(l->e->arena, here(l), place(l->inputs, inputs_at(l, plus(l, to, block), number(l, 0), number(l, 0))),
                      place(l->xs, at), l->x_rows, l->x_columns, rank == 5 ? stride[2] : 0);
        close(l, 1);
}

/* the weights of the tile's outputs by `count` blocks of inputs from `first` on; to: in elements */
static void load_weights(struct layer *l, struct loop_expr *first, struct loop_expr *count, struct loop_expr *to)
{
        const int64_t inputs = l->work.apart ? 1 : l->work.inputs, row = inputs * taps(l) * l->weight;
        struct loop_expr *at = plus(l, times(l, l->output, row), times(l, first, taps(l) * l->weight));
        loop_transfer(l->e->arena, here(l), place(l->weights, times(l, to, l->weight)), place(l->ws, at), l->outputs,
                      times(l, count, taps(l)), row);
}

/* sums += inputs from block `input` of their memory on, by weights from element `weight` on; `count` blocks */
static void multiply(struct layer *l, struct loop_expr *input, struct loop_expr *weight, struct loop_expr *count)
{
        const struct stream_work *w = &l->work;
        struct emit *e = l->e;
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns),
                         *block = loop(l, "input", w->apart ? number(l, 1) : count), *down = loop(l, "window_row", number(l, w->window[0])),
                         *along = loop(l, "window_column", number(l, w->window[1])), *output = loop(l, "output", l->outputs);
        struct loop_expr *x_row = plus(l, times(l, row, w->strides[0]), times(l, down, w->dilations[0])),
                         *x_column = plus(l, times(l, column, w->strides[1]), times(l, along, w->dilations[1])),
                         *tap = plus(l, times(l, down, w->window[1]), along);
        struct loop_expr *at = plus(l, times(l, plus(l, w->apart ? output : product(l, output, count), block), taps(l)), tap);
        loop_product(e->arena, here(l), place(l->sums, sum_at(l, output, row, column)),
                     place(l->inputs, inputs_at(l, plus(l, input, w->apart ? output : block), x_row, x_column)),
                     place(l->weights, times(l, plus(l, weight, at), l->weight)));
        close(l, 6);
}

/* ---- tiles ---- */

static bool is_zero(const struct loop_expr *x)
{
        int64_t value;
        return loop_is_int(x, &value) && value == 0;
}

/* opens a condition: at the first tile of those that `at` and `also` (or NULL) count */
static bool open_first(struct layer *l, struct loop_expr *at, struct loop_expr *also)
{
        struct loop_expr *first = also ? plus(l, at, also) : at;
        if (is_zero(first))
                return false;
        emit_if(l->e, emit_op(l->e, LOOP_EQ, first, number(l, 0)));
        return true;
}

static void write_products(struct layer *l, bool weights_stay, bool inputs_stay)
{
        const struct schedule *s = &l->schedule;
        const struct stream_work *w = &l->work;
        const int64_t inputs = w->apart ? 1 : w->inputs;
        struct loop_expr *input = loop_tiles(l, "inputs", inputs, s->tile_inputs);
        struct loop_expr *count = w->apart ? l->outputs : left(l, "input_count", inputs, input, s->tile_inputs);
        struct loop_expr *first = w->apart ? l->output : input;
        if (!inputs_stay)
                l->inputs = memory(l, "x", l->m->inputs, inputs_room(l, w->apart ? s->tile_outputs : s->tile_inputs));
        const bool first_outputs = inputs_stay && open_first(l, l->output, NULL);
        load_inputs(l, first, count, inputs_stay ? input : number(l, 0));
        close(l, first_outputs);
        struct loop_expr *weight = weights_stay ? times(l, input, s->tile_outputs * taps(l)) : number(l, 0);
        if (!weights_stay)
                l->weights = memory(l, "w", l->m->weights, s->tile_outputs * taps(l) * (w->apart ? 1 : s->tile_inputs));
        const bool first_position = weights_stay && open_first(l, l->row, l->column);
        load_weights(l, w->apart ? number(l, 0) : input, w->apart ? number(l, 1) : count, weight);
        close(l, first_position);
        multiply(l, inputs_stay ? input : number(l, 0), weight, count);
        close(l, 1);
}

static void write_tile(struct layer *l, bool weights_stay, bool inputs_stay)
{
        l->sums = memory(l, "sums", l->m->sums,
                         (int64_t)l->schedule.tile_outputs * l->schedule.tile_rows * l->schedule.tile_columns);
        load_constants(l);
        reset_sums(l);
        write_products(l, weights_stay, inputs_stay);
        write_epilogue(l);
        store_sums(l);
}

static void open_outputs(struct layer *l)
{
        const int64_t most = l->schedule.tile_outputs;
        l->output = loop_tiles(l, "outputs", l->work.outputs, most);
        l->outputs = left(l, "output_count", l->work.outputs, l->output, most);
}

/* rows or columns of x that so many of the results read */
static struct loop_expr *reads(struct layer *l, const char *name, int d, struct loop_expr *results)
{
        const struct stream_work *w = &l->work;
        return emit_let(l->e, name, plus(l, times(l, results, w->strides[d]),
                                         number(l, (w->window[d] - 1) * w->dilations[d] + 1 - w->strides[d])));
}

static void open_positions(struct layer *l)
{
        const struct schedule *s = &l->schedule;
        l->row = loop_tiles(l, "rows", l->work.extent[0], s->tile_rows);
        l->rows = left(l, "row_count", l->work.extent[0], l->row, s->tile_rows);
        l->x_rows = reads(l, "x_rows", 0, l->rows);
        l->column = loop_tiles(l, "columns", l->work.extent[1], s->tile_columns);
        l->columns = left(l, "column_count", l->work.extent[1], l->column, s->tile_columns);
        l->x_columns = reads(l, "x_columns", 1, l->columns);
}

static void write_tiles(struct layer *l)
{
        const struct schedule *s = &l->schedule;
        const bool weights_stay = stream_keeps_weights(&l->work, s, l->m), inputs_stay = stream_keeps_inputs(&l->work, s, l->m);
        if (s->positions_first) {
                open_positions(l);
                if (inputs_stay)
                        l->inputs = memory(l, "x", l->m->inputs, inputs_room(l, l->work.inputs));
                open_outputs(l);
                write_tile(l, false, inputs_stay);
        } else {
                open_outputs(l);
                if (weights_stay)
                        l->weights = memory(l, "w", l->m->weights, s->tile_outputs * taps(l) * (l->work.apart ? 1 : l->work.inputs));
                open_positions(l);
                write_tile(l, weights_stay, false);
        }
        close(l, 3);
}

/* ---- around the result ---- */

/* `rows` by `columns` of the pad's number, from row and column of the padded result on, in every block */
static void fill(struct layer *l, int64_t row, int64_t column, int64_t rows, int64_t columns, int64_t value)
{
        const struct type *t = op_result(l->pad)->type;
        const int64_t width = t->dims[t->rank - 2], height = t->rank == 5 ? t->dims[2] : 1, lanes = l->lanes_out;
        const int64_t room = machine_depth(&l->m->memories[l->m->sums]) / 2;
        if (!rows || !columns)
                return;
        const int64_t at_a_time = rows * columns <= room ? rows : room / columns > 0 ? room / columns : 1;
        for (int64_t done = 0; done < rows; done += at_a_time) {
                const int64_t some = done + at_a_time < rows ? at_a_time : rows - done;
                struct loop_expr *block = loop(l, "block", number(l, t->dims[1]));
                struct loop_buffer *around = memory(l, "around", l->m->sums, some * columns);
                struct loop_expr *i = loop(l, "i", number(l, some * columns));
                loop_reset(l->e->arena, here(l), place(around, times(l, i, lanes)));
                close(l, 1);
                i = loop(l, "i", number(l, some * columns));
                loop_apply_immediate(l->e->arena, here(l), LOOP_ADD, place(around, times(l, i, lanes)), value);
                close(l, 1);
                struct loop_expr *at = plus(l, times(l, block, height * width * lanes), number(l, ((row + done) * width + column) * lanes));
                loop_transfer(l->e->arena, here(l), place(l->ys, at), place(around, number(l, 0)), number(l, some), number(l, columns),
                              width * lanes);
                close(l, 1);
        }
}

static void write_around(struct layer *l)
{
        const struct type *to = op_result(l->pad)->type, *from = op_result(l->op)->type;
        const int rank = to->rank;
        const int64_t width = to->dims[rank - 2], height = rank == 5 ? to->dims[2] : 1, rows = rank == 5 ? from->dims[2] : 1,
                      columns = from->dims[rank - 2], start = l->y.offset / l->lanes_out, top = start / width, first = start % width;
        double value;
        value_is_splat(op_operand(l->pad, 1), &value);
        emit_if(l->e, loop_int(l->e->arena, E_BOOL, 1));        /* a block of its own: its memory is free behind it */
        fill(l, 0, 0, top, width, (int64_t)value);
        fill(l, top + rows, 0, height - top - rows, width, (int64_t)value);
        fill(l, top, 0, rows, first, (int64_t)value);
        fill(l, top, first + columns, rows, width - first - columns, (int64_t)value);
        close(l, 1);
}

bool stream_kernel(struct emit *e, const struct kernel_request *request, struct op *op, struct loop_buffer *buffer)
{
        struct layer l;
        if (!stream_find(&l, request->region, op, request->results[0], e->options->target))
                return false;
        l.e = e;
        l.schedule = *op->schedule;
        if (!l.schedule.tile_rows || !l.schedule.tile_columns || !l.schedule.tile_outputs || !l.schedule.tile_inputs ||
            !stream_fits(&l.work, &l.schedule, l.m))
                return false;
        e->kernel->kind = FUNCTION_STREAM;
        e->kernel->machine = l.m;
        l.ys = buffer;
        l.xs = emit_parameter(e, l.x.value);
        l.ws = emit_parameter(e, op_operand(op, 1));
        if (l.m->activates) {
                stream_write_whole(&l);
                return !e->failed;
        }
        for (int i = 0, k = 0; i < l.step_count; i++)
                if (l.steps[i].added)
                        l.added[k++] = emit_parameter(e, l.steps[i].added);
        if (l.pad)
                write_around(&l);
        write_tiles(&l);
        return !e->failed;
}
