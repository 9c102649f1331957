/* SPDX-License-Identifier: MIT */
/* Writes kernels that the target's machine runs: a convolution of bytes, and the operations that
 * shift and bound its sums, as a stream (ir/loop/stream.h) in tiles by the words of its schedule.
 *
 *     for each tile of results:
 *             sums = 0
 *             for each share of the blocks of inputs:
 *                     load inputs; load weights; sums += inputs * weights
 *             operations of the epilogue on sums
 *             store sums
 *
 * Weights, or inputs, whose blocks all fit are loaded for the first tile that needs them, share by
 * share, and stay. A value of one block or one element is loaded first, and stays. */
#include "engines/stream/streams_whole.h"

/* Returns what is left of an extent after `at`, up to `most`. */
struct loop_expr *stream_left(struct layer *l, const char *name, int64_t extent,
                              struct loop_expr *at, int64_t most)
{
        if (extent % most == 0 || extent < most)
                return number(l, extent < most ? extent : most);
        return emit_let(l->e, name,
                        emit_op(l->e, LOOP_MIN, number(l, most),
                                emit_op(l->e, LOOP_SUB, number(l, extent), at)));
}

/* Opens a loop over tiles. */
struct loop_expr *stream_loop_tiles(struct layer *l, const char *name, int64_t extent, int64_t size)
{
        struct loop_expr *at =
                emit_for(l->e, name, number(l, 0), number(l, extent <= size ? 1 : extent));
        if (extent > size)
                emit_loop(l->e, size, false);
        return at;
}

/* ---- a tile ---- */

/* Returns the index of the sum at (block, row, column) of the tile. */
static struct loop_expr *sum_at(struct layer *l, struct loop_expr *block, struct loop_expr *row,
                                struct loop_expr *column)
{
        struct loop_expr *at = plus(l, product(l, block, l->plane_rows), plus(l, row, l->top));
        return times(l, plus(l, product(l, at, l->plane_columns), plus(l, column, l->left)),
                     l->lanes_out);
}

/* Opens loops over blocks from..to of the tile's sums; returns the index of a sum in *at, and
 * *block. */
static void open_sums(struct layer *l, struct loop_expr *from, struct loop_expr *to,
                      struct loop_expr **block, struct loop_expr **at)
{
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns);
        *block = emit_for(l->e, "block", from, to);
        *at = sum_at(l, *block, row, column);
}

static void reset_sums(struct layer *l)
{
        struct loop_expr *i =
                loop(l, "i", product(l, product(l, l->outputs, l->plane_rows), l->plane_columns));
        loop_reset(l->e->arena, here(l), place(l->sums, times(l, i, l->lanes_out)));
        close_loops(l, 1);
}

static void apply(struct layer *l, enum loop_opcode op, int64_t immediate, struct loop_expr *from,
                  struct loop_expr *to)
{
        struct loop_expr *block, *at;
        open_sums(l, from, to, &block, &at);
        loop_apply_immediate(l->e->arena, here(l), op, place(l->sums, at), immediate);
        close_loops(l, 3);
}

static void shift(struct layer *l, int64_t by, struct loop_expr *from, struct loop_expr *to)
{
        const int64_t most = l->m->limits.shift;
        for (; by > most; by -= most)
                apply(l, LOOP_SHR, most, from, to);
        if (by)
                apply(l, LOOP_SHR, by, from, to);
}

/* Shifts blocks; consecutive blocks with equal amounts are shifted together. */
static void shift_blocks(struct layer *l, const struct value *shifts)
{
        const int32_t *n = constant_data(shifts->constant);
        for (int64_t k = 0, end; k < l->work.outputs; k = end) {
                for (end = k + 1;
                     end < l->work.outputs && n[end * l->lanes_out] == n[k * l->lanes_out];)
                        end++;
                struct loop_expr *from = emit_op(l->e, LOOP_MAX, number(l, 0),
                                                 emit_op(l->e, LOOP_SUB, number(l, k), l->output)),
                                 *to = emit_op(l->e, LOOP_MIN, l->outputs,
                                               emit_op(l->e, LOOP_SUB, number(l, end), l->output));
                shift(l, n[k * l->lanes_out], from, to);
        }
}

/* Loads the numbers for the tile's blocks, contiguously for each step that has some. */
static void load_constants(struct layer *l)
{
        if (!l->added_count)
                return;
        l->constants =
                memory(l, "added", l->m->sums, (int64_t)l->added_count * l->schedule.tile_outputs);
        for (int i = 0; i < l->added_count; i++)
                loop_transfer(l->e->arena, here(l),
                              place(l->constants, number(l, (int64_t)i * l->schedule.tile_outputs *
                                                                    l->lanes_out)),
                              place(l->added[i], times(l, l->output, l->lanes_out)), number(l, 1),
                              l->outputs, 0);
}

