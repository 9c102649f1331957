/* SPDX-License-Identifier: MIT */
/* The contractions that read bf16, f16 or tf32 are those for which the target has a multiply, in
 * hardware tiles or in registers, where that is predicted to be faster. (Without any multiply they
 * are those by so many weights and so few rows that reading half the bytes is faster.)
 * cost/narrow_cost.c says what each way costs.
 *
 * Where one of them reads bf16 in tiles, all convolutions have blocks of 32 channels, and
 * convolutions of few outputs that stay in f32 compute more lanes of padding. So all of them read
 * f32 in the end unless the model as a whole is faster: by as much as --limit bf16_percent
 * (f16_percent) says, because numbers are rounded. Weights that f16 has no finite number for stay
 * in f32, and so does what they multiply. */
#include "cost/narrow_cost.h"
#include "cost/room.h"
#include "ir/loop/capability.h"
#include "ir/tensor/winograd_tiles.h"
#include "passes/layout/layout.h"
#include "passes/layout/winograd.h"
#include "passes/quantize/precision.h"
#include "passes/quantize/weights.h"

enum { SPATIAL_MAX = 6 };

/* ---- the choice ---- */

static bool is_f32(const struct value *v)
{
        return v->type->kind == TYPE_TENSOR && v->type->element == E_F32;
}

/* Is v a constant in fewer bits, which stays so? As e, it is what is wanted. */
static bool is_stored(const struct value *v)
{
        return op_is(v, OP_cast) && value_is_constant(op_operand(v->op, 0));
}

static bool is_stored_as(const struct value *v, enum element e)
{
        return is_stored(v) && op_operand(v->op, 0)->type->element == e;
}

/* Is op a contraction of known extents? Its weights may be a product's second operand that is
 * computed. */
static bool is_candidate(const struct op *op, enum element e)
{
        if ((op->code != OP_convolve && op->code != OP_dot) || value_is_constant(op_operand(op, 0)))
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        bool weights = value_is_constant(w)
                               ? w->constant->kind != CONSTANT_SPLAT
                               : is_stored_as(w, e) || (op->code == OP_dot && !is_stored(w));
        return weights && is_f32(x) && is_f32(w) && is_f32(op_result(op)) &&
               type_is_static(x->type) && type_is_static(w->type) && type_elements(x->type) &&
               type_elements(w->type) && (!value_is_constant(w) || weights_fit(w->constant, e));
}

/* Can hardware tiles multiply it: any product (zeros fill up the last row of its terms), whole rows
 * of channels, or the few channels of a row of the window? */
static bool fits_tiles(const struct op *op, const struct multiply *m)
{
        const int row = multiply_row(m);
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        if (op->code == OP_dot)
                return true;
        if (x->rank < 3 || x->rank - 2 > SPATIAL_MAX ||
            !(layout_is_direct(op) || layout_has_phases(op)))
                return false;
        int64_t groups = op_int(op, "groups"), channels = type_extent(w, 1);
        if (multiply_takes_rows(m) && groups == 1)      /* There are zeros behind the channels. */
                return true;
        if (narrow_few(w, m))
                return groups == 1 && layout_is_direct(op) &&
                       (narrow_line(w, m) <= row || narrow_line(w, m) % row == 0) &&
                       op_ints(op, "dilations", NULL)[x->rank - 3] == 1;
        return groups == 1 || (channels % row == 0 && type_extent(w, 0) / groups % row == 0);
}

/* Do all its weights come from memory in each run, and has the target vectors of e? */
static bool is_streamed(const struct op *op, const struct target *target, enum element e)
{
        const struct loop_type narrow = LOOP_VECTOR(e, target_lanes(target, E_F32));
        return op->code == OP_dot &&
               type_bytes(op_operand(op, 1)->type) > room_whole(target) &&
               capability_of_type(target, narrow);
}

static bool fits_words(const struct op *op, const struct target *target)
{
        if (op->code == OP_dot)
                return true;
        const struct type *x = op_operand(op, 0)->type, *w = op_operand(op, 1)->type;
        int64_t groups = op_int(op, "groups"), channels = type_extent(w, 1);
        int block = target_block(target);
        return x->rank >= 3 && x->rank - 2 <= SPATIAL_MAX && layout_is_direct(op) &&
               (groups == 1 || (channels % block == 0 && type_extent(w, 0) / groups % block == 0));
}

