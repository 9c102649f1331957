/* SPDX-License-Identifier: MIT */
/* Layout, the choice: channels in blocks of 16, or all channels of a position side by side (one
 * block, "last"), or the value as it is, channel by channel ("plain").
 *
 *   region     the values that have one layout: those that operations join which work on any layout
 *              (element-wise, windows, concats, slices, depthwise convolutions); contractions and
 *              all other operations end a region
 *   cost       of every layout, in cycles: of contractions that read the region's values, of copies
 *              in it, of depthwise convolutions, of conversions from and to the logical form, where
 *              the walk of layout.c would make them
 *
 *   convolve -> <58 channels> -> concat -> shuffle -> slice -> convolve
 *                                           last: copies, where blocks would be taken apart
 *   convolve -> <64 channels> -> max, pool -> convolve
 *                                           blocks of 16
 *   image of 3 channels -> convolve, depthwise 5 x 5 -> image
 *                                           plain: neighbours along the width are the lanes
 *
 * A contraction reads one region and writes another, and its cost is a sum of both parts, so
 * regions are decided one by one: a walk over the graph, in time proportional to it. A contraction
 * with fewer outputs than a vector has lanes may stay as it is, too: its nest has the width for
 * lanes, loads a vector for every product, and wins where outputs are as few as 4 of 16. With more
 * outputs it never does, because each vector of a panel serves a tile of positions; so plain values
 * lie only between the edges of the graph and such contractions. A value with fewer channels than a
 * block has one block in either layout: without lanes that pad it, unless operations that it joins
 * need whole blocks. Blocks of 16 are chosen where costs are equal: lanes that pad the last block
 * cost less than what whole vectors are good for (a depthwise window that stays in registers,
 * strips, stores without masks). */
#include "cost/layout_cost.h"
#include "ir/loop/loop_vector.h"
#include "passes/layout/layout.h"

#include <math.h>
#include <string.h>

enum {
        BLOCKS = LAYOUT_BLOCKS,
        LAST = LAYOUT_LAST,
        PLAIN = LAYOUT_PLAIN,
        KIND_COUNT = LAYOUT_KIND_COUNT
};

/* A layout other than blocks must cost less than this share of their cost: predictions are no more
 * exact than that. */
#define WORTH .9

/* ---- regions ---- */

static struct form *region_of(struct layout *l, struct value *v)
{
        struct form *form = layout_form(l, v), *root = form;
        while (root->joined)
                root = root->joined;
        while (form->joined) {          /* Later walks to the root are shorter. */
                struct form *next = form->joined;
                form->joined = root;
                form = next;
        }
        return root;
}

static void join(struct layout *l, struct value *a, struct value *b)
{
        struct form *x = region_of(l, a), *y = region_of(l, b);
        if (x == y)
                return;
        for (int k = 0; k < KIND_COUNT; k++)
                x->cost[k] += y->cost[k];
        x->blocked_cost += y->blocked_cost;
        y->joined = x;
}

static void add_cost(struct layout *l, struct value *v, int kind, double cycles)
{
        region_of(l, v)->cost[kind] += cycles;
}

/* ---- costs ---- */

static double bytes_of(const struct layout *l, const struct type *t, int kind)
{
        int64_t lanes = kind == LAST ? type_extent(t, 1) : l->block,
                stored = layout_blocks(type_extent(t, 1), lanes) * lanes;
        return (double)type_most_bytes(l->m, t) / (double)type_extent(t, 1) * (double)stored;
}

static bool is_whole(const struct layout *l, const struct type *t)
{
        return type_extent(t, 1) % l->block == 0;
}

/* Has a value of this type fewer channels than a block? It has one block in either layout, with
 * lanes that pad it or without. */
static bool is_few(const struct layout *l, const struct type *t)
{
        return type_extent(t, 1) < l->block;
}

/* Returns the blocks that a value of this kind has where a contraction makes or wants them. */
static int blocks_in(const struct layout *l, const struct type *t, int kind)
{
        return kind != PLAIN ? kind : is_few(l, t) ? LAST : BLOCKS;
}

/* Returns the cycles of a conversion between blocks and the logical form. Nothing moves where there
 * is one position, or one channel. */
