/* SPDX-License-Identifier: MIT */
/* Chooses the register tile, strips, prefetch and tasks of a contraction. Tiles that fit into the
 * registers and divide the positions evenly are compared by their predicted cost
 * (cost/packed_cost.c); the rest follows from the tile. */
#include "cost/core.h"
#include "cost/packed_cost.h"
#include "cost/room.h"
#include "kernels/contract.h"
#include "schedule/choose.h"

#include <math.h>

enum { VECTORS_MOST = 4 };              /* A tile has at most this many vectors. */
enum { PACKED_PANELS = 16 };            /* At least this many panels must read x before it is worth
                                         * gathering positions that strides leave gaps between. */

int schedule_positions(const struct target *target, const struct multiply *m, int vectors,
                       int inputs)
{
        int registers = target_vector_registers(target) - vectors - (m ? m->spare : 0);
        if (m && m->x.source == SOURCE_SCALAR)
                inputs = 0;
        if (!m || !multiply_takes_lanes(m))
                return (registers - inputs) / vectors;
        int positions = (registers - 1) / (vectors + 1);
        return m->lane_registers && m->lane_registers < positions ? m->lane_registers : positions;
}

/* Returns the most positions of a tile, so that sums, weights, one channel of x and the next one
 * stay in registers; a tile of one vector has one position at least. */
static int most_positions(const struct target *target, const struct multiply *m, int vectors)
{
        int most = schedule_positions(target, m, vectors, 2);
        return vectors == 1 && most < 1 ? 1 : most;
}

/* An iteration has a few channels, and more where each begins with a wait for loads. With one
 * channel a row of the window is not one iteration: inside a strip compilers keep the sums of so
 * long an iteration in memory. */
int schedule_unroll(const struct schedule_registers *s, int64_t extent)
{
        enum { CHANNELS = 4, MOST = 8, AHEAD = 8 };
        if (s->ahead && extent % AHEAD == 0)
                return AHEAD;
        return extent % CHANNELS == 0 || extent > MOST ? CHANNELS : 1;
}

/* Returns the least vectors of a tile: a single sum, or a line of them or, where there are
 * registers for fewer than two positions of a line, halves of one, or less. */
static int least_vectors(const struct target *target, const struct multiply *m, enum element sum)
{
        if (target_engine(target)->single_sums)
                return 1;
        int lanes = target_lanes(target, sum), line = target_line(target, sum),
            vectors = lanes < line ? line / lanes : 1;
        while (vectors > 1 && (vectors > VECTORS_MOST || most_positions(target, m, vectors) < 2))
                vectors /= 2;
        return vectors;
}

bool schedule_can_flatten(const struct op *contraction)
{
        int rank = op_result(contraction)->type->rank;
        for (int d = 2; d < rank - 1; d++)
                if (!dim_is(op_operand(contraction, 1)->type->dims[d], 1) ||
                    op_ints(contraction, "strides", NULL)[d - 2] != 1)
                        return false;
        bool fused = contraction->region->owner && contraction->region->owner->code == OP_fusion;
        for (const struct op *op = fused ? contraction->region->first : NULL; op; op = op->next) {
                if (op->code == OP_pad || op->code == OP_slice)
                        return false;
                int count = 0, spatial = 0;
                const int64_t *dims = op->code == OP_broadcast ? op_ints(op, "dims", &count) : NULL;
                for (int i = 0; i < count; i++)
                        spatial += dims[i] >= 2 && dims[i] < rank - 1 &&
                                   !dim_is(op_operand(op, 0)->type->dims[i], 1);
                if (spatial)
                        return false;
        }
        return true;
}

/* Returns the rows of tiles of a strip, for which x stays in half of L2 while all panels run over
 * them; all strips are about as large. Every strip reads all of w again, whereas without strips
 * every panel reads all of x, which is cheaper because it is read in order: 0, no strips, unless
 * that is three times as much. */
static int choose_strip(const struct packed_work *work, const struct target *target, int64_t rows)
{
        double room = (double)room_strip(target), bytes = packed_operand_bytes(work);
        if (bytes <= room || work->panels == 1)
                return 0;
        double strip = (double)rows * room / bytes;
        int64_t whole = strip < 1 ? 1 : (int64_t)strip;
        int64_t strips = divide_up(rows, whole);
        double again = packed_weights_bytes(work) * (double)(strips - 1);
        return 3 * again < bytes * (double)(work->panels - 1) ? (int)divide_up(rows, strips) : 0;
}

/* Returns the rows of tiles, which strips and threads share; *tiles is the number of tiles in all
 * of them. */
