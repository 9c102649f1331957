/* SPDX-License-Identifier: MIT */
#include "engines/stream/stream_cost.h"

#include <stdlib.h>

#include "base/size.h"
#include "engines/stream/stream_whole.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static const struct machine_memory *inputs_of(const struct machine *m)
{
        return &m->memories[m->inputs];
}
static const struct machine_memory *weights_of(const struct machine *m)
{
        return &m->memories[m->weights];
}
static const struct machine_memory *sums_of(const struct machine *m)
{
        return &m->memories[m->sums];
}
static const struct machine_memory *stored_of(const struct machine *m)
{
        return &m->memories[m->stored];
}

/* ---- the contents of a tile ---- */

static int64_t taps_of(const struct stream_work *w) { return w->window[0] * w->window[1]; }

int64_t stream_sums_of(const struct stream_work *w, int d, int64_t results)
{
        return w->pool ? (results - 1) * w->pool_strides[d] + w->pool_window[d] : results;
}

/* Returns the rows (d 0) or columns (d 1) of x that `results` rows or columns of results read. */
static int64_t reads(const struct stream_work *w, int d, int64_t results)
{
        return (stream_sums_of(w, d, results) - 1) * w->strides[d] +
               (w->window[d] - 1) * w->dilations[d] + 1;
}

static int64_t inputs_for(const struct stream_work *w, int64_t outputs)
{
        return w->apart ? outputs : w->inputs;
}

/* inputs_place returns the elements that `inputs` blocks of inputs take; weights_place returns
 * those of the weights of a tile's outputs by `inputs` blocks of inputs. */
static int64_t inputs_place(const struct stream_work *w, const struct schedule_stream *s,
                            int64_t inputs)
{
        return inputs * reads(w, 0, s->tile_rows) * reads(w, 1, s->tile_columns) + w->fixed;
}
static int64_t taps_of_weights(const struct stream_work *w) { return w->single ? 0 : taps_of(w); }
static int64_t weights_place(const struct stream_work *w, const struct schedule_stream *s,
                             int64_t inputs)
{
        return s->tile_outputs * taps_of_weights(w) * (w->apart ? 1 : inputs) + w->single +
               w->joined_blocks * s->tile_outputs + (w->joined - w->joined_blocks) +
               w->fixed * (s->positions_first ? w->outputs : s->tile_outputs);
}
static int64_t sums_place(const struct stream_work *w, const struct schedule_stream *s)
{
        const int64_t results = w->pool ? s->tile_rows * s->tile_columns : 0;
        return s->tile_outputs *
                       (stream_sums_of(w, 0, s->tile_rows) * stream_sums_of(w, 1, s->tile_columns) +
                        results) +
               w->added * s->tile_outputs + w->around;
}
static int64_t joined_place(const struct stream_work *w, const struct schedule_stream *s)
{
        return w->joined ? s->tile_outputs * s->tile_rows * s->tile_columns : 0;
}

/* Returns the blocks of inputs that a step loads. */
static int64_t at_a_time(const struct stream_work *w, const struct schedule_stream *s)
{
        return w->apart ? s->tile_outputs : s->tile_inputs;
}

bool stream_keeps_weights(const struct stream_work *w, const struct schedule_stream *s,
                          const struct machine *m)
{
        return !s->positions_first &&
               weights_place(w, s, w->inputs) <= machine_depth(weights_of(m)) / s->contexts;
}

bool stream_keeps_inputs(const struct stream_work *w, const struct schedule_stream *s,
                         const struct machine *m)
{
        return s->positions_first && !w->apart &&
               inputs_place(w, s, w->inputs) + joined_place(w, s) <=
                       machine_depth(inputs_of(m)) / s->contexts;
}

/* Returns the micro-op list of the longest product: an entry for each tap, input and output, and
 * more where these are few. */
static int64_t places_of(const struct stream_work *w, const struct schedule_stream *s,
                         const struct machine *m)
{
        const int64_t outputs = s->tile_outputs, around = divide_up(m->limits.apart, outputs);
        return taps_of(w) * (w->apart ? 1 : s->tile_inputs) * outputs *
               (outputs < m->limits.apart ? least(around, s->tile_columns) : 1);
}

