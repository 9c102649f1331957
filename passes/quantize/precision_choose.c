/* Which contractions read bf16: those that the target has a multiply for, in hardware tiles or in
 * registers, where that is predicted to be faster. (Without any: those by so many weights and so few
 * rows that reading half the bytes is.)
 *
 *      f32     products at the speed of register tiles, outputs in whole blocks; reading the weights
 *      bf16    products of tiles, each taking its time however few of its rows are used; what becomes of a block of sums; what a kernel
 *              with tiles costs before it begins; reading half as many bytes of weights, and
 *              rounding them where they come as f32
 *
 *      words   products of as many channels at once as a word has, in registers; where windows of 3 x 3 can be tiled, Winograd's
 *              algorithm in f32 is as fast
 *
 * Where one of them reads bf16 in tiles, all convolutions have blocks of 32 channels, and those of few
 * outputs that stay in f32 compute more of nothing. So in the end all reads f32 unless the whole is
 * faster. Faster: by what --limit bf16_percent says, for numbers are rounded. In cycles of one
 * core. */
#include "ir/rates.h"
#include "ir/spelling.h"
#include "passes/layout/layout.h"
#include "passes/quantize/precision.h"

enum { FEW = 16, SPATIAL_MAX = 6 };     /* channels below which those of a row of the window make
                                         * one step */
enum { BLOCK = 16, TILES_BLOCK = 32 };  /* channels */
enum { BLOCK_TILES = 4 };               /* of sums in hardware tiles that are stored together */

static double whole(int64_t extent, int64_t block)
{
        return (double)(divide_up(extent, block) * block);
}

/* ---- the work ---- */

/* what a contraction computes, of a group; lines: of positions that can be rows of a tile; steps:
 * products of tiles for a sum */
struct work {
        int64_t groups, lines, length, outputs, terms, steps;
        double weights, paired;
        bool blocked;
};

static struct work work_of_dot(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        struct work work = { .groups = 1,
                             .lines = 1,
                             .terms = 1,
                             .weights = (double)type_elements(w) };
        int count;
        const int64_t *contracted = op_ints(op, "contract_b", &count);
        for (int i = 0; i < count; i++)
                work.terms *= w->dims[contracted[i]];
        const int64_t *batch = op_ints(op, "batch_b", &count);
        for (int i = 0; i < count; i++)
                work.groups *= w->dims[batch[i]];
        work.length = type_elements(x) / work.groups / work.terms;
        work.outputs = type_elements(w) / work.groups / work.terms;
        work.steps = divide_up(work.terms, TILE_DEPTH);
        return work;
}

/* of few channels, those of a row of the window, which lie side by side in pairs */
static int64_t line_of(const struct type *w)
{
        return (w->dims[1] + w->dims[1] % 2) * w->dims[w->rank - 1];
}

static struct work work_of_convolve(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type,
                          *y = op_result(op)->type;
        struct work work = { .groups = op_int(op, "groups"),
                             .lines = y->dims[0],
                             .length = 1,
                             .blocked = true,
                             .weights = (double)type_elements(w) };
        int last = y->rank - 1;
        const int64_t *phases = op_ints(op, "input_dilations", NULL);     /* of outputs, each a convolution by its share of the window */
        int64_t window = 1;
        bool flat = op_all_ones(op, "strides");
        for (int d = 2; d <= last; d++) {
                int64_t taps = divide_up(w->dims[d], phases[d - 2]);
                window *= taps;
                flat &= taps == 1;
                work.lines *= phases[d - 2];
        }
        while (last > 2 && y->dims[last] == 1)
                last--;
        for (int d = 2; d <= last; d++)
                *(flat || d == last ? &work.length : &work.lines) *= divide_up(y->dims[d], phases[d - 2]);
        work.outputs = w->dims[0] / work.groups;
        work.terms = w->dims[1] * window;
        work.steps = divide_up(w->dims[1], TILE_DEPTH) * window;
        if (w->dims[1] < FEW) {
                work.steps = window / w->dims[w->rank - 1] * divide_up(line_of(w), TILE_DEPTH);
                work.paired = (double)(type_elements(x) / x->dims[1]);
        }
        return work;
}

