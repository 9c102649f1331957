/* SPDX-License-Identifier: MIT */
/* The cost of a launch, read off its statements: what a block computes, moves and keeps.
 *
 * - Products cost what warp_cost.c and warp_group_cost.c predict for the loop that multiplies.
 * - Attention costs the same, and what its blocks compute between products.
 * - Other launches cost the longest of: the instructions of all blocks of the busiest
 *   multiprocessor; their bytes from and to L2; a load and a store for each wave. This has not been
 *   fitted to measurements.
 * - Every launch takes at least the time of memory for every byte once.
 *
 * A loop whose iterations differ from block to block counts with the most that it can have, and
 * what a run gives with its upper bound; a loop of unknown length counts UNKNOWN_TRIP. */
#include "engines/grid/launch_cost.h"

#include <string.h>

#include "engines/grid/warp_group_cost.h"
#include "engines/grid/warp_cost.h"
#include "ir/loop/loop_bounds.h"
#include "ir/target/rates.h"

enum { UNKNOWN_TRIP = 8, OF_CALL = 12, SHARED_ALIGN = 128, DEPTH_MAX = 60 };

int64_t grid_lanes(const struct loop_block *block)
{
        int64_t lanes = 0;
        for (const struct loop_stmt *s = block ? block->first : NULL; s; s = s->next) {
                int64_t more = 0;
                if (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP)
                        for (const struct loop_stmt *t = s->body->first; t; t = t->next) {
                                bool lane = t->kind == STMT_FOR && t->for_kind == FOR_GPU_LANE;
                                int64_t count = lane ? t->b->literal.i : GRID_LANES;
                                more = count > more ? count : more;
                        }
                else if (s->body)
                        more = grid_lanes(s->body);
                lanes = more > lanes ? more : lanes;
        }
        return lanes;
}

/* A block copies this much of x and of weights, in bytes and in words of each lane. windows: some
 * elements of x may not exist. */
struct copied { double x, w, x_words, w_words; bool windows; };

struct walk {
        const struct target *target;
        const struct loop_function *f;
        const struct loop_bounds *bounds;
        struct grid_cost *cost;
        struct warp_work work;
        const struct multiply *multiply;
        double instructions, bytes;     /* A block's warps execute this many instructions, and move
                                         * this many bytes from and to memory. */
        double of_iterations;           /* This many of these instructions belong to iterations. */
        struct copied before, each;     /* A block copies this into shared memory for products:
                                         * before the iterations, and in each of them. */
        double trips, lanes;            /* The statement that is looked at is executed this often,
                                         * by this many lanes. */
        double iterations;              /* The iterations of the loop around a multiply; 1: there is
                                         * no loop. */
        double below;                   /* Conditions set this bound on a row of the tile; 0: they
                                         * set none. */
        bool in_lane, in_iteration, unrolled;
        int tile_rows, tile_columns, tile_lanes;
        int keys;                       /* For attention, the outputs of the tile that is multiplied
                                         * by the values; 0: the launch is not attention. */
        bool first_iteration;           /* Products also stand before the iterations. */
        double scores;                  /* It counts the multiplies whose x comes from memory, which
                                         * make scores. */
};

static double larger(double a, double b) { return a > b ? a : b; }

static void move(struct walk *w, struct loop_buffer *b, double elements)
{
        if (loop_buffer_root(b, NULL)->space == SPACE_PARAMETER)
                w->bytes += w->trips * w->lanes * elements * element_info[b->element].bytes;
}

static void count(struct walk *w, double instructions)
{
        w->instructions += w->trips * instructions;
        w->of_iterations += w->in_iteration ? w->trips * instructions : 0;
}

/* Counts operations; a comparison counts as part of the selection that uses it. */
static void count_operation(struct loop_expr *e, void *operations)
{
        *(int *)operations += e->op != LOOP_LITERAL && e->op != LOOP_VARIABLE &&
                              e->op != LOOP_BITCAST && e->type.element != E_BOOL;
}