/* Loads blocks of weights from number `first` on. */
static void load_blocks(struct layer *l, const struct blocks *w, struct loop_expr *first,
                        struct loop_expr *count)
{
        loop_transfer(l->e->arena, here(l), place(w->memory, number(l, 0)),
                      place(w->buffer, times(l, first, l->weight)), number(l, 1), count, 0);
}

/* Allocates the memory of weights that are one block, and loads it. */
static void load_single(struct layer *l, struct blocks *w)
{
        if (!w->single)
                return;
        w->memory = memory(l, "block", l->m->weights, 1);
        load_blocks(l, w, number(l, 0), number(l, 1));
}

/* Loads weights of what is added for every tile: those of outputs from `first` on, at most
 * `count`. */
static void load_fixed(struct layer *l, struct loop_expr *first, struct loop_expr *outputs,
                       int64_t count)
{
        for (struct step *s = l->steps; s < l->steps + l->step_count; s++) {
                if (!s->fixed || s->weights.single)
                        continue;
                s->weights.memory = memory(l, "bias", l->m->weights, count);
                load_blocks(l, &s->weights, first, outputs);
        }
}

/* Loads what all tiles share. */
static void load_once(struct layer *l)
{
        load_single(l, &l->w);
        for (struct step *s = l->steps; s < l->steps + l->step_count; s++) {
                if (s->joined)
                        load_single(l, &s->weights);
                if (!s->fixed)
                        continue;
                s->element = memory(l, "one", l->m->inputs, 1);
                loop_transfer(l->e->arena, here(l), place(s->element, number(l, 0)),
                              place(s->buffer, number(l, 0)), number(l, 1), number(l, 1), 0);
        }
        if (l->schedule.positions_first)
                load_fixed(l, number(l, 0), number(l, l->work.outputs), l->work.outputs);
}

/* Adds other bytes, or one element, times a block of weights for each block of outputs. */
static void join(struct layer *l, struct step *s)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = s->x.stride;
        const struct schedule_stream *t = &l->schedule;
        struct emit *e = l->e;
        struct loop_buffer *x = s->element;
        struct loop_expr *block, *at, *weight = NULL;
        if (!s->fixed) {
                x = memory(l, "other", l->m->inputs,
                           (int64_t)t->tile_outputs * t->tile_rows * t->tile_columns);
                block = loop(l, "block", l->outputs);
                at = plus(l, number(l, s->x.offset),
                          times(l, plus(l, l->output, block), stride[1]));
                if (rank == 5)
                        at = plus(l, at, times(l, l->row, stride[2]));
                at = plus(l, at, times(l, l->column, stride[rank - 2]));
                struct loop_expr *to = product(l, product(l, block, l->rows), l->columns);
                loop_transfer(e->arena, here(l), place(x, times(l, to, l->lanes_in)),
                              place(s->buffer, at), l->rows, l->columns, rank == 5 ? stride[2] : 0);
                close_loops(l, 1);
                if (!s->weights.single) {
                        s->weights.memory = memory(l, "factor", l->m->weights, t->tile_outputs);
                        load_blocks(l, &s->weights, l->output, l->outputs);
                }
        }
        open_sums(l, number(l, 0), l->outputs, &block, &at);
        weight = s->weights.single                ? number(l, 0)
                 : s->fixed && t->positions_first ? plus(l, l->output, block)
                                                  : block;
        loop_product(e->arena, here(l), place(l->sums, at), place(x, s->fixed ? number(l, 0) : at),
                     place(s->weights.memory, times(l, weight, l->weight)));
        close_loops(l, 3);
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
        for (struct step *s = l->steps; s < l->steps + l->step_count; s++) {
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
                        struct loop_expr *other = plus(
                                l, number(l, (int64_t)added++ * l->schedule.tile_outputs), block);
                        loop_apply(l->e->arena, here(l), s->op, place(l->sums, at),
                                   place(l->constants, times(l, other, l->lanes_out)));
                        close_loops(l, 3);
                }
        }
}

