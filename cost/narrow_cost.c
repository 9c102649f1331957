/* SPDX-License-Identifier: MIT */
/* Predicts what a contraction costs in f32, and where it reads bf16 or f16.
 *
 *      f32       products at the speed of register tiles, outputs in whole blocks; reading the
 *                weights
 *      tiles     products of hardware tiles, each taking its time however few of its rows are
 *                used; what becomes of a block of sums; the cost of a kernel with tiles before it
 *                begins; reading half as many bytes of weights, and rounding them where they come
 *                as f32
 *      words     products of as many channels at once as a word has, in registers
 *      Winograd  products of tiles of results in f32 (cost/winograd_cost.c)
 *      weights   products in f32 by weights stored in bf16: half of the bytes to read, and
 *                instructions that widen them
 *
 * This is asked before layouts and schedules are chosen, so it is rough: it knows no edges of
 * tiles, no loops and no strips. The rates were set by hand, as those of cost/tiles_cost.c; the
 * error for a layer has not been recorded. */
#include "cost/narrow_cost.h"

#include "cost/tiles_cost.h"
#include "cost/winograd_cost.h"
#include "ir/loop/loop.h"
#include "ir/target/rates.h"

enum { NARROW_BYTES = 2 };               /* An element of bf16 or f16 has this many bytes. */
enum { BLOCK_TILES = 4 };               /* This many hardware tiles of sums are stored together. */

static double whole(int64_t extent, int64_t block)
{
        return (double)(divide_up(extent, block) * block);
}

/* ---- the work ---- */

/* A contraction computes this in a group. `lines` counts rows of positions that can fill rows of a
 * tile, `length` the positions of each; `steps` counts products of tiles for a sum. */
struct work {
        int64_t groups, lines, length, outputs, terms, steps;
        double weights, paired;
        bool blocked;
};

static struct work work_of_dot(const struct op *op, const struct multiply *m)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        struct work work = { .groups = 1,
                             .lines = 1,
                             .terms = 1,
                             .weights = (double)type_elements(w) };
        int count;
        const int64_t *contracted = op_ints(op, "contract_b", &count);
        for (int i = 0; i < count; i++)
                work.terms *= type_extent(w, contracted[i]);
        const int64_t *batch = op_ints(op, "batch_b", &count);
        for (int i = 0; i < count; i++)
                work.groups *= type_extent(w, batch[i]);
        work.length = type_elements(x) / work.groups / work.terms;
        work.outputs = type_elements(w) / work.groups / work.terms;
        work.steps = m ? divide_up(work.terms, multiply_row(m)) : 0;
        return work;
}

bool narrow_few(const struct type *w, const struct multiply *m)
{
        return 2 * type_extent(w, 1) < multiply_row(m);
}

int64_t narrow_line(const struct type *w, const struct multiply *m)
{
        return round_up(type_extent(w, 1), m->channels) * type_extent(w, w->rank - 1);
}

static struct work work_of_convolve(const struct op *op, const struct multiply *m)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type,
                          *y = op_result(op)->type;
        struct work work = { .groups = op_int(op, "groups"),
                             .lines = type_extent(y, 0),
                             .length = 1,
                             .blocked = true,
                             .weights = (double)type_elements(w) };
        int last = y->rank - 1;
        /* Each phase of the outputs is a convolution by its share of the window. */
        const int64_t *phases = op_ints(op, "input_dilations", NULL);
        int64_t window = 1;
        bool flat = op_all_ones(op, "strides");
        for (int d = 2; d <= last; d++) {
                int64_t taps = divide_up(type_extent(w, d), phases[d - 2]);
                window *= taps;
                flat &= taps == 1;
                work.lines *= phases[d - 2];
        }
        while (last > 2 && dim_is(y->dims[last], 1))
                last--;
        for (int d = 2; d <= last; d++)
                *(flat || d == last ? &work.length : &work.lines) *=
                        divide_up(type_extent(y, d), phases[d - 2]);
        work.outputs = type_extent(w, 0) / work.groups;
        work.terms = type_extent(w, 1) * window;
        const int row = m ? multiply_row(m) : 0;
        work.steps = m ? divide_up(type_extent(w, 1), row) * window : 0;
        if (m && narrow_few(w, m)) {
                work.steps =
                        window / type_extent(w, w->rank - 1) * divide_up(narrow_line(w, m), row);
                work.paired = (double)(type_elements(x) / type_extent(x, 1));
        }
        return work;
}

/* Returns the work in the tiles of m; NULL: without tiles. */
static struct work work_of(const struct op *op, const struct multiply *m)
{
        return op->code == OP_dot ? work_of_dot(op, m) : work_of_convolve(op, m);
}

