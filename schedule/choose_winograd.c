/* Winograd's algorithm or not, and how: by predicted time, in cycles of one core.
 *
 *      direct     the greater of products and reading the weights
 *      Winograd   the greater of products and reading U, once for each group of tiles, and the transforms: their arithmetic, and V and
 *                 M written and read, in the second cache or beyond it
 *
 * Weights come from beyond the second cache: in a network they were last read a whole run ago. */
#include "ir/winograd.h"
#include "schedule/stage.h"

enum { PANEL_LANES = 16 };

/* what a convolution asks for */
struct work { double tiles, channels, outputs; const struct winograd *f; };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static double larger(double a, double b) { return a > b ? a : b; }

/* multiply-adds that register tiles reach in a cycle */
static double products_per_cycle(const struct target *target)
{
        double peak = target_lanes(target, E_F32) * target_vector_issue(target);
        return .85 * (target_has_fma(target) ? peak : peak / 2);
}

static double matrix_bytes(const struct work *w, double tiles)
{
        return 4 * w->f->size * w->f->size * tiles * (w->channels + w->outputs);
}

static double panels_bytes(const struct work *w) { return 4 * w->f->size * w->f->size * w->channels * w->outputs; }

/* one turn of the transforms of a vector of channels */
static double line_cycles(const struct winograd_line *line, const struct target *target)
{
        return (line->count + line->results) * line->step_count / (double)target_vector_issue(target);
}

static double winograd_cycles(const struct work *w, double groups, const struct target *target)
{
        double l2 = (double)target_l2_bytes(target), lanes = target_lanes(target, E_F32);
        double group = matrix_bytes(w, w->tiles / groups), panels = panels_bytes(w);
        double products = w->f->size * w->f->size * w->tiles * w->channels * w->outputs / products_per_cycle(target);
        bool stays = panels + group <= l2;
        double weights = stays ? panels : panels * groups;
        double transforms = w->channels / lanes * line_cycles(&w->f->input, target) +
                            w->outputs / lanes * line_cycles(&w->f->output, target);
        double moved = 2 * matrix_bytes(w, w->tiles) / (group <= l2 ? target_l2_speed(target) : target_memory_speed(target));
        return larger(products, weights / target_memory_speed(target)) + w->tiles * transforms + moved;
}

/* how many groups of tiles are best */
static int64_t best_groups(const struct work *w, const struct schedule_machine *machine, int64_t least)
{
        int64_t best = least;
        double best_cycles = winograd_cycles(w, (double)least, machine->target);
        for (int64_t groups = 2 * least; (double)groups * 8 <= w->tiles; groups += least) {
                double cycles = winograd_cycles(w, (double)groups, machine->target);
                if (cycles < best_cycles) {
                        best = groups;
                        best_cycles = cycles;
                }
        }
        return best;
}

static double tiles_of(const struct type *y, int tile)
{
        return (double)(y->dims[0] * divide_up(y->dims[2], tile) * divide_up(y->dims[3], tile));
}

int schedule_winograd_tile(const struct op *packed, const struct schedule_machine *machine)
{
        const struct type *y = op_result(packed)->type, *w = op_operand(packed, 1)->type;
        double channels = (double)op_int(packed, "channels"), outputs = (double)(w->dims[0] * w->dims[5] * PANEL_LANES);
        double positions = (double)(y->dims[0] * y->dims[2] * y->dims[3]), window = WINOGRAD_WINDOW * WINOGRAD_WINDOW;
        double products = window * channels * outputs;
        double best = larger(products * positions / products_per_cycle(machine->target),
                             4 * products / target_memory_speed(machine->target));
        int tile = 0;
        for (int m = 2; m <= WINOGRAD_TILE_MAX; m += 2) {
                struct work work = { tiles_of(y, m), channels, outputs, winograd_find(m) };
                double cycles = winograd_cycles(&work, (double)best_groups(&work, machine, 1), machine->target);
                if (cycles < best) {
                        best = cycles;
                        tile = m;
                }
        }
        return tile;
}

struct schedule winograd_choose(const struct op *op, const struct schedule_machine *machine)
{
        const struct target *target = machine->target;
        const struct type *w = op_operand(op, 1)->type;
        struct schedule s = schedule_preset();
        int lanes = target_lanes(target, E_F32), registers = target_vector_registers(target);
        struct work work = { .channels = (double)w->dims[2], .outputs = (double)(w->dims[1] * w->dims[3] * PANEL_LANES),
                             .f = winograd_find(op_int(op, "tile")) };
        work.tiles = tiles_of(op_result(op)->type, work.f->tile);
        s.vectors = (int)w->dims[3] * PANEL_LANES / lanes;
        while (s.vectors > 2 && s.vectors % 2 == 0 && s.vectors / 2 * lanes >= PANEL_LANES)
                s.vectors /= 2;
        /* sums, weights and an input stay in registers */
        int most = (registers - s.vectors - 1) / s.vectors;
        bool few = work.tiles < 4 * most * machine->threads;
        int64_t groups = few ? 1 : best_groups(&work, machine, machine->threads);
        int64_t group = divide_up((int64_t)work.tiles, groups);
        s.group = groups > 1 ? (int)group : 0;
        int64_t blocks = divide_up(group, most);
        s.columns = (int)divide_up(group, blocks);
        while (s.columns * s.vectors * s.split < 8 && s.split < 4)
                s.split *= 2;
        if (w->dims[2] >= s.unroll) {
                int64_t lines = divide_up(w->dims[3] * s.unroll, blocks);
                s.prefetch = lines > 4 ? 4 : (int)lines;
        }
        if (machine->threads > 1) {
                s.panel_tasks = few ? machine->threads : 1;
                s.row_tasks = few ? 1 : machine->threads;
        }
        return s;
}