static void store_sums(struct layer *l)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = l->y.stride;
        struct loop_expr *block = loop(l, "block", l->outputs);
        struct loop_expr *at =
                plus(l, number(l, l->y.offset), times(l, plus(l, l->output, block), stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, l->row, stride[2]));
        at = plus(l, at, times(l, l->column, stride[rank - 2]));
        loop_transfer(l->e->arena, here(l), place(l->ys, at),
                      place(l->sums, sum_at(l, block, number(l, 0), number(l, 0))), l->rows,
                      l->columns, rank == 5 ? stride[2] : 0);
        close_loops(l, 1);
}

/* ---- products ---- */

/* Returns the elements that `blocks` blocks of inputs take. */
static int64_t inputs_room(const struct layer *l, int64_t blocks)
{
        int64_t room = blocks;
        const int64_t tile[2] = { l->schedule.tile_rows, l->schedule.tile_columns };
        for (int d = 0; d < 2; d++)
                room *= (stream_sums_of(&l->work, d, tile[d]) - 1) * l->work.strides[d] +
                        (l->work.window[d] - 1) * l->work.dilations[d] + 1;
        return room;
}

static int64_t taps(const struct layer *l) { return l->work.window[0] * l->work.window[1]; }

static struct loop_expr *inputs_at(struct layer *l, struct loop_expr *block, struct loop_expr *row,
                                   struct loop_expr *column)
{
        struct loop_expr *at = plus(l, product(l, block, l->x_rows), row);
        return times(l, plus(l, product(l, at, l->x_columns), column), l->lanes_in);
}

/* Loads `count` blocks of x from `first` on, to block `to` of the inputs' memory. */
static void load_inputs(struct layer *l, struct loop_expr *first, struct loop_expr *count,
                        struct loop_expr *to)
{
        const int rank = op_result(l->op)->type->rank;
        const int64_t *stride = l->x.stride, *steps = l->work.strides;
        struct loop_expr *block = loop(l, "input", count);
        struct loop_expr *at =
                plus(l, number(l, l->x.offset), times(l, plus(l, first, block), stride[1]));
        if (rank == 5)
                at = plus(l, at, times(l, l->row, stride[2] * steps[0]));
        at = plus(l, at, times(l, l->column, stride[rank - 2] * steps[1]));
        loop_transfer(
                l->e->arena, here(l),
                place(l->inputs, inputs_at(l, plus(l, to, block), number(l, 0), number(l, 0))),
                place(l->xs, at), l->x_rows, l->x_columns, rank == 5 ? stride[2] : 0);
        close_loops(l, 1);
}

/* Loads the weights of the tile's outputs by `count` blocks of inputs from `first` on, to element
 * `to`. */
static void load_weights(struct layer *l, struct loop_expr *first, struct loop_expr *count,
                         struct loop_expr *to)
{
        const int64_t inputs = l->work.apart ? 1 : l->work.inputs,
                      row = inputs * taps(l) * l->weight;
        struct loop_expr *at =
                plus(l, times(l, l->output, row), times(l, first, taps(l) * l->weight));
        loop_transfer(l->e->arena, here(l), place(l->weights, times(l, to, l->weight)),
                      place(l->w.buffer, at), l->outputs, times(l, count, taps(l)), row);
}

/* Adds the products of `count` blocks of inputs, from block `input` of their memory on, by weights
 * from element `weight` on. */
static void multiply(struct layer *l, struct loop_expr *input, struct loop_expr *weight,
                     struct loop_expr *count)
{
        const struct stream_work *w = &l->work;
        struct emit *e = l->e;
        struct loop_expr *row = loop(l, "row", l->rows), *column = loop(l, "column", l->columns),
                         *block = loop(l, "input", w->apart ? number(l, 1) : count),
                         *down = loop(l, "window_row", number(l, w->window[0])),
                         *along = loop(l, "window_column", number(l, w->window[1])),
                         *output = loop(l, "output", l->outputs);
        struct loop_expr *x_row = plus(l, times(l, row, w->strides[0]),
                                       times(l, down, w->dilations[0])),
                         *x_column = plus(l, times(l, column, w->strides[1]),
                                          times(l, along, w->dilations[1])),
                         *tap = plus(l, times(l, down, w->window[1]), along);
        struct loop_expr *at = plus(
                l, times(l, plus(l, w->apart ? output : product(l, output, count), block), taps(l)),
                tap);
        loop_product(e->arena, here(l), place(l->sums, sum_at(l, output, row, column)),
                     place(l->inputs, inputs_at(l, plus(l, input, w->apart ? output : block), x_row,
                                                x_column)),
                     w->single ? place(l->w.memory, number(l, 0))
                               : place(l->weights, times(l, plus(l, weight, at), l->weight)));
        close_loops(l, 6);
}

/* ---- tiles ---- */