double narrow_f32_cost(const struct op *op, const struct target *target, int64_t block)
{
        struct work work = work_of(op, NULL);
        double speed = rate_reached(target) * target_lanes(target, E_F32) * rate_issue(target);
        bool lanes = work.groups > 1 && work.outputs == 1;      /* The convolution is depthwise: a
                                                                 * group is a lane. */
        double outputs =
                lanes ? whole(work.groups, block)
                      : (double)work.groups *
                                whole(work.outputs, work.blocked ? block : target_block(target));
        return (double)(work.lines * work.length * work.terms) * outputs / speed +
               (double)element_info[E_F32].bytes * work.weights / rate_memory(target);
}

/* Returns the elements of v that come, through moves, from outside: no operation that makes them
 * can round them. */
static double given_elements(const struct value *v, int depth)
{
        if (v->kind == VALUE_ARGUMENT)
                return (double)type_elements(v->type);
        bool joins = op_is(v, OP_concat),
             moves = op_is(v, OP_reshape) || op_is(v, OP_transpose) || op_is(v, OP_slice);
        double elements = 0;
        for (int i = 0; depth && i < (joins ? v->op->operand_count : moves); i++)
                elements += given_elements(op_operand(v->op, i), depth - 1);
        return elements < (double)type_elements(v->type) ? elements
                                                         : (double)type_elements(v->type);
}

/* Returns the cycles for a product's second operand that comes as f32, as a cache of keys does: it
 * is read and written once more. */
static double rounding_cycles(const struct op *op, const struct target *target)
{
        enum { MOVES = 8 };
        double elements = op->code == OP_dot ? given_elements(op_operand(op, 1), MOVES) : 0;
        return elements * (element_info[E_F32].bytes + NARROW_BYTES) /
               rate_memory(target);
}

double narrow_tiles_cost(const struct op *op, const struct target *target,
                         const struct multiply *m)
{
        struct work work = work_of(op, m);
        double tiles =
                (double)(work.lines * divide_up(work.length, m->positions)) * (double)work.groups;
        tiles *= whole(work.outputs, work.blocked ? multiply_row(m) : m->outputs) / m->outputs;
        return tiles_cost(target, m, tiles / BLOCK_TILES, (double)work.steps, BLOCK_TILES, 0) +
               rate_tile_paired(target) * work.paired + rate_tile_kernel(target) +
               rounding_cycles(op, target) +
               (double)NARROW_BYTES * work.weights / rate_memory(target);
}

/* Returns the cost where words of m->channels channels are multiplied in registers. */
double narrow_words_cost(const struct op *op, const struct target *target,
                           const struct multiply *m)
{
        const double weights = (double)type_elements(op_operand(op, 1)->type),
                     reading = weights / rate_memory(target);
        const double products = narrow_f32_cost(op, target, target_block(target)) -
                                element_info[E_F32].bytes * reading;
        double each = rate_multiply(target, m) * rate_issue(target);
        return products * each / m->channels + NARROW_BYTES * reading +
               rounding_cycles(op, target) + (m->channels > 1 ? rate_tile_kernel(target) : 0);
}

double narrow_winograd_cost(const struct op *op, const int64_t *tile, const struct target *target,
                            double *growth)
{
        const struct type *w = op_operand(op, 1)->type, *y = op_result(op)->type;
        const int64_t window[] = { w->rank > 2 ? type_extent(w, 2) : 1,
                                   w->rank > 3 ? type_extent(w, 3) : 1 };
        struct winograd_square f;
        bool tiled = op->code == OP_convolve && w->rank == 4 &&
                     winograd_find_square(tile, window, &f) &&
                     type_extent(w, 1) >= target_block(target) && op_int(op, "groups") == 1 &&
                     op_all_ones(op, "strides") && op_all_ones(op, "dilations") &&
                     op_all_ones(op, "input_dilations");
        if (!tiled)
                return 0;
        const struct winograd_work work = {
                .tiles = winograd_tiles(type_extent(y, 0), type_extent(y, 2), type_extent(y, 3),
                                        &f),
                .channels = (double)type_extent(w, 1),
                .outputs = whole(type_extent(w, 0), target_block(target)),
                .f = &f
        };
        double cycles;
        winograd_batches(&work, 1, target, &cycles);
        *growth = (f.elements / (double)(window[0] * window[1]) - 1) * (double)type_bytes(w);
        return cycles;
}

/* The weights are stored in bf16 and multiplied as f32: half of the bytes are read, and each vector
 * of weights takes two more instructions for each row of tiles. */
double narrow_weights_cost(const struct op *op, const struct target *target)
{
        struct work work = work_of(op, NULL);
        double vectors = work.weights / target_lanes(target, E_F32),
               rows = (double)divide_up(work.length, target_vector_registers(target) / 2);
        return narrow_f32_cost(op, target, target_block(target)) -
               (double)NARROW_BYTES * work.weights / rate_memory(target) +
               rate_packed_widen(target) * vectors * rows / rate_issue(target);
}