bool stream_fits(const struct stream_work *w, const struct schedule_stream *s,
                 const struct machine *m)
{
        const int c = s->contexts;
        if (m->activates)
                return stream_whole_fits(w, s, m);
        return inputs_place(w, s, stream_keeps_inputs(w, s, m) ? w->inputs : at_a_time(w, s)) +
                               joined_place(w, s) <=
                       machine_depth(inputs_of(m)) / c &&
               weights_place(w, s, stream_keeps_weights(w, s, m) ? w->inputs : s->tile_inputs) <=
                       machine_depth(weights_of(m)) / c &&
               sums_place(w, s) <=
                       least(machine_depth(sums_of(m)), machine_depth(stored_of(m))) / c &&
               places_of(w, s, m) * c <= m->limits.list / 2;
}

/* ---- time ---- */

/* Each stage is free at this time, and so is the one channel that loads share. */
struct stages {
        const struct machine *m;
        int64_t load, compute, store, channel;
        int64_t fetched;                        /* This many instructions have been fetched. */
        struct stream_cost cost;
};

static int64_t fetch(const struct stages *t, int64_t number)
{
        return t->m->cycles.fetch_latency + 16 / t->m->cycles.beat_bytes * (number + 1);
}

/* Loads rows of elements of a memory, which are not contiguous, in a stage; padding: elements that
 * are cleared. */
static void load(struct stages *t, int64_t *stage, int64_t ready,
                 const struct machine_memory *memory, int64_t rows, int64_t columns,
                 int64_t padding)
{
        const struct machine_cycles *c = &t->m->cycles;
        const int64_t bytes = columns * machine_element_bytes(memory),
                      beats = rows * divide_up(bytes, c->beat_bytes),
                      bursts = rows * divide_up(bytes, (int64_t)c->burst_beats * c->beat_bytes),
                      busy = beats + c->load_burst * bursts;
        const int64_t start = most(most(*stage, ready), fetch(t, t->fetched++));
        t->channel = most(start + c->load_latency, t->channel) + busy;
        *stage = most(t->channel, start + padding + beats);
        t->cost.bus += busy;
        t->cost.read += rows * bytes;
}

static void compute(struct stages *t, int64_t ready, int64_t cycles, int64_t fill)
{
        t->compute = most(most(t->compute, ready), fetch(t, t->fetched++)) + cycles + fill;
}

static void store(struct stages *t, int64_t ready, int64_t rows, int64_t columns)
{
        const struct machine_cycles *c = &t->m->cycles;
        const int64_t bytes = columns * machine_element_bytes(stored_of(t->m));
        const int64_t busy =
                c->store_latency +
                rows * (c->store_burst * divide_up(bytes, (int64_t)c->burst_beats * c->beat_bytes) +
                        divide_up(bytes, c->beat_bytes) + columns);
        t->store = most(most(t->store, ready), fetch(t, t->fetched++)) + busy;
        t->cost.stores += busy;
        t->cost.written += rows * bytes;
}

/* ---- tiles and steps, in order ---- */

/* A place is a step of a tile, which handles some blocks of inputs. */
struct place {
        int64_t output, row, column, input;     /* The step begins here. */
        int64_t outputs, rows, columns, inputs;
        int64_t tile, step;                     /* The tile, and the step, have these numbers over
                                                 * all. */
        bool first, last, done;                 /* It is the first or last step of its tile; all
                                                 * steps are done. */
        bool new_weights, new_inputs;           /* They must be loaded for its tile, step by
                                                 * step. */
        bool new_outputs;                       /* The outputs are others than those of the tile
                                                 * before. */
};

static void limit(const struct stream_work *w, const struct schedule_stream *s, struct place *p)
{
        p->outputs = least(s->tile_outputs, w->outputs - p->output);
        p->rows = least(s->tile_rows, w->extent[0] - p->row);
        p->columns = least(s->tile_columns, w->extent[1] - p->column);
        p->inputs = w->apart ? p->outputs : least(s->tile_inputs, w->inputs - p->input);
        p->first = p->input == 0;
        p->last = w->apart || p->input + p->inputs >= w->inputs;
}

