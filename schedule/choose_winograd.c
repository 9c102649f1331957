/* SPDX-License-Identifier: MIT */
/* Decides by predicted time whether to use Winograd's algorithm, and how (cost/winograd_cost.c). */
#include "cost/core.h"
#include "cost/packed_cost.h"
#include "cost/winograd_cost.h"
#include "schedule/choose.h"

/* A smaller gain does not justify that constants, and errors, grow. */
#define WORTH .85

/* Should threads share the phases of one batch, and not batches of tiles? They should not share
 * tiles where these are so few that sums would be split otherwise than on one thread. */
static bool shares_phases(const struct winograd_work *w, const struct schedule_machine *machine,
                          int vectors)
{
        enum { SUMS = 8 };
        double threads = machine->threads;
        return threads < 2 || w->tiles / threads * vectors < SUMS ||
               winograd_phases_wait(w, threads, machine->target) <
                       winograd_tiles_wait(w, threads, machine->target);
}

/* Returns an extent of the result or, where a run gives it, its bound. */
static int64_t extent_of(const struct op *op, int d)
{
        return dim_bound(op_module(op), op_result(op)->type->dims[d]);
}

/* Returns the rows of the result; a signal is one. */
static int64_t rows_of(const struct op *op)
{
        return op_result(op)->type->rank == 2 + WINOGRAD_DIMS + 1 ? extent_of(op, 2) : 1;
}

static int64_t columns_of(const struct op *op)
{
        return extent_of(op, op_result(op)->type->rank - 2);
}

/* Returns the tiles of an image. */
static double tiles_of(const struct op *op, const struct winograd_square *f)
{
        return winograd_tiles(1, rows_of(op), columns_of(op), f);
}

/* Returns the taps of the window of a convolve_packed, and the phases of its strides. */
static double taps_of(const struct op *packed, double *phases)
{
        const int64_t *strides = op_ints(packed, "strides", NULL);
        double taps = *phases = 1;
        for (int d = 0; d < winograd_dims(packed); d++) {
                taps *= (double)type_extent(op_operand(packed, 1)->type, 2 + d);
                *phases *= (double)strides[d];
        }
        return taps;
}

int64_t schedule_winograd_line(int64_t lanes, const struct target *target)
{
        int line = target_line(target, E_F32);
        return lanes > line ? lanes : line;
}

int64_t schedule_winograd_panel(int64_t lines)
{
        return lines == 1 ? 1 : lines % 2 && lines % 3 == 0 ? 3 : 2;
}

double schedule_winograd_gain(const struct op *packed, const struct winograd_square *f,
                              const struct schedule_machine *machine)
{
        enum { LESS = 4, POSITIONS_LESS = LESS * LESS };
        const struct type *y = op_result(packed)->type, *x = op_operand(packed, 0)->type;
        int64_t line = schedule_winograd_line(packed_lanes(x, op_operand(packed, 1)->type),
                                              machine->target),
                all = type_extent(y, 1) * type_extent(y, y->rank - 1), lines = all / line,
                panel = schedule_winograd_panel(lines);
        double outputs = (double)(divide_up(lines, panel) * panel * line);
        double phases, channels = (double)op_int(packed, "channels");
        double weights = taps_of(packed, &phases) * channels * (double)all;
        const int64_t images = extent_of(packed, 0),
                      positions = rows_of(packed) * columns_of(packed);
        /* These may be as many times less. */
        const double tiles = tiles_of(packed, f),
                     most = op_is_static_inside(packed) ? (double)images
                            : tiles < POSITIONS_LESS    ? tiles
                                                        : POSITIONS_LESS;
        double direct = 0, cycles = 0;
        /* Where a run gives the images or positions, the costs of one of them are compared: as the
         * mean of those at the bound, at a quarter of it, and so on, of positions at a sixteenth at
         * last. */
        int counts = 0;
        for (double one = 1; one <= most; one *= LESS) {
                const double sums = (double)(images * positions) / one;
                struct winograd_work work = { (double)images * tiles / one, phases * channels,
                                              outputs, f };
                double some;
                winograd_batches(&work, 1, machine->target, &some);
                if (!value_is_constant(op_operand(packed, 1)))
                        some += winograd_weights_cost(&work, taps_of(packed, &phases),
                                                      machine->target);
                direct += one * winograd_direct_cost(weights, sums, machine->target);
                cycles += one * some;
                counts++;
                if (op_is_static(packed))
                        break;
        }
        return cycles < WORTH * direct ? (direct - cycles) / counts : 0;
}

