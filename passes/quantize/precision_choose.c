/* SPDX-License-Identifier: MIT */
/* Which contractions read bf16, f16 or tf32: those that the target has a multiply for, in hardware
 * tiles or in registers, where that is predicted to be faster. (Without any: those by so many
 * weights and so few rows that reading half the bytes is.) What each way costs, cost/narrow_cost.c
 * says.
 *
 * Where one of them reads bf16 in tiles, all convolutions have blocks of 32 channels, and those
 * of few outputs that stay in f32 compute more of nothing. So in the end all reads f32 unless
 * the whole is faster. Faster: by what --limit bf16_percent (f16_percent) says, for numbers are
 * rounded. Weights that f16 has no finite number for stay in f32, and what they multiply. */
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

/* constants in fewer bits, which stay so; as e, they are what is wanted */
static bool is_stored(const struct value *v)
{
        return op_is(v, OP_cast) && value_is_constant(op_operand(v->op, 0));
}

static bool is_stored_as(const struct value *v, enum element e)
{
        return is_stored(v) && op_operand(v->op, 0)->type->element == e;
}

/* a contraction of known extents; its weights may be a product's second operand that is computed */
static bool is_candidate(const struct op *op, enum element e)
{
        if ((op->code != OP_convolve && op->code != OP_dot) || value_is_constant(op_operand(op, 0)))
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        bool weights = value_is_constant(w)
                               ? w->constant->kind == CONSTANT_DENSE
                               : is_stored_as(w, e) || (op->code == OP_dot && !is_stored(w));
        return weights && is_f32(x) && is_f32(w) && is_f32(op_result(op)) &&
               type_is_static(x->type) && type_is_static(w->type) && type_elements(x->type) &&
               type_elements(w->type) && (!value_is_constant(w) || weights_fit(w->constant, e));
}

/* Tiles can multiply it: any product (zeros fill up the last row of its terms), whole rows of
 * channels, or those of the few channels of a row of the window. */
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
        if (multiply_takes_rows(m) && groups == 1)      /* zeros behind the channels */
                return true;
        if (narrow_few(w, m))
                return groups == 1 && layout_is_direct(op) &&
                       (narrow_line(w, m) <= row || narrow_line(w, m) % row == 0) &&
                       op_ints(op, "dilations", NULL)[x->rank - 3] == 1;
        return groups == 1 || (channels % row == 0 && type_extent(w, 0) / groups % row == 0);
}

/* its weights come from memory, all of them for each run, and the target has vectors of e */
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

/* Those of op's tiles that are no slower than words and faster than sums in f32. */
static void find_tiled(struct op *op, const struct target *target, double words, double plain,
                       struct winograd_choice **choices, int *count, struct arena *arena)
{
        for (int tile = 2; tile <= WINOGRAD_TILE_MAX; tile += 2) {
                double bytes, cycles = narrow_winograd_cost(op, tile, target, &bytes);
                if (!cycles || cycles >= plain || words < cycles)
                        continue;
                ARENA_GROW(arena, *choices, *count);
                (*choices)[*count] = (struct winograd_choice){ op, tile, *count,
                                                               plain - cycles, bytes };
                ++*count;
        }
}

/* Beside words stands what f32 takes: by Winograd's algorithm for those that constants have room
 * for, which are half as large by then. */
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
                if (tiled[i].tile) {
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

/* rows of a product's first operand, in each of a batch */
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

/* few rows, fewer than a unit has, by what is there when it runs: a cache, whose rounding takes
 * as long as reading it */
static bool is_by_cache(const struct op *op, const struct multiply *m)
{
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1);
        enum { FEW = 4 };               /* of columns, for each row */
        return op->code == OP_dot && !value_is_constant(w) && !is_stored(w) &&
               row_count(op) < m->positions &&
               FEW * type_elements(x->type) < type_elements(w->type);
}

/* Units of a warp multiply several times as fast as its lanes, in rows of any length: all that
 * they can. */
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
        if (!tile && e == E_TF32)       /* no fewer bytes to read */
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