static void next(const struct stream_work *w, const struct schedule_stream *s, bool weights_stay,
                 bool inputs_stay, struct place *p)
{
        p->step++;
        p->input += s->tile_inputs;
        if (p->last) {
                /* `moved`: the position changes; `other`: the outputs change. */
                bool moved = false, other = false;
                p->tile++;
                p->input = 0;
                for (int turn = 0; turn < 2 && !p->done; turn++) {
                        if ((turn == 0) == (s->positions_first != 0)) {
                                other = true;
                                if ((p->output += s->tile_outputs) < w->outputs)
                                        break;
                                p->output = 0;
                        } else {
                                moved = true;
                                if ((p->column += s->tile_columns) < w->extent[1])
                                        break;
                                p->column = 0;
                                if ((p->row += s->tile_rows) < w->extent[0])
                                        break;
                                p->row = 0;
                        }
                        p->done = turn == 1;
                }
                p->new_weights = !weights_stay || other;
                p->new_inputs = !inputs_stay || moved;
                p->new_outputs = other;
        }
        limit(w, s, p);
}

/* Loads the inputs of a step: rows and columns of x; of these, those outside of x are cleared. */
static void load_inputs(struct stages *t, const struct stream_work *w, const struct place *p,
                        int64_t blocks, int64_t ready)
{
        int64_t whole[2], within[2];
        const int64_t from[2] = { p->row, p->column }, results[2] = { p->rows, p->columns };
        for (int d = 0; d < 2; d++) {
                const int64_t sum =
                        w->pool ? from[d] * w->pool_strides[d] - w->pool_pads[d] : from[d];
                const int64_t begin = sum * w->strides[d] - w->pad[d];
                whole[d] = reads(w, d, results[d]);
                within[d] = most(0, least(begin + whole[d], w->read[d]) - most(begin, 0));
        }
        /* The rows are contiguous. */
        const bool joined = within[1] == w->read[1] && whole[1] == within[1];
        const int64_t padding = whole[0] * whole[1] - within[0] * within[1];
        for (int64_t b = 0; b < blocks; b++)
                load(t, &t->load, ready, inputs_of(t->m), joined ? 1 : within[0],
                     within[1] * (joined ? within[0] : 1), padding);
}