static double conversion(const struct layout *l, const struct type *t, int kind)
{
        const struct target *target = l->context->target;
        double positions = (double)type_most_elements(l->m, t) / (double)type_extent(t, 1) /
                           (double)dim_bound(l->m, t->dims[0]);
        int blocks = blocks_in(l, t, kind);
        bool same = (blocks == LAST || is_whole(l, t)) && (positions <= 1 || dim_is(t->dims[1], 1));
        double bytes = (double)type_most_bytes(l->m, t) + bytes_of(l, t, blocks);
        return same ? 0 : layout_conversion_cost(bytes, is_whole(l, t), target);
}

static double copy(const struct layout *l, const struct type *t, int kind)
{
        return layout_copy_cost(2 * bytes_of(l, t, kind), l->context->target);
}

/* These two functions say that v is needed in its blocks, or in its own shape. */
static void want_blocks(struct layout *l, struct value *v, int kind)
{
        struct form *state = layout_form(l, v);
        if (!state->blocked[kind])
                add_cost(l, v, kind, conversion(l, v->type, kind));
        state->blocked[kind] = true;
}

static void want_logical(struct layout *l, struct value *v, int kind)
{
        struct form *state = layout_form(l, v);
        if (!state->logical[kind])
                add_cost(l, v, kind, conversion(l, v->type, kind));
        state->logical[kind] = true;
}

/* Says that v is made in its blocks, or in its own shape. */
static void make(struct layout *l, struct value *v, int kind, bool blocked)
{
        struct form *state = layout_form(l, v);
        state->blocked[kind] = blocked;
        state->logical[kind] = !blocked;
}

static void make_logical(struct layout *l, struct value *v)
{
        for (int k = 0; k < KIND_COUNT; k++)
                make(l, v, k, false);
}

/* ---- operations ---- */

static bool carries(const struct layout *l, const struct value *v)
{
        return v && v->type->rank >= 2 && v->type->rank < RANK_MAX &&
               (l->open ? dim_is_static(v->type->dims[1]) : type_is_static(v->type)) &&
               !type_is_empty(v->type);
}

static bool keeps_channels(const struct type *x, const struct type *y)
{
        return y->rank >= 2 && dim_equal(y->dims[0], x->dims[0]) &&
               dim_equal(y->dims[1], x->dims[1]);
}

/* Is v built anew in any form? */
static bool is_spread(const struct value *v)
{
        return v->kind == VALUE_CONSTANT || op_is(v, OP_broadcast);
}

/* Is the operand in the form of the result? */
static bool has_form(const struct layout *l, const struct op *op, int operand)
{
        const struct value *v = op_operand(op, operand);
        return carries(l, v) && !is_spread(v) && v->type->rank == op_result(op)->type->rank;
}

/* Does the operand spread channels over positions, as that of a squeeze-and-excitation does? It
 * takes the form of the value that it is spread to. */
static bool spreads_channels(const struct layout *l, const struct op *op, int operand)
{
        const struct value *v = op_operand(op, operand),
                           *x = op_is(v, OP_broadcast) ? op_operand(v->op, 0) : NULL;
        return x && carries(l, v) && carries(l, x) && keeps_channels(x->type, v->type);
}

/* Says that op is computed in blocks where one of its operands is there in blocks, but never where
 * they are plain. */
static void work_in(struct layout *l, struct op *op, int kind)
{
        bool any = false;
        for (int i = 0; i < op->operand_count; i++)
                any |= kind != PLAIN && has_form(l, op, i) &&
                       layout_form(l, op_operand(op, i))->blocked[kind];
        for (int i = 0; i < op->operand_count; i++) {
                if (has_form(l, op, i) && any)
                        want_blocks(l, op_operand(op, i), kind);
                else if (has_form(l, op, i))
                        want_logical(l, op_operand(op, i), kind);
        }
        make(l, op_result(op), kind, any);
}

static void join_all(struct layout *l, struct op *op)
{
        for (int i = 0; i < op->operand_count; i++)
                if (has_form(l, op, i) || spreads_channels(l, op, i))
                        join(l, op_operand(op, i), op_result(op));
}

/* Joins the regions of an operation's one operand and its result, which may have another rank. */
static void join_one(struct layout *l, struct value *x, struct value *y)
{
        join(l, x, y);
        for (int k = 0; k < KIND_COUNT; k++) {
                if (k == PLAIN)
                        want_logical(l, x, k);
                make(l, y, k, k != PLAIN && layout_form(l, x)->blocked[k]);
        }
}