/* Returns the number of vectors of a tile, where a panel has `panel` vectors: a line of sums, or as
 * many as a short panel has; fewer where registers have no room for two tiles of the image. */
static int choose_vectors(int64_t panel, const struct target *target)
{
        int lanes = target_lanes(target, E_F32), line = target_line(target, E_F32),
            registers = target_vector_registers(target);
        int vectors = lanes < line ? line / lanes
                      : panel > 3  ? panel % 2 ? 1 : 2
                      : panel > 1  ? (int)panel
                                   : 1;
        while (vectors > 1 && (registers - vectors - 1) / vectors < 2)
                vectors = vectors % 2 ? 1 : vectors / 2;
        return vectors;
}

/* A register tile of products has as many tiles of the image as registers have room for. */
struct product_tile { bool wide; int vectors, most; double cycles; };

static struct product_tile product_tile(int vectors, const struct target *target)
{
        const struct multiply *m = multiply_for(target, E_F32, E_F32, false);
        struct product_tile t = { .vectors = vectors,
                                  .most = schedule_positions(target, m, vectors, 1) };
        if (t.most < 1)
                t.most = 1;
        t.cycles = packed_step(m, t.most, vectors, t.most, 1, target) /
                   (t.most * vectors * target_lanes(target, E_F32));
        return t;
}

/* Chooses the tile for a panel of `outputs` outputs, of the target's longer vectors if these take
 * fewer cycles for each product. */
static struct product_tile choose_tile(int64_t outputs, const struct target *target)
{
        const struct target *wide = target->wide;
        struct product_tile best =
                product_tile(choose_vectors(outputs / target_lanes(target, E_F32), target), target);
        if (!wide || outputs % target_lanes(wide, E_F32))
                return best;
        for (int vectors = choose_vectors(outputs / target_lanes(wide, E_F32), wide); vectors > 0;
             vectors /= 2) {
                struct product_tile t = product_tile(vectors, wide);
                t.wide = true;
                best = t.cycles < best.cycles ? t : best;
        }
        return best;
}

struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine,
                                struct arena *arena)
{
        const struct target *target = machine->target;
        const struct type *w = op_operand(op, 1)->type;
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers;
        const struct product_tile tile = choose_tile(type_extent(w, 3) * type_extent(w, 4), target);
        const struct winograd_square f = winograd_of(op);
        struct winograd_work work = { .channels = (double)type_extent(w, 2),
                                      .outputs = (double)(type_extent(w, 1) * type_extent(w, 3) *
                                                          type_extent(w, 4)),
                                      .f = &f };
        work.tiles = (double)extent_of(op, 0) * tiles_of(op, &f);
        s.vectors = tile.vectors;
        s.wide = tile.wide;
        s.ahead = core_waits(target);
        s.unroll = s.ahead ? schedule_unroll(&s, type_extent(w, 2)) : s.unroll;
        bool phases = machine->threads > 1 && shares_phases(&work, machine, s.vectors);
        double cycles = winograd_cost(&work, 1, target);
        int64_t batches = phases ? 1 : winograd_batches(&work, machine->threads, target, &cycles);
        int64_t batch = divide_up((int64_t)work.tiles, batches);
        const char *why = arena_printf(arena, "%.4g kcycles in %lld batches of tiles",
                             cycles / 1000, (long long)batches);
        int64_t blocks = divide_up(batch, tile.most);
        s.columns = (int)divide_up(batch, blocks);
        if (!op_is_static(op))          /* A run gives the images: batches are whole blocks. */
                batch = blocks * s.columns;
        s.tile_batch = batches > 1 ? (int)batch : 0;
        while (s.columns * s.vectors * s.split < 8 && s.split < 4 &&
               2 * s.split * s.columns <= tile.most)
                s.split *= 2;
        /* All tiles together fetch the next panel. */
        if (type_extent(w, 2) >= s.unroll) {
                int64_t lines = type_extent(w, 3) * type_extent(w, 4) / target_line(target, E_F32);
                lines = divide_up(lines * s.unroll, blocks);
                s.prefetch = lines > 8 ? 8 : (int)lines;
        }
        if (phases)
                s.panel_tasks = machine->threads;
        else
                s.row_tasks = machine->threads;
        return schedule_of_registers(s, why);
}