/* Returns the operations in the text of a small function; a larger one, for which devices have
 * instructions (codegen/cuda_library.c), counts OF_CALL at most. */
static int operations_of_call(const struct loop_function *f)
{
        enum { OF_SHARE = 2 };          /* It counts a product, and the exponential of the
                                         * device. */
        int operations = 0;
        if (!strcmp(f->name, "exp_share"))
                return OF_SHARE;
        loop_block_walk(f->body, NULL, count_operation, &operations);
        return operations < OF_CALL ? operations : OF_CALL;
}

static bool is_own(const struct loop_buffer *b)
{
        return b->space == SPACE_STACK || b->space == SPACE_LANES;
}

/* Is the expression free of instructions when loops are unrolled: an index, which becomes a
 * constant or is the same for all iterations, or what a lane keeps in registers? */
static bool is_free(const struct loop_expr *e)
{
        return e->type.element == E_INDEX || (e->op == LOOP_LOAD && is_own(e->buffer));
}

static void look_at_expr(struct walk *w, const struct loop_expr *e, int depth)
{
        if (!e || depth > DEPTH_MAX || e->op == LOOP_LITERAL || e->op == LOOP_VARIABLE ||
            (w->unrolled && is_free(e)))
                return;
        count(w, e->op == LOOP_CALL ? operations_of_call(e->function) : 1);
        if (e->op == LOOP_LOAD)
                move(w, e->buffer, e->type.lanes);
        for (int i = 0; i < e->arity; i++)
                look_at_expr(w, e->args[i], depth + 1);
}

static void look_at_block(struct walk *w, const struct loop_block *b);

static bool multiplies(const struct loop_block *b)
{
        for (const struct loop_stmt *s = b ? b->first : NULL; s; s = s->next)
                if (s->kind == STMT_MULTIPLY ||
                    (s->kind == STMT_FOR && s->for_kind == FOR_GPU_WARP && multiplies(s->body)))
                        return true;
        return false;
}

struct multiplied { const struct loop_buffer *buffer; bool x, w; };

static void find_multiply(struct loop_stmt *s, void *context)
{
        struct multiplied *m = context;
        m->x |= s->kind == STMT_MULTIPLY && s->buffer == m->buffer;
        m->w |= s->kind == STMT_MULTIPLY && s->weights == m->buffer;
}

/* Does a product read b as weights or, with as_x, as x? The operand that is added to the sums
 * belongs to no iteration. */
static bool is_multiplied(const struct walk *w, const struct loop_buffer *b, bool as_x)
{
        struct multiplied m = { .buffer = b };
        loop_block_walk(w->f->body, find_multiply, NULL, &m);
        return m.w || (as_x && m.x);
}

/* Counts a copy. Elements of x may be missing where a condition guards the copy: under a window, or
 * after the last position. */
static void count_copy(struct walk *w, const struct loop_stmt *s, double bytes)
{
        struct copied *c = w->in_iteration ? &w->each : &w->before;
        bytes /= w->in_iteration ? w->iterations : 1;
        const double words = bytes / ((double)w->cost->warps * GRID_LANES * COPY_BYTES);
        if (is_multiplied(w, s->buffer, false)) {
                c->w += bytes;
                c->w_words += words;
        } else {
                c->x += bytes;
                c->x_words += words;
                c->windows |= s->c != NULL;
        }
}

static void look_at_for(struct walk *w, const struct loop_stmt *s)
{
        const struct walk outer = *w;
        const int64_t from = loop_bounds_of(w->bounds, s->a).low,
                      to = loop_bounds_of(w->bounds, s->b).high;
        const bool known = from != INT64_MIN && to != INT64_MAX;
        double trips = known ? (double)divide_up(to > from ? to - from : 0, s->step) : UNKNOWN_TRIP;
        switch (s->for_kind) {
        case FOR_GPU_CLUSTER: case FOR_GPU_BLOCK: break;
        case FOR_GPU_WARP:
                w->cost->warps = (int64_t)trips;
                w->trips *= trips;
                break;
        case FOR_GPU_LANE:
                w->in_lane = true;
                w->lanes = trips;
                break;
        default:
                if (multiplies(s->body)) {
                        w->first_iteration |= !w->in_iteration && w->work.multiplies > 0;
                        w->work.multiplies = w->work.read = w->scores = 0;
                        w->iterations = trips;
                        w->in_iteration = true;
                }
                w->trips *= trips;
                w->unrolled |= s->for_kind == FOR_UNROLL;
        }
        look_at_block(w, s->body);
        w->trips = outer.trips;
        w->unrolled = outer.unrolled;
        w->lanes = outer.lanes;
        w->in_lane = outer.in_lane;
        w->in_iteration = outer.in_iteration;
}