static struct work work_of(const struct op *op)
{
        return op->code == OP_dot ? work_of_dot(op) : work_of_convolve(op);
}

static double plain_cycles(const struct op *op, const struct target *target, int64_t block)
{
        struct work work = work_of(op);
        double speed = rate_reached(target) * target_lanes(target, E_F32) * rate_issue(target);
        bool lanes = work.groups > 1 && work.outputs == 1;      /* depthwise: a group is a lane */
        double outputs =
                lanes ? whole(work.groups, block)
                      : (double)work.groups * whole(work.outputs, work.blocked ? block : BLOCK);
        return (double)(work.lines * work.length * work.terms) * outputs / speed +
               (double)element_info[E_F32].bytes * work.weights / rate_memory(target);
}

/* elements of v that come from outside, through moves: nothing that makes them can round them */
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

/* A product's second operand that comes as f32, as a cache does: read and written once more. */
static double rounding_cycles(const struct op *op, const struct target *target)
{
        enum { MOVES = 8 };
        double elements = op->code == OP_dot ? given_elements(op_operand(op, 1), MOVES) : 0;
        return elements * (element_info[E_F32].bytes + element_info[E_BF16].bytes) /
               rate_memory(target);
}

static double tiles_cycles(const struct op *op, const struct target *target)
{
        struct work work = work_of(op);
        double tiles =
                (double)(work.lines * divide_up(work.length, TILE_ROWS)) * (double)work.groups;
        tiles *= whole(work.outputs, work.blocked ? TILES_BLOCK : TILE_LANES) / TILE_LANES;
        double multiply = rate_multiply(target, multiply_for(target, E_BF16, E_BF16, true));
        return tiles * ((double)work.steps * multiply) +
               tiles / BLOCK_TILES * rate_tile_block(target) +
               rate_tile_paired(target) * work.paired + rate_tile_kernel(target) +
               rounding_cycles(op, target) +
               (double)element_info[E_BF16].bytes * work.weights / rate_memory(target);
}

/* by words in registers: so many channels at once */
static double words_cycles(const struct op *op, const struct target *target,
                           const struct multiply *m)
{
        const double weights = (double)type_elements(op_operand(op, 1)->type),
                     reading = weights / rate_memory(target);
        const double products = plain_cycles(op, target, BLOCK) - element_info[E_F32].bytes * reading;
        double each = rate_multiply(target, m) * rate_issue(target);
        return products * each / m->group + element_info[E_BF16].bytes * reading +
               rounding_cycles(op, target) + rate_tile_kernel(target);
}

/* plain_cycles, or what Winograd's algorithm makes of them */
static double best_plain_cycles(const struct op *op, const struct target *target)
{
        const struct type *w = op_operand(op, 1)->type;
        bool tiled = op->code == OP_convolve && w->rank == 4 && w->dims[2] == 3 && w->dims[3] == 3 &&
                     w->dims[1] >= FEW && op_int(op, "groups") == 1 && op_all_ones(op, "strides") &&
                     op_all_ones(op, "dilations");
        return (tiled ? rate_winograd_direct(target) : 1) * plain_cycles(op, target, BLOCK);
}

/* f32, by weights that are stored in bf16: half of them to read, two more instructions for each
 * vector of them and row of tiles */
static double narrow_cycles(const struct op *op, const struct target *target)
{
        struct work work = work_of(op);
        double vectors = work.weights / target_lanes(target, E_F32),
               rows = (double)divide_up(work.length, target_vector_registers(target) / 2);
        return plain_cycles(op, target, BLOCK) -
               (double)element_info[E_BF16].bytes * work.weights / rate_memory(target) +
               rate_packed_widen(target) * vectors * rows / rate_issue(target);
}

