/* SPDX-License-Identifier: MIT */
/* Predicts what a schedule of convolve_packed costs, in cycles of one core.
 *
 *      products   a step of a tile adds one channel at one offset to all sums: multiply-adds,
 *                 loads, and the latency of a sum that has few neighbours overlap, and slow each
 *                 other down where they take equally long; words that are widened as they are
 *                 loaded take one more instruction each; where a core starts few instructions a
 *                 cycle, all instructions of a step overlap with that, too; positions whose
 *                 lines find no room in their sets of the first-level cache are loaded from the
 *                 second
 *      loops      iterations of the innermost loop, and entries into it
 *      results    the epilogue and the store of each vector of sums
 *      weights    read from beyond the second-level cache once, or for every strip; and from the
 *                 second-level cache for every tile, where a panel does not stay in the first
 *      operand    read again for every panel, where it exceeds the second-level cache
 *
 * The rates were fitted to layers of the zoo, measured by test/bench/schedules.py as in a network:
 * a fifth of the layers are off by more than 10 %, but what matters is which of two schedules is
 * faster. */
#include "cost/packed_cost.h"

#include "cost/core.h"
#include "cost/room.h"
#include "ir/target/cache_sets.h"
#include "ir/target/rates.h"
#include "ir/tensor/packed_multiply.h"

/* ---- the work ---- */

struct packed_work packed_work_of(const struct op *op, const struct target *target)
{
        const struct type *x = op_operand(op, 0)->type, *y = op_result(op)->type,
                          *w = op_operand(op, 1)->type;
        struct packed_work work = { .spatial = y->rank - 3,
                                    .images = dim_bound(op_module(op), y->dims[0]),
                                    .groups = op_int(op, "groups"),
                                    .blocks = type_extent(w, 1),
                                    .inner = type_extent(w, w->rank - 3),
                                    .panel = packed_panel(x, w),
                                    .group = (int)packed_group(x, w),
                                    .sum = op_accumulator(op) };
        work.multiply = packed_multiply(op, target, SUMS_IN_VECTORS);
        work.panels = type_extent(w, 0) / work.groups;
        work.channels = divide_up(op_int(op, "channels"), work.group);
        work.word = (int64_t)element_info[x->element].bytes * work.group;
        work.weight = (int64_t)element_info[w->element].bytes * work.group;
        work.outputs = type_extent(y, 1) / work.groups * type_extent(y, y->rank - 1);
        bool pointwise = work.spatial <= 2 && work.group == 1 &&
                         work.inner % target_block(target) == 0;
        for (int d = 0; d < work.spatial; d++) {
                const int64_t of = dim_bound(op_module(op), x->dims[2 + d]);
                work.extent[d] = dim_bound(op_module(op), y->dims[2 + d]);
                work.window[d] = type_extent(w, 2 + d);
                int64_t read = work.extent[d] * work.window[d];
                work.read[d] = read < of ? read : of;
                pointwise &= dim_is(w->dims[2 + d], 1);
                work.skips |= op_ints(op, "strides", NULL)[d] > 1 && work.extent[d] > 1;
        }
        work.skips &= pointwise;
        work.step = type_extent(x, x->rank - 1) * element_info[x->element].bytes *
                    op_ints(op, "strides", NULL)[work.spatial - 1];
        return work;
}

double packed_operand_bytes(const struct packed_work *work)
{
        double bytes = (double)(work->word * work->blocks * work->inner);
        for (int d = 0; d < work->spatial; d++)
                bytes *= (double)work->read[d];
        return bytes;
}

static double offsets(const struct packed_work *work)
{
        double count = 1;
        for (int d = 0; d < work->spatial; d++)
                count *= (double)work->window[d];
        return count;
}

double packed_weights_bytes(const struct packed_work *work)
{
        return (double)work->weight * (double)(work->panel * work->panels * work->channels) *
               offsets(work);
}

int packed_lines_ahead(const struct packed_work *work, int64_t iteration,
                       const struct target *target)
{
        int64_t most = work->weight < element_info[work->sum].bytes
                               ? (int64_t)rate_packed_ahead(target)
                               : 1;
        return (int)(iteration < most ? iteration : most);
}