static void look_at_multiply(struct walk *w, const struct loop_stmt *s)
{
        const struct loop_tiles *t = &s->tiles;
        const struct multiply *m = loop_tile_multiply(s, w->target);
        const int positions =
                m ? multiply_by_warp_group(m) ? m->positions / MULTIPLY_WARPS : m->positions : 0;
        /* Skips multiplies that use no fragments of warps, and those after the iterations. */
        if (t->rows == 1 || positions != t->rows || (w->iterations > 1 && !w->in_iteration))
                return;
        const double rows = s->tiles.positions,
                     width = (double)s->tiles.vectors * s->variable->type.lanes,
                     deep = (double)s->tiles.depth * s->tiles.group;
        w->multiply = m;
        w->tile_rows = s->tiles.positions / positions;
        w->tile_columns = s->tiles.vectors;
        w->tile_lanes = positions * m->outputs / GRID_LANES;
        w->keys = s->buffer ? 0 : loop_multiplied(s)->columns * s->variable->type.lanes;
        const double all = w->trips / w->iterations * (t->warp_group ? s->variable->warps : 1) *
                           rows / m->positions * s->tiles.vectors * deep / multiply_row(m);
        w->work.multiplies += all;
        w->scores += s->buffer ? all : 0;
        w->work.read += w->trips / w->iterations * ((s->buffer ? rows : 0) + width) * deep *
                        element_info[s->weights->element].bytes;
}

/* Recognizes memory in which warps of a cluster hold a row each: then the launch processes whole
 * rows. */
static void look_at_row(struct walk *w, const struct loop_buffer *row)
{
        const double rows = w->trips * w->work.cluster;
        if (w->work.across || !w->work.cluster || w->in_lane || row->space != SPACE_STACK)
                return;
        w->work.across = 1;
        w->work.length = (double)row->extent;
        w->work.tile = w->below && w->below < rows ? w->below : rows;
}

static void look_at_if(struct walk *w, const struct loop_stmt *s)
{
        const double outer = w->below;
        int64_t end;
        if (s->a->op == LOOP_LT && loop_is_int(s->a->args[1], &end) &&
            (!outer || (double)end < outer))
                w->below = (double)end;
        const struct walk before = *w;
        look_at_block(w, s->body);
        w->below = outer;
        if (!s->other)
                return;
        /* Only one of the two branches is executed. */
        const double instructions = w->instructions, bytes = w->bytes;
        w->instructions = before.instructions;
        w->bytes = before.bytes;
        look_at_block(w, s->other);
        w->instructions = larger(w->instructions, instructions);
        w->bytes = larger(w->bytes, bytes);
}