/* Finds the Winograd tiles of op that are no slower than words and faster than sums in f32. */
static void find_tiled(struct op *op, const struct target *target, double words, double plain,
                       struct winograd_choice **choices, int *count, struct arena *arena)
{
        const struct type *w = op_operand(op, 1)->type;
        int64_t forms[WINOGRAD_FORMS_MAX][WINOGRAD_DIMS], window[WINOGRAD_DIMS];
        if (w->rank != 2 + WINOGRAD_DIMS)
                return;
        for (int d = 0; d < WINOGRAD_DIMS; d++)
                window[d] = type_extent(w, 2 + d);
        const int all = winograd_forms(window, forms);
        for (int i = 0; i < all; i++) {
                double bytes, cycles = narrow_winograd_cost(op, forms[i], target, &bytes);
                if (!cycles || cycles >= plain || words < cycles)
                        continue;
                ARENA_GROW(arena, *choices, *count);
                (*choices)[*count] = (struct winograd_choice){
                        op, { forms[i][0], forms[i][1] }, *count, plain - cycles, bytes, false,
                        false
                };
                ++*count;
        }
}

/* Compares words with f32, which may use Winograd's algorithm where constants have room for its
 * weights; these are half as large by then. */
static int choose_words(struct function *f, const struct pass_context *context,
                        const struct multiply *m, double share)
{
        const struct target *target = context->target;
        struct arena *arena = arena_new();
        struct winograd_choice *tiled = NULL;
        int chosen = 0, count = 0;
        double constants = winograd_constants(f->module);
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = 0;
                if (!is_candidate(op, context->precision) || !fits_words(op, target))
                        continue;
                double words = narrow_words_cost(op, target, m),
                       plain = narrow_f32_cost(op, target, target_block(target));
                op->number = words < share * plain;
                chosen += op->number;
                const struct value *w = op_operand(op, 1);
                if (op->number && value_is_constant(w))
                        constants -= (double)type_bytes(w->type) / 2;
                if (op->number && !context->direct)
                        find_tiled(op, target, words / share, plain, &tiled, &count, arena);
        }
        winograd_afford(tiled, count, constants * (double)context->limits.winograd_percent / 100);
        for (int i = 0; i < count; i++)
                if (tiled[i].taken) {
                        chosen -= tiled[i].op->number;
                        tiled[i].op->number = 0;
                }
        arena_free(arena);
        return chosen;
}

static int choose_narrow(struct function *f, const struct target *target, enum element e,
                         double share)
{
        int chosen = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = is_candidate(op, e) && value_is_constant(op_operand(op, 1)) &&
                             is_streamed(op, target, e) &&
                             narrow_weights_cost(op, target) <
                                     share * narrow_f32_cost(op, target, target_block(target));
                chosen += op->number;
        }
        return chosen;
}

/* Returns the number of rows of a product's first operand, in each of its batch. */
static int64_t row_count(const struct op *op)
{
        static const char *const names[] = { "batch_a", "contract_a" };
        const struct type *x = op_operand(op, 0)->type;
        int64_t rows = type_elements(x);
        for (int i = 0; i < 2; i++) {
                int count;
                const int64_t *dims = op_ints(op, names[i], &count);
                for (int k = 0; k < count; k++)
                        rows /= type_extent(x, dims[k]);
        }
        return rows;
}

/* Are there few rows, fewer than a unit has, and is w computed at run time (a cache), whose
 * rounding takes as long as reading it? */
static bool is_by_cache(const struct op *op, const struct multiply *m)
{
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        enum { FEW = 4 };               /* There are this many columns of w for each row of x. */
        return op->code == OP_dot && !value_is_constant(w) && !is_stored(w) &&
               row_count(op) < m->positions &&
               FEW * type_elements(x->type) < type_elements(w->type);
}

/* Chooses all contractions that the units of a warp can multiply: they are several times as fast as
 * its lanes, in rows of any length. */
static int choose_units(struct function *f, const struct multiply *m, enum element e)
{
        int chosen = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = is_candidate(op, e) && fits_tiles(op, m) && !is_by_cache(op, m);
                chosen += op->number;
        }
        return chosen;
}

int precision_choose(struct function *f, const struct pass_context *context)
{
        const struct target *target = context->target;
        int chosen = 0;
        const enum element e = context->precision;
        const int64_t percent =
                e == E_F16 ? context->limits.f16_percent : context->limits.bf16_percent;
        double without = 0, with = 0, share = (double)percent / 100;
        const struct multiply *words = multiply_for(target, e, e, false);
        const struct multiply *tile = multiply_for(target, e, e, true);
        if (!tile && e == E_TF32)       /* There are no fewer bytes to read. */
                return 0;
        if (!tile)
                return words ? choose_words(f, context, words, share)
                             : choose_narrow(f, target, e, share);
        if (target_engine(target)->launches)
                return choose_units(f, tile, e);
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                op->number = 0;
                if (!is_candidate(op, e))
                        continue;
                double plain = narrow_f32_cost(op, target, target_block(target)),
                       tiles = narrow_tiles_cost(op, target, tile);
                op->number = fits_tiles(op, tile) && tiles < share * plain;
                without += plain;
                with += op->number ? tiles : narrow_f32_cost(op, target, multiply_row(tile));
                chosen += op->number;
        }
        return with < share * without ? chosen : 0;
}