int64_t packed_last_extent(const struct packed_work *work)
{
        return work->inner > 1 ? work->inner : work->window[work->spatial - 1];
}

/* ---- tiles ---- */

/* A tile of one width and size has these costs. */
struct tile_cost { double products, loops, results, weights; };

/* The positions of one dimension are split into tiles of two sizes. */
struct tile_sizes { int64_t size[2], count[2]; };

static struct tile_sizes tile_sizes(int64_t extent, int64_t most)
{
        int64_t count = divide_up(extent, most), size = divide_up(extent, count),
                large = extent - count * (size - 1);
        return (struct tile_sizes){ { size, size - 1 }, { large, count - large } };
}

/* Returns the words of a step that are widened, each by one more instruction. */
static double widened_words(const struct multiply *m, double xs, double vectors)
{
        return (m && m->x.source != SOURCE_SCALAR && multiply_widens(m, &m->x) ? xs : 0) +
               (m && multiply_widens(m, &m->w) && !m->w.decode ? vectors : 0);
}

/* Returns the loads of x in a step, for each position: less than one where a multiply takes lanes
 * of a vector that is loaded for several steps. */
static double x_loads(const struct packed_work *work, const struct schedule_registers *s)
{
        const struct multiply *m = work->multiply;
        bool lanes =
                m && multiply_takes_lanes(m) && work->inner > 1 && s->unroll % MULTIPLY_LANES == 0;
        return lanes ? 1. / MULTIPLY_LANES : 1;
}

double packed_step(const struct multiply *m, double positions, double vectors, double xs, int split,
                   const struct target *target)
{
        bool scalars = m && m->x.source == SOURCE_SCALAR;
        double sums = positions * vectors, issue = rate_issue(target),
               started = rate_starts(target);
        double adds = sums * rate_multiply(target, m),
               loads = rate_load(target) * (xs / (scalars ? 1 : issue) + vectors / issue);
        double step = cost_overlapped(cost_overlapped(adds, loads, target),
                                      rate_latency(target) / split, target);
        double instructions =
                sums * (m ? m->instructions : 1) + xs + vectors + widened_words(m, xs, vectors) +
                (m && m->w.decode ? rate_packed_decode(target) * vectors : 0);
        return started > 0 ? cost_overlapped(step, instructions / started, target) : step;
}

double packed_strip(const struct packed_work *work, int64_t again, const struct target *target)
{
        enum { PANEL = 60, POSITION = 8, COPY = 2 };    /* Instructions, as QEMU counts them. */
        const struct multiply *m = work->multiply;
        const double words = (double)(work->channels * work->blocks),
                     copied = multiply_by_vectors(m) ? 1 : target_lanes(target, work->sum),
                     held = m->x.decode ? rate_packed_decode(target) + m->channels : COPY / copied;
        return (double)(again * work->window[0]) * (POSITION + words * held) +
               PANEL * (double)work->panels;
}

bool packed_streams(const struct packed_work *work, const struct target *target)
{
        double steps = (double)work->channels * offsets(work),
               panel = steps * (double)(work->panel * work->weight);
        return panel > (double)target_l1_bytes(target) / 2;
}

static struct tile_cost tile_cost(const struct packed_work *work,
                                  const struct schedule_registers *s, const struct target *target,
                                  int64_t positions, int64_t vectors)
{
        double issue = rate_issue(target), sums = (double)(positions * vectors);
        double steps = (double)work->channels * offsets(work),
               lines = (double)(work->weight * target_lanes(target, work->sum) * vectors),
               xs = x_loads(work, s) * (double)positions;
        double step = packed_step(work->multiply, (double)positions, (double)vectors, xs, s->split,
                                  target);
        step += s->ahead ? 0 : rate_load_wait(target);
        step += rate_packed_conflict(target) *
                (double)cache_sets_excess(target, positions, work->step);
        step += work->group > 1 ? rate_packed_word(target) * xs : 0;
        step += widened_words(work->multiply, xs, (double)vectors) / issue;
        int64_t last = packed_last_extent(work);
        double entries =
                (double)work->blocks * offsets(work) / (work->inner > 1 ? 1 : (double)last);
        double iterations = (double)(last / s->unroll + last % s->unroll);
        const bool streamed = packed_streams(work, target);
        return (struct tile_cost){ .products = steps * step,
                                   .loops = entries * (rate_packed_entry(target) +
                                                       (rate_packed_iteration(target) +
                                                        (s->ahead ? rate_load_wait(target) : 0)) *
                                                               iterations),
                                   .results = rate_packed_result(target) * sums,
                                   .weights = streamed ? (1 - rate_l2_hidden(target)) * steps *
                                                                 lines / rate_l2(target)
                                                       : 0 };
}