static void look_at(struct walk *w, const struct loop_stmt *s)
{
        struct loop_expr *const exprs[] = { s->a, s->b, s->c };
        for (int i = 0; i < 3 && s->kind != STMT_FOR; i++)
                look_at_expr(w, exprs[i], 0);
        switch (s->kind) {
        case STMT_FOR: look_at_for(w, s); return;
        case STMT_IF: look_at_if(w, s); return;
        case STMT_ALLOC: {
                const bool cluster = s->buffer->space == SPACE_CLUSTER;
                const int64_t all = s->buffer->extent * element_info[s->buffer->element].bytes,
                              bytes = round_up(cluster ? all / w->work.cluster : all, SHARED_ALIGN);
                if (!w->in_lane && s->buffer->space != SPACE_LANES)
                        w->cost->shared +=
                                bytes * (s->buffer->space == SPACE_STACK ? w->cost->warps : 1);
                look_at_row(w, s->buffer);
                w->work.partial += cluster ? (double)(bytes * w->cost->blocks) : 0;
                break;
        }
        case STMT_STORE:
                if (!w->unrolled || !is_own(s->buffer))
                        count(w, 1);
                move(w, s->buffer, s->b->type.lanes);
                break;
        case STMT_COPY: {
                double bytes =
                        w->trips * w->lanes * s->code * element_info[s->buffer->element].bytes;
                w->bytes += bytes;
                if (is_multiplied(w, s->buffer, true))
                        count_copy(w, s, bytes);
                break;
        }
        case STMT_UNLOAD:
                w->work.rows += w->trips / (double)w->cost->warps * s->tiles.positions;
                break;
        case STMT_WAIT:
                if (w->in_iteration)
                        w->work.stages = s->code + 2;
                break;
        case STMT_MULTIPLY: look_at_multiply(w, s); break;
        default: break;
        }
        if (s->body)
                look_at_block(w, s->body);
        if (s->other)
                look_at_block(w, s->other);
}

static void look_at_block(struct walk *w, const struct loop_block *b)
{
        for (const struct loop_stmt *s = b->first; s; s = s->next)
                look_at(w, s);
}

/* Returns the bytes of all buffers, each counted once, and those of results apart. */
static double traffic(const struct loop_function *f, double *results)
{
        double all = 0;
        *results = 0;
        for (int i = 0; i < f->buffer_count; i++) {
                double bytes =
                        (double)f->buffers[i]->extent * element_info[f->buffers[i]->element].bytes;
                all += bytes;
                *results += f->buffers[i]->access & ACCESS_OUT ? bytes : 0;
        }
        return all;
}

/* Returns the time of a launch without tensor cores: that of the slowest unit of a multiprocessor
 * for its blocks. */
static double plain_seconds(const struct walk *w, const struct gpu *g, double all)
{
        double of_one = (double)divide_up(w->cost->blocks, g->multiprocessors),
               share = g->clock * g->multiprocessors / g->l2_rate;
        /* A launch may read only some rows of a table. */
        all = all < w->bytes * (double)w->cost->blocks ? all : w->bytes * (double)w->cost->blocks;
        double cycles =
                of_one * larger(w->instructions / rate_grid_issue(w->target), w->bytes * share);
        cycles = larger(cycles, w->cost->waves * 2 * rate_grid_load(w->target));
        return g->launch + larger(cycles / g->clock, all / g->memory_rate);
}

int64_t grid_shared_asked(const struct target *t, int64_t blocks, int64_t cluster, int64_t shared)
{
        const struct gpu *g = target_gpu(t);
        const int64_t there = divide_up(blocks, cluster > 2 ? g->clustered : g->multiprocessors),
                      all = g->shared_bytes + GRID_BLOCK_SHARED;
        const int64_t asked = round_up(all / (there + 1) - GRID_BLOCK_SHARED + 1, SHARED_ALIGN);
        return g->dependent_launch && shared >= rate_grid_crowding(t) && asked > shared ? asked
                                                                                        : shared;
}

/* Returns the time of attention. Copies and instructions outside of the iterations come before the
 * first or after the last one. */
static double attention_seconds(const struct walk *w)
{
        const double warps = (double)w->cost->warps,
                     of_iterations = w->iterations > 1 ? w->of_iterations : 0;
        struct attention_work work = { .of = w->work,
                                       .once = (w->instructions - of_iterations) / warps,
                                       .first = w->before.x + w->before.w };
        work.of.instructions = of_iterations / (warps * w->iterations);
        work.of.copied = w->each.x + w->each.w;
        work.scores = w->scores / w->work.multiplies;
        return (multiply_by_warp_group(w->multiply) ? groups_attention_cost : warps_attention_cost)(
                w->target, w->multiply, &work);
}

