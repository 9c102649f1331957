/* SPDX-License-Identifier: MIT */
#include "engines/stream/stream_whole.h"

#include "base/size.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

bool stream_whole_fits(const struct stream_work *w, const struct schedule_stream *s,
                       const struct machine *m)
{
        return w->held <= machine_depth(&m->memories[m->inputs]) &&
               (int64_t)s->tile_rows * s->tile_columns * s->contexts <=
                       machine_depth(&m->memories[m->sums]) &&
               s->tile_rows <= w->extent[0] && s->tile_columns <= w->extent[1];
}

enum { BLOCKS_MOST = 16, CONTEXTS = 2 };
struct pipeline {
        const struct machine *m;
        /* These are times: the weights' memory is free; the last block was in the array; its
         * products began; the array is free. */
        int64_t read, shifted, begun, free;
        int64_t taken[BLOCKS_MOST], blocks;     /* `taken` is when each of the last blocks left the
                                                 * FIFO; `blocks` counts the blocks. */
        int64_t activate;
        struct stream_cost cost;
};

/* Adds the products of a block of weights, from `ready` on; returns when they are done. */
static int64_t multiply(struct pipeline *p, int64_t ready, int64_t rows)
{
        const struct machine_memory *fifo = &p->m->memories[p->m->weights];
        const struct machine_cycles *c = &p->m->cycles;
        const int64_t depth = least(machine_depth(fifo), BLOCKS_MOST),
                      busy = divide_up(machine_element_bytes(fifo), c->weight_bytes);
        int64_t *taken = &p->taken[p->blocks++ % depth];
        p->read = most(p->read, *taken) + busy;
        *taken = p->shifted = most(p->read, most(p->shifted, p->begun)) + c->change;
        p->begun = most(p->free, most(p->shifted, ready));
        p->free = p->begun + rows;
        p->cost.bus += busy;
        p->cost.read += machine_element_bytes(fifo);
        p->cost.steps += rows;
        p->cost.instructions += 2;
        return p->free + c->product_fill;
}

static int64_t activate(struct pipeline *p, int64_t ready, int64_t rows)
{
        p->activate = most(p->activate, ready) + rows;
        p->cost.operations += rows;
        p->cost.instructions++;
        return p->activate + p->m->cycles.operation_fill;
}

static int64_t tile(struct pipeline *p, const struct stream_work *w, int64_t ready, int64_t rows)
{
        const int64_t blocks = (w->apart ? 1 : w->inputs) * w->window[0] * w->window[1];
        int64_t done = ready;
        for (int64_t k = 0; k < (w->single ? 1 : blocks); k++)
                done = multiply(p, ready, w->single ? rows * blocks : rows);
        for (int64_t k = 0; k < w->joined; k++)         /* These stand between activations. */
                done = multiply(p, w->activations > 1 ? activate(p, done, rows) : done, rows);
        return activate(p, done, rows);
}

static struct stream_cost stream_whole_cost(const struct stream_work *w,
                                            const struct schedule_stream *s,
                                            const struct machine *m)
{
        struct pipeline p = { .m = m };
        int64_t freed[CONTEXTS] = { 0 }, tiles = 0;
        for (int64_t output = 0; output < w->outputs; output++)
                for (int64_t row = 0; row < w->extent[0]; row += s->tile_rows)
                        for (int64_t column = 0; column < w->extent[1]; column += s->tile_columns) {
                                int64_t *free = &freed[tiles++ % s->contexts];
                                *free = tile(&p, w, *free,
                                             least(s->tile_rows, w->extent[0] - row) *
                                                     least(s->tile_columns, w->extent[1] - column));
                                p.cost.cycles = most(p.cost.cycles, *free);
                        }
        p.cost.array = p.cost.steps;
        return p.cost;
}

bool stream_whole_tiles(const struct stream_work *w, const struct machine *m, int contexts,
                        struct schedule_stream *s, struct stream_cost *cost)
{
        enum { PARTS = 16 };
        bool found = false;
        struct schedule_stream t = *s;
        t.contexts = contexts;
        t.tile_outputs = t.tile_inputs = 1;
        for (int64_t rows = 1; rows <= PARTS * 16 && rows <= w->extent[0]; rows++)
                for (int64_t columns = 1; columns <= PARTS && columns <= w->extent[1]; columns++) {
                        t.tile_rows = (int)divide_up(w->extent[0], rows);
                        t.tile_columns = (int)divide_up(w->extent[1], columns);
                        if (!stream_whole_fits(w, &t, m))
                                continue;
                        const struct stream_cost c = stream_whole_cost(w, &t, m);
                        if (!found || c.cycles < cost->cycles) {
                                *cost = c;
                                *s = t;
                        }
                        found = true;
                        break;          /* Narrower tiles read weights more often. */
                }
        return found;
}