static int64_t rows_of_tiles(const struct schedule_registers *s, const struct packed_work *work,
                             int64_t *tiles)
{
        int k = work->spatial;
        int64_t columns = work->extent[k - 1], rows = k > 1 && !s->flat ? work->extent[k - 2] : 1;
        for (int d = 0; d < k - 1 && s->flat; d++)
                columns *= work->extent[d];
        int64_t row_tiles = divide_up(rows, s->rows), column_tiles = divide_up(columns, s->columns);
        *tiles = row_tiles * column_tiles;
        return k > 1 && !s->flat ? row_tiles : column_tiles;
}

/* Sets the words that do not depend on the size of a tile, or that follow from it. */
static void complete(struct schedule_registers *s, const struct packed_work *work,
                     const struct target *target)
{
        int64_t tiles, rows = rows_of_tiles(s, work, &tiles);
        s->strip = choose_strip(work, target, rows);
        s->pack = work->skips && work->panels >= PACKED_PANELS;
}

/* Returns the prefetch of the next panel, which all tiles of a thread share. A single tile reads
 * too fast for that to help, unless its core says otherwise. */
static int choose_prefetch(const struct schedule_registers *s, const struct packed_work *work,
                           int64_t tiles, const struct target *target)
{
        enum { MOST = 4 };
        if (packed_last_extent(work) % s->unroll || work->panels * work->groups == 1)
                return 0;
        tiles = tiles > s->row_tasks ? tiles / s->row_tasks : 1;
        int64_t iteration = divide_up(work->panel * s->unroll * work->weight,
                                      target_line_bytes(target)),
                lines = divide_up(iteration, tiles);
        if (tiles == 1)
                return packed_lines_ahead(work, iteration, target);
        return lines > MOST ? MOST : (int)lines;
}

static void share(struct schedule_registers *s, const struct op *op, const struct packed_work *work,
                  double cycles, const struct schedule_machine *machine)
{
        int64_t tiles;
        double weights = packed_weights_bytes(work) * (double)work->groups,
               reading = cost_of_weights(weights, machine->target);
        double operand = packed_operand_bytes(work) * (double)(work->groups * work->images);
        const struct shared_work shared = { .rows = rows_of_tiles(s, work, &tiles),
                                              .panels = work->panels,
                                              .cycles = cycles > reading ? cycles - reading : 0,
                                              .weights = weights,
                                              .operand = operand,
                                              .gathered = s->pack ? operand : 0 };
        schedule_share(s, op, &shared, machine);
        s->prefetch = choose_prefetch(s, work, tiles, machine->target);
}

/* ---- the search ---- */

struct search {
        const struct packed_work *work;
        const struct target *target;    /* The target has the vector width that is being tried. */
        bool compact;                   /* Tiles leave nothing over, and loops are not unrolled. */
        bool open, images;              /* A run gives the positions, or the images, of which there
                                         * may be fewer than in the work. */
        struct schedule_registers best, next;
        struct packed_cost cost, next_cost;
        double least, next_least;       /* These are compared. */
};

/* Returns what schedules are compared by: the cost or, where a run gives the positions or images,
 * the sum of the costs of one of them, if there are as many as in the work, a quarter of these, and
 * so on. */
static double compared(const struct search *search, const struct schedule_registers *s,
                       const struct packed_cost *cost)
{
        enum { LESS = 4, FEWEST = 4 };
        struct packed_work fewer = *search->work;
        int64_t *count = search->open ? &fewer.extent[fewer.spatial - 1] : &fewer.images,
                least = search->open ? FEWEST : 1;
        if (!(search->open || search->images) || *count < 1)
                return cost->cycles;
        double sum = cost->cycles / (double)*count;
        for (*count /= LESS; *count >= least; *count /= LESS) {
                if (search->open)
                        fewer.read[fewer.spatial - 1] = *count;
                sum += packed_cost(&fewer, s, search->target).cycles / (double)*count;
        }
        return sum;
}

static void try(struct search *search, struct schedule_registers s)
{
        complete(&s, search->work, search->target);
        struct packed_cost cost = packed_cost(search->work, &s, search->target);
        const double all = compared(search, &s, &cost);
        if (!search->least || all < search->least) {
                search->next = search->best;
                search->next_cost = search->cost;
                search->next_least = search->least;
                search->best = s;
                search->cost = cost;
                search->least = all;
        } else if (!search->next_least || all < search->next_least) {
                search->next = s;
                search->next_cost = cost;
                search->next_least = all;
        }
}

/* Tries tiles of s.rows rows that leave no columns over. */
static void try_whole(struct search *search, struct schedule_registers s, int64_t columns,
                      int64_t most)
{
        for (int64_t width = most < columns ? most : columns; width > 0; width--) {
                s.columns = (int)width;
                if (columns % width == 0)
                        try(search, s);
        }
}