struct grid_cost grid_cost_of(const struct target *t, const struct loop_function *f,
                              const struct loop_stmt *phase, bool cold)
{
        const struct gpu *g = target_gpu(t);
        struct grid_cost cost = { .blocks = loop_phase_most(phase),
                                  .warps = 1,
                                  .lanes = grid_lanes(phase->body) };
        struct arena *scratch = arena_new();
        struct walk w = { .target = t,
                          .f = f,
                          .bounds = loop_bounds_new(scratch, f),
                          .cost = &cost,
                          .trips = 1,
                          .lanes = 1,
                          .iterations = 1 };
        double results, all = traffic(f, &results);
        if (phase->for_kind == FOR_GPU_CLUSTER) {
                w.work.cluster = (int)loop_cluster_blocks(phase);
                cost.blocks *= w.work.cluster;
        }
        look_at(&w, phase);
        arena_free(scratch);
        cost.shared = grid_shared_asked(t, cost.blocks, w.work.cluster, cost.shared);
        w.work.blocks = (double)cost.blocks;
        w.work.warps = (int)cost.warps;
        w.work.shared = cost.shared;
        if (w.multiply) {
                /* Otherwise the copies of all iterations stand before the first. */
                const bool alike = w.each.x + w.each.w > 0;
                const struct copied *c = alike ? &w.each : &w.before;
                const double of_iteration = alike ? 1 : w.iterations;
                w.work.copied = (c->x + c->w) / of_iteration;
                w.work.copied_w = c->w / of_iteration;
                w.work.x_copies = c->x_words / of_iteration;
                w.work.w_copies = c->w_words / of_iteration;
                w.work.windows = c->windows;
                if (!w.work.stages)
                        w.work.stages = 2;
                int words = (int)(w.work.copied / COPY_BYTES / (double)(cost.warps * GRID_LANES));
                cost.registers = w.keys ? warps_attention_registers(
                                                  w.multiply, w.tile_rows * TILE_OWN_ROWS, w.keys,
                                                  w.tile_columns * w.multiply->outputs)
                                        : warps_registers(w.multiply, w.tile_rows, w.tile_columns,
                                                          w.tile_lanes, words);
                w.work.iterations = w.iterations + w.first_iteration;
                w.work.cold = cold;
                w.work.operands = all - results;
                w.work.results = results;
        }
        w.work.registers = cost.registers ? cost.registers : 32;
        cost.resident = warps_resident(g, &w.work);
        cost.waves = warps_waves(g, &w.work);
        if (w.keys && cost.resident)
                cost.seconds = attention_seconds(&w);
        else
                cost.seconds = !cost.registers || !cost.resident
                                       ? plain_seconds(&w, g, all)
                                       : (multiply_by_warp_group(w.multiply)
                                                  ? groups_cost
                                                  : warps_cost)(t, w.multiply, &w.work);
        return cost;
}

bool grid_stores_within_launch(const struct target *t, int64_t blocks, double bytes)
{
        const struct gpu *g = target_gpu(t);
        const double busy = (double)(blocks < g->multiprocessors ? blocks : g->multiprocessors);
        return bytes / busy * g->multiprocessors / g->l2_rate <
               g->launch + larger(2 * rate_grid_load(t) / g->clock, 2 * bytes / g->memory_rate);
}

bool grid_prefetches_constant(const struct target *t, int64_t bytes, bool copied)
{
        return !copied && (double)bytes <= rate_grid_prefetch_constant(t);
}

bool grid_prefetches_input(const struct target *t, int64_t bytes, bool copied)
{
        return (double)bytes <= rate_grid_prefetch_input(t) &&
               (copied || (double)bytes >= rate_grid_prefetch_loaded(t));
}

bool grid_is_cold(const struct target *t, const struct loop_program *p)
{
        double bytes = 0;
        for (const struct loop_buffer *b = p->buffers; b; b = b->next)
                bytes += b->space == SPACE_CONSTANT && !b->splat
                                 ? (double)b->extent * element_info[b->element].bytes
                                 : 0;
        return warps_are_cold(target_gpu(t), bytes);
}