/* Handles an operation that puts channels together, takes them apart or moves them. Where blocks
 * are not whole, it is a copy in the last layout, and is done in the logical form otherwise. */
static void choose_parts(struct layout *l, struct op *op, bool whole)
{
        struct value *y = op_result(op);
        join_all(l, op);
        for (int k = 0; k < KIND_COUNT; k++) {
                if (k == LAST || whole) {
                        work_in(l, op, k);
                } else {
                        for (int i = 0; i < op->operand_count; i++)
                                if (has_form(l, op, i))
                                        want_logical(l, op_operand(op, i), k);
                        make(l, y, k, false);
                }
                if (k != BLOCKS || !whole)
                        add_cost(l, y, k, copy(l, y->type, LAST));
        }
}

static void choose_shuffle(struct layout *l, struct value *x, struct value *y)
{
        join(l, x, y);
        for (int k = 0; k < KIND_COUNT; k++) {
                if (k != LAST)
                        want_logical(l, x, k);
                make(l, y, k, k == LAST && layout_form(l, x)->blocked[k]);
                add_cost(l, y, k, (k == LAST ? 2 : 1) * copy(l, y->type, LAST));
        }
}

/* ---- convolutions ---- */

static double plain_cycles(const struct layout *l, const struct op *op)
{
        return layout_plain_cost(op, l->context->target);
}

static double packed_cycles(const struct layout *l, const struct op *op)
{
        const struct target *target = l->context->target;
        bool one_by_one = layout_is_depthwise(op) && !target_has_masks(target) &&
                          is_few(l, op_result(op)->type);
        return layout_blocks_cost(op, one_by_one, target);
}

/* Does every output sum what lies under its own window, of all channels or of one? */
static bool is_simple(const struct op *op)
{
        return layout_is_direct(op) && (op_int(op, "groups") == 1 || layout_is_depthwise(op));
}

/* Has the convolution's nest vectors where rows end, too? */
static bool may_stay(const struct op *op)
{
        const struct type *w = op_operand(op, 1)->type;
        return is_simple(op) && type_extent(w, w->rank - 1) <= VECTOR_JOINED_MAX;
}

static void choose_depthwise(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *y = op_result(op);
        const struct target *target = l->context->target;
        double packed = packed_cycles(l, op);
        join(l, x, y);
        for (int k = 0; k < KIND_COUNT; k++) {
                if (k == PLAIN)
                        want_logical(l, x, k);
                else
                        want_blocks(l, x, k);
                make(l, y, k, k != PLAIN);
        }
        region_of(l, y)->blocked_cost += layout_reached_cost(packed, target);
        bool may = may_stay(op) && element_is_float(x->type->element);
        add_cost(l, y, PLAIN, may ? plain_cycles(l, op) : INFINITY);
        add_cost(l, x, LAST,
                 !layout_is_direct(op) ? INFINITY
                 : is_few(l, x->type)     ? 0
                                       : layout_again_cost(packed, target));
}

/* Does the convolution stay as it is? It does where it has few outputs and x is there in its own
 * shape; were x brought back to that shape, it would be gathered for every product. */
static bool stays(struct layout *l, const struct op *op)
{
        const struct type *y = op_result(op)->type;
        return may_stay(op) && is_few(l, y) &&
               target_engine(l->context->target)->layout == LAYOUT_OF_LEAST_COST &&
               layout_form(l, op_operand(op, 0))->logical[BLOCKS] &&
               plain_cycles(l, op) <
                       WORTH * (layout_reached_cost(packed_cycles(l, op), l->context->target) +
                                conversion(l, y, LAST));
}

static bool loses_winograd(const struct layout *l, const struct type *t, int kind)
{
        return blocks_in(l, t, kind) == LAST && !is_whole(l, t);
}