static bool is_zero(const struct loop_expr *x)
{
        int64_t value;
        return loop_is_int(x, &value) && value == 0;
}

/* Opens a condition that is true at the first of the tiles that `at` and `also` (or NULL) count. */
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
        const struct schedule_stream *s = &l->schedule;
        const struct stream_work *w = &l->work;
        const int64_t inputs = w->apart ? 1 : w->inputs;
        struct loop_expr *input = stream_loop_tiles(l, "inputs", inputs, s->tile_inputs);
        struct loop_expr *count =
                w->apart ? l->outputs
                         : stream_left(l, "input_count", inputs, input, s->tile_inputs);
        struct loop_expr *first = w->apart ? l->output : input;
        if (!inputs_stay)
                l->inputs = memory(l, "x", l->m->inputs,
                                   inputs_room(l, w->apart ? s->tile_outputs : s->tile_inputs));
        const bool first_outputs = inputs_stay && open_first(l, l->output, NULL);
        load_inputs(l, first, count, inputs_stay ? input : number(l, 0));
        close_loops(l, first_outputs);
        struct loop_expr *weight =
                weights_stay ? times(l, input, s->tile_outputs * taps(l)) : number(l, 0);
        if (!w->single) {
                if (!weights_stay)
                        l->weights =
                                memory(l, "w", l->m->weights,
                                       s->tile_outputs * taps(l) * (w->apart ? 1 : s->tile_inputs));
                const bool first_position = weights_stay && open_first(l, l->row, l->column);
                load_weights(l, w->apart ? number(l, 0) : input, w->apart ? number(l, 1) : count,
                             weight);
                close_loops(l, first_position);
        }
        multiply(l, inputs_stay ? input : number(l, 0), weight, count);
        close_loops(l, 1);
}

static void write_tile(struct layer *l, bool weights_stay, bool inputs_stay)
{
        const struct schedule_stream *s = &l->schedule;
        l->sums = memory(l, "sums", l->m->sums,
                         s->tile_outputs * stream_sums_of(&l->work, 0, s->tile_rows) *
                                 stream_sums_of(&l->work, 1, s->tile_columns));
        load_constants(l);
        reset_sums(l);
        if (l->pool)
                stream_clear_outside(l);
        write_products(l, weights_stay, inputs_stay);
        if (l->pool)
                stream_pool(l);
        write_epilogue(l);
        store_sums(l);
}

static void open_outputs(struct layer *l)
{
        const int64_t most = l->schedule.tile_outputs;
        l->output = stream_loop_tiles(l, "outputs", l->work.outputs, most);
        l->outputs = stream_left(l, "output_count", l->work.outputs, l->output, most);
}

/* Returns the rows or columns of x that `results` rows or columns of results read. */
struct loop_expr *stream_reads(struct layer *l, const char *name, int d, struct loop_expr *results)
{
        const struct stream_work *w = &l->work;
        return emit_let(l->e, name,
                        plus(l, times(l, results, w->strides[d]),
                             number(l, (w->window[d] - 1) * w->dilations[d] + 1 - w->strides[d])));
}

static void open_positions(struct layer *l)
{
        const struct schedule_stream *s = &l->schedule;
        if (l->pool) {
                stream_open_pooled(l);
                return;
        }
        l->row = stream_loop_tiles(l, "rows", l->work.extent[0], s->tile_rows);
        l->rows = stream_left(l, "row_count", l->work.extent[0], l->row, s->tile_rows);
        l->x_rows = stream_reads(l, "x_rows", 0, l->rows);
        l->column = stream_loop_tiles(l, "columns", l->work.extent[1], s->tile_columns);
        l->columns = stream_left(l, "column_count", l->work.extent[1], l->column, s->tile_columns);
        l->x_columns = stream_reads(l, "x_columns", 1, l->columns);
        l->plane_rows = l->rows;
        l->plane_columns = l->columns;
        l->top = l->left = number(l, 0);
}

static void write_tiles(struct layer *l)
{
        const struct schedule_stream *s = &l->schedule;
        const bool weights_stay = stream_keeps_weights(&l->work, s, l->m),
                   inputs_stay = stream_keeps_inputs(&l->work, s, l->m);
        load_once(l);
        if (s->positions_first) {
                open_positions(l);
                if (inputs_stay)
                        l->inputs = memory(l, "x", l->m->inputs, inputs_room(l, l->work.inputs));
                open_outputs(l);
                write_tile(l, false, inputs_stay);
        } else {
                open_outputs(l);
                load_fixed(l, l->output, l->outputs, s->tile_outputs);
                if (weights_stay && !l->work.single)
                        l->weights = memory(l, "w", l->m->weights,
                                            s->tile_outputs * taps(l) *
                                                    (l->work.apart ? 1 : l->work.inputs));
                open_positions(l);
                write_tile(l, weights_stay, false);
        }
        close_loops(l, 3);
}

