/* SPDX-License-Identifier: MIT */
/* winograd: convolutions by small windows are computed tile by tile of their result, with fewer
 * products (ir/tensor/winograd_tiles.h), where that is faster.
 *
 *   %1 = pad(%0, 0.0, [0, 0, 1, 1, 0])                    %1 = pad(%0, 0.0, [0, 0, 1, 1, 0])
 *          : <1 x 4 x 16 x 16 x 16>                              : <1 x 4 x 18 x 18 x 16>
 *   %2 = convolve_packed(%1, @w)                    ->    %2 = convolve_winograd(%1, @w transformed) tile=4 rows=14 columns=14
 *          : <1 x 4 x 14 x 14 x 16>                              : <1 x 4 x 14 x 14 x 16>
 *
 * Windows have up to 7 taps along each dimension; with strides, phases of x are channels of their
 * own. The pad grows until all tiles lie in it. Weights are transformed here, in double, and grow
 * to (tile + window - 1) / window times as many along each dimension; those that a run gives, as
 * in a step of training, are transformed by the run (winograd_computed.c). Which tile, or none, is
 * a matter of predicted time (schedule/choose_winograd.c), and of --limit winograd_percent: weights
 * that save most for a byte come first. Convolutions that a file of schedules has a schedule for
 * stay as they are. Class R: errors are larger than those of plain sums, so that of a layer is
 * measured on its own weights, or on random ones where a run gives them (winograd_weights.c): a
 * tile of which it passes 1e-5 of the largest
 * result is not taken; an infinity or a NaN spreads over its tile. Convolutions whose results are
 * taken as integers stay as they are. Tiles take memory, and need all rows at once: where that is
 * more than --max-ram, there are no tiles (compiler/budget.c). */
#include "cost/winograd_cost.h"
#include "ir/tensor/relation.h"
#include "ir/tensor/winograd_tiles.h"
#include "passes/layout/layout.h"
#include "passes/layout/winograd.h"
#include "passes/layout/winograd_weights.h"
#include "schedule/book.h"
#include "schedule/schedule_choice.h"

#include <stdlib.h>
#include <string.h>

#define WINOGRAD_ERROR_MOST 1e-5        /* The part of the largest result that an error may be. */

/* ---- the input ---- */

/* Returns x with at least the wanted spatial extents, and zeros behind it. Where x is a pad, that
 * pad is made larger. */
static struct value *extend(struct builder *b, struct value *x, const dim_t *wanted)
{
        int64_t low[RANK_MAX] = { 0 }, more;
        dim_t dims[RANK_MAX];
        bool larger = false;
        const int rank = x->type->rank;
        memcpy(dims, x->type->dims, sizeof dims);
        for (int d = 2; d < rank - 1; d++)
                if (!dim_difference(b->m, dims[d], wanted[d - 2], &more) || more < 0) {
                        dims[d] = wanted[d - 2];
                        larger = true;
                }
        if (!larger)
                return x;
        if (op_is(x, OP_pad) && relation_surrounds_zeros(x->op, low))
                x = op_operand(x->op, 0);
        else
                memset(low, 0, sizeof low);
        const struct type *type = type_tensor(b->m, x->type->element, rank, dims);
        struct value *operands[] = { x, build_scalar(b, x->type->element, 0),
                                     constant_ints(b->m, low, rank) };
        return value_build(b, OP_pad, operands, 3, NULL, type);
}

/* ---- the pass ---- */

/* Returns how many outputs there are, with those that fill the last block. */
static int64_t outputs_of(const struct op *op)
{
        const struct type *y = op_result(op)->type;
        return type_extent(y, 1) * type_extent(y, y->rank - 1);
}

/* Returns how many outputs a panel of transformed weights has. */
static int64_t panel_width(const struct op *op, const struct target *target)
{
        const int64_t line = schedule_winograd_line(packed_lanes(op_operand(op, 0)->type,
                                                                 op_operand(op, 1)->type),
                                                    target);
        return schedule_winograd_panel(outputs_of(op) / line) * line;
}