/* Tries tiles of s.rows rows: as wide as registers allow, and of the next few sizes that divide the
 * columns evenly. */
static void try_columns(struct search *search, struct schedule_registers s, int64_t columns)
{
        enum { SIZES = 3 };
        int64_t most = most_positions(search->target, search->work->multiply, s.vectors) / s.split /
                       s.rows,
                before = 0;
        if (search->compact) {
                try_whole(search, s, columns, most);
                return;
        }
        for (int64_t tiles = divide_up(columns, most > 0 ? most : 1), n = 0; most > 0 && n < SIZES;
             tiles++, n++) {
                s.columns = (int)divide_up(columns, tiles);
                if (s.columns == before)
                        break;
                before = s.columns;
                try(search, s);
        }
}

static void try_tiles(struct search *search, struct schedule_registers s)
{
        const struct packed_work *work = search->work;
        int k = work->spatial;
        int64_t columns = work->extent[k - 1], rows = k > 1 && !s.flat ? work->extent[k - 2] : 1;
        for (int d = 0; d < k - 1 && s.flat; d++)
                columns *= work->extent[d];
        int most = most_positions(search->target, work->multiply, s.vectors);
        for (s.split = 1; s.split <= 4; s.split *= 2) {
                s.rows = 1;
                try_columns(search, s, columns);
                if (columns * 2 > most / s.split)
                        continue;
                s.rows = (int)divide_up(rows, divide_up(rows, most / s.split / columns));
                while (search->compact && rows % s.rows)
                        s.rows--;
                if (s.rows > 1)
                        try_columns(search, s, columns);
        }
}

/* Tries iterations, also with loads between products, where a core waits for them. */
static void try_iterations(struct search *search, struct schedule_registers s)
{
        for (s.ahead = 0; s.ahead <= core_waits(search->target); s.ahead++) {
                s.unroll = search->compact
                                   ? 1
                                   : schedule_unroll(&s, packed_last_extent(search->work));
                try_tiles(search, s);
        }
}

/* Returns text that says what the best schedule costs, and which one is next. */
static const char *reason(struct arena *arena, const struct search *search)
{
        const char *text = packed_cost_text(arena, &search->cost);
        const struct schedule next = schedule_of_registers(search->next, NULL);
        if (!search->next_cost.cycles)
                return text;
        return arena_printf(arena, "%s; next: %.4g for %s", text, search->next_cost.cycles / 1000,
                            schedule_words(arena, &next));
}

/* Tries vectors of one width. */
static void try_width(struct search *search, struct schedule_registers s, bool flattens)
{
        const struct packed_work *work = search->work;
        int most = (int)work->panel / target_lanes(search->target, work->sum),
            least = least_vectors(search->target, work->multiply, work->sum);
        for (s.flat = flattens; s.flat >= 0; s.flat--)
                for (s.vectors = least; s.vectors <= most && s.vectors <= VECTORS_MOST; s.vectors++)
                        if (s.vectors % least == 0 && most % s.vectors == 0)
                                try_iterations(search, s);
}

double packed_least_cycles(const struct packed_work *work, const struct target *target)
{
        bool flattens = work->spatial > 1 && !work->skips;
        for (int d = 0; d < work->spatial; d++)
                flattens &= work->window[d] == 1 && work->read[d] == work->extent[d];
        struct search search = { .work = work,
                                 .target = target,
                                 .best = schedule_preset(SCHEDULE_registers).registers };
        try_width(&search, search.best, flattens);
        return search.least ? search.cost.cycles : INFINITY;
}

struct schedule packed_choose(const struct op *op, const struct schedule_machine *machine,
                              struct arena *arena)
{
        const struct packed_work work = packed_work_of(op, machine->target);
        const bool flattens = work.spatial > 1 && schedule_can_flatten(op);
        struct search search = { .work = &work,
                                 .target = machine->target,
                                 .compact = machine->compact,
                                 .open = !op_is_static_inside(op),
                                 .images = !op_is_static(op),
                                 .best = schedule_preset(SCHEDULE_registers).registers };
        struct schedule_registers s = schedule_preset(SCHEDULE_registers).registers;
        const struct target *wide = machine->target->wide;
        if (work.multiply || !wide)
                try_width(&search, s, flattens);
        const struct packed_work longer = wide ? packed_work_of(op, wide) : work;
        if (wide && longer.multiply && contract_fits_width(op, wide)) {
                s.wide = 1;
                search.work = &longer;
                search.target = wide;
                try_width(&search, s, flattens);
        }
        share(&search.best, op, &work, search.cost.cycles, machine);
        share(&search.next, op, &work, search.next_cost.cycles, machine);
        return schedule_of_registers(search.best, reason(arena, &search));
}