/* ---- around the result ---- */

/* Stores the pad's number to `rows` by `columns` positions, from row and column of the padded
 * result on, in every block: it is stored repeatedly from `around`, `room` elements of it. */
static void fill(struct layer *l, struct loop_buffer *around, int64_t room, int64_t row,
                 int64_t column, int64_t rows, int64_t columns)
{
        const struct type *t = op_result(l->pad)->type;
        const int64_t width = type_extent(t, t->rank - 2),
                      height = t->rank == 5 ? type_extent(t, 2) : 1, lanes = l->lanes_out;
        if (!rows || !columns)
                return;
        const int64_t across = columns < room ? columns : room,
                      at_a_time = rows * across <= room ? rows : room / across;
        for (int64_t done = 0; done < rows; done += at_a_time)
                for (int64_t along = 0; along < columns; along += across) {
                        const int64_t some = done + at_a_time < rows ? at_a_time : rows - done,
                                      few = along + across < columns ? across : columns - along;
                        struct loop_expr *block = loop(l, "block", number(l, type_extent(t, 1)));
                        struct loop_expr *at =
                                plus(l, times(l, block, height * width * lanes),
                                     number(l, ((row + done) * width + column + along) * lanes));
                        loop_transfer(l->e->arena, here(l), place(l->ys, at),
                                      place(around, number(l, 0)), number(l, some), number(l, few),
                                      width * lanes);
                        close_loops(l, 1);
                }
}

static void write_around(struct layer *l)
{
        const struct type *to = op_result(l->pad)->type, *from = op_operand(l->pad, 0)->type;
        const int rank = to->rank;
        const int64_t width = type_extent(to, rank - 2),
                      height = rank == 5 ? type_extent(to, 2) : 1,
                      rows = rank == 5 ? type_extent(from, 2) : 1,
                      columns = type_extent(from, rank - 2), start = l->y.offset / l->lanes_out,
                      top = start / width, first = start % width;
        const int64_t room = l->work.around;
        double value;
        value_is_splat(op_operand(l->pad, 1), &value);
        struct loop_buffer *around = memory(l, "around", l->m->sums, room);
        struct loop_expr *i = loop(l, "i", number(l, room));
        loop_reset(l->e->arena, here(l), place(around, times(l, i, l->lanes_out)));
        close_loops(l, 1);
        i = loop(l, "i", number(l, room));
        loop_apply_immediate(l->e->arena, here(l), LOOP_ADD,
                             place(around, times(l, i, l->lanes_out)), (int64_t)value);
        close_loops(l, 1);
        fill(l, around, room, 0, 0, top, width);
        fill(l, around, room, top + rows, 0, height - top - rows, width);
        fill(l, around, room, top, 0, rows, first);
        fill(l, around, room, top, first + columns, rows, width - first - columns);
}

bool stream_kernel(struct emit *e, const struct kernel_request *request, struct op *op,
                   struct loop_buffer *buffer)
{
        struct layer l;
        if (!stream_find(&l, request->region, op, request->results[0], e->options->target))
                return false;
        l.e = e;
        const struct schedule_stream *words = schedule_stream(op->schedule);
        if (!words)
                return false;
        l.schedule = *words;
        if (l.schedule.processor || !l.schedule.tile_rows || !l.schedule.tile_columns ||
            !l.schedule.tile_outputs || !l.schedule.tile_inputs ||
            !stream_fits(&l.work, &l.schedule, l.m))
                return false;
        e->kernel->kind = FUNCTION_STREAM;
        e->kernel->machine = l.m;
        l.ys = buffer;
        l.xs = emit_parameter(e, l.x.value);
        l.w.buffer = emit_parameter(e, l.w.value);
        for (int i = 0, k = 0; i < l.step_count; i++) {
                struct step *s = &l.steps[i];
                if (s->added)
                        l.added[k++] = emit_parameter(e, s->added);
                if (!s->joined)
                        continue;
                s->buffer = emit_parameter(e, s->x.value);
                s->weights.buffer = emit_parameter(e, s->weights.value);
        }
        if (l.m->activates) {
                stream_write_whole(&l);
                return !e->failed;
        }
        if (l.pad)
                write_around(&l);
        write_tiles(&l);
        return !e->failed;
}