static bool can_be_tiled(const struct op *op, const struct target *target)
{
        const struct op *owner = op->region->owner;
        if (op->code != OP_convolve_packed || op->schedule ||
            (owner && owner->code == OP_fusion))
                return false;
        const struct value *x = op_operand(op, 0), *w = op_operand(op, 1), *y = op_result(op);
        const int last = x->type->rank - 1, dims = winograd_dims(op);
        int64_t line = schedule_winograd_line(packed_lanes(x->type, w->type), target);
        if (dims < 1 || dims > WINOGRAD_DIMS || x->type->element != E_F32 ||
            y->type->element != E_F32)
                return false;
        const bool steps = !op_all_ones(op, "strides");
        return type_extent(x->type, last) % line == 0 && op_int(op, "block") % line == 0 &&
               line % WINOGRAD_BATCH == 0 && packed_panel(x->type, w->type) % line == 0 &&
               op_int(op, "groups") == 1 && !layout_becomes_whole(y) &&
               op_all_ones(op, "dilations") && !type_is_empty(y->type) &&
               (!steps || (op_is_static_inside(op) && op_int(op, "channels") % line == 0)) &&
               (value_is_constant(w) || winograd_is_computable(op, panel_width(op, target)));
}

/* Returns the extents that x needs for whole tiles. */
static void whole_extents(struct module *m, const struct op *op, const struct winograd_weights *w,
                          dim_t *whole)
{
        const dim_t *y = op_result(op)->type->dims;
        const int dims = winograd_dims(op);
        for (int d = 0; d < dims; d++) {
                const int k = WINOGRAD_DIMS - dims + d;
                const struct winograd *f = &w->f.along[k];
                whole[d] = dim_binary(m, DIM_ADD, dim_round_up(m, y[2 + d], f->tile),
                                      dim_of(f->window - 1));
                if (w->stride[k] > 1)
                        whole[d] = dim_binary(m, DIM_MUL, whole[d], dim_of(w->stride[k]));
        }
}

static struct attr *attributes(struct module *m, const struct op *op,
                               const struct winograd_weights *w)
{
        static const char *const extents[] = { "rows", "columns" };
        struct attr *attrs = attrs_new(m, OP_convolve_winograd);
        const int dims = winograd_dims(op), missing = WINOGRAD_DIMS - dims;
        int64_t tile[WINOGRAD_DIMS], window[WINOGRAD_DIMS];
        for (int d = 0; d < dims; d++) {
                const dim_t y = op_result(op)->type->dims[2 + d];
                tile[d] = w->f.along[missing + d].tile;
                window[d] = w->f.along[missing + d].window;
                attr_set(attrs, OP_convolve_winograd, extents[missing + d],
                         dim_is_static(y) ? dim_extent(y) : 0);
        }
        attr_set_ints(m, attrs, OP_convolve_winograd, "tile", tile, dims);
        attr_set_ints(m, attrs, OP_convolve_winograd, "window", window, dims);
        attr_set_ints(m, attrs, OP_convolve_winograd, "strides", w->stride + missing, dims);
        attr_set(attrs, OP_convolve_winograd, "outputs", op_int(op, "outputs"));
        attr_set(attrs, OP_convolve_winograd, "block", op_int(op, "block"));
        return attrs;
}

static bool replace(struct op *op, const int64_t *tile, const struct pass_context *context)
{
        struct module *m = op->region->function->module;
        struct builder b = { .m = m,
                             .region = op->region,
                             .before = op,
                             .location = op->location,
                             .diag = context->diag };
        struct winograd_weights w;
        dim_t whole[WINOGRAD_DIMS];
        winograd_weights_of(op, tile, &w);
        whole_extents(m, op, &w, whole);
        struct value *x = extend(&b, op_operand(op, 0), whole);
        const int64_t width = panel_width(op, context->target);
        struct value *u = w.w ? winograd_transform(m, &w, outputs_of(op), width)
                              : winograd_compute(&b, op, &w, outputs_of(op), width);
        struct value *result = x && u ? value_build(&b, OP_convolve_winograd,
                                                    (struct value *[]){ x, u }, 2,
                                                    attributes(m, op, &w), op_result(op)->type)
                                      : NULL;
        if (!result)
                return false;
        value_replace(op_result(op), result);
        op_erase(op);
        return true;
}

/* Has the file of schedules one for the convolution itself? */
static bool stays_direct(const struct op *op, const struct pass_context *context)
{
        return context->book && schedule_book_find(context->book, op->region->function->module, op);
}

/* Orders choices: those that save most cycles for a byte come first; of equals the first operation,
 * with the smaller tile. */
static int by_worth(const void *a, const void *b)
{
        const struct winograd_choice *x = a, *y = b;
        double d = y->gain / y->bytes - x->gain / x->bytes;
        return d > 0                    ? 1
               : d < 0                  ? -1
               : x->number != y->number ? x->number - y->number
               : x->tile[0] != y->tile[0]
                       ? (int)(x->tile[0] - y->tile[0])
                       : (int)(x->tile[1] - y->tile[1]);
}