/* ---- the choice ---- */

static bool is_f32(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && v->type->element == E_F32;
}

/* a contraction of known extents; its weights may be a product's second operand that is computed */
static bool is_candidate(const struct op *op)
{
        if ((op->code != OP_convolve && op->code != OP_dot) || value_is_constant(op_operand(op, 0)))
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        bool weights =
                value_is_constant(w) ? w->constant->kind == CONSTANT_DENSE : op->code == OP_dot;
        return weights && is_f32(x) && is_f32(w) && is_f32(op_result(op)) &&
               type_is_static(x->type) && type_is_static(w->type) && type_elements(x->type) &&
               type_elements(w->type);
}

/* Tiles can multiply it: any product (zeros fill up the last 32 of its terms), rows of 32 channels,
 * or of the few channels of a row of the window. */
static bool fits_tiles(const struct op *op)
{
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        if (op->code == OP_dot)
                return true;
        if (x->rank < 3 || x->rank - 2 > SPATIAL_MAX ||
            !(layout_is_direct(op) || layout_has_phases(op)))
                return false;
        int64_t groups = op_int(op, "groups"), channels = w->dims[1];
        if (channels < FEW)
                return groups == 1 && layout_is_direct(op) &&
                       (line_of(w) <= TILE_DEPTH || line_of(w) % TILE_DEPTH == 0) &&
                       op_ints(op, "dilations", NULL)[x->rank - 3] == 1;
        return groups == 1 || (channels % TILE_DEPTH == 0 && w->dims[0] / groups % TILE_DEPTH == 0);
}

/* its weights come from memory, all of them for each run, and the target has vectors of bf16 */
static bool is_streamed(const struct op *op, const struct target *target)
{
        const struct loop_type narrow = LOOP_VECTOR(E_BF16, target_lanes(target, E_F32));
        return op->code == OP_dot &&
               type_bytes(op_operand(op, 1)->type) > target_l2_bytes(target) &&
               spelling_of_type(target, narrow);
}

static bool fits_words(const struct op *op)
{
        if (op->code == OP_dot)
                return true;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t groups = op_int(op, "groups"), channels = w->dims[1];
        return x->rank >= 3 && x->rank - 2 <= SPATIAL_MAX && layout_is_direct(op) &&
               (groups == 1 || (channels % BLOCK == 0 && w->dims[0] / groups % BLOCK == 0));
}

static int choose_words(struct function *f, const struct target *target, const struct multiply *m,
                        double share)
{
        int chosen = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = is_candidate(op) && fits_words(op) &&
                             words_cycles(op, target, m) < share * best_plain_cycles(op, target);
                chosen += op->number;
        }
        return chosen;
}

static int choose_narrow(struct function *f, const struct target *target, double share)
{
        int chosen = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = is_candidate(op) && value_is_constant(op_operand(op, 1)) &&
                             is_streamed(op, target) &&
                             narrow_cycles(op, target) < share * plain_cycles(op, target, BLOCK);
                chosen += op->number;
        }
        return chosen;
}

int precision_choose(struct function *f, const struct target *target, int64_t percent)
{
        int chosen = 0;
        double without = 0, with = 0, share = (double)percent / 100;
        const struct multiply *words = multiply_for(target, E_BF16, E_BF16, false);
        if (!multiply_registers(target))
                return words ? choose_words(f, target, words, share)
                             : choose_narrow(f, target, share);
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = 0;
                if (!is_candidate(op))
                        continue;
                double plain = plain_cycles(op, target, BLOCK), tiles = tiles_cycles(op, target);
                op->number = fits_tiles(op) && tiles < share * plain;
                without += plain;
                with += op->number ? tiles : plain_cycles(op, target, TILES_BLOCK);
                chosen += op->number;
        }
        return with < share * without ? chosen : 0;
}