/* Handles the convolution itself. Computed in blocks, it can make y in any kind. */
static void choose_convolve(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *y = op_result(op);
        const struct type *w = op_operand(op, 1)->type;
        const struct target *target = l->context->target;
        double cycles = packed_cycles(l, op);
        const struct multiply *bytes = layout_bytes(l, op);
        bool tiled = w->rank == 4 && dim_is(w->dims[2], 3) && dim_is(w->dims[3], 3) &&
                     x->type->element == E_F32;
        bool stay = stays(l, op);
        layout_form(l, y)->stays = stay;
        for (int k = 0; k < KIND_COUNT; k++) {
                if (stay)
                        want_logical(l, x, k);
                else if (!is_few(l, x->type) || !layout_form(l, x)->logical[k])
                        want_blocks(l, x, k);
                make(l, y, k, !stay);
        }
        if (stay)
                return;
        if (layout_has_own_blocks(l, op)) {
                /* Groups of a position are side by side in the last layout; else all its elements
                 * move twice. */
                add_cost(l, x, BLOCKS, 2 * copy(l, x->type, BLOCKS));
                add_cost(l, y, BLOCKS, 2 * copy(l, y->type, BLOCKS));
                add_cost(l, x, LAST, copy(l, x->type, LAST));
                add_cost(l, y, LAST, copy(l, y->type, LAST));
                return;
        }
        if (!is_simple(op)) {           /* Such a convolution is built of blocks (convolve.c). */
                add_cost(l, x, LAST, INFINITY);
                add_cost(l, y, LAST, INFINITY);
        }
        /* More than half of a block may be lanes that pad it. */
        for (int k = 0; k < KIND_COUNT && is_few(l, y->type); k++)
                add_cost(l, y, k,
                         layout_copy_cost(bytes_of(l, y->type, blocks_in(l, y->type, k)), target));
        if (bytes) {                    /* A block has few words, and they should be whole. */
                double lost = layout_short_cost(cycles, bytes->channels, target);
                add_cost(l, x, BLOCKS, is_few(l, x->type) ? 0 : lost);
                add_cost(l, x, LAST, type_extent(x->type, 1) % bytes->channels ? cycles : 0);
                return;
        }
        add_cost(l, x, LAST, is_few(l, x->type) ? 0 : layout_far_cost(cycles, target));
        double direct = layout_direct_cost(cycles, target);
        for (int k = 0; k < KIND_COUNT && tiled; k++) {
                add_cost(l, x, k, loses_winograd(l, x->type, k) ? direct : 0);
                add_cost(l, y, k, loses_winograd(l, y->type, k) ? direct : 0);
        }
}

/* ---- moves ---- */

static bool ints_of(const struct op *op, int operand, int64_t *ints)
{
        int count;
        return value_ints(op_operand(op, operand), ints, RANK_MAX, &count);
}

/* Handles an operation that moves elements. Returns false if it is done in the logical form
 * alone. */
static bool choose_moves(struct layout *l, struct op *op)
{
        struct value *x = op_operand(op, 0), *y = op_result(op), *shuffled = layout_shuffled(op);
        int64_t starts[RANK_MAX], steps[RANK_MAX];
        bool whole = true;
        switch (op->code) {
        case OP_concat:
                for (int i = 0; i + 1 < op->operand_count && op_int(op, "axis") == 1; i++)
                        whole &= is_whole(l, op_operand(op, i)->type);
                choose_parts(l, op, whole);
                return true;
        case OP_slice:
                if (!ints_of(op, 1, starts) || !ints_of(op, 2, steps))
                        return false;
                choose_parts(l, op,
                             starts[1] % l->block == 0 &&
                                     (steps[1] == 1 || dim_is(y->type->dims[1], 1)));
                return true;
        case OP_reshape:
        case OP_reduce_window:
        case OP_reduce:
        case OP_gather:
        case OP_broadcast:
        case OP_pad:
                if (shuffled)
                        choose_shuffle(l, shuffled, y);
                else if (keeps_channels(x->type, y->type))
                        join_one(l, x, y);
                return shuffled || keeps_channels(x->type, y->type);
        default:
                return false;
        }
}

/* Is op a part of a channel shuffle that is not its last operation? That one stands for the
 * shuffle. */
static bool is_inside_shuffle(const struct op *op)
{
        const struct value *y = op_result(op);
        const struct use *u = y->uses;
        if (op->code == OP_reshape && value_has_one_use(y) && u->user->code == OP_transpose) {
                y = op_result(u->user);
                u = y->uses;
        } else if (op->code != OP_transpose) {
                return false;
        }
        return value_has_one_use(y) && layout_shuffled(u->user);
}