void winograd_afford(struct winograd_choice *choices, int count, double room)
{
        if (count)
                qsort(choices, (size_t)count, sizeof *choices, by_worth);
        for (int i = 0; i < count; i++) {
                struct winograd_choice *c = &choices[i], *before = NULL;
                for (int k = 0; k < i && !before; k++)
                        before = choices[k].op == c->op && choices[k].taken ? &choices[k] : NULL;
                double bytes = c->bytes - (before ? before->bytes : 0);
                c->taken = bytes <= room && (!before || c->gain > before->gain);
                if (!c->taken)
                        continue;
                room -= bytes;
                if (before)
                        before->taken = false;
        }
}

double winograd_constants(const struct module *m)
{
        double bytes = 0;
        for (const struct constant *c = m->constants; c; c = c->next)
                bytes += c->kind != CONSTANT_SPLAT && c->value.uses
                                 ? (double)type_bytes(c->value.type)
                                 : 0;
        return bytes;
}

/* Returns by how many bytes weights grow, which are f32 when they are transformed; those that a run
 * gives are no constants. */
static double growth_of(const struct winograd_weights *w)
{
        if (!w->w)
                return 0;
        const struct type *t = w->type;
        const double count = (double)type_elements(t);
        const double phases = (double)(w->stride[0] * w->stride[1]),
                     taps = (double)(w->taps[0] * w->taps[1]);
        return w->f.elements * phases / taps * count * element_info[E_F32].bytes -
               count * element_info[t->element].bytes;
}

/* The choices of all convolutions. */
struct choices { struct winograd_choice *all; int count; };

static void add_choices(struct choices *c, struct op *op, int number,
                        const struct schedule_machine *machine)
{
        const int64_t one[] = { 1, 1 };
        int64_t forms[WINOGRAD_FORMS_MAX][WINOGRAD_DIMS], window[WINOGRAD_DIMS];
        struct winograd_weights w;
        winograd_weights_of(op, one, &w);
        for (int d = 0; d < WINOGRAD_DIMS; d++)
                window[d] = divide_up(w.taps[d], w.stride[d]);
        const int count = winograd_forms(window, forms);
        for (int i = 0; i < count; i++) {
                winograd_weights_of(op, forms[i], &w);
                const double gain = schedule_winograd_gain(op, &w.f, machine);
                if (gain <= 0)
                        continue;
                ARENA_GROW(op_module(op)->arena, c->all, c->count);
                c->all[c->count++] = (struct winograd_choice){
                        op, { forms[i][0], forms[i][1] }, number, gain, growth_of(&w), false, false
                };
        }
}

static struct choices find_choices(struct function *f, const struct pass_context *context)
{
        const struct schedule_machine machine = { .target = context->target,
                                                  .threads = context->lower.threads };
        struct choices c = { NULL, 0 };
        int number = 0;
        for (struct op *op = region_walk(&f->body, NULL); op; op = region_walk(&f->body, op)) {
                if (can_be_tiled(op, context->target) && !stays_direct(op, context))
                        add_choices(&c, op, number, &machine);
                number++;
        }
        return c;
}

/* Removes choices that were taken but whose errors are too large. Returns whether there were
 * any. */
static bool remove_inexact(struct choices *c)
{
        int kept = 0;
        const int count = c->count;
        for (int i = 0; i < count; i++) {
                struct winograd_choice *choice = &c->all[i];
                struct winograd_weights w;
                winograd_weights_of(choice->op, choice->tile, &w);
                if (choice->taken && !choice->exact)
                        choice->exact = winograd_error(&w) <= WINOGRAD_ERROR_MOST;
                if (!choice->taken || choice->exact)
                        c->all[kept++] = *choice;
        }
        c->count = kept;
        return kept < count;
}

int pass_winograd(struct function *f, struct pass_context *context)
{
        int replaced = 0;
        if (!target_engine(context->target)->vectors || context->exact || context->direct)
                return 0;
        struct choices c = find_choices(f, context);
        const double room = winograd_constants(f->module) *
                            (double)context->limits.winograd_percent / 100;
        do
                winograd_afford(c.all, c.count, room);
        while (remove_inexact(&c));
        for (int i = 0; i < c.count; i++) {
                if (!c.all[i].taken)
                        continue;
                if (module_wants_sweep(f->module))
                        module_drop_constants(f->module);
                if (!replace(c.all[i].op, c.all[i].tile, context))
                        return -1;
                replaced++;
        }
        pass_dce(f, context);
        return replaced;
}