struct stream_cost stream_cost(const struct stream_work *w, const struct schedule_stream *s,
                               const struct machine *m)
{
        enum { CONTEXTS = 2 };
        const bool weights_stay = stream_keeps_weights(w, s, m),
                   inputs_stay = stream_keeps_inputs(w, s, m);
        struct stages t = { .m = m };
        int64_t filled[CONTEXTS] = { 0 }, freed[CONTEXTS] = { 0 }, stored[CONTEXTS] = { 0 };
        struct place ahead = { .new_weights = true, .new_inputs = true, .new_outputs = true };
        limit(w, s, &ahead);
        const int64_t singles = w->single + w->joined - w->joined_blocks;
        for (int64_t k = 0; k < singles; k++)
                load(&t, &t.load, 0, weights_of(m), 1, 1, 0);
        for (int64_t k = 0; k < w->fixed; k++) {
                load(&t, &t.load, 0, inputs_of(m), 1, 1, 0);
                if (s->positions_first)
                        load(&t, &t.load, 0, weights_of(m), 1, w->outputs, 0);
        }
        struct place p = ahead;
        for (int64_t begun = 0; !p.done;) {
                /* Loads run ahead by as many steps as there are contexts. */
                while (!ahead.done && begun < p.step + s->contexts) {
                        const int64_t ready = freed[begun % s->contexts];
                        if (ahead.new_inputs)
                                load_inputs(&t, w, &ahead, ahead.inputs, ready);
                        if (ahead.new_weights && !w->single)
                                load(&t, &t.load, ready, weights_of(m), ahead.outputs,
                                     taps_of(w) * (w->apart ? 1 : ahead.inputs), 0);
                        if (ahead.first && ahead.new_outputs && !s->positions_first)
                                for (int64_t k = 0; k < w->fixed; k++)
                                        load(&t, &t.load, ready, weights_of(m), 1, ahead.outputs,
                                             0);
                        if (ahead.last) {
                                for (int64_t k = 0; k < w->joined * ahead.outputs; k++)
                                        load(&t, &t.load, ready, inputs_of(m), ahead.rows,
                                             ahead.columns, 0);
                                for (int64_t k = 0; k < w->joined_blocks; k++)
                                        load(&t, &t.load, ready, weights_of(m), 1, ahead.outputs,
                                             0);
                        }
                        filled[begun++ % s->contexts] = t.load;
                        next(w, s, weights_stay, inputs_stay, &ahead);
                }
                const int64_t elements = p.outputs * p.rows * p.columns,
                              part = p.tile % s->contexts,
                              sums = p.outputs * stream_sums_of(w, 0, p.rows) *
                                     stream_sums_of(w, 1, p.columns);
                if (p.first) {
                        compute(&t, stored[part], sums, m->cycles.product_fill);
                        t.cost.operations += sums;
                        if (w->added)
                                load(&t, &t.compute, 0, sums_of(m), 1, w->added * p.outputs, 0);
                }
                const int64_t steps = sums * taps_of(w) * (w->apart ? 1 : p.inputs);
                compute(&t, filled[p.step % s->contexts], steps, m->cycles.product_fill);
                t.cost.steps += steps;
                if (w->pool && p.last) {
                        const int64_t along = p.outputs * stream_sums_of(w, 0, p.rows) * p.columns *
                                              (w->pool_window[1] - 1),
                                      down = elements * w->pool_window[0];
                        compute(&t, 0, elements + 2 * (along + down),
                                (along != 0) + 1 + m->cycles.product_fill);
                        t.cost.operations += elements + 2 * (along + down);
                }
                for (int64_t k = 0; k < w->joined + w->fixed && p.last; k++) {
                        compute(&t, 0, elements, m->cycles.product_fill);
                        t.cost.steps += elements;
                }
                freed[p.step % s->contexts] = t.compute;
                if (p.last) {
                        for (int64_t k = 0; k < w->immediates + w->tensors; k++)
                                compute(&t, 0, elements * (k < w->tensors ? 2 : 1),
                                        m->cycles.operation_fill);
                        t.cost.operations += (w->immediates + 2 * w->tensors) * elements;
                        for (int64_t b = 0; b < p.outputs; b++)
                                store(&t, t.compute, p.columns == w->extent[1] ? 1 : p.rows,
                                      p.columns == w->extent[1] ? p.rows * p.columns : p.columns);
                        stored[part] = t.store;
                }
                next(w, s, weights_stay, inputs_stay, &p);
        }
        t.cost.array = t.cost.steps;
        t.cost.cycles = most(most(t.load, t.compute), t.store);
        t.cost.instructions = t.fetched;
        t.cost.places = places_of(w, s, m) * s->contexts;
        return t.cost;
}

const char *stream_bound(const struct stream_cost *c)
{
        const struct { const char *name; int64_t cycles; } of[] = {
                { "array", c->array }, { "operations", c->operations }, { "read bus", c->bus }, { "stores", c->stores },
        };
        int first = 0;
        for (int i = 1; i < 4; i++)
                if (of[i].cycles > of[first].cycles)
                        first = i;
        return 2 * of[first].cycles >= c->cycles ? of[first].name : "waiting";
}

/* ---- the choice ---- */

/* Costs are compared like this: a cycle is worth as much as BYTES_OF_CYCLE bytes, because bytes
 * take energy, and the bus from others; each instruction costs its fetch. */
enum { BYTES_OF_CYCLE = 32, CYCLES_OF_INSTRUCTION = 4 };
static int64_t price(const struct stream_cost *c)
{
        return c->cycles + c->read / BYTES_OF_CYCLE + CYCLES_OF_INSTRUCTION * c->instructions;
}

/* Returns a lower bound of the price of a stream with this tile: the array and the operations, or
 * what is read; and the instructions of its tiles. */