static void choose_op(struct layout *l, struct op *op)
{
        if (layout_reduces_to_channels(op))
                return;                 /* It is computed in any form. */
        if (op->result_count == 1 && carries(l, op_result(op)) && op->operand_count &&
            carries(l, op_operand(op, 0))) {
                bool bytes = op->code == OP_convolve && layout_bytes(l, op) &&
                             (!layout_is_depthwise(op) || layout_lanes_sum(l, op));
                enum element x = op_operand(op, 0)->type->element;
                if (op->code == OP_convolve && (x == E_F32 || element_is_small(x) || bytes)) {
                        if (layout_is_depthwise(op))
                                choose_depthwise(l, op);
                        else
                                choose_convolve(l, op);
                        return;
                }
                if (op_info[op->code].traits & TRAIT_ELEMENTWISE) {
                        join_all(l, op);
                        for (int k = 0; k < KIND_COUNT; k++)
                                work_in(l, op, k);
                        return;
                }
                if (choose_moves(l, op) || is_inside_shuffle(op))
                        return;
        }
        for (int i = 0; i < op->operand_count; i++)
                for (int k = 0;
                     k < KIND_COUNT && carries(l, op_operand(op, i)) &&
                     !is_spread(op_operand(op, i));
                     k++)
                        want_logical(l, op_operand(op, i), k);
        for (int i = 0; i < op->result_count; i++)
                if (carries(l, &op->results[i]))
                        make_logical(l, &op->results[i]);
}

static void choose_region(struct layout *l, struct region *region)
{
        for (int i = 0; i < region->argument_count; i++)
                if (carries(l, &region->arguments[i]))
                        make_logical(l, &region->arguments[i]);
        for (struct op *op = region->first; op; op = op->next) {
                choose_op(l, op);
                for (int i = 0; !op_is_kernel(op) && i < op->region_count; i++)
                        choose_region(l, op->regions[i]);
        }
}

static enum layout_kind best_kind(const struct form *region)
{
        enum layout_kind blocks =
                region->cost[LAST] < WORTH * region->cost[BLOCKS] ? LAYOUT_LAST : LAYOUT_BLOCKS;
        return region->cost[PLAIN] < WORTH * (region->cost[blocks] + region->blocked_cost)
                       ? LAYOUT_PLAIN
                       : blocks;
}

/* Notes how many regions have each layout, where that mattered, and how many convolutions stay as
 * they are. */
static void add_notes(struct layout *l)
{
        static const char
                *const names[] = { [BLOCKS] = "blocks", [LAST] = "last", [PLAIN] = "plain" };
        int counts[KIND_COUNT] = { 0 }, staying = 0;
        for (int i = 0; i < l->formed_count; i++) {
                const struct form *form = l->formed[i]->scratch;
                bool matters = form->blocked_cost > 0;
                for (int k = 0; k < KIND_COUNT; k++)
                        matters |= form->cost[k] > 0;
                counts[form->kind] += matters && !form->joined;
                staying += form->stays;
        }
        for (int k = 0; k < KIND_COUNT; k++)
                text_add(l->context->notes, "%s%s %d", k ? ", " : "regions ", names[k], counts[k]);
        text_add(l->context->notes, ", convolutions that stay %d", staying);
}

bool layout_stays(const struct op *convolve)
{
        const struct value *y = op_result(convolve);
        return layout_is_depthwise(convolve)
                       ? is_plain(y)
                       : y->scratch && ((const struct form *)y->scratch)->stays;
}

/* Returns the layout that the engine asks for, or the one that costs least. */
static enum layout_kind kind_of(const struct layout *l, const struct form *region)
{
        switch (target_engine(l->context->target)->layout) {
        case LAYOUT_IN_BLOCKS: return LAYOUT_BLOCKS;
        case LAYOUT_CHANNELS_LAST:
                return region->cost[LAST] < INFINITY ? LAYOUT_LAST : LAYOUT_BLOCKS;
        case LAYOUT_OF_LEAST_COST: break;
        }
        return best_kind(region);
}

void layout_choose(struct layout *l, struct region *region)
{
        if (l->in_rows)
                return;
        choose_region(l, region);
        for (int i = 0; i < l->formed_count; i++) {
                const struct form *root = region_of(l, l->formed[i]);
                layout_form(l, l->formed[i])->kind = kind_of(l, root);
                layout_form(l, l->formed[i])->stays &=
                        target_engine(l->context->target)->layout != LAYOUT_IN_BLOCKS;
        }
        if (l->context->notes)
                add_notes(l);
}