/* Adds the cost of all tiles of `vectors` vectors, `count` of which lie side by side. */
static void add_tiles(struct packed_cost *cost, const struct packed_work *work,
                      const struct schedule_registers *s, const struct target *target,
                      int64_t vectors, double count)
{
        int k = work->spatial;
        bool flat = s->flat && k > 1;
        int64_t columns = work->extent[k - 1], rows = k > 1 ? work->extent[k - 2] : 1;
        for (int d = 0; d < k; d++) {
                if (flat && d < k - 1)
                        columns *= work->extent[d];
                else if (d < k - 2)
                        count *= (double)work->extent[d];
        }
        struct tile_sizes across = tile_sizes(flat ? 1 : rows, s->rows),
                          along = tile_sizes(columns, s->columns);
        for (int i = 0; i < 4; i++) {
                int64_t size = across.size[i / 2] * along.size[i % 2];
                double times = count * (double)(across.count[i / 2] * along.count[i % 2]);
                if (times <= 0 || !size)
                        continue;
                struct tile_cost tile = tile_cost(work, s, target, size, vectors);
                cost->products += times * tile.products;
                cost->loops += times * tile.loops;
                cost->results += times * tile.results;
                cost->weights += times * tile.weights;
        }
}

/* ---- the whole contraction ---- */

static void add_memory(struct packed_cost *cost, const struct packed_work *work,
                       const struct schedule_registers *s, const struct target *target,
                       double passes)
{
        double speed = rate_memory(target), times = (double)(work->groups * work->images);
        double x = packed_operand_bytes(work), y = x;
        double weights = packed_weights_bytes(work) * (double)work->groups;
        if (s->strip) {
                int k = work->spatial;
                int64_t rows = k > 1 && !s->flat ? work->extent[k - 2] : work->extent[k - 1];
                for (int d = 0; d < k - 1 && s->flat; d++)
                        rows *= work->extent[d];
                double strips =
                        (double)divide_up(divide_up(rows, k > 1 && !s->flat ? s->rows : s->columns),
                                          s->strip);
                weights *= strips > 1 ? strips : 1;
                y = x / (strips > 1 ? strips : 1);
        }
        cost->weights += cost_of_weights(weights, target);
        if (y > (double)room_operand(target))
                cost->operand += (1 - rate_again_hidden(target)) * times * x * passes / speed;
}

struct packed_cost packed_cost(const struct packed_work *work, const struct schedule_registers *s,
                               const struct target *target)
{
        struct packed_cost cost = { 0 };
        int64_t lanes = target_lanes(target, work->sum), vectors = divide_up(work->outputs, lanes);
        int64_t panel = work->panel / lanes, whole = vectors / panel * (panel / s->vectors),
                rest = vectors % panel;
        double times = (double)(work->groups * work->images);
        add_tiles(&cost, work, s, target, s->vectors, times * (double)(whole + rest / s->vectors));
        if (rest % s->vectors)
                add_tiles(&cost, work, s, target, rest % s->vectors, times);
        add_memory(&cost, work, s, target, (double)divide_up(vectors, s->vectors));
        cost.cycles = cost.products + cost.loops + cost.results + cost.weights + cost.operand;
        return cost;
}

const char *packed_cost_text(struct arena *arena, const struct packed_cost *cost)
{
        const struct { const char *name; double cycles; } parts[] = {
                { "products", cost->products }, { "loops", cost->loops },
                { "results", cost->results },   { "weights", cost->weights },
                { "operand", cost->operand } };
        const char *text = arena_printf(arena, "%.4g kcycles:", cost->cycles / 1000);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                if (parts[i].cycles >= .005 * cost->cycles)
                        text = arena_printf(arena, "%s %.0f %% %s", text,
                                            100 * parts[i].cycles / cost->cycles, parts[i].name);
        return text;
}