static int64_t at_least(const struct stream_work *w, const struct schedule_stream *s,
                        const struct machine *m)
{
        enum { INSTRUCTIONS = 4 };      /* A tile has these instructions: a load, products, a reset,
                                         * a store. */
        const int64_t elements = w->outputs * w->extent[0] * w->extent[1];
        const int64_t across = divide_up(w->outputs, s->tile_outputs),
                      down = divide_up(w->extent[0], s->tile_rows),
                      along = divide_up(w->extent[1], s->tile_columns),
                      tiles = across * down * along;
        const int64_t taps = taps_of(w) * (w->pool ? w->pool_strides[0] * w->pool_strides[1] : 1);
        const int64_t compute = elements * (taps * (w->apart ? 1 : w->inputs) + w->joined +
                                            w->fixed + 1 + w->immediates + 2 * w->tensors) +
                                tiles * (2 * m->cycles.product_fill +
                                         (w->immediates + w->tensors) * m->cycles.operation_fill);
        const int64_t weights = w->outputs * taps_of_weights(w) * (w->apart ? 1 : w->inputs) *
                                machine_element_bytes(weights_of(m)) *
                                (stream_keeps_weights(w, s, m) ? 1 : down * along);
        const int64_t inputs = inputs_for(w, w->outputs) * w->read[0] * w->read[1] *
                               machine_element_bytes(inputs_of(m)) *
                               (stream_keeps_inputs(w, s, m) || w->apart ? 1 : across);
        const int64_t bytes = weights + (w->strides[0] > w->window[0] ? 0 : inputs);
        return most(compute, bytes / m->cycles.beat_bytes) + bytes / BYTES_OF_CYCLE +
               CYCLES_OF_INSTRUCTION * INSTRUCTIONS * tiles;
}

/* Lists the extents to try, largest first: shares of the whole that are as equal as possible. */
enum { SHARES = 24 };
static int shares(int64_t whole, int64_t largest, int64_t out[SHARES])
{
        int count = 0;
        for (int64_t parts = divide_up(whole, least(whole, largest));
             parts <= whole && count < SHARES; parts++) {
                const int64_t size = divide_up(whole, parts);
                if (!count || out[count - 1] != size)
                        out[count++] = size;
        }
        return count;
}

/* Tiles that fit are tried in this order: the least price may come first, and ends the search
 * soon. */
struct trial { struct schedule_stream s; int64_t least, number; };

static int by_price(const void *a, const void *b)
{
        const struct trial *x = a, *y = b;
        return x->least != y->least    ? (x->least < y->least ? -1 : 1)
               : x->number < y->number ? -1
                                       : x->number > y->number;
}

static void add_trial(const struct stream_work *w, const struct machine *m,
                      const struct schedule_stream *s, struct arena *arena, struct trial **trials,
                      int *count)
{
        if (!stream_fits(w, s, m))
                return;
        ARENA_GROW(arena, *trials, *count);
        (*trials)[*count] = (struct trial){ *s, at_least(w, s, m), *count };
        ++*count;
}

static void add_trials(const struct stream_work *w, const struct machine *m,
                       struct schedule_stream t, struct arena *arena, struct trial **trials,
                       int *count)
{
        int64_t outputs[SHARES], inputs[SHARES], rows[SHARES], columns[SHARES];
        const int64_t room = machine_depth(sums_of(m)) / t.contexts;
        const int output_count = shares(w->outputs, room, outputs),
                  row_count = shares(w->extent[0], room, rows),
                  column_count = shares(w->extent[1], room, columns),
                  input_count =
                          w->apart ? 1 : shares(w->inputs, machine_depth(weights_of(m)), inputs);
        for (int c = 0; c < column_count; c++)
                for (int r = 0; r < row_count; r++)
                        for (int o = 0; o < output_count; o++)
                                for (int i = 0; i < input_count; i++)
                                        for (int first = 0; first < 2; first++) {
                                                t.tile_columns = (int)columns[c];
                                                t.tile_rows = (int)rows[r];
                                                t.tile_outputs = (int)outputs[o];
                                                t.tile_inputs = w->apart ? 1 : (int)inputs[i];
                                                t.positions_first = first;
                                                add_trial(w, m, &t, arena, trials, count);
                                        }
}

bool stream_tiles(const struct stream_work *w, const struct machine *m, int contexts,
                  struct schedule_stream *s, struct stream_cost *cost)
{
        if (m->activates)
                return stream_whole_tiles(w, m, contexts, s, cost);
        struct arena *arena = arena_new();
        struct trial *trials = NULL;
        struct schedule_stream t = *s;
        int count = 0;
        t.contexts = contexts;
        add_trials(w, m, t, arena, &trials, &count);
        if (count)
                qsort(trials, (size_t)count, sizeof *trials, by_price);
        for (int k = 0; k < count && (!k || trials[k].least < price(cost)); k++) {
                const struct stream_cost own = stream_cost(w, &trials[k].s, m);
                if (k && price(&own) >= price(cost))
                        continue;
                *s = trials[k].s;
                *cost = own;
        }
        arena_free(arena);
        return count > 0;
}
